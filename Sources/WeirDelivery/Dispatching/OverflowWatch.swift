// OverflowWatch: detects that a tracker's log fills up, from counters that a worker reads between two sleeps.

import Weir

/// Whether a tracker's log fills up: see ``FlushPolicy/Triggers/overflow``. A pure value.
struct OverflowWatch: Sendable {
  private let threshold: Double
  private let byteLimit: Int?
  private var refused: UInt64

  /// `byteLimit` is the log's byte limit, or `nil`. `refused` is the number of captures refused so far for lack of
  /// space.
  init(threshold: Double, byteLimit: Int?, refused: UInt64) {
    self.threshold = threshold
    self.byteLimit = byteLimit
    self.refused = refused
  }

  /// Returns `true` if the used part of the limit has reached the threshold, or if captures were refused since the last
  /// look.
  mutating func look(usedBytes: UInt64, refused: UInt64) -> Bool {
    defer { self.refused = refused }
    if refused > self.refused { return true }
    guard let byteLimit, byteLimit > 0 else { return false }
    return Double(usedBytes) >= threshold * Double(byteLimit)
  }
}

extension Counters {
  /// The number of captures refused for lack of space, in their lane or on disk.
  var refusedForRoom: UInt64 {
    [DropReason.full, .noLane, .storage].reduce(0) { sum, reason in
      let (next, isTooMuch) = sum.addingReportingOverflow(dropped[reason] ?? 0)
      return isTooMuch ? .max : next
    }
  }
}
