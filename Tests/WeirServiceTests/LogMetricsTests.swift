// The counts of a log as metrics: each number under its name, over restarts and removals.

#if Metrics
  import Foundation
  import Metrics
  import MetricsTestKit
  import Synchronization
  import Testing
  import Weir
  import WeirContracts
  import WeirDelivery
  import WeirMetrics
  import WeirTesting

  struct LogMetricsTests {
    private func entry(
      _ provider: String, _ acknowledged: UInt64, lost: [Ledger.LossReason: UInt64] = [:]
    ) -> Ledger.Entry {
      var entry = Ledger.Entry(provider: provider)
      entry.state = .running
      entry.acknowledged = acknowledged
      entry.rejected = 2
      entry.pending = 3
      entry.lost = lost
      entry.accepted = acknowledged + 5 + entry.lostInAll
      return entry
    }

    private func value(_ metrics: TestMetrics, _ name: String, _ provider: String, _ reason: String? = nil) throws
      -> Double?
    {
      let dimensions = [("provider", provider)] + (reason.map { [("reason", $0)] } ?? [])
      return try metrics.expectMeter(name, dimensions).lastValue
    }

    @Test func `each number of the ledger is a metric under its name`() throws {
      let metrics = TestMetrics()
      let ledger = Ledger([entry("a", 10, lost: [.removed: 7, .damaged: 1]), entry("b", 0)])
      LogMetrics(factory: metrics) { LogReading(ledger) }.update()
      #expect(try value(metrics, "weir_accepted", "a") == 23)
      #expect(try value(metrics, "weir_acknowledged", "a") == 10)
      #expect(try value(metrics, "weir_rejected", "a") == 2)
      #expect(try value(metrics, "weir_pending", "a") == 3)
      #expect(try value(metrics, "weir_lost", "a", "removed") == 7)
      #expect(try value(metrics, "weir_lost", "a", "damaged") == 1)
      #expect(try value(metrics, "weir_lost", "a", "withheld") == 0)
      #expect(try value(metrics, "weir_running", "a") == 1)
      #expect(try value(metrics, "weir_balanced", "a") == 1)
      #expect(try value(metrics, "weir_acknowledged", "b") == 0)
    }

    @Test func `a ledger that does not balance shows`() throws {
      let metrics = TestMetrics()
      var odd = entry("a", 10)
      odd.accepted = 1
      for state in [Ledger.ProviderState.backingOff, .open, .stopped(reason: "key"), .idle, .starting] {
        odd.state = state
        LogMetrics(factory: metrics) { [odd] in LogReading(Ledger([odd])) }.update()
        #expect(try value(metrics, "weir_running", "a") == 0)
        #expect(try value(metrics, "weir_balanced", "a") == 0)
      }
    }

    @Test func `counters count from the first update, and over a ledger that began anew`() throws {
      let metrics = TestMetrics()
      let ledger = Mutex(Ledger([entry("a", 100, lost: [.removed: 4])]))
      let published = LogMetrics(factory: metrics) { LogReading(ledger.withLock { $0 }) }
      func total(_ name: String) throws -> Int64 { try metrics.expectCounter(name, [("provider", "a")]).totalValue }
      published.update()
      #expect(try total("weir_acknowledged_total") == 0)
      ledger.withLock { $0 = Ledger([entry("a", 130, lost: [.removed: 5])]) }
      published.update()
      published.update()
      #expect(try total("weir_acknowledged_total") == 30)
      #expect(try total("weir_accepted_total") == 31)
      let lost = try metrics.expectCounter("weir_lost_total", [("provider", "a"), ("reason", "removed")])
      #expect(lost.totalValue == 1)
      ledger.withLock { $0 = Ledger([entry("a", 8)]) }
      published.update()
      #expect(try total("weir_acknowledged_total") == 38)
      #expect(try value(metrics, "weir_acknowledged", "a") == 8)
    }

    @Test func `an event that a redrive had accepted is no rejection anew`() throws {
      let metrics = TestMetrics()
      var before = entry("a", 100)
      (before.rejected, before.accepted) = (50, before.accepted + 48)
      let ledger = Mutex(Ledger([before]))
      let published = LogMetrics(factory: metrics) { LogReading(ledger.withLock { $0 }) }
      published.update()
      (before.rejected, before.acknowledged) = (10, before.acknowledged + 40)
      ledger.withLock { [before] in $0 = Ledger([before]) }
      published.update()
      let rejected = try metrics.expectCounter("weir_rejected_total", [("provider", "a")])
      let acknowledged = try metrics.expectCounter("weir_acknowledged_total", [("provider", "a")])
      #expect(rejected.totalValue == 0)
      #expect(acknowledged.totalValue == 40)
      #expect(try value(metrics, "weir_rejected", "a") == 10)
    }

    @Test func `a provider that is gone has no metrics`() throws {
      let metrics = TestMetrics()
      let ledger = Mutex(Ledger([entry("a", 1), entry("b", 1)]))
      let published = LogMetrics(factory: metrics) { LogReading(ledger.withLock { $0 }) }
      published.update()
      #expect(metrics.meters(label: "weir_pending").count == 2)
      ledger.withLock { $0 = Ledger([entry("b", 1)]) }
      published.update()
      #expect(metrics.meters.allSatisfy { $0.dimensions.contains { $0 == ("provider", "b") } })
      #expect(metrics.counters.allSatisfy { $0.dimensions.contains { $0 == ("provider", "b") } })
      #expect(metrics.meters(label: "weir_pending").count == 1)
    }

    @Test func `the metrics are updated at every interval, and once more at the end`() async throws {
      let clock = VirtualClock()
      let looks = Mutex(0)
      let published = LogMetrics(factory: TestMetrics()) {
        looks.withLock { $0 += 1 }
        return LogReading(Ledger([]))
      }
      let task = Task { try await published.run(every: .seconds(10), clock: clock) }
      for round in 1...4 {
        await clock.sleepers(atLeast: 1)
        #expect(looks.withLock { $0 } == round)
        #expect(clock.next == VirtualClock.Instant(.seconds(10 * round)))
        if round < 4 { clock.advanceToNext() }
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(looks.withLock { $0 } == 5)
    }

    @Test func `the metrics of a dispatcher are those of its ledger`() async throws {
      let spy = try SpyTracker()
      let dispatcher = try Dispatcher(spy.tracker)
      try dispatcher.start()
      try dispatcher.add(ScriptedProvider(finally: .each { $0.name == "bad" ? .rejected("no") : .accepted }))
      for name in ["good", "bad", "good"] { #expect(spy.tracker.track(name).isAccepted) }
      let report = await dispatcher.flush(timeout: .seconds(900))
      #expect(report.isComplete)
      let metrics = TestMetrics()
      LogMetrics(dispatcher, factory: metrics).update()
      #expect(try value(metrics, "weir_acknowledged", "scripted") == 2)
      #expect(try value(metrics, "weir_rejected", "scripted") == 1)
      #expect(try value(metrics, "weir_accepted", "scripted") == 3)
      #expect(try value(metrics, "weir_pending", "scripted") == 0)
      #expect(try value(metrics, "weir_balanced", "scripted") == 1)
      let flagged = [("provider", "scripted"), ("flag", "violations")]
      #expect(try metrics.expectCounter("weir_flagged_total", flagged).totalValue == 0)
      let prepared = try metrics.expectCounter("weir_prepared_total", [("provider", "scripted")])
      #expect(prepared.totalValue == 3)
      await dispatcher.shutdown(budget: .seconds(900))
    }

    @Test func `the lag is the age of the oldest pending event`() throws {
      let metrics = TestMetrics()
      var late = entry("a", 10)
      late.pendingSince = Timestamp(nanosecondsSince1970: 1_000_000_000)
      var early = entry("b", 10)
      early.pendingSince = Timestamp(nanosecondsSince1970: 9_000_000_000)
      var reading = LogReading(Ledger([late, early, entry("c", 10)]))
      reading.time = Timestamp(nanosecondsSince1970: 3_500_000_000)
      LogMetrics(factory: metrics) { [reading] in reading }.update()
      #expect(try value(metrics, "weir_lag_seconds", "a") == 2.5)
      // The clock was set back.
      #expect(try value(metrics, "weir_lag_seconds", "b") == 0)
      #expect(try value(metrics, "weir_lag_seconds", "c") == 0)
    }

    // MARK: The log

    private func total(_ metrics: TestMetrics, _ name: String) throws -> Int64 {
      try metrics.expectCounter(name).totalValue
    }

    private func refused(_ metrics: TestMetrics, _ reason: String) throws -> Int64 {
      try metrics.expectCounter("weir_refused_total", [("reason", reason)]).totalValue
    }

    @Test func `refused captures are counted by reason`() throws {
      let spy = try SpyTracker()
      let metrics = TestMetrics()
      let large: FieldObject = ["text": .string(String(repeating: "x", count: 100_000))]
      #expect(spy.tracker.track("large", fields: large) == .dropped(.tooLarge))
      let published = LogMetrics(spy.tracker, factory: metrics)
      published.update()
      // What was refused before the metrics were made counts, too.
      #expect(try refused(metrics, "too_large") == 1)
      for reason in ["full", "no_lane", "storage", "invalid", "closed"] {
        #expect(try refused(metrics, reason) == 0)
      }
      for _ in 0..<3 { #expect(spy.tracker.track("weir.reserved") == .dropped(.invalid)) }
      published.update()
      published.update()
      #expect(try refused(metrics, "invalid") == 3)
      #expect(try refused(metrics, "too_large") == 1)
      spy.close()
      #expect(spy.tracker.track("late") == .dropped(.closed))
      published.update()
      #expect(try refused(metrics, "closed") == 1)
      #expect(try refused(metrics, "invalid") == 3)
    }

    @Test func `an event that is sampled out is not refused`() throws {
      let spy = try SpyTracker { $0.sampling = [SamplingRule("noise", rate: 0)] }
      let metrics = TestMetrics()
      #expect(spy.tracker.track("noise") == .dropped(.sampled))
      LogMetrics(spy.tracker, factory: metrics).update()
      #expect(try total(metrics, "weir_sampled_total") == 1)
      #expect(try ["full", "invalid", "closed"].allSatisfy { try refused(metrics, $0) == 0 })
    }

    @Test func `captures, lanes and the disk are metrics`() throws {
      let spy = try SpyTracker()
      let metrics = TestMetrics()
      for _ in 0..<5 { #expect(spy.tracker.track("e").isAccepted) }
      try spy.tracker.sync()
      LogMetrics(spy.tracker, factory: metrics).update()
      #expect(try total(metrics, "weir_captured_total") == 5)
      #expect(try total(metrics, "weir_drained_total") == 5)
      #expect(try metrics.expectMeter("weir_undrained").lastValue == 0)
      #expect(try metrics.expectMeter("weir_unsynced").lastValue == 0)
      // Threads of tests come and go, and with them their lanes.
      #expect(try metrics.expectMeter("weir_lanes_in_use").lastValue != nil)
      #expect(try metrics.expectMeter("weir_storage_failing").lastValue == 0)
      #expect(try metrics.expectMeter("weir_batch_waiting").lastValue == 0)
      // The log prepares its next segment meanwhile, so the numbers of later are others.
      #expect(try metrics.expectMeter("weir_disk_bytes").lastValue ?? 0 > 0)
      #expect(try metrics.expectMeter("weir_segment_files").lastValue ?? 0 >= 1)
      #expect(metrics.counters.allSatisfy { $0.label != "weir_violations_total" })
    }

    @Test func `violations are counted where there is an inspector`() throws {
      let spy = try SpyTracker()
      let inspector = try Inspector(spy.tracker, contract: Contract("shop", version: "1", events: []))
      #expect(spy.tracker.track("unknown").isAccepted)
      try inspector.inspect()
      let metrics = TestMetrics()
      LogMetrics(spy.tracker, factory: metrics).update()
      #expect(try total(metrics, "weir_inspected_total") == 1)
      #expect(try total(metrics, "weir_violating_total") == 1)
      #expect(try total(metrics, "weir_violations_total") == 1)
    }

    @Test func `beside another process the files have the refusals`() throws {
      let spy = try SpyTracker()
      let dispatcher = try Dispatcher(directory: spy.tracker.directory)
      let metrics = TestMetrics()
      let published = LogMetrics(dispatcher, factory: metrics)
      #expect(spy.tracker.track("weir.reserved") == .dropped(.invalid))
      try spy.tracker.drain()
      published.update()
      #expect(try refused(metrics, "invalid") == 0)
      for _ in 0..<2 { #expect(spy.tracker.track("weir.reserved") == .dropped(.invalid)) }
      try spy.tracker.drain()
      published.update()
      let statistics = try LogDirectory(spy.tracker.directory).statistics()
      #expect(try refused(metrics, "invalid") == Int64(statistics.dropped[.invalid] ?? 0) - 1)
      #expect(try metrics.expectMeter("weir_lanes_in_use").lastValue == Double(statistics.lanesInUse))
      #expect(metrics.counters.allSatisfy { $0.label != "weir_captured_total" })
    }
  }
#endif
