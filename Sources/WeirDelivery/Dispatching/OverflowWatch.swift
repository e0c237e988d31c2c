// OverflowWatch: notices that the log of a tracker fills up, from numbers that a worker looks at between two sleeps.

import Weir

/// Whether the log of a tracker fills up: see ``FlushPolicy/Triggers/overflow``. A pure value.
struct OverflowWatch: Sendable {
  private let threshold: Double
  private let byteLimit: Int?
  private var refused: UInt64

  /// `byteLimit` is that of the log, nil without one; `refused` are the captures that were refused so far for want of
  /// room.
  init(threshold: Double, byteLimit: Int?, refused: UInt64) {
    self.threshold = threshold
    self.byteLimit = byteLimit
    self.refused = refused
  }

  /// True if so much of the limit is used as the policy says, or captures were refused since the last look.
  mutating func look(usedBytes: UInt64, refused: UInt64) -> Bool {
    defer { self.refused = refused }
    if refused > self.refused { return true }
    guard let byteLimit, byteLimit > 0 else { return false }
    return Double(usedBytes) >= threshold * Double(byteLimit)
  }
}

extension Counters {
  /// Captures refused because there was no room for them: in their lane, or on the disk.
  var refusedForRoom: UInt64 {
    [DropReason.full, .noLane, .storage].reduce(0) { sum, reason in
      let (next, isTooMuch) = sum.addingReportingOverflow(dropped[reason] ?? 0)
      return isTooMuch ? .max : next
    }
  }
}
