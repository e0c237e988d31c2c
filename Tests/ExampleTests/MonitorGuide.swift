// page: Sources/Weir/Weir.docc/Guides/Monitor.md

#if Monitor
  import Testing
  import Weir
  import WeirMonitor
  import WeirTesting

  @Suite struct MonitorGuide {
    @Test func `a program shows its own log, and stops`() async throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      // snippet
      var configuration = Monitor.Configuration()
      configuration.onAddress = { print("the monitor: \($0)") }
      let monitor = try Monitor(tracker, configuration: configuration)
      // Also a service of swift-service-lifecycle.
      let watching = Task { try await monitor.run() }
      // end
      watching.cancel()
      try await watching.value
    }
  }
#endif
