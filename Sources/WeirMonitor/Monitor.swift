// Monitor: a page on the developer's own machine that shows a log live.

#if Monitor
  import Foundation
  import Hummingbird
  import Logging
  import NIOCore
  public import ServiceLifecycle
  import Synchronization
  public import Weir

  /// Serves a page that shows the events of a log as they are captured, with each event's state at each provider.
  ///
  /// ```swift
  /// var configuration = Monitor.Configuration()
  /// configuration.onAddress = { print("the monitor: \($0)") }
  /// let monitor = try Monitor(tracker, configuration: configuration)
  /// try await monitor.run()
  /// ```
  ///
  /// The page reads the log's files, as `weir monitor` does: of a living process, of this one or another, or of a dead
  /// one. It changes nothing. Nobody but the holder of the address sees the page, and only on this machine, unless the
  /// configuration says otherwise. Off by default: nothing of this runs unless a program makes a monitor and runs it.
  ///
  /// **Cost.** While no page is open, none but the listening socket. An open page costs a reader of the log, about
  /// 0.15 µs an event, and at most some hundred events decoded twelve times a second; captures do not notice.
  ///
  /// **Threads.** Every call may be made from any task at any time.
  public final class Monitor: Service {
    private enum Phase {
      case new
      case running
      case ended
    }

    private let server: MonitorServer
    private let configuration: Configuration
    private let phase = Mutex(Phase.new)

    /// Watches the log in a directory, or the logs in its subdirectories, which need not be there yet.
    ///
    /// Throws `invalid` for a configuration that can't be, such as an address that other machines can reach without
    /// ``Configuration/allowsRemote``, and `io` if the key file can't be read or made.
    public init(directory: String, configuration: Configuration = Configuration()) throws(WeirError) {
      try configuration.check()
      self.configuration = configuration
      server = try MonitorServer(configuration, MonitorSource(directory))
    }

    /// Watches the log of a tracker. Throws what ``init(directory:configuration:)`` throws.
    public convenience init(_ tracker: Tracker, configuration: Configuration = Configuration()) throws(WeirError) {
      try self.init(directory: tracker.directory, configuration: configuration)
    }

    /// Listens until the task is cancelled, or a graceful shutdown begins. A monitor runs once.
    ///
    /// Throws `invalid` if it ran before, and `io` if it can't listen, such as on a port that is in use.
    public func run() async throws {
      let isNew = phase.withLock { phase in
        guard case .new = phase else { return false }
        phase = .running
        return true
      }
      guard isNew else { throw WeirError(.invalid, "a monitor runs once; make another one") }
      defer { phase.withLock { $0 = .ended } }
      try await withGracefulShutdownHandler {
        try await serve()
      } onGracefulShutdown: { [server] in
        server.end()
      }
    }

    /// How long an end in order may take: a reader that does not read would hold it up.
    private static let patience = Duration.seconds(2)

    /// Runs an application until the task is cancelled, and then lets it end in order. An application that is cancelled
    /// drops the connections that wait to be taken in, which NIO holds for a fault of the program, and ends the program.
    private static func run(_ group: ServiceGroup, _ server: MonitorServer) async throws {
      // A task of its own, which is not cancelled with this one.
      let running = Task { try await group.run() }
      try await withTaskCancellationHandler {
        try await running.value
      } onCancel: {
        server.end()
        Task { await group.triggerGracefulShutdown() }
      }
    }

    private static func group(of application: Application<MonitorServer>, _ logger: Logger) -> ServiceGroup {
      var configuration = ServiceGroupConfiguration(services: [.init(service: application)], logger: logger)
      configuration.maximumGracefulShutdownDuration = patience
      return ServiceGroup(configuration: configuration)
    }

    private static func reason(_ error: any Error) -> String {
      (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "\(error)"
    }

    private func serve() async throws {
      var logger = Logger(label: "weir.monitor") { _ in SwiftLogNoOpLogHandler() }
      logger.logLevel = .critical
      let configuration = configuration
      let server = server
      let bound = AsyncStream<Int>.makeStream()
      let application = server.application(host: configuration.host, port: configuration.port, logger: logger) { port in
        bound.continuation.yield(port)
        bound.continuation.finish()
      }
      let first = Self.group(of: application, logger)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          defer { bound.continuation.finish() }
          do {
            try await Self.run(first, server)
          } catch is CancellationError {
            return
          } catch {
            let isTaken = [EADDRINUSE, EACCES].contains((error as? IOError)?.errnoCode ?? 0)
            throw WeirError(
              .io,
              "the monitor can't listen on \(configuration.host), port \(configuration.port): \(Self.reason(error)); "
                + (isTaken ? "choose another port, or 0 for any free port" : "choose another host, such as 127.0.0.1"))
          }
        }
        if let port = await bound.stream.first(where: { _ in true }) {
          if configuration.host == "127.0.0.1" {
            // Browsers may take localhost for ::1. A machine without IPv6 has none.
            let other = Self.group(of: server.application(host: "::1", port: port, logger: logger) { _ in }, logger)
            group.addTask {
              try? await Self.run(other, server)
              // Its end is not the monitor's: the address may be another program's, or not exist.
              while !Task.isCancelled { try? await Task.sleep(for: .seconds(3_600)) }
            }
          }
          configuration.onAddress(server.address)
        }
        try await group.next()
        group.cancelAll()
      }
    }
  }
#endif
