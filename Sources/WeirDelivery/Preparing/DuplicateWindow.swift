// DuplicateWindow: finds events that have the content and source of another event captured shortly before or after.

import Weir

/// The remembered events, for finding duplicates as defined by ``DeliveryOptions/duplicateWindow``.
///
/// Time is divided into stretches as long as the window. Among events with the same content, the first event in a
/// stretch is remembered. A later event in the same stretch is a duplicate of it, and so is an event in an adjacent
/// stretch that is near enough. So the limit alone bounds the memory, whatever the order of the events.
///
/// The remembered events are in a ring, in the order in which they came, and a table finds their places in the ring.
/// The table has eight bytes for a slot, and most look-ups end there. A dictionary of the events would be several times
/// as large, too large for the processor's nearer caches. Events with the same content have the same place in the table
/// if they are of the same eight stretches, so one look-up finds every original, or two at the edge of the eight.
struct DuplicateWindow: Sendable {
  private struct Original {
    var content: Int
    var id: EventID
    var time: Int64
    /// Where the table has the event, if nothing else is there.
    var mark: UInt32

    static func mark(_ content: Int, _ stretch: Int64) -> UInt32 {
      let group = UInt64(bitPattern: stretch >> 3)
      let mixed = UInt64(bitPattern: Int64(content)) ^ (group &* 0x9e37_79b9_7f4a_7c15)
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
  /// The place in the ring of the next event that is remembered.
  private var next = 0
  private var latest = Int64.min
  /// The last stretch that was asked for, and its times: mostly those of the next event, too.
  private var lastStretch: (number: Int64, times: ClosedRange<Int64>)?
  private var warmed: UInt32 = 0

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
    original(of: event.contentHash, event.id, event.time.nanosecondsSince1970)
  }

  /// The same for an event with this hash of its content. The hashes of all events must be made in the same way.
  mutating func original(of content: Int, _ id: EventID, _ time: Int64) -> EventID? {
    latest = max(latest, time)
    let stretch = stretch(of: time)
    let mark = Original.mark(content, stretch)
    var first = find(content, mark, near: time)
    // The stretches before and after may be of other eight.
    switch stretch & 7 {
    case 0: first = older(first, find(content, Original.mark(content, stretch &- 1), near: time))
    case 7: first = older(first, find(content, Original.mark(content, stretch &+ 1), near: time))
    default: break
    }
    if let first { return originals[first].id }
    keep(Original(content: content, id: id, time: time, mark: mark))
    return nil
  }

  /// Brings the places of these events in the table, and of the events that are forgotten for them, near the processor.
  /// The processor waits for several of them at once here, and later for one after the other. `time` is the time of the
  /// first event. Changes nothing.
  mutating func warm(_ contents: [Int], at time: Int64) {
    guard slots.count > Self.mostNear else { return }
    let stretch = stretch(of: time)
    var sum: UInt32 = 0
    for content in contents { sum &+= slots[home(Original.mark(content, stretch))].place }
    if originals.count == limit {
      var place = next
      for _ in contents.indices {
        sum &+= slots[home(originals[place].mark)].place
        place = place + 1 == limit ? 0 : place + 1
      }
    }
    // Kept, or the compiler would leave the reads out.
    warmed = sum
  }

  /// The number of slots up to which the table is near the processor anyway.
  private static let mostNear = 4_096

  /// The number of remembered events.
  var count: Int { originals.count }

  /// The number of events that were remembered after the event at this place of the ring.
  private func age(_ place: Int) -> Int {
    place < next ? next - 1 - place : next - 1 - place + limit
  }

  /// Returns the oldest remembered event with this content and mark that is near enough.
  private func find(_ content: Int, _ mark: UInt32, near time: Int64) -> Int? {
    var found: Int?
    var index = home(mark)
    while !slots[index].isFree {
      let slot = slots[index]
      if slot.mark == mark {
        let place = Int(slot.place)
        if originals[place].content == content, isNear(originals[place].time, time) { found = older(found, place) }
      }
      index = (index + 1) & (slots.count - 1)
    }
    return found
  }

  private func older(_ one: Int?, _ other: Int?) -> Int? {
    guard let one, let other else { return one ?? other }
    return age(one) >= age(other) ? one : other
  }

  private func home(_ mark: UInt32) -> Int { Int(mark) & (slots.count - 1) }

  private mutating func keep(_ original: Original) {
    let place = next
    next = next + 1 == limit ? 0 : next + 1
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
    slots.withUnsafeMutableBufferPointer { slots in
      var index = Int(mark) & (slots.count - 1)
      while !slots[index].isFree { index = (index + 1) & (slots.count - 1) }
      slots[index] = Slot(mark: mark, place: UInt32(place))
    }
  }

  /// Frees the slot of the event at this place, and moves the slots after it up to where they are looked for.
  private mutating func free(_ place: Int) {
    let mark = originals[place].mark
    slots.withUnsafeMutableBufferPointer { slots in
      let mask = slots.count - 1
      var hole = Int(mark) & mask
      while slots[hole].place != UInt32(place) { hole = (hole + 1) & mask }
      var index = (hole + 1) & mask
      while !slots[index].isFree {
        // The slot may move to the hole if the hole is not before the slot's mark.
        if (index - Int(slots[index].mark)) & mask >= (index - hole) & mask {
          slots[hole] = slots[index]
          hole = index
        }
        index = (index + 1) & mask
      }
      slots[hole] = .free
    }
  }

  private mutating func grow() {
    slots = Array(repeating: .free, count: slots.count * 2)
    for place in originals.indices { take(place, originals[place].mark) }
  }

  private func isNear(_ one: Int64, _ other: Int64) -> Bool {
    let (distance, overflow) = one.subtractingReportingOverflow(other)
    return !overflow && distance.magnitude <= UInt64(window)
  }

  private mutating func stretch(of time: Int64) -> Int64 {
    if let lastStretch, lastStretch.times.contains(time) { return lastStretch.number }
    let (quotient, rest) = time.quotientAndRemainder(dividingBy: stretchLength)
    let number = rest < 0 ? quotient - 1 : quotient
    let passed = rest < 0 ? rest + stretchLength : rest
    let (start, isEarly) = time.subtractingReportingOverflow(passed)
    let (end, isLate) = time.addingReportingOverflow(stretchLength - 1 - passed)
    lastStretch = (number, (isEarly ? .min : start)...(isLate ? .max : end))
    return number
  }
}
