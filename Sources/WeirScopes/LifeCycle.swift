// LifeCycle: the life cycle of the process, as events, for observers, and for open scopes.

public import Weir

/// The life cycle of the process: it starts, stands still and continues, is idle, and ends. Each state is captured as a
/// ``ProcessEvent``, passed to observers (``observe(_:)``), and applied to the open scopes.
///
/// ```swift
/// var configuration = LifeCycle.Configuration()
/// configuration.signals = [.terminate, .terminalStop, .continue]
/// let lifeCycle = try LifeCycle(tracker, configuration: configuration)
/// let observation = lifeCycle.observe { state in … }
/// ```
///
/// | state | noticed by | event | open scopes |
/// |---|---|---|---|
/// | `start` | the life cycle is made | `process.started` | |
/// | `suspend` | `.terminalStop`, or ``note(_:)`` | `process.suspended` | are suspended |
/// | `resume` | `.continue`, ``note(_:)``, or the clocks | `process.resumed`, with `stoppedSeconds` | are resumed |
/// | `idle` | nothing was captured for a while, or ``note(_:)`` | `process.idle` | |
/// | `shutdown` | `.terminate`, or ``note(_:)``; the last state | `process.shutdown` | end, with the interaction `shutdown` |
///
/// **Signals belong to the host.** Only the signals in ``Configuration/signals`` are handled. A host that handles
/// signals itself calls ``note(_:)`` from its own code, but not from a signal handler. Our handler only writes a note,
/// and the life cycle's thread does the rest. Then the thread does what would have happened without it. For SIGTERM,
/// the signal is sent again, so the previous handler runs as before. For other signals, the previous handler is called
/// on that thread. Without a handler, the process stops or ends by the signal.
///
/// **Clocks.** Nobody is notified of a SIGSTOP, a frozen container or a suspended machine. The life cycle's thread
/// sleeps for ``Configuration/pause`` at a time, and a sleep that takes over a second too long counts as a standstill.
/// The standstill is excluded from the time of every open scope, to within a pause, also of a scope that ends right
/// afterwards. Standstills of less than a second are not noticed. A machine that is too busy to wake a thread for a
/// second looks the same.
///
/// **Order.** For `suspend` and `shutdown`, observers come first, then the scopes, latest first, then the event. For
/// `resume`, the order is reversed. The events are therefore nested, and all events of a suspension are captured before
/// the process stops. Observers get one state at a time, on the thread that notices the state. They must not block:
/// signals and other threads that note a state wait for them. A state that an observer notes is announced afterwards.
/// States belong to the process: their events and observers have none of the bindings of the thread that notes them.
///
/// **Delivery.** At `suspend` and `resume`, the tracker's dispatcher delivers waiting events, with the flush policies'
/// triggers `suspend` and `resume`. The close of the tracker, which ends a dispatcher's run, ends the scopes that are
/// still open, with the interaction `shutdown`.
///
/// **End.** A released life cycle observes nothing more, and the previous handlers are restored. A tracker has at most
/// one life cycle, which looks after the tracker's scopes. A program should have one. In a forked child, a life cycle
/// does nothing, and its handlers pass signals on.
///
/// **Crash.** Captured events survive. A process that was killed has no `process.shutdown`.
///
/// **Cost.** A thread wakes once a second and reads the clocks and the counters, which takes some microseconds.
/// Captures pay nothing.
public final class LifeCycle: Sendable {
  /// A state of the process.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// The life cycle began.
    case start
    /// The process continues after a standstill.
    case resume
    /// Nothing was captured for a while.
    case idle
    /// The process is about to stand still, or to move to the background.
    case suspend
    /// The process is about to end.
    case shutdown
  }

  /// A signal that the host may hand over to the life cycle.
  public enum Signal: Hashable, Sendable, CaseIterable {
    /// SIGCONT notes ``State/resume``.
    case `continue`
    /// SIGTSTP, which Ctrl-Z sends, notes ``State/suspend``. Then the process stops. When it continues,
    /// ``State/resume`` is noted.
    case terminalStop
    /// SIGTERM notes ``State/shutdown``, and drains the tracker for at most ``Configuration/shutdownBudget``. Then the
    /// host's previous handler runs; without a handler, the process ends by the signal. A second SIGTERM does not wait.
    case terminate
  }

  /// The options of a life cycle.
  public struct Configuration: Sendable {
    /// The signals that the host hands over. Default none.
    public var signals: Set<Signal> = []

    /// The time for which the thread sleeps. Default 1 s. Values are limited to the range 10 ms to 1 day.
    public var pause = Duration.seconds(1)

    /// The time without captures after which the process is idle. The life cycle's own events don't count. `nil`
    /// disables it. Default 60 s.
    public var idleAfter: Duration? = .seconds(60)

    /// The maximum time for draining the tracker after SIGTERM. Default 5 s.
    public var shutdownBudget = Duration.seconds(5)

    /// The clock for pauses, idleness, and scopes that begin from now on; `nil` for the machine's monotonic clock (the
    /// default). Tests use a virtual clock. With a given clock, standstills are not noticed, because the expected
    /// length of a sleep is unknown.
    public var clock: (any Clock<Duration>)?

    /// For tests: replaces the machine's clocks. The thread then does not sleep; the test simulates sleeps.
    var machineClocks: (@Sendable () -> ResumeWatch.Clocks)?

    /// Creates a configuration with the default values.
    public init() {}

    /// Limited, because times near the maximum can't be added to.
    var wholePause: Duration { min(max(pause, .milliseconds(10)), .seconds(86_400)) }
  }

  /// Keeps an observer registered until it is released.
  public final class Observation: Sendable {
    private let watch: ProcessWatch
    private let number: UInt64

    fileprivate init(_ watch: ProcessWatch, _ number: UInt64) {
      self.watch = watch
      self.number = number
    }

    deinit {
      end()
    }

    /// Removes the observer. A call of the observer in progress on another thread may still finish.
    public func end() {
      watch.unobserve(number)
    }
  }

  private let watch: ProcessWatch

  var watchForTests: ProcessWatch { watch }

  /// Starts watching the process, and captures `process.started`.
  ///
  /// Throws `invalid` if the tracker already has a life cycle, or another life cycle handles one of the signals. Throws
  /// `closed` in a forked child with its parent's tracker, and `memory` if the system has no more threads or
  /// descriptors.
  public init(_ tracker: Tracker, configuration: Configuration = Configuration()) throws(WeirError) {
    watch = try ProcessWatch(tracker, configuration)
    try watch.begin()
  }

  deinit {
    watch.end()
  }

  /// The last announced state.
  public var state: State { watch.state }

  /// Notes a state of the process, for hosts that handle signals themselves or know the state from elsewhere.
  ///
  /// When this returns, the event is captured, the scopes are changed, and the observers are called. If an observer
  /// calls this, that happens after all observers have got the current state. Notes that change nothing are ignored:
  /// `start`, `suspend` while suspended, `idle` while idle or suspended, `resume` within a second of the last one
  /// unless the process is suspended, and any state after `shutdown`.
  ///
  /// Waits for observers. Must not be called from a signal handler.
  public func note(_ state: State) {
    watch.note(state)
  }

  /// Calls `body` for each state from now on, until the observation is released.
  ///
  /// `body` is called on the thread that notices the state, and must not block.
  public func observe(_ body: @escaping @Sendable (State) -> Void) -> Observation {
    Observation(watch, watch.observe(body))
  }
}
