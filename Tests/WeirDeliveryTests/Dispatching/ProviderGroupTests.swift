// Several providers as one: when an event is accepted, and who gets it again.

import TestSupport
import Testing
import Weir
import WeirTesting

@testable import WeirDelivery

struct ProviderGroupTests {
  private typealias Answer = ScriptedProvider.Answer

  private func numbers(_ provider: ScriptedProvider) -> [Int64] { provider.numbers }

  /// Delivers four events to a group of two.
  private func deliver(
    _ one: ScriptedProvider, _ two: ScriptedProvider, mapper: EventMapper = EventMapper()
  ) async throws -> Ledger.Entry {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(4)  // before there is a worker: all four come in one call
      try stage.dispatcher.add(ProviderGroup("scripted", [one, two.mapped(by: mapper)]))
      #expect(await stage.run([one, two]) { stage.entry().offset == 4 })
      try await stage.close()
      return stage.entry()
    }
  }

  @Test func `an event is accepted when all have it`() async throws {
    let (one, two) = (ScriptedProvider(name: "one"), ScriptedProvider(name: "two"))
    let entry = try await deliver(one, two)
    #expect(entry.acknowledged == 4)
    #expect(numbers(one) == [0, 1, 2, 3])
    #expect(numbers(two) == [0, 1, 2, 3])
    #expect(one.calls.first == .setup && two.calls.first == .setup)
    #expect(one.calls.last == .shutdown && two.calls.last == .shutdown)
  }

  @Test func `who has an event does not get it again while another is tried`() async throws {
    let one = ScriptedProvider(name: "one")
    let two = ScriptedProvider(
      name: "two", answers: [.fail("503"), .each { $0.fields["n"] == .int(2) ? .retry(after: nil) : .accepted }])
    let entry = try await deliver(one, two)
    #expect(entry.acknowledged == 4)
    #expect(numbers(one) == [0, 1, 2, 3])
    #expect(numbers(two) == [0, 1, 3, 2])
  }

  @Test func `one member's rejection rejects the event, and the others have it all the same`() async throws {
    let one = ScriptedProvider(name: "one", finally: .each { $0.fields["n"] == .int(1) ? .rejected("no") : .accepted })
    let two = ScriptedProvider(name: "two")
    let entry = try await deliver(one, two)
    #expect(entry.acknowledged == 3)
    #expect(entry.rejected == 1)
    #expect(numbers(two) == [0, 1, 2, 3])
  }

  @Test func `a member is told of a user through its mapper, whatever another refuses`() async throws {
    let one = ClosureProvider("one") { events in events.map { _ in .accepted } }
    let (two, three) = (ScriptedProvider(name: "two"), ScriptedProvider(name: "three"))
    let plain = EventMapper(.shorteningAddresses(in: "ip"))
    let group = ProviderGroup(
      "group", [one, two.mapped(by: plain), three.mapped(by: .only(events: "checkout.*"))])
    try await group.identify(EventUser(id: "ann", traits: ["ip": "203.0.113.77"]))
    #expect(two.calls == [.identify(EventUser(id: "ann", traits: ["ip": "203.0.113.0"]))])
    #expect(three.calls.isEmpty)
  }

  @Test func `a member is told of the default user as its mapper makes it`() async throws {
    let members = (0..<3).map { ScriptedProvider(name: "m\($0)") }
    let nobody = EventMapper { event in
      var event = event
      event.context.user = nil
      return event
    }
    let group = ProviderGroup(
      "group", [members[0], members[1].mapped(by: .only(events: "checkout.*")), members[2].mapped(by: nobody)])
    let ann = EventUser(id: "ann", traits: ["plan": "free"])
    try await group.associate(ann)
    #expect(members.map(\.calls) == [[.associate(ann)], [.associate(EventUser(id: "ann"))], [.disassociate]])
  }

  @Test func `a refused batch is halved for the member that refuses it`() async throws {
    let one = ScriptedProvider(name: "one")
    let two = ScriptedProvider(name: "two", finally: .refuseBatch("bad") { $0.fields["n"] == .int(3) })
    let entry = try await deliver(one, two)
    #expect(entry.acknowledged == 3)
    #expect(entry.rejected == 1)
    #expect(numbers(one) == [0, 1, 2, 3])
    #expect(numbers(two) == [0, 1, 2])
  }

  @Test func `a member's mapper is the member's`() async throws {
    let (one, two) = (ScriptedProvider(name: "one"), ScriptedProvider(name: "two"))
    let mapper = EventMapper(.only { $0.fields["n"] != .int(0) }, .renaming(events: ["e": "renamed"]))
    let entry = try await deliver(one, two, mapper: mapper)
    #expect(entry.acknowledged == 4)
    #expect(one.delivered.map(\.name) == ["e", "e", "e", "e"])
    #expect(two.delivered.map(\.name) == ["renamed", "renamed", "renamed"])
  }

  @Test func `a member is told of a user whose first event was not for the member`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let (one, two) = (ScriptedProvider(name: "one"), ScriptedProvider(name: "two"))
      let mapped = two.mapped(by: .only { $0.fields["n"] != .int(0) })
      try stage.dispatcher.add(ProviderGroup("scripted", [one, mapped]))
      try Bindings.with(user: "ann", traits: ["plan": "free"]) { _ = try stage.capture(3) }
      #expect(await stage.run { stage.entry().offset == 3 })
      #expect(one.delivered.map(\.identifies) == [true, false, false])
      #expect(two.delivered.map(\.identifies) == [true, false])
      try await stage.close()
    }
  }

  @Test func `a member whose mapper changes the users' ids is told once`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let (one, two) = (ScriptedProvider(name: "one"), ScriptedProvider(name: "two"))
      let mapped = two.mapped(
        by: EventMapper { event in
          guard event.fields["n"] != .int(0) else { return nil }
          var event = event
          event.context.user?.id = "someone"
          return event
        })
      try stage.dispatcher.add(ProviderGroup("scripted", [one, mapped]))
      for number in 0..<3 {
        try Bindings.with(user: "ann", traits: ["plan": "free"]) { _ = try stage.capture(1, from: number) }
        #expect(await stage.run { stage.entry().offset == Offset(number + 1) })
      }
      #expect(two.delivered.map(\.identifies) == [true, false])
      try await stage.close()
    }
  }

  @Test func `a member is told of traits whose first event was not for the member`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let (one, two) = (ScriptedProvider(name: "one"), ScriptedProvider(name: "two"))
      let mapped = two.mapped(by: .only { $0.fields["n"] != .int(1) })
      try stage.dispatcher.add(ProviderGroup("scripted", [one, mapped]))
      for (number, plan) in [(0, "free"), (1, "paid"), (2, "paid"), (3, "paid")] {
        try Bindings.with(user: "ann", traits: ["plan": .string(plan)]) { _ = try stage.capture(1, from: number) }
      }
      #expect(await stage.run { stage.entry().offset == 4 })
      #expect(one.delivered.map(\.identifies) == [true, true, false, false])
      #expect(two.delivered.map(\.identifies) == [true, true, false])
      try await stage.close()
    }
  }
}
