// OffsetSet: against a plain set, whatever is added and taken out.

import TestSupport
import Testing
import Weir

@testable import WeirDelivery

@Suite struct OffsetSetTests {
  @Test func `ranges that are added and taken out leave the offsets of a plain set`() {
    let seed = testSeed()
    print("OffsetSetTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for _ in 0..<300 {
      var set = OffsetSet()
      var plain: Set<Offset> = []
      for _ in 0..<60 {
        let first = Offset.random(in: 0..<120, using: &random)
        let range = first...first + .random(in: 0..<12, using: &random)
        if Int.random(in: 0..<3, using: &random) == 0 {
          set.remove(range)
          plain.subtract(range)
        } else {
          set.insert(range)
          plain.formUnion(range)
        }
      }
      for offset in 0..<Offset(140) { #expect(set.contains(offset) == plain.contains(offset), "seed \(seed)") }
      for offset in 0..<Offset(140) {
        let stretch = set.stretch(around: offset)
        #expect(stretch.contains(offset), "seed \(seed)")
        let isIn = plain.contains(offset)
        #expect(stretch.clamped(to: 0...140).allSatisfy { plain.contains($0) == isIn }, "seed \(seed)")
        #expect(stretch.lowerBound == 0 || plain.contains(stretch.lowerBound - 1) != isIn, "seed \(seed)")
        #expect(stretch.upperBound == .max || plain.contains(stretch.upperBound + 1) != isIn, "seed \(seed)")
      }
      // Sorted, and neither touching nor overlapping.
      for (left, right) in zip(set.ranges, set.ranges.dropFirst()) { #expect(left.upperBound + 1 < right.lowerBound) }
    }
  }

  @Test func `the ends of all offsets are offsets too`() {
    var set = OffsetSet()
    set.insert(Offset.max...Offset.max)
    set.insert(0...0)
    set.insert(Offset.max - 1...Offset.max)
    #expect(set.ranges == [0...0, Offset.max - 1...Offset.max])
    set.remove(below: Offset.max)
    #expect(set.ranges == [Offset.max...Offset.max])
    set.remove(from: 0)
    #expect(set.ranges.isEmpty)
  }

  @Test func `of too many ranges the lowest go`() {
    var set = OffsetSet()
    for number in 0...OffsetSet.maximumRanges { set.insert(Offset(2 * number)...Offset(2 * number)) }
    #expect(set.ranges.count == OffsetSet.maximumRanges)
    #expect(!set.contains(0))
    #expect(set.contains(2))
    #expect(set.contains(Offset(2 * OffsetSet.maximumRanges)))
  }
}
