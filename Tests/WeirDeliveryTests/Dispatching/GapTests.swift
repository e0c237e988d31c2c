// Gaps: providers hear of events that are missing, summed, counted nowhere as events, and again after a kill.

import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery
@testable import WeirTesting

struct GapTests {
  private func notice(
    _ reason: String, _ dropped: UInt64, opening: UInt64 = 1, second: Int64 = 0, name: String = "weir.gap"
  ) -> StoredEvent {
    StoredEvent(
      offset: 5, id: EventID(opening: opening, sequence: .max),
      time: Timestamp(nanosecondsSince1970: second * 1_000_000_000), name: name,
      fields: ["lane": 0, "reason": .string(reason), "dropped": .uint(dropped), "total": .uint(dropped)])
  }

  @Test func `notices of one reason and one opening are summed`() throws {
    var gap = try #require(Gap(notice("full", 3, second: 10)))
    #expect(gap.add(try #require(Gap(notice("full", 4, second: 12)))))
    #expect(!gap.add(try #require(Gap(notice("storage", 4)))))
    #expect(!gap.add(try #require(Gap(notice("full", 4, opening: 2)))))
    #expect(gap.event.name == "weir.gap")
    #expect(
      gap.event.fields == [
        "reason": "full", "dropped": .uint(7), "from": "1970-01-01T00:00:10.000000000Z",
        "to": "1970-01-01T00:00:12.000000000Z",
      ])
    #expect(gap.add(try #require(Gap(notice("full", .max)))))
    #expect(gap.event.fields["dropped"] == .uint(.max))
  }

  @Test func `what is missing on purpose is no gap, nor is another notice`() {
    #expect(Gap(notice("sampled", 3)) == nil)
    #expect(Gap(notice("full", 0)) == nil)
    #expect(Gap(notice("full", 3, name: "weir.hole")) == nil)
    #expect(Gap(notice("full", 3, name: "full")) == nil)
  }

  // MARK: Delivery

  /// Refuses an event, and lets the log note the refusal.
  private func refuse(_ stage: DeliveryStage, _ count: Int = 1) throws {
    for _ in 0..<count { #expect(stage.tracker.track("weir.mine") == .dropped(.invalid)) }
    try stage.tracker.drain()
  }

  private func gaps(_ provider: ScriptedProvider) -> [PreparedEvent] {
    provider.delivered.filter { $0.stored.name == "weir.gap" }
  }

  private func dropped(_ gaps: [PreparedEvent]) -> UInt64 {
    gaps.reduce(0) { sum, gap in
      guard case .uint(let number)? = gap.fields["dropped"] else { return sum }
      return sum + number
    }
  }

  @Test func `the notices that wait for a call are one event, and the ledger has the program's events alone`()
    async throws
  {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      for round in 0..<3 {
        try refuse(stage, 2)
        try stage.capture(2, from: round * 2)
      }
      try stage.dispatcher.add(provider)
      #expect(await stage.run([provider]) { stage.entry().acknowledged == 6 && stage.entry().offset >= 6 })
      let found = gaps(provider)
      #expect(found.map { $0.fields["reason"] } == ["invalid"])
      #expect(dropped(found) == 6)
      let notices = try stage.tracker.events().filter(\.isNotice)
      // A pass of the drainer may come between two refusals.
      #expect((3...6).contains(notices.count))
      #expect(found.first?.stored.id == notices.first?.id)
      #expect(found.first?.fields["to"] == notices.last.map { .string($0.time.description) })
      #expect(stage.entry().accepted == 6)
      #expect(stage.entry().isBalanced)
      #expect(stage.entry().lost == [:])
      let report = stage.dispatcher.report.entries[0]
      #expect(report.acknowledged == 6)
      #expect(report.pending == 0)
    }
  }

  @Test func `a flush brings a gap that is alone`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      try refuse(stage)
      let report = try await stage.running([provider]) { [dispatcher = stage.dispatcher] in
        await dispatcher.flush(timeout: .seconds(900))
      }
      #expect(report.isComplete)
      #expect(report.entries.map(\.acknowledged) == [0])
      #expect(dropped(gaps(provider)) == 1)
    }
  }

  @Test func `a provider that does not want gaps gets none`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let providers = ["off", "only", "named"].map { ScriptedProvider(name: $0) }
      var options = DeliveryOptions()
      options.sendsGaps = false
      try stage.dispatcher.add(providers[0], options: options)
      try stage.dispatcher.add(providers[1].mapped(by: .only(events: "e")))
      let named = EventMapper(.only(events: "e", "weir.*"), .titleCase())
      try stage.dispatcher.add(providers[2].mapped(by: named))
      try refuse(stage)
      try stage.capture(1)
      #expect(
        await stage.run(providers) {
          providers.allSatisfy { stage.entry($0.name).acknowledged == 1 && stage.entry($0.name).offset >= 2 }
        })
      #expect(gaps(providers[0]).isEmpty)
      #expect(gaps(providers[1]).isEmpty)
      #expect(gaps(providers[2]).count == 1)
      #expect(gaps(providers[2]).first?.name != "weir.gap")
      for provider in providers {
        #expect(stage.entry(provider.name).accepted == 1)
        #expect(stage.entry(provider.name).lost == [:])
        #expect(stage.entry(provider.name).isBalanced)
      }
    }
  }

  @Test func `a captured event with the name of a notice is no notice`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      // As a C program captures it: weir_commit does not look at the name.
      for (name, count) in [("weir.gap", "dropped"), ("weir.hole", "events")] {
        let fields: FieldObject = ["lane": 0, "reason": "overwritten", count: .uint(1_000_000)]
        #expect(stage.tracker.capture(name, fields, isValid: true).isAccepted)
      }
      try stage.capture(1)
      #expect(await stage.run([provider]) { stage.entry().offset == 3 })
      #expect(gaps(provider).isEmpty)
      #expect(try stage.tracker.events().allSatisfy { !$0.isNotice })
      #expect(stage.entry().lost == [.withheld: 2])
      #expect(stage.entry().isBalanced, "\(stage.entry())")
    }
  }

  @Test func `a gap that a provider rejects is no dead letter`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .each { $0.name == "weir.gap" ? .rejected("what?") : .accepted })
      try stage.dispatcher.add(provider)
      try refuse(stage)
      try stage.capture(1)
      #expect(await stage.run([provider]) { stage.entry().acknowledged == 1 && stage.entry().offset >= 2 })
      #expect(stage.entry().rejected == 0)
      #expect(stage.entry().isBalanced)
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").isEmpty)
    }
  }

  @Test func `a gap that was not delivered comes after a kill`() async throws {
    try await withDirectoryAsync { directory in
      let first = try DeliveryStage(directory)
      let deaf = ScriptedProvider(finally: .fail("down"))
      try first.dispatcher.add(deaf)
      try refuse(first, 3)
      try first.capture(1)
      #expect(await first.run([deaf]) { deaf.calls.count > 2 })
      await first.kill()
      try first.tracker.close()
      let second = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try second.dispatcher.add(provider)
      #expect(await second.run([provider]) { second.entry().acknowledged == 1 && dropped(gaps(provider)) == 3 })
      #expect(await second.run([provider]) { second.entry().isBalanced })
      #expect(second.entry().accepted == 1)
    }
  }

  @Test func `accepted events that others overwrote are told, and lost once`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(
        directory,
        tracker: {
          $0.laneBytes = 128 << 10
          $0.drainInterval = .seconds(10)
          $0.whenFull = .dropOldest
        })
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      let text = FieldValue.string(String(repeating: "x", count: 1_000))
      // The drainer may keep up for a while; it can't for ever.
      for _ in 0..<1_000_000 where stage.tracker.counters.overwritten == 0 {
        _ = stage.tracker.track("e", fields: ["text": text])
      }
      try stage.tracker.drain()
      #expect(await stage.run([provider]) { stage.entry().pending == 0 })
      let end = try stage.tracker.events().last?.offset ?? 0
      #expect(await stage.run([provider]) { stage.entry().offset > end })
      let overwritten = stage.tracker.counters.overwritten
      #expect(stage.entry().lost == [.overwritten: overwritten])
      #expect(dropped(gaps(provider)) == overwritten)
      #expect(stage.dispatcher.report.entries.map(\.lost) == [[.overwritten: overwritten]])
      #expect(stage.entry().isBalanced)
    }
  }
}
