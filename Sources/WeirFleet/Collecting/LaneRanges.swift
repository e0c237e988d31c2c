// LaneRanges: which positions of a lane are known.

import Weir

/// Positions of one lane, as ranges in order. A lane that came in its order has one range.
package struct LaneRanges: Hashable, Sendable {
  /// In ascending order, with a gap between each two.
  package private(set) var ranges: [Range<UInt64>] = []

  package init() {}

  /// Adds positions, known or not.
  package mutating func insert(_ range: Range<UInt64>) {
    guard !range.isEmpty else { return }
    // Mostly what comes next.
    if let last = ranges.last, last.upperBound == range.lowerBound {
      ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
      return
    }
    let first = ranges.partitioningIndex { $0.upperBound >= range.lowerBound }
    let end = ranges.partitioningIndex { $0.lowerBound > range.upperBound }
    guard first < end else { return ranges.insert(range, at: first) }
    let joined =
      min(ranges[first].lowerBound, range.lowerBound)..<max(ranges[end - 1].upperBound, range.upperBound)
    ranges.replaceSubrange(first..<end, with: [joined])
  }

  /// Takes positions out, known or not.
  package mutating func remove(_ range: Range<UInt64>) {
    let first = ranges.partitioningIndex { $0.upperBound > range.lowerBound }
    let end = ranges.partitioningIndex { $0.lowerBound >= range.upperBound }
    guard first < end, !range.isEmpty else { return }
    let before = ranges[first].lowerBound..<max(ranges[first].lowerBound, range.lowerBound)
    let after = min(ranges[end - 1].upperBound, range.upperBound)..<ranges[end - 1].upperBound
    ranges.replaceSubrange(first..<end, with: [before, after].filter { !$0.isEmpty })
  }

  /// The known positions in a range, in order.
  package func known(in range: Range<UInt64>) -> [Range<UInt64>] {
    let first = ranges.partitioningIndex { $0.upperBound > range.lowerBound }
    return ranges[first...].prefix { $0.lowerBound < range.upperBound }.map { $0.clamped(to: range) }
  }

  package func contains(_ range: Range<UInt64>) -> Bool { known(in: range) == [range] || range.isEmpty }

  /// The end of the last range; 0 without one.
  package var end: UInt64 { ranges.last?.upperBound ?? 0 }

  /// The gaps between ranges.
  package var gaps: [Range<UInt64>] {
    zip(ranges, ranges.dropFirst()).map { $0.upperBound..<$1.lowerBound }
  }
}
