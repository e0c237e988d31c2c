// Who a user is to a provider that gets pseudonyms, and what remains of addresses.

import TestSupport
import Testing
import Weir
import WeirTesting

@testable import WeirDelivery

struct PseudonymTests {
  private let pseudonym = Pseudonym(fingerprint: "test") { "p-" + String($0.reversed()) }

  @Test func `events and changes of the user name the pseudonym alone`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.pseudonym = pseudonym
      let mapper = EventMapper(
        .deriving(["derived": .text("user {context.user.id}")]),
        .adding("seen") { $0.context.user.map { .string($0.id) } })
      try stage.dispatcher.add(provider.mapped(by: mapper), options: options)
      try stage.tracker.associate("ann", traits: ["plan": "free"])
      try stage.capture(1)
      try Bindings.with(user: "bob") { _ = try stage.capture(1, from: 1) }
      try Bindings.with(user: nil) { _ = try stage.capture(1, from: 2) }
      try Bindings.with(user: "") { _ = try stage.capture(1, from: 3) }
      #expect(await stage.run { stage.entry().offset == 5 })
      let ann = EventUser(id: "p-nna", traits: ["plan": "free"])
      #expect(provider.calls.contains(.associate(ann)))
      #expect(provider.calls.contains(.identify(ann)))
      #expect(provider.delivered.map { $0.context.user?.id } == ["p-nna", "p-bob", nil, ""])
      #expect(provider.delivered.map { $0.stored.context.user?.id } == ["p-nna", "p-bob", nil, ""])
      #expect(provider.delivered[0].fields["seen"] == "p-nna")
      #expect(provider.delivered[0].fields["derived"] == "user p-nna")
      try await stage.close()
      // Whoever delivers in the provider's name must give the same pseudonyms.
      var entry = DeliveryPlan.Entry("scripted", options: options, mapper: mapper)
      #expect(throws: Never.self) { try entry.checkRecorded(in: directory) }
      entry.options.pseudonym = nil
      #expect(throws: WeirError.self) { try entry.checkRecorded(in: directory) }
    }
  }

  @Test func `a dead letter has the true id, and a redrive gives the same pseudonym`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.reject("no")])
      var options = DeliveryOptions()
      options.pseudonym = pseudonym
      try stage.dispatcher.add(provider, options: options)
      try Bindings.with(user: "ann") { _ = try stage.capture(1) }
      #expect(await stage.run { stage.entry().offset == 1 })
      let letters = try LogDirectory(directory).deadLetters(of: "scripted")
      #expect(letters.map { $0.event.context.user?.id } == ["ann"])
      var preparation = Preparation(options)
      #expect(letters.compactMap { preparation.prepare($0.event)?.context.user?.id } == ["p-nna"])
      try await stage.close()
    }
  }

  @Test func `a sample has the same users with and without pseudonyms, and an event does not show them`() throws {
    let mapper = EventMapper.sampling(events: "*", fraction: 0.5)
    var options = DeliveryOptions()
    var plain = Preparation(options, mapper: mapper)
    options.pseudonym = pseudonym
    var hidden = Preparation(options, mapper: mapper)
    var kept = 0
    for number in 0..<200 {
      let user = EventUser(id: "user-\(number)")
      let stored = StoredEvent(
        offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: "e",
        fields: [:], context: EventContext(user: user))
      let event = hidden.prepare(stored)
      #expect((event == nil) == (plain.prepare(stored) == nil))
      #expect((hidden.prepare(user) == nil) == (event == nil))
      guard let event else { continue }
      kept += 1
      var dumped = ""
      dump(event, to: &dumped)
      #expect(![dumped, "\(event)", String(reflecting: event)].contains { $0.contains(user.id) })
    }
    #expect((50...150).contains(kept))
  }

  @Test func `a default user goes through the mapper, as the users of events do`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider.mapped(by: .shorteningAddresses(in: "ip")))
      try stage.tracker.associate("ann", traits: ["ip": "203.0.113.77"])
      try stage.capture(1)
      #expect(await stage.run { stage.entry().offset == 2 })
      #expect(provider.calls.contains(.identify(EventUser(id: "ann", traits: ["ip": "203.0.113.0"]))))
      #expect(provider.delivered.map(\.identifies) == [false])
      try await stage.close()
    }
  }

  @Test(arguments: [
    ("203.0.113.77", "203.0.113.0"), ("255.255.255.255", "255.255.255.0"), ("2001:db8:1:2:3::7", "2001:db8:1::"),
    ("::ffff:203.0.113.77", "::ffff:203.0.113.0"), ("::1", "::"), ("localhost", "[redacted]"),
    ("203.0.113", "[redacted]"), ("", "[redacted]"), ("fe80::1%eth0", "[redacted]"),
  ])
  func `addresses lose what tells one host from another`(_ text: String, _ expected: String) throws {
    let stored = StoredEvent(
      offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: "e",
      fields: ["ip": .string(text), "n": 1], declaration: nil,
      context: EventContext(
        globals: ["ip": .string(text)], user: EventUser(id: "u", traits: ["ip": .string(text)]),
        fields: ["ip": .string(text), "other": .string(text)]))
    let event = try #require(EventMapper.shorteningAddresses(in: "ip", "n")(PreparedEvent(stored)))
    let short = FieldValue.string(expected)
    let values = [
      event.fields["ip"], event.context.globals["ip"], event.context.fields["ip"], event.context.user?.traits["ip"],
    ]
    #expect(values.allSatisfy { $0 == (expected == "[redacted]" ? .redacted : short) })
    #expect(event.context.fields["other"] == .string(text))
    #expect(event.fields["n"] == 1)
  }

  @Test func `addresses are shortened however deep they are`() throws {
    func fields(_ address: FieldValue) -> FieldObject {
      [
        "client": ["ip": address, "port": 1], "hops": [["ip": address], ["via": ["ip": address]], 2],
        "ip": [address, [address], ["ip": address], 3], "list": [[["ip": address]]],
      ]
    }
    func event(_ fields: FieldObject) -> StoredEvent {
      StoredEvent(
        offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: "e",
        fields: fields, context: EventContext(globals: fields, user: EventUser(id: "u", traits: fields), fields: fields)
      )
    }
    let full = PreparedEvent(event(fields("203.0.113.77")))
    let mapped = try #require(EventMapper.shorteningAddresses(in: "ip")(full))
    let short = event(fields("203.0.113.0"))
    #expect(mapped.fields == short.fields)
    #expect(mapped.context == short.context)
    let untouched: FieldObject = ["a": ["b": "203.0.113.77"], "c": ["203.0.113.77"]]
    #expect(EventMapper.shorteningAddresses(in: "ip")(PreparedEvent(event(untouched)))?.fields == untouched)
  }
}
