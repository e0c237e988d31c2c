// ProviderDispatcher: what one provider's events get, which are for it, and that the ledger says no more than is true.

import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct ProviderDispatcherTests {
  private func prepared(
    _ provider: any Provider, _ capture: (Tracker) -> Void
  ) throws -> [PreparedEvent] {
    try withDirectory { directory throws in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      capture(tracker)
      var preparation = Preparation()
      return try tracker.events().compactMap { preparation.prepare($0) }.compactMap { provider.mapper($0) }
    }
  }

  private let destination = ScriptedProvider(name: "scripted")

  @Test func `events stay as they are where there is nothing to do`() throws {
    let found = try prepared(ProviderDispatcher(to: destination)) { tracker in
      tracker.track(Checkout.started(cart: 7))
      tracker.track("dynamic", fields: ["a": 1])
    }
    #expect(found.map(\.name) == ["checkout.started", "dynamic"])
    #expect(found.map(\.fields) == [["cart": .uint(7)], ["a": 1]])
  }

  @Test func `generic fields are added to each event`() throws {
    let dispatcher = ProviderDispatcher(
      to: destination,
      fields: [
        GenericField("channel", "web"), GenericField("a", "never in place of the event's own"),
        GenericField("plan") { $0.context.user?.traits["plan"] },
        GenericField("plan") { _ in "second" },
        GenericField("count") { .int(Int64($0.fields.count)) },
        GenericField("secret") { $0.fields["secret"] ?? $0.context.user?.traits["secret"] },
      ])
    let found = try prepared(dispatcher) { tracker in
      Bindings.with(user: "ada", traits: ["plan": "paid", "secret": "x"], sensitive: ["secret"]) {
        _ = tracker.track("e", fields: ["a": 1])
      }
      tracker.track("e", fields: [:])
    }
    #expect(found[0].fields == ["a": 1, "channel": "web", "plan": "paid", "count": 1, "secret": .redacted])
    #expect(
      found[1].fields == ["channel": "web", "a": "never in place of the event's own", "plan": "second", "count": 0])
  }

  @Test func `only events of the given types are delivered`() throws {
    func names(_ types: [any Event.Type]?) throws -> [String] {
      try prepared(ProviderDispatcher(to: destination, only: types)) { tracker in
        tracker.track(Checkout.started(cart: 1))
        tracker.track(Visit.opened)
        tracker.track(Visit.plan(plan: .paid))
        tracker.track(Login(user: "ada", attempts: 1))
        tracker.track("login.else")
      }.map(\.name)
    }
    let all = ["checkout.started", "Visit.opened", "Visit.plan", "login", "login.else"]
    #expect(try names(nil) == all)
    #expect(try names([]) == [])
    #expect(try names([Visit.self]) == ["Visit.opened", "Visit.plan"])
    #expect(try names([Login.self, Checkout.self]) == ["checkout.started", "login"])
  }

  /// What was replaced, because it is sensitive, does not make an event another type's.
  @Test func `a sensitive field stays of its type`() throws {
    struct Payment: Event {
      static let eventTypes = [EventType("payment", [Field("amount", .double, sensitive: true)])]
      init() {}
      func encode(into encoder: inout EventEncoder) {
        encoder.begin(0)
        encoder.put(1.5)
      }
      init?(_ stored: StoredEvent) throws {
        guard stored.index(in: Self.eventTypes) == 0 else { return nil }
        let _: Double = try stored["amount"]
      }
    }
    let found = try prepared(ProviderDispatcher(to: destination, only: [Payment.self])) { tracker in
      tracker.track(Payment())
      tracker.track("other")
    }
    #expect(found.map(\.fields) == [["amount": .redacted]])
  }

  /// The outer one first, then the inner one, then the provider's own; each field goes through the mappers after it.
  @Test func `a dispatcher around another goes first`() throws {
    struct Own: Provider {
      let name = "own"
      var mapper: EventMapper { .prefixEvents("own:") }
      func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { events.map { _ in .accepted } }
    }
    let inner = ProviderDispatcher(
      to: Own(), fields: [GenericField("innerField", 1), GenericField("outer_field", 2)],
      mapper: EventMapper { $0.name != "dropped" })
    let outer = ProviderDispatcher(
      to: inner, fields: [GenericField("outerField", 3)],
      mapper: EventMapper(.snakeCase(), .renameEvents(["gone": "dropped"])))
    #expect(outer.name == "own")
    let found = try prepared(outer) { tracker in
      tracker.track("kept", fields: ["someField": 0])
      tracker.track("gone")
    }
    #expect(found.map(\.name) == ["own:kept"])
    #expect(found[0].fields == ["some_field": 0, "outer_field": 3, "innerField": 1])
  }

  /// What is not for a provider it does not acknowledge, and another provider gets it.
  @Test func `the ledger tells the truth`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let all = ScriptedProvider(name: "all")
      let some = ScriptedProvider(name: "some")
      try stage.dispatcher.add(all)
      try stage.dispatcher.add(
        ProviderDispatcher(to: some, only: [Checkout.self], fields: [GenericField("channel", "web")]))
      for number in 0..<10 {
        stage.tracker.track(Checkout.started(cart: UInt64(number)))
        stage.tracker.track("not for it")
      }
      try stage.tracker.associate("ada")
      try stage.tracker.drain()
      #expect(await stage.run { stage.entry("all").pending == 0 && stage.entry("some").pending == 0 })
      #expect(all.delivered.count == 20)
      #expect(some.delivered.count == 10)
      #expect(some.delivered.allSatisfy { $0.fields["channel"] == "web" })
      #expect(some.calls.contains(.associate(EventUser(id: "ada"))))
      #expect(some.calls.contains(.setup))
      let entry = stage.entry("some")
      #expect(entry.accepted == 21)
      #expect(entry.acknowledged == 11)
      #expect(entry.lost == [.withheld: 10])
      #expect(entry.isBalanced)
      #expect(stage.entry("all").acknowledged == 21)
      try await stage.close()
      #expect(some.calls.last == .shutdown)
    }
  }

  @Test func `a dispatcher keeps to the protocol of a provider`() async throws {
    let events = try prepared(destination) { tracker in _ = tracker.track("e") }
    // What the other provider answers and throws is passed on as it is.
    let some = ScriptedProvider(name: "some")
    some.then(.fail("no"), .refuseBatch("bad") { _ in true })
    let dispatcher = ProviderDispatcher(to: some)
    await #expect(throws: ScriptedProvider.Failure.self) { try await dispatcher.deliver([]) }
    await #expect(throws: BatchRefused("bad")) { try await dispatcher.deliver(events) }
  }
}
