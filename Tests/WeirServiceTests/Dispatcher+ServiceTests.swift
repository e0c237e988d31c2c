// A dispatcher under swift-service-lifecycle: it ends in order, whatever ends it.

#if Lifecycle
  import UnixSignals
  import Foundation
  import Logging
  import ServiceLifecycle
  import ServiceLifecycleTestKit
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery
  import WeirLifecycle
  import WeirTesting

  struct DispatcherServiceTests {
    /// A spy's log, delivered to a provider at the shutdown only. The clock stands, so the budget lasts.
    private func dispatcher(
      _ spy: SpyTracker, _ provider: ScriptedProvider, _ logger: Logger? = nil, clock: VirtualClock = VirtualClock()
    ) throws -> Dispatcher {
      var configuration = Dispatcher.Configuration()
      configuration.logger = logger
      configuration.clock = clock
      let dispatcher = try Dispatcher(spy.tracker, configuration: configuration)
      var options = DeliveryOptions()
      options.flush = FlushPolicy([.shutdown])
      try dispatcher.add(provider, options: options)
      return dispatcher
    }

    private func capture(_ spy: SpyTracker, _ count: Int) {
      for number in 0..<count { #expect(spy.tracker.track("e", fields: ["n": .int(Int64(number))]).isAccepted) }
    }

    @Test func `a graceful shutdown delivers, closes the tracker, and reports`() async throws {
      let spy = try SpyTracker()
      let provider = ScriptedProvider()
      let lines = LogLines()
      let dispatcher = try dispatcher(spy, provider, lines.logger)
      try await testGracefulShutdown { trigger in
        async let running: Void = dispatcher.run()
        capture(spy, 20)
        #expect(provider.delivered.isEmpty)
        trigger.triggerGracefulShutdown()
        try await running
      }
      #expect(provider.delivered.count == 20)
      #expect(provider.calls.last == .shutdown)
      #expect(!spy.tracker.track("late").isAccepted)
      #expect(lines.all.count == 1)
      #expect(lines.all.first?.hasPrefix("info delivery to scripted from ") == true)
      #expect(lines.all.first?.contains(" ended: 0 pending, after 20 acknowledged and 0 rejected") == true)
      #expect(try LogDirectory(spy.tracker.directory).ledger()["scripted"]?.acknowledged == 20)
    }

    @Test func `a cancellation ends when the budget is spent, and keeps the events`() async throws {
      let spy = try SpyTracker()
      let provider = ScriptedProvider(finally: .hang)
      let lines = LogLines()
      let clock = VirtualClock()
      let dispatcher = try dispatcher(spy, provider, lines.logger, clock: clock)
      capture(spy, 5)
      let task = Task { try await dispatcher.run() }
      task.cancel()
      while provider.waiting == 0 { await Task.yield() }
      clock.advance(by: .seconds(10))
      // With the import, too, a program gets the report.
      let report = try await task.value
      #expect(report.entries.map(\.pending) == [5])
      #expect(lines.all.last?.hasPrefix("warning delivery to scripted from ") == true)
      #expect(lines.all.last?.contains(" ended: 5 pending, after ") == true)
      #expect(try LogDirectory(spy.tracker.directory).ledger()["scripted"]?.pending == 5)
    }

    @Test func `SIGTERM to a process under a service group delivers, and ends it in order`() async {
      await #expect(processExitsWith: .success) {
        let spy = try SpyTracker()
        let provider = ScriptedProvider()
        let dispatcher = try DispatcherServiceTests().dispatcher(spy, provider)
        let group = ServiceGroup(
          services: [dispatcher, Capturing(spy: spy)],
          gracefulShutdownSignals: [.sigterm], logger: Logger(label: "test"))
        try await group.run()
        // The service that captures ended before the one that delivers, or the last event would be missing.
        exit(provider.delivered.count == 21 && provider.calls.last == .shutdown ? 0 : 1)
      }
    }
  }

  /// Captures, has the process terminated, and captures once more on its way out.
  private struct Capturing: Service {
    let spy: SpyTracker

    func run() async throws {
      for _ in 0..<20 { spy.tracker.track("e") }
      kill(getpid(), SIGTERM)
      try await gracefulShutdown()
      spy.tracker.track("e")
    }
  }

  /// What a logger is told: level and message.
  private final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

    private struct Handler: LogHandler {
      let lines: LogLines
      var metadata: Logger.Metadata = [:]
      var logLevel = Logger.Level.trace

      subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
      }

      func log(event: LogEvent) {
        lines.lines.withLock { $0.append("\(event.level) \(event.message)") }
      }
    }
  }
#endif
