// Inspector: holds a tracker's events against its contract, on a thread of its own that follows the tracker's log.

import Logging

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The inspection of one tracker's events, from outside: begins it, waits for it, ends it.
///
/// Captures know nothing of it. The thread reads the log's files as any follower does, and keeps how far it has come in
/// the cursor `weir.inspector`, so an event is inspected at least once, whenever the process dies. It looks at a number
/// in memory every few milliseconds while the log is in use, and once a second when it is not.
///
/// A child of a fork has no such thread: there the inspector does nothing, and knows of nothing.
final class Inspector: Sendable {
  static let cursorName = "weir.inspector"

  /// What an inspection is to do.
  struct Orders: Sendable {
    var contract: CompiledContract
    var observer: (@Sendable (StoredEvent, Violation) -> Void)?
    var inspection: Tracker.Inspection
    var logger: Logger?
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
  private let process = getpid()
  private let closingTime: Duration

  /// Begins the inspection of the log `log` in `directory`, whose opening gives offsets from `firstOffset` on.
  ///
  /// Never fails: what is wrong is in the counts and goes to the logger.
  init(_ orders: Orders, log: LogHandle, directory: String, firstOffset: Offset) {
    var state = Shared()
    state.log = log
    shared = Monitor(state)
    closingTime = orders.inspection.closingTime
    // Opened on this thread, so that the beginning of the very first inspection is on the disk before any event is.
    let work = InspectorWork(orders, shared, directory: directory, firstOffset: firstOffset)
    do throws(WeirError) {
      try startThread("weir-inspect") { work.run() }
    } catch {
      work.report(error, "events are not inspected")
      shared.change { $0.isFinished = true }
    }
  }

  /// What was found so far.
  var counts: ViolationCounts {
    isOfThisProcess ? shared.read { $0.counts } : ViolationCounts()
  }

  /// Waits until everything below `end` is inspected.
  func inspect(upTo end: Offset, until deadline: MonotonicTime) throws(WeirError) -> ViolationCounts {
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
  func finish() {
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

  /// The tracker frees its log. To be called before that.
  func forgetLog() {
    guard isOfThisProcess else { return }
    shared.change { $0.log = nil }
  }

  /// False in a child of a fork, which has no thread, and where the lock may be held by nobody.
  private var isOfThisProcess: Bool { getpid() == process }
}
