// page: Sources/Weir/Weir.docc/Examples/SpiesInTests.md

// snippet
import Synchronization
import Testing
import Weir
import WeirAspects
import WeirDelivery
import WeirTesting

// end

// snippet
// The code under test: it takes the tracker that production uses, and no protocol is needed for its sake.
actor CheckoutService {
  private let tracker: Tracker
  private let clock: any Clock<Duration>
  private var orders: UInt64 = 0

  init(tracker: Tracker, clock: any Clock<Duration> = ContinuousClock()) {
    self.tracker = tracker
    self.clock = clock
  }

  func buy(cart: UInt64, total: Double) {
    tracker.track(Checkout.started(cart: cart))
    orders += 1
    tracker.track(Checkout.completed(order: orders, total: total, items: 1, currency: "EUR", coupon: nil))
  }

  /// A cart that is not bought within half an hour is abandoned.
  func watch(cart: UInt64) async throws {
    try await clock.sleep(for: .seconds(1800))
    tracker.track(Checkout.abandoned(cart: cart, seconds: 1800))
  }
}
// end

// snippet
@Suite struct CheckoutServiceTests {
  @Test func `buying completes the checkout`() async throws {
    let spy = try SpyTracker(contract: .shop)
    let service = CheckoutService(tracker: spy.tracker)

    await Bindings.with(user: "ada") {
      await service.buy(cart: 7, total: 19.90)
    }

    #expect(
      spy.events(of: Checkout.self) == [
        .started(cart: 7), .completed(order: 1, total: 19.90, items: 1, currency: "EUR", coupon: nil),
      ])
    #expect(spy.recorded(of: Checkout.self).allSatisfy { $0.context.user?.id == "ada" })
    #expect(spy.violations == [])
    #expect(spy.failures == [])
  }

  @Test func `a cart is abandoned after half an hour`() async throws {
    let spy = try SpyTracker()
    let clock = VirtualClock()
    let service = CheckoutService(tracker: spy.tracker, clock: clock)

    let watching = Task { try await service.watch(cart: 7) }
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1799))
    #expect(spy.events(of: Checkout.self) == [])
    clock.advance(by: .seconds(1))
    try await watching.value

    #expect(spy.events(of: Checkout.self) == [.abandoned(cart: 7, seconds: 1800)])
  }
}
// end

// snippet
final class Till: Sendable {
  static let take = JoinPoint<Till, (amount: Int, ()), Int>("Till.take(_:)")

  func take(_ amount: Int) -> Int { withJoinPoint(Self.take, self, (amount: amount, ())) { amount } }
}

// Twenty tests beside each other, each with a hook on the whole class.
@Test(arguments: 1...20) func `a hook hears what the till took`(amount: Int) async {
  await withTaskLocalHooks {
    let heard = Mutex<[Int]>([])
    let hook = Till.take.after(.everything) { _, call, _ in heard.withLock { $0.append(call.amount) } }
    async let first = Till().take(amount)
    _ = await (first, Till().take(amount))
    hook.detach()
    #expect(heard.withLock { $0 } == [amount, amount])
  }
}
// end

// snippet
@Test(.enabled(if: FailingDisk.isAvailable)) func `buying goes on while the disk is full`() async throws {
  let disk = try FailingDisk()
  let spy = try SpyTracker(on: disk)
  let service = CheckoutService(tracker: spy.tracker)

  disk.fill()
  for cart in 1...100 { await service.buy(cart: UInt64(cart), total: 5) }
  disk.mend()

  #expect(spy.events(of: Checkout.self).count == 200)
  #expect(spy.dropped == [:])
}
// end

// snippet
// A provider of the shop's own, and the suite that every provider has to pass.
actor Mailbox: Provider {
  nonisolated let name = "mailbox"
  private var order: [EventID] = []
  private var fields: [EventID: FieldObject] = [:]

  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    events.map { event in
      guard event.name != "spam" else { return .rejected("spam") }
      let id = event.stored.id
      if fields.updateValue(event.fields, forKey: id) == nil { order.append(id) }
      return .accepted
    }
  }

  var contents: [ProviderConformance.Entry] { order.map { .event($0, fields: fields[$0]) } }
}

@Test func `the mailbox keeps to the protocol`() async throws {
  let mailbox = Mailbox()
  try await ProviderConformance.check(
    unacceptable: ("spam", [:]),
    makeProvider: { mailbox },
    delivered: { await $0.contents })
}
// end

// snippet
// What delivers is tested with a provider that answers as the test says.
@Test func `a rejected event is told apart`() async throws {
  let spy = try SpyTracker()
  spy.tracker.track(Checkout.started(cart: 1))
  spy.tracker.track("spam")
  let provider = ScriptedProvider(answers: [
    .fail("503"),
    .each { $0.name == "spam" ? .rejected("unknown event") : .accepted },
  ])

  let batch = spy.prepared()
  await #expect(throws: ScriptedProvider.Failure("503")) { try await provider.deliver(batch) }
  #expect(try await provider.deliver(batch) == [.accepted, .rejected("unknown event")])
  #expect(provider.delivered.map(\.name) == ["checkout.started"])
}
// end
