// Collector: an endpoint on the developer's own machine that takes batches as the vendors do, and keeps what it took.

#if Collector
  import Foundation
  import Hummingbird
  import Logging
  import ServiceLifecycle
  import Synchronization
  public import Weir

  /// An HTTP endpoint that takes the batches of Segment, Mixpanel, Amplitude, PostHog, ClickHouse and OpenTelemetry,
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
  /// // … deliver to http://127.0.0.1:PORT/v1/batch …
  /// let events = try collector.events()
  /// try await collector.stop()
  /// ```
  ///
  /// **Threads.** Every call may be made from any task at any time.
  ///
  /// **What survives.** An event is in the log before its request is answered as taken: it survives the death of the
  /// process from then on, and with ``Durability/powerLoss`` also a power cut.
  public final class Collector: Sendable {
    private enum Phase {
      case new
      case starting
      case running(ServiceGroup, Task<Void, any Error>, port: Int)
      case stopped
    }

    private let phase = Mutex(Phase.new)
    private let server: CollectorServer
    let store: Store

    /// How it was made.
    public let configuration: Configuration

    /// Opens the logs; begins to listen with ``start()``.
    ///
    /// Throws a ``WeirError`` if the log can't be opened, and a ``CollectorError`` for an address that other machines
    /// reach without ``Configuration/allowsRemote``, or for a limit out of range.
    public init(_ configuration: Configuration) throws {
      try configuration.check()
      self.configuration = configuration
      store = try Store(configuration)
      server = CollectorServer(configuration, store)
    }

    /// Begins to listen; answers the port.
    ///
    /// Throws what the system says of the address, such as that the port is in use, and a ``CollectorError`` if it was
    /// started before.
    @discardableResult
    public func start() async throws -> Int {
      let isNew = phase.withLock { phase in
        guard case .new = phase else { return false }
        phase = .starting
        return true
      }
      guard isNew else { throw CollectorError("a collector starts once; make another one") }
      var logger = configuration.logger ?? Logger(label: "weir.collector") { _ in SwiftLogNoOpLogHandler() }
      if configuration.logger == nil { logger.logLevel = .critical }
      let bound = AsyncStream<Int>.makeStream()
      let application = server.application(logger: logger) { port in
        bound.continuation.yield(port)
        bound.continuation.finish()
      }
      let group = ServiceGroup(configuration: .init(services: [application], logger: logger))
      let task = Task {
        defer { bound.continuation.finish() }
        try await group.run()
      }
      for await port in bound.stream {
        let isStopped = phase.withLock { phase in
          if case .stopped = phase { return true }
          phase = .running(group, task, port: port)
          return false
        }
        if isStopped { task.cancel() }
        return port
      }
      // The server ended before it listened: its error says why.
      try await task.value
      throw CancellationError()
    }

    /// The port that it listens on; nil before ``start()`` and after ``stop()``.
    public var port: Int? {
      phase.withLock { phase in
        if case .running(_, _, let port) = phase { port } else { nil }
      }
    }

    /// Where it listens, such as `http://127.0.0.1:4100`; nil before ``start()`` and after ``stop()``.
    public var address: String? {
      port.map { "http://\(configuration.host.contains(":") ? "[\(configuration.host)]" : configuration.host):\($0)" }
    }

    /// Listens until the task is cancelled or somebody calls ``stop()``, then stops.
    public func run() async throws {
      try await start()
      let task = phase.withLock { phase -> Task<Void, any Error>? in
        if case .running(_, let task, _) = phase { task } else { nil }
      }
      await withTaskCancellationHandler {
        _ = await task?.result
      } onCancel: {
        task?.cancel()
      }
      try await stop()
    }

    /// Stops listening, lets requests in progress end for ``Configuration/stopTime``, closes the logs. A second call
    /// does nothing.
    public func stop() async throws {
      let running = phase.withLock { phase in
        let running = phase
        phase = .stopped
        return running
      }
      if case .stopped = running { return }
      if case .running(let group, let task, _) = running {
        await group.triggerGracefulShutdown()
        let time = min(configuration.stopTime, Configuration.longest)
        let impatience = Task {
          try await Task.sleep(for: time)
          task.cancel()
        }
        _ = await task.result
        impatience.cancel()
      }
      try store.close()
    }

    /// What the bodies being read take in memory.
    var bufferedBytes: Int { server.bufferedBytes }

    /// Which faults there are from now on; the numbers begin anew with its seed.
    public func setFaults(_ faults: Faults) {
      server.faults.set(faults)
    }

    /// The events that it took, from an offset on, at most `limit`.
    ///
    /// Throws a ``WeirError`` if the log can't be read.
    public func events(from: Offset = 0, limit: Int = .max) throws -> [CollectedEvent] {
      try store.events(from: from, limit: limit)
    }

    /// The events that it did not take, with the reasons.
    ///
    /// Throws a ``WeirError`` if the log can't be read.
    public func rejected(from: Offset = 0, limit: Int = .max) throws -> [RejectedEvent] {
      try store.rejected(from: from, limit: limit)
    }

    /// What it took and refused, in numbers, from the logs: also what it took before a kill. Reads what was added since
    /// the last call.
    ///
    /// Throws a ``WeirError`` if a log can't be read.
    public func statistics() async throws -> CollectorStatistics {
      try await server.statistics()
    }
  }
#endif
