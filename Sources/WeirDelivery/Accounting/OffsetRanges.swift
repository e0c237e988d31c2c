// OffsetRanges: a subset of a batch's events, in few bytes.

import Weir

/// Offsets as ranges, in order, with at most ``maximumRanges`` ranges.
///
/// A batch is one range, or a few if a notice of the log is in between. Retried events are scattered, and may need more
/// ranges than allowed. Then ``isComplete`` is `false`, and ``contains(_:)`` returns `nil` above the last range.
struct OffsetRanges: Hashable, Sendable {
  static let maximumRanges = 256

  private(set) var ranges: [ClosedRange<Offset>] = []
  private(set) var isComplete = true

  /// Creates the ranges of these offsets, which must be in order.
  init(_ offsets: some Sequence<Offset>) {
    for offset in offsets {
      if let last = ranges.last, offset <= last.upperBound || offset - 1 == last.upperBound {
        ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, offset)
      } else if ranges.count < Self.maximumRanges {
        ranges.append(offset...offset)
      } else {
        isComplete = false
        return
      }
    }
  }

  /// Creates the range of all these offsets.
  init(all offsets: Range<Offset>) {
    if let last = offsets.last { ranges = [offsets.lowerBound...last] }
  }

  /// Creates the offsets of these ranges, which must be in order.
  init(ranges: [Range<Offset>]) {
    for range in ranges where !range.isEmpty {
      let last = range.upperBound - 1
      if let before = self.ranges.last, before.upperBound + 1 == range.lowerBound {
        self.ranges[self.ranges.count - 1] = before.lowerBound...last
      } else if self.ranges.count < Self.maximumRanges {
        self.ranges.append(range.lowerBound...last)
      } else {
        isComplete = false
        return
      }
    }
  }

  /// Decodes ``numbers``. Returns `nil` if the numbers are invalid.
  init?(numbers: [UInt64]) {
    guard numbers.count <= Self.maximumRanges * 2 + 1 else { return nil }
    isComplete = numbers.count.isMultiple(of: 2)
    for index in stride(from: 0, to: numbers.count - 1, by: 2) {
      guard numbers[index] <= numbers[index + 1] else { return nil }
      ranges.append(numbers[index]...numbers[index + 1])
    }
  }

  /// The first and last offset of each range, followed by a zero if ranges are missing.
  var numbers: [UInt64] {
    ranges.flatMap { [$0.lowerBound, $0.upperBound] } + (isComplete ? [] : [0])
  }

  /// Returns whether the offset is included, or `nil` if that is not known.
  func contains(_ offset: Offset) -> Bool? {
    if ranges.contains(where: { $0.contains(offset) }) { return true }
    return isComplete || offset < ranges.last?.upperBound ?? 0 ? false : nil
  }
}
