// EventOrder: the fewest events out of order, against all choices.

import TestSupport
import Testing

@testable import WeirReconcile

@Suite struct EventOrderTests {
  @Test func `no smaller choice leaves the others rising`() {
    let seed = testSeed()
    print("EventOrderTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for _ in 0..<1_000 {
      let places = (0..<UInt64(Int.random(in: 0...9, using: &random))).shuffled(using: &random)
      let out = Set(EventOrder.outOfOrder(places))
      let rest = places.indices.filter { !out.contains($0) }.map { places[$0] }
      #expect(rest == rest.sorted(), "\(places), seed \(seed)")
      let longest =
        (0..<1 << places.count).map { choice -> Int in
          let chosen = places.indices.filter { choice >> $0 & 1 == 1 }.map { places[$0] }
          return chosen == chosen.sorted() ? chosen.count : 0
        }.max() ?? 0
      #expect(rest.count == longest, "\(places), seed \(seed)")
    }
  }

  @Test func `one that comes early is one, and not all those that it passed`() {
    #expect(EventOrder.outOfOrder([9, 1, 2, 3, 4]) == [0])
    #expect(EventOrder.outOfOrder([1, 2, 3, 4, 0]) == [4])
    #expect(EventOrder.outOfOrder([]).isEmpty)
  }
}
