// OffsetRanges: which events of a batch something holds for, in few bytes.

import Weir

/// Offsets as ranges, in order, at most ``maximumRanges`` of them.
///
/// A batch is one range, or a few with a notice of the log between. What was given again is scattered, and may be more
/// ranges than there is room for: then ``isComplete`` is false, and ``contains(_:)`` does not know of those beyond the
/// last range.
struct OffsetRanges: Hashable, Sendable {
  static let maximumRanges = 256

  private(set) var ranges: [ClosedRange<Offset>] = []
  private(set) var isComplete = true

  /// The ranges of these offsets, which are in order.
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

  /// Reads ``numbers`` back; nil for what they can't be.
  init?(numbers: [UInt64]) {
    guard numbers.count <= Self.maximumRanges * 2 + 1 else { return nil }
    isComplete = numbers.count.isMultiple(of: 2)
    for index in stride(from: 0, to: numbers.count - 1, by: 2) {
      guard numbers[index] <= numbers[index + 1] else { return nil }
      ranges.append(numbers[index]...numbers[index + 1])
    }
  }

  /// The first and last offset of each range; one zero more if they are not all.
  var numbers: [UInt64] {
    ranges.flatMap { [$0.lowerBound, $0.upperBound] } + (isComplete ? [] : [0])
  }

  /// Nil if it is not known.
  func contains(_ offset: Offset) -> Bool? {
    if ranges.contains(where: { $0.contains(offset) }) { return true }
    return isComplete || offset < ranges.last?.upperBound ?? 0 ? false : nil
  }
}
