// DuplicateWindow: which events have the content and source of another one shortly before or after.

import Weir

/// The events seen, as far as they are remembered: what ``DeliveryOptions/duplicateWindow`` says is a duplicate.
///
/// Time is cut into stretches as long as the window. Of events with the same content the first in a stretch is kept;
/// a later one in the same stretch is its duplicate, and so is one in a neighbouring stretch that is near enough. So
/// three look-ups find every original, in whatever order events come, and memory is bounded by the limit alone.
struct DuplicateWindow: Sendable {
  private struct Key: Hashable {
    var content: Int
    var stretch: Int64
  }

  private struct Original {
    var id: EventID
    var time: Int64
    /// How many were kept before it.
    var order: UInt64
  }

  private let window: Int64
  private let stretchLength: Int64
  private let limit: Int
  private var originals: [Key: Original] = [:]
  /// The keys in the order in which they were kept; from `oldest` on, around the end.
  private var keys: [Key] = []
  private var oldest = 0
  private var kept: UInt64 = 0
  private var latest = Int64.min

  /// Events that made room for later ones while a duplicate of them might still have come.
  private(set) var forgotten: UInt64 = 0

  init(_ length: Duration, limit: Int) {
    // With as many stretches as 64 bits have, their neighbours are still numbers.
    window = Int64(clamping: min(length.wholeNanoseconds, UInt64(Int64.max / 4)))
    stretchLength = window + 1
    self.limit = max(limit, 1)
  }

  /// The event that this one is a duplicate of; nil if it is an original, which is remembered.
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

  /// How many events are remembered.
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
