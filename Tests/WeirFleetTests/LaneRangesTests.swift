// Ranges of positions behave as a set of positions.

import TestSupport
import Testing

@testable import WeirFleet

struct LaneRangesTests {
  @Test func `ranges are what a set of positions would be`() {
    let seed = testSeed()
    print("LaneRangesTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for _ in 0..<300 {
      var (ranges, set) = (LaneRanges(), Set<UInt64>())
      for _ in 0..<30 {
        let from = UInt64.random(in: 0..<40, using: &random)
        let range = from..<from + UInt64.random(in: 0..<9, using: &random)
        if Int.random(in: 0..<3, using: &random) == 0 {
          ranges.remove(range)
          set.subtract(range)
        } else {
          ranges.insert(range)
          set.formUnion(range)
        }
        #expect(Set(ranges.ranges.joined()) == set)
        #expect(ranges.gaps.allSatisfy { !$0.isEmpty })
        #expect(ranges.contains(range) == range.allSatisfy(set.contains))
        #expect(Set(ranges.known(in: 10..<30).joined()) == set.filter { (10..<30).contains($0) })
        #expect(ranges.end == (set.max().map { $0 + 1 } ?? 0))
      }
    }
  }
}
