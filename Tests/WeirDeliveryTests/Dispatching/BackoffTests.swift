// What is waited after failures, and when a provider is left alone.

import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct BackoffTests {
  private func backoff(_ least: Duration, _ most: Duration) -> BackoffState {
    var backoff = DeliveryOptions.Backoff()
    backoff.least = least
    backoff.most = most
    return BackoffState(backoff)
  }

  @Test func `the bound doubles with each failure, up to the most`() {
    var state = backoff(.milliseconds(500), .seconds(5))
    let bounds: [Duration] = (0..<8).map { _ in state.failed(random: 1) }
    #expect(bounds == [0.5, 1, 2, 4, 5, 5, 5, 5].map { Duration.seconds($0) })
    state.succeeded()
    #expect(state.failures == 0)
    #expect(state.failed(random: 1) == .milliseconds(500))
  }

  @Test func `the wait is drawn from all of the bound`() {
    var state = backoff(.seconds(8), .seconds(300))
    #expect(state.failed(random: 0) == .zero)
    #expect(state.failed(random: 0.25) == .seconds(4))
    #expect(state.failed(random: 0.5) == .seconds(16))
  }

  @Test func `chance draws the wait unless a test says otherwise`() {
    let random = Dispatcher.Configuration().random
    let drawn = (0..<1000).map { _ in random() }
    #expect(drawn.allSatisfy { (0..<1).contains($0) })
    // That a quarter stays empty happens once in 10¹²⁴ times.
    #expect(Set(drawn.map { Int($0 * 4) }) == [0, 1, 2, 3])
  }

  @Test func `the provider's own time is the least wait, up to the most`() {
    var state = backoff(.seconds(1), .seconds(60))
    #expect(state.failed(retryAfter: .seconds(30), random: 0.5) == .seconds(30))
    #expect(state.failed(retryAfter: .seconds(1), random: 1) == .seconds(2))
    #expect(state.failed(retryAfter: .seconds(3600), random: 0) == .seconds(60))
    #expect(state.failed(retryAfter: .seconds(-5), random: 0) == .zero)
  }

  @Test func `extreme waits do not trap`() {
    var none = backoff(.zero, .zero)
    for _ in 0..<3 { #expect(none.failed(random: 1) == .zero) }
    var forever = backoff(.seconds(Int64.max), .seconds(Int64.max))
    for _ in 0..<3 { #expect(forever.failed(random: 1) == .nanoseconds(Int64.max)) }
    var odd = backoff(.seconds(1), .seconds(2))
    #expect(odd.failed(random: -1) == .zero)
    #expect(odd.failed(random: 7) == .seconds(2))
    var many = backoff(.nanoseconds(1), .seconds(Int64.max))
    for _ in 0..<1000 { _ = many.failed(random: 1) }
    #expect(many.failed(random: 1) == .nanoseconds(Int64.max))
  }
}

struct BreakerTests {
  private func breaker(
    failures: Int = 3, openFor: Duration = .seconds(10), most: Duration = .seconds(60)
  ) -> BreakerState {
    var backoff = DeliveryOptions.Backoff()
    backoff.failures = failures
    backoff.openFor = openFor
    backoff.probeEvents = 4
    backoff.most = most
    return BreakerState(backoff)
  }

  @Test func `failures in a row open the breaker`() {
    var state = breaker()
    state.failed(at: .zero)
    state.failed(at: .zero)
    #expect(state.succeeded() == false)
    for time in 1...2 {
      state.failed(at: .seconds(time))
      #expect(state.permission(at: .seconds(time)) == .everything)
    }
    state.failed(at: .seconds(3))
    #expect(state.phase == .open(until: .seconds(13)))
    #expect(state.permission(at: .seconds(13) - .nanoseconds(1)) == .nothing(until: .seconds(13)))
  }

  @Test func `a probe of a few events decides`() {
    var state = breaker(failures: 1)
    state.failed(at: .zero)
    #expect(state.permission(at: .seconds(10)) == .probe(events: 4))
    #expect(state.permission(at: .seconds(10)) == .probe(events: 4))
    #expect(state.succeeded() == true)
    #expect(state.permission(at: .seconds(10)) == .everything)
    #expect(state.succeeded() == false)
    // It begins anew with the first time.
    state.failed(at: .seconds(20))
    #expect(state.phase == .open(until: .seconds(30)))
  }

  @Test func `each failed probe doubles the time, up to the most`() {
    var state = breaker(failures: 1)
    var now = Duration.zero
    var times: [Duration] = []
    for _ in 0..<5 {
      state.failed(at: now)
      guard case .open(let until) = state.phase else { return #expect(Bool(false), "it is not open") }
      times.append(until - now)
      now = until
      #expect(state.permission(at: now) == .probe(events: 4))
    }
    #expect(times == [10, 20, 40, 60, 60].map { Duration.seconds($0) })
    #expect(state.succeeded() == true)
    state.failed(at: now)
    #expect(state.phase == .open(until: now + .seconds(10)))
  }

  @Test func `a failure of a try that began before the breaker opened changes nothing`() {
    var state = breaker(failures: 1)
    state.failed(at: .zero)
    state.failed(at: .seconds(5))
    #expect(state.phase == .open(until: .seconds(10)))
  }

  @Test func `extreme times of a breaker do not trap`() {
    var state = breaker(failures: 1, openFor: .seconds(Int64.max), most: .zero)
    state.failed(at: .seconds(1))
    #expect(state.permission(at: .seconds(1000)) == .nothing(until: .seconds(Int64.max) + .seconds(1)))
    var none = breaker(failures: 1, openFor: .zero, most: .zero)
    none.failed(at: .seconds(1))
    #expect(none.permission(at: .seconds(1)) == .probe(events: 4))
  }
}
