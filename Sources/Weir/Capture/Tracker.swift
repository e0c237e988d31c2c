// Tracker: a log that is open for capture.

public import CCapture
import Logging
import Synchronization

/// A log that is open for capture: a directory, of which this is the one writer.
///
/// ```swift
/// let tracker = try Tracker(directory: "/var/lib/shop/events")
/// tracker.track(Checkout.completed(order: 7, total: 19.9))
/// …
/// try tracker.close()
/// ```
///
/// **Threads.** Every call may be made from any thread at any time, from asynchronous code too; the calls that wait are
/// marked, and block their thread.
///
/// **What survives.** An event whose ``track(_:)`` answered ``Receipt/accepted(_:)`` survives the death of the process,
/// `kill -9` included. After ``durable(upTo:)`` or ``sync(timeout:)`` it survives a power cut.
///
/// **The end.** ``close()`` drains and seals the log. A tracker that is released without it is closed then. A process
/// that just ends loses nothing either: the next opening recovers what was captured.
public final class Tracker: Sendable {
  /// The open log, from `init` to `deinit`. Sendable in truth though the compiler can't see it: the core's functions
  /// may be called from any threads at once, all but the freeing, which is in `deinit`, when no call is in progress.
  @usableFromInline nonisolated(unsafe) let log: UnsafeMutablePointer<weir_log>

  /// What this opening found of the one before.
  public let recovery: RecoveryReport

  /// The random number of this opening, a part of the ids of its events.
  public let opening: UInt64

  /// The log's directory, as an absolute path.
  public let directory: String

  /// Where refused types are reported.
  private let logger: Logger?

  /// Tells the logger of refused captures; nil without one.
  private let refusalWatch: RefusalWatch?

  /// What is known about types that could not be defined or did not keep to their definition.
  let refusals = ProcessLock(Refusals())

  /// Global fields and default user.
  let context = ProcessLock(ProcessContext())

  /// The default user's ``SamplingKey``, where captures read it; 0 for nobody.
  let defaultUserKey = Atomic<UInt64>(0)

  /// What is bound around a capture. At hand here, because a static property has its initialisation looked after at
  /// each access, which is a call.
  let boundScope = EncodedScope.$bound

  /// What works beside the log: delivery, inspection, scopes.
  package let companions = LogCompanions()

  /// What the log may take on the disk; nil without a limit.
  package let byteLimit: Int?

  /// The rules of sampling; nil without any. Freed in `deinit`, when no capture is in progress.
  let sampler: Sampler?

  /// Opens the log in `directory`, recovers what a process before left in it, and starts the threads that move events
  /// from the lanes into segment files.
  ///
  /// Waits for the recovery. Takes a ring of ``Configuration/laneCount`` lanes and two segments on disk, mapped into
  /// memory. A process killed at any moment of it leaves everything to the next opening, with the same offsets and ids.
  ///
  /// Throws a ``WeirError``, with the code `directory`, `missing`, `access`, `unsafe`, `locked` (another writer),
  /// `version`, `noSpace`, `io`, `memory`, `platform`, `invalid` (the configuration) or `limit`
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
    // Whoever did not close the log gets the same end as those who did; errors are the next opening's to recover from.
    try? close()
    companions.tellOfFreeing()
    refusalWatch?.finish()
    handle.free()
    withExtendedLifetime(refusalWatch) {}
    sampler?.free()
  }

  /// The log's other functions.
  package var handle: LogHandle { LogHandle(log) }

  /// Waits until everything captured before the call is in the log, where readers see it and it has offsets.
  ///
  /// Answers the offset after the last event. Throws `timeout`, `closed`, or `noSpace` and `io` if the log can't grow:
  /// nothing is lost then, the events stay in the lanes.
  @discardableResult
  public func drain(timeout: Duration? = nil) throws(WeirError) -> Offset {
    try handle.drain(timeout?.wholeNanoseconds ?? .max)
  }

  /// Drains, then waits until the disk has it all: from then on it survives a power cut. Takes milliseconds.
  ///
  /// Answers the offset after the last event. Throws as ``drain(timeout:)`` does.
  @discardableResult
  public func sync(timeout: Duration? = nil) throws(WeirError) -> Offset {
    try handle.sync(timeout?.wholeNanoseconds ?? .max)
  }

  /// Ends the intake, drains every lane, seals the log, and gives up the directory.
  ///
  /// Captures in progress end first; later ones are dropped as ``DropReason/closed``. Waits. A second call does
  /// nothing. If the disk has no room for what is in the lanes, this throws, and the next opening recovers it.
  ///
  /// With an `Inspector` of WeirContracts it also waits until the events are checked.
  public func close() throws(WeirError) {
    defer {
      refusalWatch?.finish()
      companions.tellOfClose()
    }
    try handle.close()
  }

  /// Counters of this opening. Never waits; each is exact, together they are a moment's picture.
  public var counters: Counters {
    var counters = handle.counters()
    counters.collidingTypes = refusals.withLock { $0.claims.colliding.count } ?? 0
    counters.bindingsRefused = EncodedScope.refusedCount
    return counters
  }

  /// What was last found wrong with a type: its definition was refused, or an event did not keep to it, and events were
  /// dropped as ``DropReason/invalid``; or it claimed a wire id or a name that another type has, and only the message
  /// tells of it. Nil if that never happened. Each type is reported to the logger once.
  public var lastDefinitionError: WeirError? {
    refusals.withLock { $0.last } ?? nil
  }

  /// Reports a type whose events are refused. Once for each type, for it may happen at every event.
  func note(_ type: any Event.Type, _ message: String) {
    note(ObjectIdentifier(type), WeirError(.invalid, "events of \(type) are dropped: \(message)", path: directory))
  }

  func note(_ type: ObjectIdentifier, _ error: WeirError) {
    let isNew = refusals.withLock { refusals in
      guard refusals.noted.insert(type).inserted else { return false }
      refusals.last = error
      return true
    }
    if isNew == true { logger?.error("\(error.message)") }
  }
}

/// What a tracker remembers about types whose events it refuses.
struct Refusals {
  /// The last error.
  var last: WeirError?
  /// The types that an error was noted for.
  var noted: Set<ObjectIdentifier> = []
  /// Of them, those that can't be defined: trying again would take a lock at every event.
  var undefinable: Set<ObjectIdentifier> = []
  /// Who has which wire id and name.
  var claims = Claims()
}
