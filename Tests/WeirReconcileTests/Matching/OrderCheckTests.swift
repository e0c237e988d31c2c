// OrderCheck: the same as the fewest events of each whole sequence, block by block.

import TestSupport
import Testing

@testable import Weir
@testable import WeirReconcile

@Suite struct OrderCheckTests {
  /// A permutation in which few elements are far from their place.
  private func places(_ count: Int, _ random: inout Seeded) -> [UInt64] {
    var places = (0..<UInt64(count)).map { $0 * 2 }
    for _ in 0..<Int.random(in: 0...8, using: &random) where count > 1 {
      let from = Int.random(in: 0..<count, using: &random)
      let place = places.remove(at: from)
      let reach = Bool.random(using: &random) ? count : 5
      places.insert(place, at: min(count - 1, max(0, from + .random(in: -reach...reach, using: &random))))
    }
    return places
  }

  private func outOfOrder(
    _ sequences: [[UInt64]], blockPairs: Int, mostPairs: Int, _ random: inout Seeded
  ) throws -> [UInt64: Int] {
    try withDirectory { path in
      let runs = SortedRuns<OrderedPair>(
        "order", in: try SystemCalls().openDirectory(path), SystemCalls(), by: OrderedPair.isBefore)
      var pairs: [OrderedPair] = []
      for (sequence, places) in sequences.enumerated() {
        for (here, there) in places.enumerated() {
          pairs.append(
            OrderedPair(sequence: UInt64(sequence), here: UInt64(here), there: there, mark: EventMark()))
        }
      }
      pairs.shuffle(using: &random)
      while !pairs.isEmpty {
        let count = Int.random(in: 1...pairs.count, using: &random)
        try runs.append(Array(pairs.suffix(count)))
        pairs.removeLast(count)
      }
      var found: [UInt64: Int] = [:]
      try OrderCheck(runs, mostPairs: mostPairs, blockPairs: blockPairs).forEachOutOfOrder {
        found[$0.sequence, default: 0] += 1
      }
      return found
    }
  }

  @Test func `blocks make no difference`() throws {
    let seed = testSeed()
    print("OrderCheckTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for round in 0..<100 {
      let sequences = (0..<Int.random(in: 0...6, using: &random)).map { _ in
        places(.random(in: 1...60, using: &random), &random)
      }
      let found = try outOfOrder(
        sequences, blockPairs: .random(in: 1...40, using: &random), mostPairs: .max, &random)
      for (sequence, places) in sequences.enumerated() {
        #expect(
          found[UInt64(sequence)] ?? 0 == EventOrder.outOfOrder(places).count, "round \(round), seed \(seed)")
      }
    }
  }

  @Test func `a piece that is too long is cut, and in order stays in order`() throws {
    var random = Seeded(seed: 1)
    // The last one comes first, so that nothing before it can be cut off.
    let places: [UInt64] = [100] + (0..<100)
    #expect(try outOfOrder([places], blockPairs: 7, mostPairs: .max, &random) == [0: 1])
    #expect(try outOfOrder([places], blockPairs: 7, mostPairs: 10, &random) == [0: 1])
  }
}
