// What a flush and a shutdown say where something is in the way: nothing that is not delivered is left out.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct FlushReportTests {
  /// A log on a disk that is full, with events in its lanes that it has no room for.
  private struct Flood {
    let disk: FailingDisk
    let stage: DeliveryStage
    var accepted: UInt64 = 0

    init(_ provider: (FailingDisk) -> ScriptedProvider = { _ in ScriptedProvider() }) async throws {
      disk = try FailingDisk()
      let configuration = quiet {
        $0.laneCount = 2
        $0.spareLanes = 1
        $0.whenFull = .dropNewest
      }
      stage = try DeliveryStage(on: try Tracker(directory: disk.directory, configuration: configuration))
      var options = DeliveryOptions()
      options.flush.triggers = [.demand, .shutdown]
      try stage.dispatcher.add(provider(disk), options: options)
      disk.fill()
      let text = FieldValue.string(String(repeating: "x", count: 4000))
      let deadline = ContinuousClock.now + patience
      while ContinuousClock.now < deadline {
        let receipt = stage.tracker.track("e", fields: ["n": .int(Int64(accepted)), "text": text])
        if receipt.isAccepted { accepted += 1 }
        if receipt == .dropped(.storage) { return }
        // The lanes are full for the moment.
        if !receipt.isAccepted { try await Task.sleep(for: .milliseconds(1)) }
      }
      Issue.record("the disk never was full: \(accepted) events")
    }
  }

  @Test(.enabled(if: FailingDisk.isAvailable))
  func `an event still in the lanes is pending, and the reason is told`() async throws {
    let flood = try await Flood()
    let stage = flood.stage
    for round in 0..<2 {
      let begin = stage.clock.now
      let report = try await stage.running { await stage.dispatcher.flush(timeout: .seconds(3)) }
      let entry = try #require(report.entries.first)
      let ledger = stage.entry()
      #expect(entry.pending > 0, "\(entry)")
      #expect(!report.isComplete, "\(entry)")
      #expect(entry.pending == ledger.pending)
      #expect(ledger.isBalanced)
      #expect(ledger.accepted == flood.accepted)
      #expect(entry.error?.contains("space") == true || entry.error?.contains("full") == true, "\(entry)")
      #expect(entry.acknowledged == (round == 0 ? flood.accepted - entry.pending : 0))
      // It was tried to the end.
      #expect(begin.duration(to: stage.clock.now) == .seconds(3))
    }
    flood.disk.mend()
    let report = try await stage.running { await stage.dispatcher.flush(timeout: .seconds(100)) }
    #expect(report.isComplete, "\(report)")
    #expect(report.entries.first?.error == nil, "\(report)")
    #expect(stage.entry().acknowledged == flood.accepted)
    try await stage.close()
  }

  @Test(.enabled(if: FailingDisk.isAvailable))
  func `a flush goes on when the disk has room again`() async throws {
    let flood = try await Flood { disk in
      ScriptedProvider(
        finally: .each { _ in
          disk.mend()
          return .accepted
        })
    }
    let stage = flood.stage
    let report = try await stage.running { await stage.dispatcher.flush(timeout: .seconds(100)) }
    #expect(report.isComplete, "\(report)")
    #expect(report.entries.map(\.acknowledged) == [flood.accepted], "\(report)")
    try await stage.close()
  }

  @Test(.enabled(if: FailingDisk.isAvailable))
  func `a shutdown on a full disk says what is left for the next opening`() async throws {
    let flood = try await Flood()
    let stage = flood.stage
    let report = try await stage.running { await stage.dispatcher.shutdown(budget: .seconds(3)) }
    let entry = try #require(report.entries.first)
    let files = try #require(try LogDirectory(stage.directory).ledger()["scripted"])
    #expect(entry.pending > 0, "\(entry)")
    #expect(!report.isComplete, "\(entry)")
    #expect(entry.pending == files.pending, "\(entry), \(files)")
    #expect(files.isBalanced, "\(entry), \(files)")
    #expect(files.accepted == flood.accepted)
    #expect(entry.error?.contains("space") == true || entry.error?.contains("full") == true, "\(entry)")
  }

  /// A provider that flushes the dispatcher which calls it.
  private final class Reentrant: WaitingProvider {
    let name = "reentrant"
    let dispatcher: Dispatcher
    private let state = Mutex((calls: 0, waiting: 0))

    init(_ dispatcher: Dispatcher) {
      self.dispatcher = dispatcher
    }

    var calls: Int { state.withLock { $0.calls } }
    var waiting: Int { state.withLock { $0.waiting } }

    func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
      let call = state.withLock { state in
        state.calls += 1
        state.waiting += 1
        return state.calls
      }
      defer { state.withLock { $0.waiting -= 1 } }
      if call == 1 { await dispatcher.flush(timeout: .seconds(10_000)) }
      return events.map { _ in .accepted }
    }
  }

  @Test func `an event that was looked for and can't be read is not waited for`() {
    var report = WorkerReport()
    (report.position, report.end, report.seenEnd) = (5, 5, 9)
    #expect(report.hasSettled(below: 5))
    #expect(report.hasSettled(below: 9))
    #expect(!report.hasSettled(below: 10))
    // An event that was read is.
    report.open = 1
    #expect(report.hasSettled(below: 5))
    #expect(!report.hasSettled(below: 9))
  }

  @Test func `a flush ends when its task is cancelled, inside of a provider's call too`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = Reentrant(stage.dispatcher)
      var options = DeliveryOptions()
      options.attemptTimeout = .seconds(2)
      try stage.dispatcher.add(provider, options: options)
      try stage.capture(1)
      // The clock stands while the flush, or what comes after it, is busy.
      var mover = stage.mover
      mover.isBegun = { [mover] in provider.waiting == 0 || mover.isWatched }
      let isDone = await mover.run(stubborn: [provider], upTo: .seconds(60)) {
        stage.entry("reentrant").acknowledged == 1
      }
      #expect(isDone)
      #expect(provider.calls == 2)
      #expect(stage.entry("reentrant").isBalanced)
      await stage.kill()
    }
  }
}
