// LossAccount: no choice explains more events, and no loss explains more than it has.

import TestSupport
import Testing

@testable import Weir
@testable import WeirReconcile

@Suite struct LossAccountTests {
  private typealias Loss = LossAccount.Loss

  /// The largest number of events that losses can explain, of all choices.
  private func most(_ times: ArraySlice<Int64>, _ losses: [Loss], _ tolerance: Int64) -> Int {
    guard let time = times.first else { return 0 }
    var best = most(times.dropFirst(), losses, tolerance)
    for (index, loss) in losses.enumerated() where loss.count != 0 {
      guard time >= loss.from - tolerance, time <= loss.to + tolerance else { continue }
      var rest = losses
      rest[index].count = loss.count.map { $0 - 1 }
      best = max(best, 1 + most(times.dropFirst(), rest, tolerance))
    }
    return best
  }

  private func account(_ losses: [Loss], _ tolerance: Int64, explained: [Offset: UInt64] = [:]) -> LossAccount {
    LossAccount(losses, beginning: 0, isBeginningRemoved: false, tolerance: tolerance, explained: explained)
  }

  @Test func `as many events are explained as can be`() {
    let seed = testSeed()
    print("LossAccountTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for round in 0..<500 {
      let losses = (0..<Int.random(in: 0...4, using: &random)).map { number -> Loss in
        let from = Int64.random(in: 0...20, using: &random)
        return Loss(
          reason: "\(number)", from: from, to: from + .random(in: 0...10, using: &random),
          count: .random(in: 0...3, using: &random), notice: Offset(number))
      }
      let times = (0..<Int.random(in: 0...6, using: &random)).map { _ in Int64.random(in: 0...30, using: &random) }
      let tolerance = Int64.random(in: 0...3, using: &random)
      var account = account(losses, tolerance)
      var found: [String: UInt64] = [:]
      for time in times.sorted() {
        if let reason = account.reason(at: time), Int(reason) != nil { found[reason, default: 0] += 1 }
      }
      #expect(Int(found.values.reduce(0, +)) == most(times[...], losses, tolerance), "round \(round), seed \(seed)")
      for loss in losses { #expect(found[loss.reason] ?? 0 <= loss.count ?? 0, "round \(round), seed \(seed)") }
      #expect(account.explained.values.reduce(0, +) == found.values.reduce(0, +), "round \(round), seed \(seed)")
    }
  }

  @Test func `what a loss has explained before it explains no more`() {
    let losses = [Loss(reason: "refused", from: 0, to: 10, count: 3, notice: 7)]
    var first = account(losses, 0)
    #expect((0..<2).map { first.reason(at: $0) } == ["refused", "refused"])
    var second = account(losses, 0, explained: first.explained)
    #expect((3..<5).map { second.reason(at: $0) } == ["refused", nil])
    #expect(second.explained == [7: 3])
    // A notice that is read no more is forgotten.
    #expect(account([], 0, explained: second.explained).explained.isEmpty)
  }

  @Test func `an event without a time has no reason`() {
    var account = account([Loss(reason: "lost", from: .min, to: .max, count: nil)], 5)
    #expect(account.reason(at: .min) == nil)
    #expect(account.reason(at: 0) == "lost")
  }
}
