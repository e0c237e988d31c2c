// DeliveredLog: the log that a dispatcher delivers, as its workers see it.

import Logging
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A log's directory and, in the process that captures, the open log.
///
/// The tracker belongs to the application, which may close and release it at any time: from then on the files are all
/// there is, and delivery goes on from them.
final class DeliveredLog: Sendable {
  private struct State {
    /// Until the tracker frees it. Only used with the lock held.
    nonisolated(unsafe) var log: LogHandle?
    /// Below it everything was said to be delivered.
    var released: Offset = 0
    /// The dispatcher that delivers the log in this process, which is not kept.
    weak var owner: Dispatcher?
    /// What the log's drainer rings; nil where nobody does.
    var bell: DrainBell?
  }

  /// As an absolute path.
  let directory: String
  /// What the log may take on the disk; nil without a limit, or if only the process that writes it knows.
  let byteLimit: Int?
  private let state: Lock<State>
  /// The log was open in this process. Of one that never was, workers ask nothing behind the lock that all of them
  /// share.
  private let wasOpenHere: Bool
  private let process = getpid()

  /// A log that another process has open, or nobody.
  init(directory: String) {
    self.directory = absolutePath(directory)
    byteLimit = nil
    state = Lock(State())
    wasOpenHere = false
  }

  /// A log that this process has open.
  init(_ tracker: Tracker) {
    directory = tracker.directory
    byteLimit = tracker.byteLimit
    state = Lock(State(log: tracker.handle))
    wasOpenHere = true
  }

  deinit { forgetLog() }

  /// The dispatcher that delivers the log in this process, while there is one.
  var dispatcher: Dispatcher? {
    get { state.withLock { $0.owner } }
    set { state.withLock { $0.owner = newValue } }
  }

  /// False in a child of a fork, which has no threads to deliver with.
  var isOfThisProcess: Bool { getpid() == process }

  /// Has the drainer wake workers that wait for news, from now on.
  func listen(to tracker: Tracker) {
    let bell = tracker.listen()
    state.withLock { state in
      if state.log != nil { state.bell = bell }
    }
  }

  /// The tracker frees its log, or has another dispatcher. To be called before that.
  func forgetLog() {
    guard isOfThisProcess else { return }
    let bell = state.withLock { state in
      state.log = nil
      defer { state.bell = nil }
      return state.bell
    }
    // Nobody rings for those who sleep any more: from now on they look from time to time.
    bell?.ring()
  }

  /// What a worker finds that wants to sleep at the log's end.
  enum News {
    /// Nobody will tell it: it has to look from time to time.
    case untold
    /// There is something after the end that it knows.
    case there
    /// Its alarm will be rung: see ``disarm(_:)``.
    case armed
  }

  /// Has this alarm rung when something comes after `end`.
  func arm(_ alarm: Alarm, after end: Offset) -> News {
    state.withLock { state in
      guard let bell = state.bell, let log = state.log else { return .untold }
      bell.arm(alarm)
      // After that: what came before it was armed rang for nobody.
      guard log.counters().nextOffset > end else { return .armed }
      _ = bell.disarm(alarm)
      return .there
    }
  }

  /// Ends that. True if it was rung, or nobody rings any more.
  func disarm(_ alarm: Alarm) -> Bool { state.withLock { !($0.bell?.disarm(alarm) ?? false) } }

  /// The offset after the last event in the log; nil if only the files can tell.
  var nextOffset: Offset? { wasOpenHere ? state.withLock { $0.log?.counters().nextOffset } : nil }

  /// Everything below it survives a power cut; nil if only a process that has the log open knows.
  var durableOffset: Offset? { state.withLock { $0.log?.durableOffset } }

  /// The counters of the process that captures; nil if that is not this one.
  var counters: Counters? { state.withLock { $0.log?.counters() } }

  /// Says that every provider has what is below the least of all cursors, so that the log may remove it. Does nothing
  /// where the log is not this process's own: only its writer removes. Answers that cursor; nil where it does nothing.
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
