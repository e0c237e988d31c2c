// Assignment: against all ways to pair short lists.

import TestSupport
import Testing

@testable import WeirReconcile

@Suite struct AssignmentTests {
  /// The most pairs, and the smallest sum of distances for so many, of all ways to pair.
  private func best(_ here: ArraySlice<Int64>, _ there: [Int64], _ tolerance: Int64) -> (pairs: Int, distance: Int64) {
    guard let first = here.first else { return (0, 0) }
    var found = best(here.dropFirst(), there, tolerance)
    for (index, other) in there.enumerated() where abs(first - other) <= tolerance {
      var rest = there
      rest.remove(at: index)
      let (pairs, distance) = best(here.dropFirst(), rest, tolerance)
      let paired = (pairs: pairs + 1, distance: distance + abs(first - other))
      if (-paired.pairs, paired.distance) < (-found.pairs, found.distance) { found = paired }
    }
    return found
  }

  @Test func `no other way to pair has more pairs, or nearer ones`() {
    let seed = testSeed()
    print("AssignmentTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for _ in 0..<2_000 {
      let range = Int64.random(in: 1...30, using: &random)
      func times() -> [Int64] {
        (0..<Int.random(in: 0...5, using: &random)).map { _ in .random(in: 0...range, using: &random) }.sorted()
      }
      let (here, there) = (times(), times())
      let tolerance = Int64.random(in: 0...12, using: &random)
      let assignment = Assignment(here, there, tolerance: tolerance)
      let distance = assignment.pairs.reduce(0) { $0 + abs(here[$1.0] - there[$1.1]) }
      let expected = best(here[...], there, tolerance)
      #expect(assignment.pairs.count == expected.pairs, "\(here) \(there) \(tolerance), seed \(seed)")
      #expect(distance == expected.distance, "\(here) \(there) \(tolerance), seed \(seed)")
      #expect((assignment.pairs.map(\.0) + assignment.leftHere).sorted() == Array(here.indices), "seed \(seed)")
      #expect((assignment.pairs.map(\.1) + assignment.leftThere).sorted() == Array(there.indices), "seed \(seed)")
      #expect(assignment.pairs.allSatisfy { abs(here[$0.0] - there[$0.1]) <= tolerance }, "seed \(seed)")
    }
  }

  @Test func `nearest first would leave one over`() {
    let assignment = Assignment([0, 10], [9, 14], tolerance: 9)
    #expect(assignment.pairs.map(\.0) == [0, 1])
    #expect(assignment.pairs.map(\.1) == [0, 1])
  }

  @Test func `long lists are paired in a band`() {
    let here = (0..<20_000).map { Int64($0) * 10 }
    let there = here.filter { $0 % 1_000 != 0 }.map { $0 + 1 }
    let assignment = Assignment(here, there, tolerance: 1_000)
    #expect(assignment.pairs.count == there.count)
    #expect(assignment.leftHere.count == here.count - there.count)
  }

  @Test func `a list that lacks its beginning is paired with its end`() {
    let here = (0..<4_000).map { Int64($0) }
    let there = Array(here.dropFirst(1_000))
    let assignment = Assignment(here, there, tolerance: 300)
    #expect(assignment.pairs.count == 3_000)
    #expect(assignment.pairs.allSatisfy { here[$0.0] == there[$0.1] })
    #expect(assignment.leftHere.sorted() == Array(0..<1_000))
  }

  @Test func `beyond the largest table as many are paired as can be, and the nearest first`() {
    let here = (0..<20_000).map { Int64($0) }
    let there = Array(here.dropFirst(5_000))
    let assignment = Assignment(here, there, tolerance: 1_000_000)
    #expect(assignment.pairs.count == 15_000)
    #expect(assignment.pairs.allSatisfy { here[$0.0] == there[$0.1] })
  }

  @Test func `times at the ends of all times do not overflow`() {
    let assignment = Assignment([.min, .max], [.min, .max], tolerance: .max)
    #expect(assignment.pairs.count == 2)
  }
}
