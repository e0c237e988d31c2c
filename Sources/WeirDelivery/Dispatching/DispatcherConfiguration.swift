// DispatcherConfiguration: the options of a dispatcher that apply to all its providers.

public import Logging
import Weir

extension Dispatcher {
  /// The options of a dispatcher. The options of one provider are in ``DeliveryOptions``.
  public struct Configuration: Sendable {
    /// The clock for all waits and time limits. Default `ContinuousClock`. Tests can set a virtual clock.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// Returns a random number, uniformly distributed in 0..<1. Makes the waits after failures random.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// The minimum interval between moves of a cursor on disk. Each move is a sync. If the process is killed, the
    /// events settled since the last move are delivered again. Default 100 ms.
    public var cursorInterval = Duration.milliseconds(100)

    /// The first pause between two checks for new events. The pause doubles while there are no new events, up to
    /// ``longestPause``. Default 1 ms. Smaller values count as 1 ms.
    package var shortestPause = Duration.milliseconds(1)

    /// The longest pause between two checks for new events. Default 1 s. Smaller values than 1 ms count as 1 ms.
    ///
    /// The pause gets this long only beside another process, and only after the log got no events for two seconds. A
    /// check costs five system calls. The system ends the pause when the writer continues, unless another machine
    /// writes the files, or all instances of inotify are in use. In the process that captures, the drainer ends any
    /// pause of more than 50 ms immediately, and a provider that holds no events does nothing until then.
    public var longestPause = Duration.seconds(1)

    /// The time for which the end of a provider waits for the return of a cancelled call and for
    /// ``Provider/shutdown()`` together. When a provider is removed, the call in progress has the same time again
    /// before it is cancelled. Default 5 s.
    public var closingTime = Duration.seconds(5)

    /// The nice value of the providers' threads, from 0 (the default) to 19: with more, delivery gives way to the
    /// program and to others when processors are short. A provider's own code, such as an HTTP client's, runs on
    /// threads of the program, with the program's priority.
    public var niceness = 0

    /// The maximum size of one provider's log of attempts, in bytes. The oldest records are removed. Default 16 MiB.
    public var attemptLogBytes = 16 << 20

    /// Called with events that were settled at a provider, on the provider's thread, which waits for it. `nil` (the
    /// default) is not called. ``Dispatcher/settlements(limit:)`` is the same as a sequence.
    public var onSettled: (@Sendable ([SettledEvent]) -> Void)?

    /// The logger for problems. Each kind of problem is logged once until it is over. `nil` logs nothing.
    public var logger: Logger? = Logger(label: "weir.delivery")

    /// Who delivers: what is done to each provider's events is recorded beside its cursor under this author
    /// (``RecordedPlan``).
    package var planAuthor = RecordedPlan.Author.program

    /// Tests only: the time of the day, by which a wait after failures continues after a restart.
    var timeOfDay: @Sendable () -> Timestamp = { .now }

    /// Tests only: the processor time of the thread that asks.
    var processorTime: @Sendable () -> Duration = { threadProcessorTime() }

    /// Tests only: the clocks that show whether the process was suspended. `nil` means the machine's clocks, if
    /// ``clock`` is one of the machine's clocks.
    var resumeClocks: (@Sendable () -> ResumeWatch.Clocks)?

    /// Tests only: called with each new worker, including the worker of a redrive.
    var madeWorker: (@Sendable (ProviderWorker) -> Void)?

    /// The system calls for the files that delivery writes. Tests can make them fail.
    var calls = SystemCalls()

    /// Creates a configuration with the default values.
    public init() {}

    /// The pauses in use. Without a minimum pause, a worker would do nothing but check.
    var firstPause: Duration { max(shortestPause, .milliseconds(1)) }
    var lastPause: Duration { max(longestPause, firstPause) }
  }
}
