// When waiting events are due: each trigger alone, all of them together, and what a flush covers.

import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct FlushPlanTests {
  private func plan(_ triggers: FlushPolicy.Triggers, _ change: (inout FlushPolicy) -> Void = { _ in }) -> FlushPlan {
    var policy = FlushPolicy(triggers)
    policy.queueLimit = 10
    policy.deliverySize = 1000
    policy.interval = .seconds(5)
    policy.firstEvents = 0
    policy.idleAfter = .seconds(2)
    policy.maximumEvents = 100
    policy.maximumBytes = 10_000
    change(&policy)
    return FlushPlan(policy)
  }

  @Test func `a flush is due at a count`() {
    var plan = plan(.count)
    for number in 1...10 {
      #expect(plan.due(at: .seconds(1000)) == nil)
      #expect(plan.nextLook(after: .seconds(1000)) == nil)
      plan.arrived(bytes: 1, opening: 1, at: .seconds(number))
    }
    #expect(plan.due(at: .seconds(10)) == .count)
    #expect(plan.nextLook(after: .seconds(10)) == .seconds(10))
  }

  @Test func `a flush is due at a byte size`() {
    var plan = plan(.bytes)
    plan.arrived(bytes: 999, opening: 1, at: .zero)
    #expect(plan.due(at: .seconds(1000)) == nil)
    plan.arrived(bytes: 1, opening: 1, at: .zero)
    #expect(plan.due(at: .zero) == .bytes)
  }

  @Test func `a flush is due every interval, counted from the oldest event`() {
    var plan = plan(.interval)
    #expect(plan.nextLook(after: .seconds(100)) == nil)
    plan.arrived(bytes: 1, opening: 1, at: .seconds(100))
    plan.arrived(bytes: 1, opening: 1, at: .seconds(103))
    #expect(plan.nextLook(after: .seconds(100)) == .seconds(105))
    #expect(plan.due(at: .seconds(105) - .nanoseconds(1)) == nil)
    plan.reachedEnd()
    #expect(plan.due(at: .seconds(105)) == .interval)
    plan.left(events: 1)
    // The flush covers what waited when it became due, and no more.
    plan.arrived(bytes: 1, opening: 1, at: .seconds(105))
    #expect(plan.due(at: .seconds(105)) == .interval)
    plan.left(events: 1)
    #expect(plan.due(at: .seconds(105)) == nil)
    #expect(plan.nextLook(after: .seconds(105)) == .seconds(110))
    #expect(plan.due(at: .seconds(110)) == .interval)
  }

  @Test func `a flush is due when nothing new came for a while`() {
    var plan = plan(.idle)
    plan.arrived(bytes: 1, opening: 1, at: .seconds(1))
    #expect(plan.nextLook(after: .seconds(1)) == .seconds(3))
    plan.arrived(bytes: 1, opening: 1, at: .seconds(2))
    #expect(plan.due(at: .seconds(3)) == nil)
    #expect(plan.nextLook(after: .seconds(3)) == .seconds(4))
    #expect(plan.due(at: .seconds(4)) == .idle)
  }

  @Test func `a flush is due at each of the first events of an opening`() {
    var plan = plan(.firstEvents) { $0.firstEvents = 2 }
    for opening in [7, 8] as [UInt64] {
      for number in 1...4 {
        plan.arrived(bytes: 1, opening: opening, at: .zero)
        plan.reachedEnd()
        #expect(plan.due(at: .seconds(1000)) == (number <= 2 ? .firstEvents : nil))
        if number <= 2 { plan.left(events: 1) }
      }
      plan.left(events: 2)
    }
    // Those that are left are among the first still.
    for _ in 0..<2 { plan.arrived(bytes: 1, opening: 9, at: .zero) }
    plan.left(events: 1)
    #expect(plan.due(at: .zero) == .firstEvents)
  }

  @Test(arguments: [FlushPolicy.Triggers.start, .resume, .reachable, .overflow, .shutdown, .demand])
  func `a flush is due on a signal`(_ trigger: FlushPolicy.Triggers) {
    var plan = plan(trigger)
    plan.arrived(bytes: 1, opening: 1, at: .zero)
    plan.reachedEnd()
    plan.signal(FlushPolicy.Triggers.signals.subtracting(trigger))
    #expect(plan.due(at: .seconds(1000)) == nil)
    #expect(plan.nextLook(after: .seconds(1000)) == nil)
    plan.signal(trigger)
    #expect(plan.due(at: .seconds(1)) == trigger)
    // What is read before the log's end was there when the signal came.
    plan.arrived(bytes: 1, opening: 1, at: .seconds(1))
    plan.left(events: 2)
    #expect(plan.due(at: .seconds(1)) == nil)
    plan.arrived(bytes: 1, opening: 1, at: .seconds(1))
    #expect(plan.due(at: .seconds(1)) == trigger)
    plan.reachedEnd()
    plan.arrived(bytes: 1, opening: 1, at: .seconds(2))
    #expect(plan.due(at: .seconds(2)) == trigger)
    plan.left(events: 1)
    #expect(plan.due(at: .seconds(1000)) == nil)
  }

  @Test func `a signal that nothing waits for is over at the log's end`() {
    var plan = plan(.demand)
    plan.signal(.demand)
    #expect(plan.due(at: .zero) == nil)
    #expect(plan.nextLook(after: .zero) == nil)
    plan.reachedEnd()
    plan.arrived(bytes: 1, opening: 1, at: .zero)
    #expect(plan.due(at: .seconds(1000)) == nil)
  }

  @Test func `a set of triggers answers what each of them does alone`() {
    let each = (0..<12).map { FlushPolicy.Triggers(rawValue: 1 << $0) }
    let seed = testSeed()
    print("FlushPlanTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for raw in 0..<UInt32(1 << 12) {
      let set = FlushPolicy.Triggers(rawValue: raw)
      var all = plan(set) { $0.firstEvents = 1 }
      var alone = each.map { trigger in plan(trigger) { $0.firstEvents = 1 } }
      let events = Int.random(in: 0...12, using: &random)
      let size = Int.random(in: 0...120, using: &random)
      let signals = FlushPolicy.Triggers(rawValue: .random(in: 0..<1 << 12, using: &random))
      let now = Duration.seconds(Int.random(in: 0...6, using: &random))
      func prepare(_ plan: inout FlushPlan) {
        for number in 0..<events { plan.arrived(bytes: size, opening: UInt64(number / 6), at: .zero) }
        plan.reachedEnd()
        plan.signal(signals)
      }
      prepare(&all)
      var expected: FlushPolicy.Triggers = []
      for index in alone.indices where set.contains(each[index]) {
        prepare(&alone[index])
        expected.formUnion(alone[index].due(at: now) ?? [])
      }
      #expect((all.due(at: now) ?? []) == expected, "\(set), \(events) events of \(size) bytes at \(now)")
    }
  }

  @Test func `a flush goes on through all that waits in the log`() {
    var plan = plan(.interval) { $0.maximumEvents = 10 }
    // Twenty-five wait in the log: ten are read, and go out when they are old enough; then the others at once.
    for _ in 0..<10 { plan.arrived(bytes: 1, opening: 1, at: .zero) }
    #expect(plan.isFull)
    #expect(plan.due(at: .seconds(4)) == nil)
    #expect(plan.due(at: .seconds(5)) == .interval)
    for rest in [10, 5] {
      plan.left(events: 10)
      #expect(!plan.isFull)
      for _ in 0..<rest { plan.arrived(bytes: 1, opening: 1, at: .seconds(5)) }
      if rest == 5 { plan.reachedEnd() }
      #expect(plan.due(at: .seconds(5)) == .interval)
    }
    plan.arrived(bytes: 1, opening: 1, at: .seconds(5))
    plan.left(events: 5)
    #expect(plan.due(at: .seconds(5)) == nil)
  }

  @Test func `events that fill a call go out, whichever limit the policy goes by`() {
    for triggers in [.count, .bytes] as [FlushPolicy.Triggers] {
      var byEvents = plan(triggers) {
        $0.queueLimit = 1000
        $0.deliverySize = 100_000
      }
      for _ in 0..<99 { byEvents.arrived(bytes: 1, opening: 1, at: .zero) }
      #expect(byEvents.due(at: .zero) == nil)
      byEvents.arrived(bytes: 1, opening: 1, at: .zero)
      #expect(byEvents.due(at: .zero) == triggers)
      var byBytes = plan(triggers) {
        $0.queueLimit = 1000
        $0.deliverySize = 100_000
      }
      byBytes.arrived(bytes: 10_000, opening: 1, at: .zero)
      #expect(byBytes.due(at: .zero) == triggers)
    }
    var neither = plan(.demand)
    for _ in 0..<200 { neither.arrived(bytes: 1000, opening: 1, at: .zero) }
    #expect(neither.due(at: .seconds(1000)) == nil)
  }

  @Test func `a call has at most so many events and bytes, and at least one event`() {
    var plan = plan(.demand)
    #expect(plan.nextCall == 0)
    plan.arrived(bytes: 20_000, opening: 1, at: .zero)
    #expect(plan.nextCall == 1)
    for _ in 0..<3 { plan.arrived(bytes: 4_000, opening: 1, at: .zero) }
    #expect(plan.nextCall == 1)
    plan.left(events: 1)
    #expect(plan.nextCall == 2)
    plan.left(events: 3)
    for _ in 0..<150 { plan.arrived(bytes: 0, opening: 1, at: .zero) }
    #expect(plan.nextCall == 100)
  }

  @Test func `no event of a random course goes without a reason, or stays with one`() {
    let seed = testSeed()
    print("FlushPlanTests.random: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    for _ in 0..<300 {
      var policy = FlushPolicy([.count, .interval])
      policy.queueLimit = .random(in: 1...20, using: &random)
      policy.maximumEvents = .random(in: 1...20, using: &random)
      policy.interval = .seconds(Int.random(in: 0...5, using: &random))
      let limit = min(policy.queueLimit, policy.maximumEvents)
      var plan = FlushPlan(policy)
      /// When each event came that waits in the log, and of those that are held.
      var unread: [Int] = []
      var held: [Int] = []
      for now in 0..<200 {
        let comes = Int.random(in: 0...1, using: &random) * .random(in: 0...30, using: &random)
        unread += Array(repeating: now, count: comes)
        while true {
          while !plan.isFull, !unread.isEmpty {
            held.append(unread.removeFirst())
            plan.arrived(bytes: 1, opening: 1, at: .seconds(now))
          }
          if unread.isEmpty { plan.reachedEnd() }
          #expect(plan.events == held.count)
          #expect(plan.events <= policy.maximumEvents)
          guard plan.due(at: .seconds(now)) != nil else { break }
          let count = plan.nextCall
          #expect(count > 0)
          #expect(count <= policy.maximumEvents)
          held.removeFirst(count)
          plan.left(events: count)
        }
        // All that could be read was, and none of it has a reason to go.
        #expect(unread.isEmpty)
        #expect(held.count < limit)
        if let oldest = held.first {
          #expect(Duration.seconds(now - oldest) < policy.interval)
          #expect(plan.nextLook(after: .seconds(now)) == .seconds(oldest) + policy.interval)
        }
      }
    }
  }
}
