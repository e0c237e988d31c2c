// Collector: an endpoint on the developer's own machine that takes batches as the vendors do, and keeps what it took.

#if Collector
  import Foundation
  import Hummingbird
  import Logging
  import ServiceLifecycle
  import Synchronization
  package import Weir

  /// An HTTP endpoint that takes the batches of Segment, Mixpanel, Amplitude, PostHog, Google Analytics 4, ClickHouse
  /// and OpenTelemetry,
  /// and events in Weir's own form; answers as these would; and keeps every good event in a log of its own.
  ///
  /// For tests of delivery, and for developers as the end of a local pipeline: it can be told to fail in every way that
  /// a network and a server know (``Faults``), and shows what it has as JSON. The guide *Collector* tells it all.
  ///
  /// ```swift
  /// var configuration = Collector.Configuration(directory: "collected")
  /// configuration.faults = try Faults("status=500:0.1,drop-answer:0.05", seed: 7)
  /// let collector = try Collector(configuration)
  /// let port = try await collector.start()
  /// … deliver to http://127.0.0.1:PORT/v1/batch …
  /// let events = try collector.events()
  /// try await collector.stop()
  /// ```
  ///
  /// **Threads.** Every call may be made from any task at any time.
  ///
  /// **What survives.** An event is in the log before its request is answered as taken: it survives the death of the
  /// process from then on, and with ``Durability/powerLoss`` also a power cut.
  package final class Collector: Sendable {
    private enum Phase {
      case new
      case starting(Running)
      case running(Running, port: Int)
      case stopped
    }

    private struct Running {
      let group: ServiceGroup
      let task: Task<Void, any Error>
    }

    private let phase = Mutex(Phase.new)
    private let server: CollectorServer
    let store: Store

    /// How it was made.
    package let configuration: Configuration

    /// Opens the logs; begins to listen with ``start()``.
    ///
    /// Throws a ``WeirError`` if the log can't be opened, and a ``CollectorError`` for an address that other machines
    /// reach without ``Configuration/allowsRemote``, or for a limit out of range.
    package init(_ configuration: Configuration) throws {
      try configuration.check()
      self.configuration = configuration
      store = try Store(configuration)
      server = try CollectorServer(configuration, store)
    }

    /// Begins to listen; answers the port.
    ///
    /// Throws what the system says of the address, such as that the port is in use, and a ``CollectorError`` if it was
    /// started before, or is stopped before it listens. If its task is cancelled before, it does not listen, and throws
    /// `CancellationError`.
    @discardableResult
    package func start() async throws -> Int {
      var logger = configuration.logger ?? Logger(label: "weir.collector") { _ in SwiftLogNoOpLogHandler() }
      if configuration.logger == nil { logger.logLevel = .critical }
      let bound = AsyncStream<Int>.makeStream()
      let application = server.application(logger: logger) { port in
        bound.continuation.yield(port)
        bound.continuation.finish()
      }
      let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
      let begun = phase.withLock { phase -> Running? in
        guard case .new = phase else { return nil }
        let task = Task {
          defer { bound.continuation.finish() }
          try await group.run()
        }
        let running = Running(group: group, task: task)
        phase = .starting(running)
        return running
      }
      guard let running = begun else { throw CollectorError("a collector starts once; make another one") }
      let port = await withTaskCancellationHandler {
        await bound.stream.first { _ in true }
      } onCancel: {
        running.task.cancel()
      }
      if let port, !running.task.isCancelled, isRunning(running, at: port) { return port }
      // The server ended before it listened, and its error says why; or it ends, for it is not wanted any more.
      try await running.task.value
      if case .stopped = phase.withLock({ $0 }) { throw CollectorError("the collector was stopped before it listened") }
      throw CancellationError()
    }

    /// Notes that it listens; false if it was stopped before.
    private func isRunning(_ running: Running, at port: Int) -> Bool {
      phase.withLock { phase in
        guard case .starting = phase else { return false }
        phase = .running(running, port: port)
        return true
      }
    }

    /// The port that it listens on; nil before ``start()`` and after ``stop()``.
    package var port: Int? {
      phase.withLock { phase in
        if case .running(_, let port) = phase { port } else { nil }
      }
    }

    /// Where it listens, such as `http://127.0.0.1:4100`; nil before ``start()`` and after ``stop()``.
    package var address: String? {
      port.map { "http://\(configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host):\($0)" }
    }

    /// Listens until the task is cancelled or somebody calls ``stop()``, then stops.
    package func run() async throws {
      do {
        try await start()
      } catch is CancellationError {
        return try await stop()
      }
      let running = phase.withLock { phase -> Running? in
        if case .running(let running, _) = phase { running } else { nil }
      }
      await withTaskCancellationHandler {
        _ = await running?.task.result
      } onCancel: {
        Task { if let running { await end(running) } }
      }
      try await stop()
    }

    /// Lets requests in progress end for ``Configuration/stopTime``. A server that is cancelled at once drops connections
    /// that wait to be taken in, which NIO holds for a fault of the program, and ends the program.
    private func end(_ running: Running) async {
      await running.group.triggerGracefulShutdown()
      let time = min(configuration.stopTime, Configuration.longest)
      let impatience = Task {
        try await Task.sleep(for: time)
        running.task.cancel()
      }
      _ = await running.task.result
      impatience.cancel()
    }

    /// Stops listening, lets requests in progress end for ``Configuration/stopTime``, closes the logs. A second call
    /// does nothing.
    package func stop() async throws {
      let before = phase.withLock { phase in
        defer { phase = .stopped }
        return phase
      }
      switch before {
      case .new: break
      case .starting(let running), .running(let running, _): await end(running)
      case .stopped: return
      }
      try store.close()
    }

    /// What the bodies being read take in memory.
    var bufferedBytes: Int { server.bufferedBytes }

    /// Which faults there are from now on; the numbers begin anew with its seed.
    package func setFaults(_ faults: Faults) {
      server.faults.set(faults)
    }

    /// The events that it took, from an offset on, at most `limit`.
    ///
    /// Throws a ``WeirError`` if the log can't be read.
    package func events(from: Offset = 0, limit: Int = .max) throws -> [CollectedEvent] {
      try store.events(from: from, limit: limit)
    }

    /// The events that it did not take, with the reasons.
    ///
    /// Throws a ``WeirError`` if the log can't be read.
    package func rejected(from: Offset = 0, limit: Int = .max) throws -> [RejectedEvent] {
      try store.rejected(from: from, limit: limit)
    }

    /// What it took and refused, in numbers, from the logs: also what it took before a kill. Reads what was added since
    /// the last call.
    ///
    /// Throws a ``WeirError`` if a log can't be read.
    package func statistics() async throws -> CollectorStatistics {
      try await server.statistics()
    }
  }
#endif
