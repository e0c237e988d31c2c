// Losses that no delivery comes by: the ledger has them from the log.

import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

struct LedgerTests {
  /// Captures into a lane of 128 events until some took the place of others; answers how many were accepted.
  private func overwrite(_ tracker: Tracker) throws -> UInt64 {
    let text = FieldValue.string(String(repeating: "x", count: 1_000))
    let before = tracker.counters.overwritten
    var accepted: UInt64 = 0
    // The drainer may keep up for a while; it can't for ever.
    for _ in 0..<1_000_000 where tracker.counters.overwritten == before {
      if tracker.track("e", fields: ["text": text]).isAccepted { accepted += 1 }
    }
    try tracker.drain()
    try #require(tracker.counters.overwritten > before)
    return accepted
  }

  @Test func `an event whose place later ones took is lost, but not to a provider that began after that`() async throws
  {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(
        directory,
        tracker: {
          $0.laneBytes = 128 << 10
          $0.drainInterval = .seconds(10)
          $0.whenFull = .dropOldest
        })
      try stage.dispatcher.add(ScriptedProvider(name: "early"))
      let before = try overwrite(stage.tracker)
      let lostBefore = stage.tracker.counters.overwritten
      var options = DeliveryOptions()
      options.start = .end
      try stage.dispatcher.add(ScriptedProvider(name: "late"), options: options)
      let after = try overwrite(stage.tracker)
      let lost = stage.tracker.counters.overwritten
      #expect(await stage.run { stage.dispatcher.ledger.entries.allSatisfy { $0.pending == 0 } })
      #expect(await stage.run { stage.entry("late").offset == stage.entry("early").offset })
      for ledger in [stage.dispatcher.ledger, try LogDirectory(directory).ledger()] {
        let early = try #require(ledger["early"])
        #expect(early.accepted == before + after, "\(early)")
        #expect(early.lost == [.overwritten: lost], "\(early)")
        #expect(early.isBalanced, "\(early)")
        let late = try #require(ledger["late"])
        #expect(late.accepted == after, "\(late)")
        #expect(late.lost == [.overwritten: lost - lostBefore], "\(late)")
        #expect(late.isBalanced, "\(late)")
      }
      // Each tells of what it came by.
      let reported = Dictionary(uniqueKeysWithValues: stage.dispatcher.report.entries.map { ($0.provider, $0.lost) })
      #expect(reported["early"] == [.overwritten: lost])
      #expect(reported["late"] == [.overwritten: lost - lostBefore])
    }
  }

  @Test func `the oldest pending event tells since when delivery lags`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      // The second event waits for ever, the third is settled before the second.
      let provider = ScriptedProvider(
        finally: .each { $0.fields["n"] == .int(1) ? .retry(after: .seconds(1_000)) : .accepted })
      try stage.dispatcher.add(provider)
      #expect(stage.entry().pendingSince == nil)
      // A notice before the oldest pending event is no event.
      #expect(stage.tracker.track("weir.reserved") == .dropped(.invalid))
      try stage.capture(3)
      #expect(await stage.run([provider]) { stage.entry().acknowledged == 2 })
      let times = try stage.tracker.events().filter { !$0.isNotice }.map(\.time)
      #expect(stage.entry().pendingSince == times[1])
      await stage.kill()
      let onDisk = try #require(try LogDirectory(directory).ledger()["scripted"])
      #expect(onDisk.pending > 0)
      #expect(times.contains(try #require(onDisk.pendingSince)))
    }
  }
}
