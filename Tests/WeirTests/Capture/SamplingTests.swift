// Sampling: by user, the same in every process; without one, evenly; counted, and nothing for types without a rule.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct SamplingTests {
  private func withTracker<Answer>(_ rules: [SamplingRule], _ body: (Tracker) throws -> Answer) throws -> Answer {
    try withDirectory { directory in
      let configuration = quiet {
        $0.sampling = rules
        $0.whenFull = .block
      }
      return try body(try Tracker(directory: directory, configuration: configuration))
    }
  }

  /// The users, of 1,000, whose events are captured.
  private func kept(_ rate: Double, _ track: (Tracker, String) -> Receipt) throws -> Set<String> {
    try withTracker([SamplingRule(Checkout.self, rate: rate), SamplingRule("dynamic", rate: rate)]) { tracker in
      var kept: Set<String> = []
      for number in 0..<1_000 {
        let id = "user \(number)"
        let receipts = (0..<3).map { _ in Bindings.with(user: id) { track(tracker, id) } }
        #expect(Set(receipts.map(\.isAccepted)).count == 1, "always or never")
        if receipts[0].isAccepted { kept.insert(id) } else { #expect(receipts[0] == .dropped(.sampled)) }
      }
      #expect(tracker.counters.dropped[.sampled] ?? 0 == UInt64(3 * (1_000 - kept.count)))
      #expect(tracker.counters.accepted == UInt64(3 * kept.count))
      let found = try tracker.events().filter { !$0.isNotice }.compactMap(\.context.user?.id)
      #expect(Set(found) == kept)
      #expect(found.count == 3 * kept.count)
      return kept
    }
  }

  @Test func `the same users are kept everywhere`() throws {
    let half = try kept(0.5) { tracker, _ in tracker.track(Checkout.started(cart: 1)) }
    #expect(half.count == 519, "the hash is documented, and the same for ever: \(half.count)")
    #expect(try kept(0.5) { tracker, _ in tracker.track("dynamic") } == half)
    let tenth = try kept(0.1) { tracker, _ in tracker.track(Checkout.started(cart: 1)) }
    #expect((60...140).contains(tenth.count))
    #expect(tenth.isSubset(of: half))
    #expect(try kept(0) { tracker, _ in tracker.track(Checkout.started(cart: 1)) }.isEmpty)
    #expect(try kept(1) { tracker, _ in tracker.track(Checkout.started(cart: 1)) }.count == 1_000)
  }

  @Test func `the hash is the documented one`() {
    // FNV-1a of "" is its basis, of "a" the published af63dc4c8601ec8c; then fmix64, from its own definition.
    func mixed(_ number: UInt64) -> UInt64 {
      var hash = number
      hash ^= hash >> 33
      hash = hash &* 0xff51_afd7_ed55_8ccd
      hash ^= hash >> 33
      hash = hash &* 0xc4ce_b9fe_1a85_ec53
      return hash ^ hash >> 33
    }
    #expect(SamplingKey.of("") == mixed(0xcbf2_9ce4_8422_2325))
    #expect(SamplingKey.of("a") == mixed(0xaf63_dc4c_8601_ec8c))
    #expect(Sampler.threshold(1) == 1 << 63)
    #expect(Sampler.threshold(0) == 0)
    #expect(Sampler.threshold(0.5) == 1 << 62)
  }

  @Test func `the default user decides where none is bound`() throws {
    try withTracker([SamplingRule("dynamic", rate: 0.5), SamplingRule("weir.associated", rate: 0)]) { tracker in
      var answers: Set<Bool> = []
      for number in 0..<20 {
        let id = "user \(number)"
        try tracker.associate(id)
        let expected = SamplingKey.of(id) >> 1 < Sampler.threshold(0.5)
        #expect(tracker.track("dynamic").isAccepted == expected)
        // Nobody is not the default user.
        let nobody = Set((0..<40).map { _ in Bindings.with(user: nil) { tracker.track("dynamic").isAccepted } })
        #expect(nobody == [true, false])
        answers.insert(expected)
      }
      #expect(answers == [true, false])
      // What tells of the user is never left out.
      #expect(tracker.user?.id == "user 19")
      #expect(try tracker.events().count { $0.association != nil } == 20)
    }
  }

  @Test func `events without a user are kept evenly`() throws {
    let rules = [
      SamplingRule(Checkout.self, rate: 0.25), SamplingRule(Visit.self, rate: 0.25),
      SamplingRule("dynamic", rate: 0.25),
    ]
    try withTracker(rules) { tracker in
      for track in [
        { tracker.track(Checkout.started(cart: 1)) }, { tracker.track(Visit.opened) }, { tracker.track("dynamic") },
      ] as [() -> Receipt] {
        let kept = (0..<4_000).count { _ in track().isAccepted }
        // Ten standard deviations, of an even choice; what is chosen differs from opening to opening.
        #expect((730...1_270).contains(kept), "\(kept)")
      }
    }
  }

  @Test func `the first rule counts`() throws {
    try withTracker([
      SamplingRule("checkout.completed", rate: 1), SamplingRule(Checkout.self, rate: 0),
      SamplingRule("checkout.started", rate: 1), SamplingRule("Visit.plan", rate: 0), SamplingRule("login", rate: 0),
    ]) { tracker in
      let completed = Checkout.completed(order: 1, total: 2, items: 3, coupon: "")
      for _ in 0..<3 {
        #expect(tracker.track(completed).isAccepted)
        #expect(tracker.track(Checkout.started(cart: 1)) == .dropped(.sampled))
        #expect(tracker.track(Visit.opened).isAccepted)
        #expect(tracker.track(Visit.plan(plan: .free)) == .dropped(.sampled))
        #expect(tracker.track(Login(user: "x", attempts: 1)) == .dropped(.sampled))
        #expect(tracker.track("other").isAccepted)
        #expect(tracker.track(Single(1)).isAccepted)
      }
      #expect(tracker.counters.dropped == [.sampled: 9])
      #expect(tracker.lastDefinitionError == nil)
    }
  }

  @Test func `the events that were left out are in the log's statistics`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(
        directory: directory, configuration: quiet { $0.sampling = [SamplingRule("dynamic", rate: 0)] })
      for _ in 0..<10 { #expect(tracker.track("dynamic") == .dropped(.sampled)) }
      #expect(tracker.track("other").isAccepted)
      #expect(tracker.track(contentsOf: [Checkout.started(cart: 1)]).accepted == 1)
      try tracker.close()
      let statistics = try LogDirectory(directory).statistics()
      #expect(statistics.dropped == [.sampled: 10])
      #expect(statistics.events == 2)
    }
  }

  /// An encoder that disagrees with its declaration is found although its type is sampled.
  @Test func `misuse is found in an event that is left out, too`() throws {
    try withTracker([SamplingRule(Loose.self, rate: 1)]) { tracker in
      // Closures within macros and beside them may get one name, and then are one: so none is within.
      let receipts = [
        Loose { $0.begin(2) },
        Loose {
          $0.begin(0)
          $0.put("no integer")
        },
        Loose { _ in },
        Loose { $0.begin(3) },
      ].map { tracker.track($0) }
      #expect(receipts.map(\.isAccepted) == [true, false, false, false])
      #expect(tracker.counters.dropped == [.invalid: 3])
      #expect(tracker.lastDefinitionError != nil)
      #expect(tracker.track(Single(String(repeating: "x", count: 80_000))) == .dropped(.tooLarge))
    }
  }

  @Test func `each event of a type that many threads sample is counted`() throws {
    try withTracker([SamplingRule(Checkout.self, rate: 0.5)]) { tracker in
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for number in 0..<2_000 as Range<UInt64> { tracker.track(Checkout.started(cart: number)) }
      }
      let counters = tracker.counters
      #expect(counters.accepted + (counters.dropped[.sampled] ?? 0) == 16_000)
      #expect((7_000...9_000).contains(counters.accepted))
    }
  }

  @Test(arguments: [-0.01, 1.01, .nan, .infinity, -.infinity])
  func `a rate out of range is refused`(rate: Double) throws {
    let error = #expect(throws: WeirError.self) {
      try withTracker([SamplingRule("a", rate: 0.5), SamplingRule("b", rate: rate)]) { _ in }
    }
    #expect(error?.code == .invalid)
  }
}
