// OffsetSet: any offsets of a log, as ranges, with a limit on their number.

package import Weir

/// A set of offsets, kept as sorted ranges that neither touch nor overlap.
///
/// At most ``maximumRanges`` ranges: then the lowest go, because new events matter more. A look-up takes a binary
/// search, and adding at the upper end takes constant time.
package struct OffsetSet: Hashable, Sendable {
  static let maximumRanges = 65_536

  package private(set) var ranges: [ClosedRange<Offset>] = []

  /// Returns the index of the first range that ends at or above `offset`.
  private func index(of offset: Offset) -> Int { ranges.partitioningIndex { $0.upperBound >= offset } }

  package init() {}

  package func contains(_ offset: Offset) -> Bool {
    let index = index(of: offset)
    return index < ranges.count && ranges[index].contains(offset)
  }

  /// Returns the ranges of offsets that are in the set and in a range.
  package func intersection(with range: ClosedRange<Offset>) -> [ClosedRange<Offset>] {
    ranges[index(of: range.lowerBound)...].prefix { $0.lowerBound <= range.upperBound }.map { $0.clamped(to: range) }
  }

  /// Returns the longest range around an offset whose offsets are all in the set, as this one is, or all not.
  package func stretch(around offset: Offset) -> ClosedRange<Offset> {
    let index = index(of: offset)
    guard index < ranges.count else { return (ranges.last.map { $0.upperBound + 1 } ?? 0)...Offset.max }
    if ranges[index].contains(offset) { return ranges[index] }
    return (index > 0 ? ranges[index - 1].upperBound + 1 : 0)...ranges[index].lowerBound - 1
  }

  /// Adds the offsets of a range.
  package mutating func insert(_ range: ClosedRange<Offset>) {
    // A range that ends just below this one is joined with it.
    let first = index(of: range.lowerBound == 0 ? 0 : range.lowerBound - 1)
    var joined = range
    var end = first
    while end < ranges.count, joined.upperBound == .max || ranges[end].lowerBound <= joined.upperBound + 1 {
      joined = min(joined.lowerBound, ranges[end].lowerBound)...max(joined.upperBound, ranges[end].upperBound)
      end += 1
    }
    ranges.replaceSubrange(first..<end, with: CollectionOfOne(joined))
    if ranges.count > Self.maximumRanges { ranges.removeFirst(ranges.count - Self.maximumRanges) }
  }

  /// Takes the offsets of a range out.
  package mutating func remove(_ range: ClosedRange<Offset>) {
    let first = index(of: range.lowerBound)
    var end = first
    var left: [ClosedRange<Offset>] = []
    while end < ranges.count, ranges[end].lowerBound <= range.upperBound {
      let other = ranges[end]
      if other.lowerBound < range.lowerBound { left.append(other.lowerBound...range.lowerBound - 1) }
      if other.upperBound > range.upperBound { left.append(range.upperBound + 1...other.upperBound) }
      end += 1
    }
    if end > first { ranges.replaceSubrange(first..<end, with: left) }
  }

  /// Takes out all offsets below this one.
  package mutating func remove(below offset: Offset) {
    if offset > 0 { remove(0...offset - 1) }
  }

  /// Takes out all offsets from this one on.
  mutating func remove(from offset: Offset) { remove(offset...Offset.max) }
}
