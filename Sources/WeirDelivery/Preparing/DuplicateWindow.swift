// DuplicateWindow: finds events that have the content and source of another event captured shortly before or after.

import Weir

/// The remembered events, for finding duplicates as defined by ``DeliveryOptions/duplicateWindow``.
///
/// Time is divided into stretches as long as the window. Among events with the same content, the first event in a
/// stretch is remembered. A later event in the same stretch is a duplicate of it, and so is an event in an adjacent
/// stretch that is near enough. So three look-ups find every original, whatever the order of the events, and the limit
/// alone bounds the memory.
///
/// The remembered events are in a ring, in the order in which they came, and a table finds their places in the ring.
/// The table has eight bytes for a slot, and most look-ups end there. A dictionary of the events would be several times
/// as large, too large for the processor's nearer caches.
struct DuplicateWindow: Sendable {
  private struct Original {
    var content: Int
    var stretch: Int64
    var id: EventID
    var time: Int64

    /// Where the table has the event, if nothing else is there.
    var mark: UInt32 { Self.mark(content, stretch) }

    static func mark(_ content: Int, _ stretch: Int64) -> UInt32 {
      let mixed = UInt64(bitPattern: Int64(content)) ^ (UInt64(bitPattern: stretch) &* 0x9e37_79b9_7f4a_7c15)
      return UInt32(truncatingIfNeeded: ((mixed ^ (mixed >> 32)) &* 0xd6e8_feb8_6659_fd93) >> 32)
    }
  }

  /// A place of the table: the mark of an event, and the event's place in the ring.
  private struct Slot {
    var mark: UInt32
    /// `UInt32.max` if the slot is free.
    var place: UInt32

    static let free = Slot(mark: 0, place: .max)
    var isFree: Bool { place == .max }
  }

  private static let mostEvents = 1 << 30

  private let window: Int64
  private let stretchLength: Int64
  private let limit: Int
  private var originals: [Original] = []
  /// At most half of the slots are taken. Their number is a power of two. An event is at its mark or after it, with no
  /// free slot in between.
  private var slots: [Slot] = Array(repeating: .free, count: 64)
  /// The number of events remembered so far; those of them that were not forgotten are in the ring.
  private var kept = 0
  private var latest = Int64.min

  /// The number of events that were forgotten to make room while a duplicate of them could still have come.
  private(set) var forgotten: UInt64 = 0

  init(_ length: Duration, limit: Int) {
    // With this bound, the numbers of adjacent stretches still fit into 64 bits.
    window = Int64(clamping: min(length.wholeNanoseconds, UInt64(Int64.max / 4)))
    stretchLength = window + 1
    self.limit = min(max(limit, 1), Self.mostEvents)
  }

  /// Returns the event that this event is a duplicate of. Returns `nil` if this event is an original, and remembers the
  /// event.
  mutating func original(of event: StoredEvent) -> EventID? {
    original(of: event.contentHash, event.id, at: event.time)
  }

  /// The same for an event with this hash of its content. The hashes of all events must be made in the same way.
  mutating func original(of content: Int, _ id: EventID, at timestamp: Timestamp) -> EventID? {
    let time = timestamp.nanosecondsSince1970
    latest = max(latest, time)
    let stretch = stretch(of: time)
    var first: (id: EventID, age: Int)?
    for step: Int64 in -1...1 {
      guard let place = find(content, stretch &+ step), isNear(originals[place].time, time) else { continue }
      let age = age(place)
      if age > first?.age ?? -1 { first = (originals[place].id, age) }
    }
    if let first { return first.id }
    keep(Original(content: content, stretch: stretch, id: id, time: time))
    return nil
  }

  /// The number of remembered events.
  var count: Int { originals.count }

  /// The number of events that were remembered after the event at this place of the ring.
  private func age(_ place: Int) -> Int {
    let last = (kept - 1) % limit
    return place <= last ? last - place : last - place + limit
  }

  private func find(_ content: Int, _ stretch: Int64) -> Int? {
    let mark = Original.mark(content, stretch)
    var index = home(mark)
    while !slots[index].isFree {
      let place = Int(slots[index].place)
      if slots[index].mark == mark, originals[place].content == content, originals[place].stretch == stretch {
        return place
      }
      index = (index + 1) & (slots.count - 1)
    }
    return nil
  }

  private func home(_ mark: UInt32) -> Int { Int(mark) & (slots.count - 1) }

  private mutating func keep(_ original: Original) {
    let place = kept % limit
    kept += 1
    if originals.count < limit {
      originals.append(original)
      if originals.count * 2 > slots.count { return grow() }
    } else {
      if isNear(originals[place].time, latest) { forgotten += 1 }
      free(place)
      originals[place] = original
    }
    take(place, original.mark)
  }

  private mutating func take(_ place: Int, _ mark: UInt32) {
    var index = home(mark)
    while !slots[index].isFree { index = (index + 1) & (slots.count - 1) }
    slots[index] = Slot(mark: mark, place: UInt32(place))
  }

  /// Frees the slot of the event at this place, and moves the slots after it up to where they are looked for.
  private mutating func free(_ place: Int) {
    let mask = slots.count - 1
    var hole = home(originals[place].mark)
    while slots[hole].place != UInt32(place) { hole = (hole + 1) & mask }
    var index = (hole + 1) & mask
    while !slots[index].isFree {
      // The slot may move to the hole if the hole is not before the slot's mark.
      if (index - home(slots[index].mark)) & mask >= (index - hole) & mask {
        slots[hole] = slots[index]
        hole = index
      }
      index = (index + 1) & mask
    }
    slots[hole] = .free
  }

  private mutating func grow() {
    slots = Array(repeating: .free, count: slots.count * 2)
    for place in originals.indices { take(place, originals[place].mark) }
  }

  private func isNear(_ one: Int64, _ other: Int64) -> Bool {
    let (distance, overflow) = one.subtractingReportingOverflow(other)
    return !overflow && distance.magnitude <= UInt64(window)
  }

  private func stretch(of time: Int64) -> Int64 {
    let (quotient, rest) = time.quotientAndRemainder(dividingBy: stretchLength)
    return rest < 0 ? quotient - 1 : quotient
  }
}
