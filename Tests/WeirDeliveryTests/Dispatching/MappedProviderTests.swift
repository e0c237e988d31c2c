// MappedProvider: what one provider's events get, which are for it, and that the ledger says no more than is true.

import Dispatch
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct MappedProviderTests {
  private func prepared(
    _ provider: any Provider, _ capture: (Tracker) -> Void
  ) throws -> [PreparedEvent] {
    try withDirectory { directory throws in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      capture(tracker)
      var preparation = Preparation(mapper: provider.attachedMapper)
      return try tracker.events().compactMap { preparation.prepare($0) }
    }
  }

  private let provider = ScriptedProvider(name: "scripted")

  @Test func `events stay as they are where there is nothing to do`() throws {
    let found = try prepared(provider.mapped(by: EventMapper())) { tracker in
      tracker.track(Checkout.started(cart: 7))
      tracker.track("dynamic", fields: ["a": 1])
    }
    #expect(found.map(\.name) == ["checkout.started", "dynamic"])
    #expect(found.map(\.fields) == [["cart": .uint(7)], ["a": 1]])
  }

  @Test func `fields are added to each event`() throws {
    let mapper = EventMapper(
      .adding("count") { .int(Int64($0.fields.count)) },
      .adding(["channel": "web", "a": "never in place of the event's own"]),
      .adding("plan") { $0.context.user?.traits["plan"] },
      .adding("plan") { _ in "second" },
      .adding("secret") { $0.fields["secret"] ?? $0.context.user?.traits["secret"] })
    let found = try prepared(provider.mapped(by: mapper)) { tracker in
      Bindings.with(user: "ada", traits: ["plan": "paid", "secret": "x"], sensitive: ["secret"]) {
        _ = tracker.track("e", fields: ["a": 1])
      }
      tracker.track("e", fields: [:])
    }
    #expect(found[0].fields == ["a": 1, "count": 1, "channel": "web", "plan": "paid", "secret": .redacted])
    #expect(
      found[1].fields == ["count": 0, "channel": "web", "a": "never in place of the event's own", "plan": "second"])
  }

  @Test func `only events of the given types are delivered`() throws {
    func names(_ mapper: EventMapper) throws -> [String] {
      try prepared(provider.mapped(by: mapper)) { tracker in
        tracker.track(Checkout.started(cart: 1))
        tracker.track(Visit.opened)
        tracker.track(Visit.plan(plan: .paid))
        tracker.track(Login(user: "ada", attempts: 1))
        tracker.track("login.else")
      }.map(\.name)
    }
    #expect(try names(.only(Visit.self)) == ["Visit.opened", "Visit.plan"])
    #expect(try names(.only(Login.self, Checkout.self)) == ["checkout.started", "login"])
  }

  /// What was replaced, because it is sensitive, does not make an event another type's.
  @Test func `an event with a sensitive field stays of its type`() throws {
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
    let found = try prepared(provider.mapped(by: .only(Payment.self))) { tracker in
      tracker.track(Payment())
      tracker.track("other")
    }
    #expect(found.map(\.fields) == [["amount": .redacted]])
  }

  @Test func `of two mappers the one that was attached last goes first`() throws {
    let inner = provider.mapped(by: EventMapper(.only { $0.name != "dropped" }, .adding(["a_b": "inner", "c_d": 1])))
    let outer = inner.mapped(by: EventMapper(.snakeCase(), .renaming(events: ["gone": "dropped"])))
    #expect(outer.name == "scripted")
    let found = try prepared(outer) { tracker in
      tracker.track("kept", fields: ["aB": 0])
      tracker.track("gone")
    }
    #expect(found.map(\.name) == ["kept"])
    #expect(found[0].fields == ["a_b": 0, "c_d": 1])
  }

  /// What is not for a provider it does not acknowledge, and another provider gets it.
  @Test func `the ledger tells the truth`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let all = ScriptedProvider(name: "all")
      let some = ScriptedProvider(name: "some")
      try stage.dispatcher.add(all)
      try stage.dispatcher.add(some.mapped(by: EventMapper(.only(Checkout.self), .adding(["channel": "web"]))))
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

  /// The end of a backlog may be minutes away: meanwhile orders are taken, and the cursor moves.
  @Test func `a backlog that is not for the provider holds nothing else up`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(110_000)
      let seen = Atomic<Int>(0)
      let gate = DispatchSemaphore(value: 0)
      let mapper = EventMapper(
        .only { _ in
          if seen.wrappingAdd(1, ordering: .relaxed).newValue == 105_000 { gate.wait() }
          return false
        })
      try stage.dispatcher.add(ScriptedProvider().mapped(by: mapper))
      #expect(await eventually { stage.entry().lost[.withheld] ?? 0 >= 100_000 })
      gate.signal()
      #expect(await stage.run { stage.entry().lost == [.withheld: 110_000] })
      try await stage.close()
    }
  }

  @Test func `the default user is told as the mapper makes it`() async throws {
    let ada = EventUser(id: "ada", traits: ["ip": "203.0.113.77"])
    let cases: [(EventMapper, ScriptedProvider.Call)] = [
      (.shorteningAddresses(in: "ip"), .associate(EventUser(id: "p-ada", traits: ["ip": "203.0.113.0"]))),
      (.only(events: "checkout.*"), .associate(EventUser(id: "p-ada"))),
      (
        EventMapper { event in
          var event = event
          event.context.user = nil
          return event
        }, .disassociate
      ),
    ]
    for (mapper, expected) in cases {
      try await withDirectoryAsync { directory in
        let stage = try DeliveryStage(directory)
        let provider = ScriptedProvider()
        var options = DeliveryOptions()
        options.pseudonym = Pseudonym(fingerprint: "p") { "p-\($0)" }
        try stage.dispatcher.add(provider.mapped(by: mapper), options: options)
        try stage.tracker.associate(ada.id, traits: ada.traits)
        try stage.capture(1)
        #expect(await stage.run { stage.entry().offset == 2 })
        #expect(provider.calls.dropFirst().first == expected)
        try await stage.close()
      }
    }
  }

  @Test func `what the provider answers and throws is passed on as it is`() async throws {
    let events = try prepared(provider) { tracker in _ = tracker.track("e") }
    let some = ScriptedProvider(name: "some")
    some.then(.fail("no"), .refuseBatch("bad") { _ in true })
    let mapped = some.mapped(by: EventMapper())
    await #expect(throws: ScriptedProvider.Failure.self) { try await mapped.deliver([]) }
    await #expect(throws: BatchRefused("bad")) { try await mapped.deliver(events) }
  }
}
