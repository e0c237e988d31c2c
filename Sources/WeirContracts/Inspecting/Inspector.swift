// Inspector: checks a tracker's events against a contract, on a thread of its own that follows the tracker's log.

import Logging
public import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Checks every event of a tracker against a contract, off the capture path.
///
/// ```swift
/// let inspector = try Inspector(tracker, contract: contract) { event, violation in
///   logger.warning("\(event.name): \(violation)")
/// }
/// …
/// print(inspector.counts.violating)
/// ```
///
/// A thread follows the log and checks each event. Violations are counted (``counts``), passed to the observer, and
/// written to a separate log in the directory `violations`: see ``LoggedViolation``. Without an observer, the program's
/// log gets warnings, at a limited rate. A violation never discards or changes an event.
///
/// The tracker retains its inspector until the tracker ends, whether you keep a reference or not. The first inspector
/// of a log starts with the events of this opening. Later inspectors continue where the previous one stopped.
///
/// **Cost.** An event without violations is checked by its stored bytes, and not built. The thread has nice value 10,
/// so it gives way to the program when processors are short. What is not inspected yet waits in the log. Events that
/// the log removes before they were inspected are counted, and the program's log says so once.
///
/// **Crash.** The position of the inspection is stored in the cursor `weir.inspector`. Every event is inspected at
/// least once, whenever the process dies.
///
/// **End.** `Tracker.close()` waits until all events are inspected, for at most ``Configuration/closingTime``. The
/// next opening inspects the remaining events.
///
/// **Threads.** Any thread may call any member. A forked child has no inspector, and counts nothing.
public final class Inspector: Sendable {
  static let cursorName = "weir.inspector"

  /// The configuration of an inspection.
  struct Orders: Sendable {
    var contract: CompiledContract
    var observer: (@Sendable (StoredEvent, Violation) -> Void)?
    var configuration: Configuration
  }

  /// The state that the thread and its callers share.
  struct Shared: Sendable {
    /// The log; `nil` once the tracker frees it. Used only with the lock held.
    nonisolated(unsafe) var log: LogHandle?
    var counts = ViolationCounts()
    /// Whether the drainer has rung since the thread armed the bell.
    var isRung = false
    /// The highest offset that a caller waits for: everything below it must be inspected.
    var wanted: Offset = 0
    /// The time at which the thread must end, even if it has not inspected everything; `nil` until the end was
    /// requested.
    var deadline: MonotonicTime?
    var isFinished = false
    /// The log of violations, if it is open. A caller that waits in vain for the thread closes the log instead of the
    /// thread.
    var violations: SideLog?
    /// Whether callers have stopped waiting for the thread. Another opening may then follow the log, so the thread must
    /// write nothing from now on.
    var isGivenUp = false
    var thread: ThreadIdentity?
  }

  let shared: ConditionLock<Shared>
  /// The tracker, for finding the end of its log. Weak, because the tracker retains the inspector.
  private let tracker: WeakTracker
  private let process = getpid()
  private let closingTime: Duration

  /// Starts inspecting a tracker's events, including those that this opening has already captured.
  ///
  /// - Parameters:
  ///   - tracker: The tracker whose events are checked. A tracker has at most one inspector.
  ///   - contract: The contract that events are checked against.
  ///   - configuration: The options of the inspection.
  ///   - onViolation: Called for each violation, with the event and its unredacted values (see
  ///     ``Violation/redacted()``), on the inspecting thread. The thread waits for the closure; captures don't. Called
  ///     at least once for each violation, and again for violations found in the last second before the process was
  ///     killed. Must not call ``inspect(timeout:)``.
  ///
  /// Throws `invalid` if the contract is invalid, the configuration is out of range, or the tracker already has an
  /// inspector. Throws `closed` in a forked child. Later errors are in ``counts``, and are logged.
  public init(
    _ tracker: Tracker, contract: Contract, configuration: Configuration = Configuration(),
    onViolation: (@Sendable (StoredEvent, Violation) -> Void)? = nil
  ) throws(WeirError) {
    let orders = Orders(
      contract: try Self.compile(contract), observer: onViolation, configuration: try configuration.checked())
    var state = Shared()
    state.log = tracker.handle
    shared = ConditionLock(state)
    closingTime = configuration.closingTime
    self.tracker = WeakTracker(tracker)
    switch tracker.companions.add(self) {
    case true?: break
    case false?:
      throw WeirError(
        .invalid, "the tracker of \(tracker.directory) already has an inspector; use that inspector",
        path: tracker.directory)
    case nil:
      throw WeirError(
        .closed, "a forked process can't use its parent's tracker; open another log in the forked process",
        path: tracker.directory)
    }
    // Opened on this thread, so that the start of the first inspection is on disk before this returns.
    let work = InspectorWork(
      orders, shared, tracker.listen(), directory: tracker.directory, firstOffset: tracker.recovery.firstOffset)
    do throws(WeirError) {
      try startThread("weir-inspect") { work.run() }
    } catch {
      work.report(error, "events are not inspected")
      shared.change { $0.isFinished = true }
    }
  }

  /// The result of the inspection so far. Never waits. Lags behind the captures by the drain interval. Lags further if there
  /// are more events than the inspector can check, or if the program needs all processors: the inspector gives way.
  public var counts: ViolationCounts {
    isOfThisProcess ? shared.read { $0.counts } : ViolationCounts()
  }

  /// Waits until everything captured before the call is inspected. Returns the result so far.
  ///
  /// Throws `timeout`, `closed` (the tracker is closed, and the inspection ended earlier), and what
  /// `Tracker.drain(timeout:)` throws. Must not be called from the observer, because it would wait for the observer
  /// to return.
  @discardableResult
  public func inspect(timeout: Duration? = nil) throws(WeirError) -> ViolationCounts {
    let deadline = timeout.map { MonotonicTime.now.after($0) } ?? MonotonicTime(nanoseconds: .max)
    return try inspect(upTo: try endOfLog(timeout), until: deadline)
  }

  /// Returns the offset after the events captured before the call. A closed log has drained all events that it could.
  private func endOfLog(_ timeout: Duration?) throws(WeirError) -> Offset {
    guard let tracker = tracker.value else { return counts.offset }
    do throws(WeirError) {
      return try tracker.drain(timeout: timeout)
    } catch {
      guard error.code == .closed else { throw error }
      return tracker.counters.nextOffset
    }
  }

  private static func compile(_ contract: Contract) throws(WeirError) -> CompiledContract {
    do throws(ContractError) {
      return try contract.compiled()
    } catch {
      throw WeirError(.invalid, "the contract \(contract.name) is invalid: \(error)")
    }
  }

  /// Waits until everything below `end` is inspected.
  private func inspect(upTo end: Offset, until deadline: MonotonicTime) throws(WeirError) -> ViolationCounts {
    guard isOfThisProcess else {
      throw WeirError(.closed, "events are not inspected in a forked process; open another log in the forked process")
    }
    shared.change { $0.wanted = max($0.wanted, end) }
    guard shared.wait(until: deadline, for: { $0.counts.offset >= end || $0.isFinished }) else {
      throw WeirError(.timeout, "the events were not inspected before the timeout")
    }
    let counts = self.counts
    guard counts.offset >= end else {
      throw counts.error
        ?? WeirError(.closed, "the inspection has ended; the next opening inspects the remaining events")
    }
    return counts
  }

  /// Ends the inspection when everything in the log is inspected, or when its time has passed. The next opening
  /// inspects the remaining events. Must be called after the last event.
  private func finish() {
    guard isOfThisProcess else { return }
    let deadline = MonotonicTime.now.after(closingTime)
    let isOwnThread = shared.change { state in
      if state.deadline == nil { state.deadline = deadline }
      return state.thread == .current
    }
    // The observer may close the tracker. Its thread ends after the observer returns, so the thread can't wait for
    // itself.
    if isOwnThread { return }
    // The thread's work after the deadline takes a moment. An observer that does not return is not waited for.
    guard !shared.wait(until: deadline.after(.seconds(1)), for: { $0.isFinished }) else { return }
    giveUp()
  }

  /// Closes the log of violations in place of a thread that does not end, so that the next opening can open it.
  private func giveUp() {
    let violations = shared.change { state in
      state.isGivenUp = true
      defer { state.violations = nil }
      return state.violations
    }
    do throws(WeirError) {
      try violations?.close()
    } catch {
      shared.change { $0.counts.error = error }
    }
  }

  /// Whether this is the process that made the inspector. A forked child has no thread, and the lock may never be
  /// released there.
  private var isOfThisProcess: Bool { getpid() == process }
}

extension Inspector: LogCompanion {
  package func logDidClose() { finish() }

  package func logWillBeFreed() {
    guard isOfThisProcess else { return }
    shared.change { $0.log = nil }
  }
}
