// Tracker: a log that is open for capture.

public import CCapture
import Logging
import Synchronization

/// A log that is open for capture. A log is a directory, and has one writer at a time.
///
/// ```swift
/// let tracker = try Tracker(directory: "/var/lib/shop/events")
/// tracker.track(Checkout.completed(order: 7, total: 19.9))
/// …
/// try tracker.close()
/// ```
///
/// **Threads.** Any thread may call any member at any time, also from asynchronous code. Calls that wait block their
/// thread, and say so.
///
/// **Crash.** An event for which ``track(_:)`` returned ``Receipt/accepted(_:)`` survives the death of the process,
/// `kill -9` included. After ``durable(upTo:)`` or ``sync(timeout:)`` the event also survives a power cut.
///
/// **End.** ``close()`` drains and seals the log. Releasing a tracker closes it. A process that simply ends loses
/// nothing either: the next opening recovers what was captured.
public final class Tracker: Sendable {
  /// The open log, from `init` to `deinit`. Safe to share, although the compiler can't see it: the core's functions may
  /// be called from any threads at once, except for the freeing, which is in `deinit`, when no call is in progress.
  @usableFromInline nonisolated(unsafe) let log: UnsafeMutablePointer<weir_log>

  /// What this opening recovered of the log.
  public let recovery: RecoveryReport

  /// The random number of this opening. It is a part of the ids of this opening's events.
  public let opening: UInt64

  /// The log's directory, as an absolute path.
  public let directory: String

  /// The logger for refused types and refused captures.
  private let logger: Logger?

  /// Warns the logger of refused captures; `nil` without a logger.
  private let refusalWatch: RefusalWatch?

  /// The types that can't be defined, or whose events did not match their declaration.
  let refusals = ProcessLock(Refusals())

  /// The global fields and the default user.
  let context = ProcessLock(ProcessContext())

  /// The default user's ``SamplingKey``, for captures to read; 0 without a default user.
  let defaultUserKey = Atomic<UInt64>(0)

  /// The task-local value that holds the bound scope. Copied here because each access to a static property calls a
  /// function that checks its initialisation.
  let boundScope = EncodedScope.$bound

  /// The parts of higher modules that use the log: delivery, inspection, scopes.
  package let companions = LogCompanions()

  /// The bell that the drainer rings once somebody listens.
  private let bell = DrainBell()

  /// The log's maximum size on disk, in bytes; `nil` without a limit.
  package let byteLimit: Int?

  /// The sampling rules; `nil` without rules. Freed in `deinit`, when no capture is in progress.
  let sampler: Sampler?

  /// Opens the log in `directory`, recovers what a previous process left there, and starts the threads that move events
  /// from the lanes into segment files.
  ///
  /// Waits for the recovery. Takes disk space for a ring of ``Configuration/laneCount`` lanes and for two segments, all
  /// mapped into memory.
  ///
  /// **Crash.** A process killed during the opening loses nothing: the next opening recovers everything, with the same
  /// offsets and ids.
  ///
  /// Throws a ``WeirError`` with the code `directory`, `missing`, `access`, `unsafe`, `locked` (another process writes
  /// the log), `version`, `noSpace`, `io`, `memory`, `platform`, `invalid` (the configuration) or `limit`
  /// (``Configuration/globals``).
  public init(directory: String, configuration: Configuration = Configuration()) throws(WeirError) {
    let sampler = try Sampler(configuration.sampling)
    let opened: (handle: LogHandle, recovery: RecoveryReport)
    do throws(WeirError) {
      opened = try LogHandle.open(directory, configuration.core)
    } catch {
      sampler?.free()
      throw error
    }
    self.sampler = sampler
    log = opened.handle.log
    recovery = opened.recovery
    self.directory = absolutePath(directory)
    opening = recovery.opening
    byteLimit = configuration.byteLimit
    logger = configuration.logger
    refusalWatch = logger.map { [directory = self.directory] in
      RefusalWatch(opened.handle, directory: directory, logger: $0, clock: configuration.refusalClock)
    }
    if let refusalWatch { opened.handle.ringWhenRefused(refusalWatch) }
    logger?.log(
      level: recovery.isComplete ? .info : .warning,
      "opened \(directory): \(recovery)", metadata: ["opening": "\(recovery.opening)"])
    if configuration.globals != GlobalFields() { try setGlobals(configuration.globals) }
  }

  deinit {
    // A tracker that was not closed is closed here. The next opening recovers from any error.
    try? close()
    companions.tellOfFreeing()
    refusalWatch?.finish()
    handle.free()
    withExtendedLifetime(refusalWatch) {}
    sampler?.free()
  }

  /// Has the drainer ring the returned bell, from now on, whenever events came into the log.
  package func listen() -> DrainBell {
    handle.ringWhenDrained(bell)
    return bell
  }

  /// The handle through which the core's other functions are called.
  package var handle: LogHandle { LogHandle(log) }

  /// Waits until everything captured before the call is in the log, where the events have offsets and readers see them.
  ///
  /// Returns the offset after the last event. Throws `timeout`, `closed`, or, if the log can't grow, `noSpace` or `io`.
  /// Nothing is lost then: the events stay in the lanes.
  @discardableResult
  public func drain(timeout: Duration? = nil) throws(WeirError) -> Offset {
    try handle.drain(timeout?.wholeNanoseconds ?? .max)
  }

  /// Drains, then waits until everything is on disk and survives a power cut. Takes milliseconds.
  ///
  /// Returns the offset after the last event. Throws what ``drain(timeout:)`` throws.
  @discardableResult
  public func sync(timeout: Duration? = nil) throws(WeirError) -> Offset {
    try handle.sync(timeout?.wholeNanoseconds ?? .max)
  }

  /// Stops capturing, drains every lane, seals the log, and releases the directory.
  ///
  /// Waits. Captures in progress end first, and later captures are dropped as ``DropReason/closed``. If an `Inspector`
  /// of WeirContracts is attached, also waits until the events are checked. A second call does nothing.
  ///
  /// If the disk has no room for the events in the lanes, this throws, and the next opening recovers the events.
  public func close() throws(WeirError) {
    defer {
      refusalWatch?.finish()
      companions.tellOfClose()
    }
    companions.tellOfComingClose()
    try handle.close()
  }

  /// The counters of this opening. Never waits. Each counter is exact, but the counters are not read at one instant.
  public var counters: Counters {
    var counters = handle.counters()
    counters.collidingTypes = refusals.withLock { $0.claims.colliding.count } ?? 0
    counters.bindingsRefused = EncodedScope.refusedCount
    return counters
  }

  /// The last error of an event type, or `nil` if there was none. Three errors are possible. A definition was refused,
  /// or an event did not match its declaration: such events are dropped as ``DropReason/invalid``. Or a type claimed
  /// the wire id or the name of another type: its events are captured, and only the message tells of the collision. The
  /// logger gets one error for each type.
  public var lastDefinitionError: WeirError? {
    refusals.withLock { $0.last } ?? nil
  }

  /// Warns the program's logger.
  package func warn(_ message: String) { logger?.warning("\(message)") }

  /// Notes that events of a type are refused. Logs each type once, because the error may occur at every event.
  func note(_ type: any Event.Type, _ message: String) {
    note(ObjectIdentifier(type), WeirError(.invalid, "events of \(type) are dropped: \(message)", path: directory))
  }

  func note(_ type: ObjectIdentifier, _ error: WeirError) {
    let isNew = refusals.withLock { refusals in
      guard refusals.noted[type] == nil else { return false }
      refusals.noted[type] = error
      refusals.last = error
      return true
    }
    if isNew == true { logger?.error("\(error.message)") }
  }
}

/// The types whose events a tracker refuses.
struct Refusals {
  /// The last error.
  var last: WeirError?
  /// The first error of each type.
  var noted: [ObjectIdentifier: WeirError] = [:]
  /// The types that can't be defined. Without this set, each event of such a type would take a lock to try again.
  var undefinable: Set<ObjectIdentifier> = []
  /// The owners of wire ids and names.
  var claims = Claims()
}
