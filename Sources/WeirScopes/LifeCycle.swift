// LifeCycle: what becomes of the process, as events, to those who observe it, and to the scopes that are open.

public import Weir

/// The life of the process: it starts, stands still and goes on, is idle, ends. Each is a ``ProcessEvent``, told to
/// those who ``observe(_:)``, and taken into account by the open scopes.
///
/// ```swift
/// var configuration = LifeCycle.Configuration()
/// configuration.signals = [.terminate, .terminalStop, .continue]
/// let lifeCycle = try LifeCycle(tracker, configuration: configuration)
/// let observation = lifeCycle.observe { state in … }
/// ```
///
/// | state | how it is known | event | open scopes |
/// |---|---|---|---|
/// | `start` | the life cycle is made | `process.started` | |
/// | `suspend` | `.terminalStop`, or ``note(_:)`` | `process.suspended` | are suspended |
/// | `resume` | `.continue`, ``note(_:)``, or from the clocks | `process.resumed`, with how long it stood still | are resumed |
/// | `idle` | nothing was captured for a while, or ``note(_:)`` | `process.idle` | |
/// | `shutdown` | `.terminate`, or ``note(_:)``; nothing comes after it | `process.shutdown` | end, with the interaction `shutdown` |
///
/// **Signals belong to the host.** None is taken that is not in ``Configuration/signals``; a host that handles them
/// itself calls ``note(_:)`` from where it does, not from the handler. Of those that are handed over the handler writes
/// a note and no more; the life cycle's thread does the rest, and then what would have happened without it: the handler
/// that was there before is called, that of SIGTERM as ever, for the signal is sent again, others on that thread; or
/// the process stops, or ends by that signal.
///
/// **From the clocks.** A SIGSTOP, a frozen container or a suspended machine tells nobody. The life cycle's thread
/// sleeps ``Configuration/pause`` at a time, and a sleep that took more than a second too long was one. What the process
/// stood still is left out of the time of every open scope, to within a pause, also of one that ends right after. Stops
/// of less than a second are not noticed. A machine that is too busy to wake a thread for a second looks the same.
///
/// **Order.** On the way down observers are told first, then the scopes, the latest first, then comes the event; on the
/// way up it is the other way round. So the events nest, and all of those of a suspension are captured before the
/// process stops. Observers are told one state at a time, on whichever thread notices, and must not block: signals and
/// other threads that note a state wait for them. What an observer notes itself comes after. The states are the
/// process's: whoever notes one, its events and observers have nothing of what is bound there.
///
/// **The end.** Released, it observes nothing more and the earlier handlers are put back. One life cycle looks after the
/// scopes of one tracker; a program has one. In a child of a fork it does nothing, and its handlers pass signals on.
///
/// **Crash.** What was captured survives. A process that was killed has no `process.shutdown`.
///
/// **Cost.** A thread that wakes once a second and looks at the clocks and the counters: some microseconds. Captures pay
/// nothing.
public final class LifeCycle: Sendable {
  /// What may become of a process.
  public enum State: String, Hashable, Sendable, CaseIterable {
    /// It began.
    case start
    /// It goes on after it stood still.
    case resume
    /// Nothing was captured for a while.
    case idle
    /// It is about to stand still, or to be in the background.
    case suspend
    /// It is about to end.
    case shutdown
  }

  /// A signal that a host may hand over.
  public enum Signal: Hashable, Sendable, CaseIterable {
    /// SIGCONT says ``State/resume``.
    case `continue`
    /// SIGTSTP, as Ctrl-Z sends it, says ``State/suspend``; then the process really stops, and when it goes on
    /// ``State/resume`` is said.
    case terminalStop
    /// SIGTERM says ``State/shutdown``, and the tracker is drained for ``Configuration/shutdownBudget`` at most; then
    /// comes what the host had: without a handler the process ends by the signal. A second one is not waited for.
    case terminate
  }

  /// How a life cycle works.
  public struct Configuration: Sendable {
    /// The signals that the host hands over. None.
    public var signals: Set<Signal> = []

    /// How long the watch sleeps at a time. 1 s; at least 10 ms and at most a day, what is beyond counts as that.
    public var pause = Duration.seconds(1)

    /// The process is idle when nothing was captured for so long, but by the life cycle itself; nil: it never is. 60 s.
    public var idleAfter: Duration? = .seconds(60)

    /// How long the tracker may take to drain when SIGTERM comes. 5 s.
    public var shutdownBudget = Duration.seconds(5)

    /// What pauses, idleness, and the scopes that begin from then on go by; nil: the machine's monotonic clock. A
    /// virtual clock in tests. With a clock that is given no stop is noticed: how long a sleep should take on it nobody
    /// knows.
    public var clock: (any Clock<Duration>)?

    /// Tests only: the machine's clocks, and no sleeps but those that the test makes up.
    var machineClocks: (@Sendable () -> ResumeWatch.Clocks)?

    /// The defaults.
    public init() {}

    /// Of times near the end of what there is no later one can be computed.
    var wholePause: Duration { min(max(pause, .milliseconds(10)), .seconds(86_400)) }
  }

  /// Told of states until it is released.
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

    /// Nothing more is told. A state that is being told right now, on another thread, may be told to its end.
    public func end() {
      watch.unobserve(number)
    }
  }

  private let watch: ProcessWatch

  var watchForTests: ProcessWatch { watch }

  /// Watches the process from now on, and captures `process.started`.
  ///
  /// Throws `invalid` if the tracker has a life cycle, or a signal is another one's; `closed` in a child of a fork, with
  /// its parent's tracker; `memory` if the system has no more threads or descriptors.
  public init(_ tracker: Tracker, configuration: Configuration = Configuration()) throws(WeirError) {
    watch = try ProcessWatch(tracker, configuration)
    try watch.begin()
  }

  deinit {
    watch.end()
  }

  /// The state that was told last.
  public var state: State { watch.state }

  /// Says what becomes of the process, for hosts that handle signals themselves, or know better.
  ///
  /// When it returns the events are captured, the scopes are taken care of and the observers told; but if an observer
  /// calls it, that comes when all are told of the state before. Nothing happens if that is no news: `start`, `suspend`
  /// while suspended, `idle` while idle or suspended, `resume` within a second after one, unless it is suspended, and
  /// anything after `shutdown`. Waits for observers. Not from a signal handler.
  public func note(_ state: State) {
    watch.note(state)
  }

  /// Tells `body` of each state from now on, until the observation is released.
  ///
  /// Called on whichever thread notices the state; must not block.
  public func observe(_ body: @escaping @Sendable (State) -> Void) -> Observation {
    Observation(watch, watch.observe(body))
  }
}
