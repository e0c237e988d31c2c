// Inspector: holds a tracker's events against its contract, on a thread of its own that follows the tracker's log.

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
/// A thread of its own follows the log and checks each event. What is found is counted (``counts``), told to the
/// observer, and written to a log of its own in the directory `violations`: see ``LoggedViolation``. No event is ever
/// discarded or changed for a violation.
///
/// The tracker keeps its inspector until it ends, whether you hold a reference or not. The first inspector of a log
/// begins with the events of this opening; later ones go on where the last one was. How far the inspection has come is
/// kept in the cursor `weir.inspector`, so an event is inspected at least once, whenever the process dies.
///
/// **The end.** ``Tracker/close()`` waits until everything is inspected, for ``Configuration/closingTime`` at most. What
/// is left is inspected at the next opening.
///
/// **Threads.** Every call may be made from any thread. A child of a fork has no inspector: there it counts nothing.
public final class Inspector: Sendable {
  static let cursorName = "weir.inspector"

  /// What an inspection is to do.
  struct Orders: Sendable {
    var contract: CompiledContract
    var observer: (@Sendable (StoredEvent, Violation) -> Void)?
    var configuration: Configuration
  }

  /// What thread and callers tell each other.
  struct Shared: Sendable {
    /// The log, until its tracker frees it. Only used with the lock held.
    nonisolated(unsafe) var log: LogHandle?
    var counts = ViolationCounts()
    /// Somebody waits until everything below it is inspected.
    var wanted: Offset = 0
    /// Set: the thread is to end when it has inspected everything, or at this time.
    var deadline: MonotonicTime?
    var isFinished = false
    /// The log of violations, if it is open: whoever waits for the end in vain closes it in the thread's place.
    var violations: Tracker?
    /// Nobody waits for the thread any more, and another opening may follow the log: it is to write nothing from now
    /// on.
    var isGivenUp = false
    var thread: pthread_t?
  }

  let shared: Monitor<Shared>
  /// Asked for the end of what was captured; not kept, for the tracker keeps the inspector.
  private let tracker: WeakTracker
  private let process = getpid()
  private let closingTime: Duration

  /// Inspects a tracker's events from now on, those among them that this opening captured before.
  ///
  /// - Parameters:
  ///   - tracker: The tracker whose events are checked. One inspector a tracker.
  ///   - contract: What the events should look like.
  ///   - configuration: How they are checked.
  ///   - onViolation: Called for each violation, with the event and its true values (``Violation/redacted()``), on the
  ///     inspecting thread, which waits for it: captures never do. Called at least once for each violation, and again
  ///     for those that were found in the second before the process was killed. It must not call ``inspect(timeout:)``.
  ///
  /// Throws `invalid` if the contract makes no sense, the configuration is out of range, or the tracker has an inspector;
  /// `closed` in a child of a fork. What goes wrong later is in ``counts`` and goes to the logger.
  public init(
    _ tracker: Tracker, contract: Contract, configuration: Configuration = Configuration(),
    onViolation: (@Sendable (StoredEvent, Violation) -> Void)? = nil
  ) throws(WeirError) {
    let orders = Orders(
      contract: try Self.compile(contract), observer: onViolation, configuration: try configuration.checked())
    var state = Shared()
    state.log = tracker.handle
    shared = Monitor(state)
    closingTime = configuration.closingTime
    self.tracker = WeakTracker(tracker)
    switch tracker.companions.add(self) {
    case true?: break
    case false?:
      throw WeirError(
        .invalid, "the tracker of \(tracker.directory) has an inspector; one inspector checks all of its events",
        path: tracker.directory)
    case nil:
      throw WeirError(
        .closed, "a forked process has no use for its parent's tracker; open a log of its own there",
        path: tracker.directory)
    }
    // Opened on this thread, so that the beginning of the very first inspection is on the disk before this returns.
    let work = InspectorWork(
      orders, shared, directory: tracker.directory, firstOffset: tracker.recovery.firstOffset)
    do throws(WeirError) {
      try startThread("weir-inspect") { work.run() }
    } catch {
      work.report(error, "events are not inspected")
      shared.change { $0.isFinished = true }
    }
  }

  /// What was found so far. Never waits. Behind the captures by milliseconds, by a second at most after a quiet time, by
  /// more if there are more events than the inspector keeps up with, which is some hundred thousand a second.
  public var counts: ViolationCounts {
    isOfThisProcess ? shared.read { $0.counts } : ViolationCounts()
  }

  /// Waits until everything captured before the call is inspected. Returns what was found so far.
  ///
  /// Throws `timeout`, `closed` (the tracker is, and the inspection ended before it came so far), and what
  /// ``Tracker/drain(timeout:)`` throws. It must not be called from the observer, whose return it would wait for.
  @discardableResult
  public func inspect(timeout: Duration? = nil) throws(WeirError) -> ViolationCounts {
    let deadline = timeout.map { MonotonicTime.now.after($0) } ?? MonotonicTime(nanoseconds: .max)
    return try inspect(upTo: try endOfLog(timeout), until: deadline)
  }

  /// The offset after what was captured before the call; a closed log has drained all that it could.
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
      throw WeirError(.invalid, "the contract \(contract.name) makes no sense: \(error)")
    }
  }

  /// Waits until everything below `end` is inspected.
  private func inspect(upTo end: Offset, until deadline: MonotonicTime) throws(WeirError) -> ViolationCounts {
    guard isOfThisProcess else {
      throw WeirError(.closed, "events are not inspected in a forked process; open a log of its own there")
    }
    shared.change { $0.wanted = max($0.wanted, end) }
    guard shared.wait(until: deadline, for: { $0.counts.offset >= end || $0.isFinished }) else {
      throw WeirError(.timeout, "the events were not inspected in the time given")
    }
    let counts = self.counts
    guard counts.offset >= end else {
      throw counts.error
        ?? WeirError(.closed, "the inspection has ended; what is left is inspected at the next opening")
    }
    return counts
  }

  /// Ends the inspection when everything is inspected that is in the log, or when the time for that has passed: what is
  /// left is inspected at the next opening. To be called once nothing more comes.
  private func finish() {
    guard isOfThisProcess else { return }
    let deadline = MonotonicTime.now.after(closingTime)
    let isOwnThread = shared.change { state in
      if state.deadline == nil { state.deadline = deadline }
      return state.thread.map { pthread_equal($0, pthread_self()) != 0 } ?? false
    }
    // An observer may close the tracker. Its thread ends after it has returned, and can't be waited for on itself.
    if isOwnThread { return }
    // What the thread does after the deadline takes a moment; an observer that does not return is not waited for.
    guard !shared.wait(until: deadline.after(.seconds(1)), for: { $0.isFinished }) else { return }
    giveUp()
  }

  /// Takes the log of violations from a thread that does not end, so that the next opening has it.
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

  /// False in a child of a fork, which has no thread, and where the lock may be held by nobody.
  private var isOfThisProcess: Bool { getpid() == process }
}

extension Inspector: LogCompanion {
  package func logDidClose() { finish() }

  package func logWillBeFreed() {
    guard isOfThisProcess else { return }
    shared.change { $0.log = nil }
  }
}
