// What a tracker refuses as metrics: each reason under its name, counted from the opening on.

#if Metrics
  import Metrics
  import MetricsTestKit
  import Testing
  import Weir
  import WeirMetrics
  import WeirTesting

  struct TrackerMetricsTests {
    private func total(_ metrics: TestMetrics, _ reason: String) throws -> Int64 {
      try metrics.expectCounter("weir_refused_total", [("reason", reason)]).totalValue
    }

    @Test func `refused captures are counted by reason`() throws {
      let spy = try SpyTracker()
      let metrics = TestMetrics()
      let large: FieldObject = ["text": .string(String(repeating: "x", count: 100_000))]
      #expect(spy.tracker.track("large", fields: large) == .dropped(.tooLarge))
      let published = TrackerMetrics(spy.tracker, factory: metrics)
      published.update()
      // What was refused before the metrics were made counts, too.
      #expect(try total(metrics, "too_large") == 1)
      for reason in ["full", "no_lane", "storage", "invalid", "closed"] { #expect(try total(metrics, reason) == 0) }
      for _ in 0..<3 { #expect(spy.tracker.track("weir.reserved") == .dropped(.invalid)) }
      published.update()
      published.update()
      #expect(try total(metrics, "invalid") == 3)
      #expect(try total(metrics, "too_large") == 1)
      spy.close()
      #expect(spy.tracker.track("late") == .dropped(.closed))
      published.update()
      #expect(try total(metrics, "closed") == 1)
      #expect(try total(metrics, "invalid") == 3)
    }

    @Test func `an event that is sampled out is not refused`() throws {
      let spy = try SpyTracker { $0.sampling = [SamplingRule("noise", rate: 0)] }
      let metrics = TestMetrics()
      #expect(spy.tracker.track("noise") == .dropped(.sampled))
      TrackerMetrics(spy.tracker, factory: metrics).update()
      #expect(metrics.counters.count == 6)
      #expect(try ["full", "invalid", "closed"].allSatisfy { try total(metrics, $0) == 0 })
    }

    @Test func `the metrics are updated at every interval, and once more at the end`() async throws {
      let spy = try SpyTracker()
      let metrics = TestMetrics()
      let clock = VirtualClock()
      let published = TrackerMetrics(spy.tracker, factory: metrics)
      let task = Task { try await published.run(every: .seconds(10), clock: clock) }
      await clock.sleepers(atLeast: 1)
      #expect(spy.tracker.track("weir.reserved") == .dropped(.invalid))
      #expect(try total(metrics, "invalid") == 0)
      clock.advanceToNext()
      await clock.sleepers(atLeast: 1)
      #expect(try total(metrics, "invalid") == 1)
      #expect(spy.tracker.track("weir.reserved") == .dropped(.invalid))
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try total(metrics, "invalid") == 2)
    }
  }
#endif
