// DeliveredLog: the log of a dispatcher, as its workers see the log.

import Logging
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A log's directory and, in the process that captures, the open log.
///
/// The tracker belongs to the application, which may close and release the tracker at any time. From then on, delivery
/// continues from the files.
final class DeliveredLog: Sendable {
  private struct State {
    /// The log, until the tracker frees it. Used only with the lock held.
    nonisolated(unsafe) var log: LogHandle?
    /// Everything below this offset was reported to the log as delivered.
    var released: Offset = 0
    /// The dispatcher that delivers the log in this process. Not retained.
    weak var owner: Dispatcher?
    /// The bell of the log's drainer; `nil` if no drainer rings.
    var bell: DrainBell?
  }

  /// The log's directory, as an absolute path.
  let directory: String
  /// The log's maximum size on disk; `nil` without a limit, or if only the writing process knows the limit.
  let byteLimit: Int?
  private let state: Lock<State>
  /// Whether the log was ever open in this process. If it was not, workers avoid the lock that all of them share.
  private let wasOpenHere: Bool
  private let process = getpid()

  /// Creates a log that this process does not have open.
  init(directory: String) {
    self.directory = absolutePath(directory)
    byteLimit = nil
    state = Lock(State())
    wasOpenHere = false
  }

  /// Creates a log that this process has open.
  init(_ tracker: Tracker) {
    directory = tracker.directory
    byteLimit = tracker.byteLimit
    state = Lock(State(log: tracker.handle))
    wasOpenHere = true
  }

  deinit { forgetLog() }

  /// The dispatcher that delivers the log in this process, or `nil`.
  var dispatcher: Dispatcher? {
    get { state.withLock { $0.owner } }
    set { state.withLock { $0.owner = newValue } }
  }

  /// Whether this process created the log. `false` in a forked child, which has no threads to deliver with.
  var isOfThisProcess: Bool { getpid() == process }

  /// Lets the drainer wake workers that wait for events, from now on.
  func listen(to tracker: Tracker) {
    let bell = tracker.listen()
    state.withLock { state in
      if state.log != nil { state.bell = bell }
    }
  }

  /// Forgets the open log. Must be called before the tracker frees the log or gets another dispatcher.
  func forgetLog() {
    guard isOfThisProcess else { return }
    let bell = state.withLock { state in
      state.log = nil
      defer { state.bell = nil }
      return state.bell
    }
    // Wakes the sleeping workers, because nobody rings from now on. The workers then check from time to time.
    bell?.ring()
  }

  /// What a worker finds that wants to sleep at the log's end.
  enum News {
    /// Nobody will wake the worker: it must check from time to time.
    case untold
    /// There are events after the end that the worker knows.
    case there
    /// The worker's alarm will ring: see ``disarm(_:)``.
    case armed
  }

  /// Makes this alarm ring when an event comes after `end`.
  func arm(_ alarm: Alarm, after end: Offset) -> News {
    state.withLock { state in
      guard let bell = state.bell, let log = state.log else { return .untold }
      bell.arm(alarm)
      // Checked after arming: an event that came before did not ring the alarm.
      guard log.counters().nextOffset > end else { return .armed }
      _ = bell.disarm(alarm)
      return .there
    }
  }

  /// Disarms the alarm. Returns `true` if the alarm was rung, or if nobody rings any more.
  func disarm(_ alarm: Alarm) -> Bool { state.withLock { !($0.bell?.disarm(alarm) ?? false) } }

  /// The offset after the last event in the log; `nil` if only the files show it.
  var nextOffset: Offset? { wasOpenHere ? state.withLock { $0.log?.counters().nextOffset } : nil }

  /// Everything below this offset survives a power cut; `nil` if this process does not have the log open.
  var durableOffset: Offset? { state.withLock { $0.log?.durableOffset } }

  /// The counters of the capturing process; `nil` in any other process.
  var counters: Counters? { state.withLock { $0.log?.counters() } }

  /// Lets the segment that is being filled be sealed soon. Does nothing if this process does not have the log open.
  /// Waits shortly for the drainer. Throws `timeout` if the log is busy: then the log seals later.
  func seal() throws(WeirError) {
    // All workers share the lock, so the wait is shorter than anybody notices.
    try state.withLock { state throws(WeirError) in try state.log?.seal(20_000_000) }
  }

  /// Whether this process has the log open.
  var isOpenHere: Bool { wasOpenHere && state.withLock { $0.log != nil } }

  /// Tells the log that every provider has received everything below the least of all cursors. The log may remove these
  /// events. Returns that least cursor. If this process does not have the log open, does nothing and returns `nil`,
  /// because only the writer removes segments.
  @discardableResult
  func release(calls: SystemCalls) throws(WeirError) -> Offset? {
    guard state.withLock({ $0.log != nil }), let least = try Pins(directory, calls: calls).least else { return nil }
    state.withLock { state in
      guard least > state.released else { return }
      state.released = least
      state.log?.setDelivered(least)
    }
    return least
  }
}
