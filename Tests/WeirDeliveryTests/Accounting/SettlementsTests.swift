// What became of each event, told as it happens.

import Synchronization
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirTesting

@testable import WeirDelivery

struct SettlementsTests {
  private let byNumber = ScriptedProvider.Answer.each { $0.fields["n"] == .int(1) ? .rejected("no") : .accepted }

  @Test func `a callback and each reader are told what became of each event`() async throws {
    try await withDirectoryAsync { directory in
      let heard = Mutex<[SettledEvent]>([])
      let stage = try DeliveryStage(
        directory, dispatcher: { $0.onSettled = { events in heard.withLock { $0 += events } } })
      let provider = ScriptedProvider(finally: byNumber)
      try stage.dispatcher.add(provider.mapped(by: .only { $0.fields["n"] != .int(2) }))
      let before = stage.dispatcher.settlements()
      let ids = try stage.capture(4)
      #expect(await stage.run { stage.entry().offset == 4 })
      let after = stage.dispatcher.settlements()
      try stage.capture(1, from: 4)
      #expect(await stage.run { stage.entry().offset == 5 })
      let expected: [EventID: Journey.Fate] = [
        ids[0]: .acknowledged, ids[1]: .rejected(reason: "no"), ids[2]: .withheld, ids[3]: .acknowledged,
      ]
      let told = heard.withLock { $0 }
      #expect(told.count == 5)
      #expect(told.allSatisfy { $0.provider == "scripted" })
      for (id, fate) in expected { #expect(told.first { $0.id == id }?.fate == fate) }
      var reader = before.makeAsyncIterator()
      var read: [SettledEvent] = []
      for _ in 0..<5 { if let next = await reader.next() { read.append(next) } }
      #expect(read == told)
      var late = after.makeAsyncIterator()
      #expect(await late.next() == told.last)
      #expect(before.missed == 0)
      try await stage.close()
    }
  }

  @Test func `a reader's loop ends with the dispatcher`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider())
      let settlements = stage.dispatcher.settlements()
      try stage.capture(2)
      #expect(await stage.run { stage.entry().offset == 2 })
      try await stage.close()
      var count = 0
      for await _ in settlements { count += 1 }
      #expect(count == 2)
    }
  }

  @Test func `a reader who begins after the end has no events, and does not wait`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider())
      try await stage.close()
      for await settled in stage.dispatcher.settlements() { Issue.record("\(settled)") }
    }
  }

  @Test func `the outcome of an event is that of its journey, flags included`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      var options = DeliveryOptions()
      options.contract = try Contract("c", version: "1", events: [EventRule("e", fields: [])]).compiled()
      try stage.dispatcher.add(ScriptedProvider(), options: options)
      let ids = try stage.capture(1)
      #expect(await stage.run { stage.entry().offset == 1 })
      let log = LogDirectory(directory)
      // Flags are noted in a log of their own, whose drainer takes its time.
      #expect(await eventually { (try? log.journey(of: ids[0]).outcomes.first?.flags["violations"]) != nil })
      let tracker = stage.tracker
      let outcomes = try await stage.running { try? await tracker.outcome(of: ids[0], timeout: .seconds(2)) }
      let expected = try log.journey(of: ids[0]).outcomes
      #expect(outcomes == expected)
      #expect(outcomes?.map(\.fate) == [.acknowledged])
      try await stage.close()
    }
  }

  @Test func `a reader who is late misses the oldest, and they are counted`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider())
      let settlements = stage.dispatcher.settlements(limit: 3)
      let ids = try stage.capture(10)
      #expect(await stage.run { stage.entry().offset == 10 })
      #expect(settlements.missed == 7)
      var reader = settlements.makeAsyncIterator()
      #expect(await reader.next()?.id == ids[7])
      try await stage.close()
    }
  }

  @Test func `an event that was settled before anybody asked is not pending`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory, dispatcher: { $0.cursorInterval = .seconds(600) })
      let tracker = stage.tracker
      try stage.dispatcher.add(ScriptedProvider().mapped(by: .only { $0.fields["n"] != .int(2) }))
      try stage.capture(1)
      #expect(await stage.run { stage.entry().offset == 1 })
      let accepted = try stage.capture(1, from: 1)[0]
      #expect(await stage.run { stage.entry().acknowledged == 2 })
      #expect(stage.entry().offset == 1)
      #expect(try await tracker.outcome(of: accepted, timeout: .zero).map(\.fate) == [.acknowledged])
      // What was withheld is noted with the next move of the cursor.
      let kept = try stage.capture(1, from: 2)[0]
      #expect(await stage.run { stage.entry().lost == [.withheld: 1] })
      #expect(stage.entry().offset == 1)
      let begun = stage.clock.now
      let withheld = try await stage.running { try? await tracker.outcome(of: kept, timeout: .seconds(1200)) }
      #expect(withheld?.map(\.fate) == [.withheld])
      #expect(begun.duration(to: stage.clock.now) <= .seconds(600))
      try await stage.close()
    }
  }

  @Test func `an event that was accepted while one before it waits is not pending`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(
        ScriptedProvider(finally: .each { $0.fields["n"] == .int(0) ? .retry(after: .seconds(5)) : .accepted }))
      let ids = try stage.capture(2)
      #expect(await stage.run { stage.entry().acknowledged == 1 })
      let tracker = stage.tracker
      #expect(try await tracker.outcome(of: ids[1], timeout: .zero).map(\.fate) == [.acknowledged])
      #expect(try await tracker.outcome(of: ids[0], timeout: .zero).map(\.fate) == [.pending])
      await stage.kill()
    }
  }

  @Test func `the outcome of an event is waited for, and has an end`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.retry(after: .seconds(5))], finally: byNumber)
      try stage.dispatcher.add(provider)
      let ids = try stage.capture(2)
      let tracker = stage.tracker
      let early = try await stage.running { try? await tracker.outcome(of: ids[0], timeout: .seconds(2)) }
      #expect(early?.map(\.fate) == [.pending])
      let refused = try await stage.running { try? await tracker.outcome(of: ids[1], timeout: .seconds(3600)) }
      #expect(refused?.map(\.fate) == [.rejected(reason: "no")])
      #expect(refused?.map(\.provider) == ["scripted"])
      // Settled before anybody asked.
      #expect(try await tracker.outcome(of: ids[0], timeout: .zero).map(\.fate) == [.acknowledged])
      await #expect(throws: WeirError.self) {
        try await tracker.outcome(of: EventID(opening: 1, sequence: 2), timeout: .zero)
      }
      try await stage.close()
    }
  }
}
