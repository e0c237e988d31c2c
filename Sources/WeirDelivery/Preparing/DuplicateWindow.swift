// DuplicateWindow: finds events that have the content and source of another event captured shortly before or after.

import Weir

/// The remembered events, for finding duplicates as defined by ``DeliveryOptions/duplicateWindow``.
///
/// Time is divided into stretches as long as the window. Among events with the same content, the first event in a
/// stretch is remembered. A later event in the same stretch is a duplicate of it, and so is an event in an adjacent
/// stretch that is near enough. So three look-ups find every original, whatever the order of the events, and the limit
/// alone bounds the memory.
struct DuplicateWindow: Sendable {
  private struct Key: Hashable {
    var content: Int
    var stretch: Int64
  }

  private struct Original {
    var id: EventID
    var time: Int64
    /// The number of events remembered before this event.
    var order: UInt64
  }

  private let window: Int64
  private let stretchLength: Int64
  private let limit: Int
  private var originals: [Key: Original] = [:]
  /// A ring of the keys in the order in which they were added, starting at `oldest`.
  private var keys: [Key] = []
  private var oldest = 0
  private var kept: UInt64 = 0
  private var latest = Int64.min

  /// The number of events that were forgotten to make room while a duplicate of them could still have come.
  private(set) var forgotten: UInt64 = 0

  init(_ length: Duration, limit: Int) {
    // With this bound, the numbers of adjacent stretches still fit into 64 bits.
    window = Int64(clamping: min(length.wholeNanoseconds, UInt64(Int64.max / 4)))
    stretchLength = window + 1
    self.limit = max(limit, 1)
  }

  /// Returns the event that this event is a duplicate of. Returns `nil` if this event is an original, and remembers the
  /// event.
  mutating func original(of event: StoredEvent) -> EventID? {
    let time = event.time.nanosecondsSince1970
    latest = max(latest, time)
    let key = Key(content: event.contentHash, stretch: stretch(of: time))
    var first: Original?
    for step: Int64 in -1...1 {
      let near = Key(content: key.content, stretch: key.stretch &+ step)
      guard let found = originals[near], isNear(found.time, time) else { continue }
      if found.order < first?.order ?? .max { first = found }
    }
    if let first { return first.id }
    keep(Original(id: event.id, time: time, order: kept), as: key)
    return nil
  }

  /// The number of remembered events.
  var count: Int { originals.count }

  private mutating func keep(_ original: Original, as key: Key) {
    kept += 1
    originals[key] = original
    guard keys.count == limit else {
      keys.append(key)
      return
    }
    if let gone = originals.removeValue(forKey: keys[oldest]), isNear(gone.time, latest) { forgotten += 1 }
    keys[oldest] = key
    oldest = (oldest + 1) % limit
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
