// Fleet: the logs of many hosts in one log, from a broker.

import Synchronization
public import Weir

/// The messages of a broker to collect from: see `FleetSource.nats(_:)` of WeirNATS and `FleetSource.kafka(_:)` of
/// WeirKafka.
public struct FleetSource: Sendable {
  let make: @Sendable () throws -> any MessageSource

  /// `make` is called on the thread that reads.
  package init(_ make: @escaping @Sendable () throws -> any MessageSource) { self.make = make }
}

/// Collects the logs of many hosts from a broker into one log, each event once.
///
/// ```swift
/// let fleet = Fleet(directory: "/var/lib/fleet")
/// try await fleet.run(.nats(try NATSConfiguration("nats://n1,n2,n3", stream: "events")))
/// ```
///
/// The events of a log that a ``BrokerBatchProvider`` delivers arrive in parts. Each event keeps its id, its time and its
/// context, and gets the name of its host (`StoredEvent.host`) and an offset of this log. Everything that reads a log
/// reads this one, also while it grows: `EventReader`, a `Dispatcher(directory:)`, every command of `weir`.
/// The log takes no captures.
///
/// **What comes twice** is dropped, however late: the ids of a lane rise, so a range for each opening and lane says what
/// was collected. Memory: some 600 bytes for an opening of four lanes.
///
/// **What survives.** How far the broker was read is known from the log alone. A kill at any moment loses nothing and
/// doubles nothing: what had not been committed is read again. A commit is on the disk, and comes about once a second;
/// with more logs less often, up to 30 s. In a commit each opening with something new becomes a file.
///
/// **Order** is kept within a lane. A part that comes before an earlier one waits for that, up to a minute.
///
/// **What is missing** is in ``status``, by log. Nothing is removed from the broker, and no group of consumers is needed:
/// several fleets may read one stream, each into its own log.
public final class Fleet: Sendable {
  private let reader: FleetReader
  private let isRunning = Mutex(false)

  /// Names the log. Opens nothing.
  ///
  /// - Parameters:
  ///   - directory: The directory of the log. It is made if it does not exist.
  ///   - configuration: The log's bounds. Of them `byteLimit`, `whenOverLimit`, `retention` and `removeDelivered` count.
  ///   - keepsRepetitions: Whether events that come again are kept, in a log of their own in the subdirectory
  ///     `repetitions`.
  public init(
    directory: String, configuration: Tracker.Configuration = .init(), keepsRepetitions: Bool = false
  ) {
    var options = FleetReader.Configuration()
    options.log = configuration
    options.limits.keepsRepetitions = keepsRepetitions
    reader = FleetReader(directory: directory, configuration: options)
  }

  /// How each log is doing, and what is missing.
  public var status: FleetStatus { reader.status }

  /// Collects until the task is cancelled, on a thread of its own. An error of the broker, and one of the log while it is
  /// collected in, is in ``status``, and tried again after pauses of up to 10 s.
  ///
  /// Throws if the log can't be opened at the start, as `Tracker.init(directory:configuration:)` does, `locked` if this
  /// fleet runs already, and `memory` if no thread can be started.
  public func run(_ source: FleetSource) async throws {
    guard
      isRunning.withLock({ isRunning in
        defer { isRunning = true }
        return !isRunning
      })
    else { throw WeirError(.locked, "this fleet runs already; make another one, with a directory of its own") }
    defer { isRunning.withLock { $0 = false } }
    let isOver = Flag()
    let reader = reader
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        do throws(WeirError) {
          try startThread("weir-fleet") {
            continuation.resume(
              with: Result { try reader.run(try source.make()) { isOver.isSet } })
          }
        } catch {
          continuation.resume(throwing: error)
        }
      }
    } onCancel: {
      isOver.set()
    }
  }

  private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
  }
}
