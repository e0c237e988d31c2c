// DispatcherConfiguration: how a dispatcher works, whatever its providers.

public import Logging
import Weir

extension Dispatcher {
  /// How a dispatcher works. ``DeliveryOptions`` has what concerns one provider.
  public struct Configuration: Sendable {
    /// The clock of all waits and time limits. `ContinuousClock`; a virtual clock in tests.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// A number drawn evenly from 0 up to 1, without it: what makes the waits after failures random.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// The longest time between a verdict and the cursor's move on the disk. 100 ms. Each move is a sync. Events that
    /// were settled since the last move come again if the process is killed.
    public var cursorInterval = Duration.milliseconds(100)

    /// The first pause between two looks for new events; it doubles while there are none, up to ``longestPause``. 1 ms,
    /// which is also the least: anything shorter counts as that.
    package var shortestPause = Duration.milliseconds(1)

    /// The longest pause between two looks for new events. 1 s; at least 1 ms, anything shorter counts as that.
    ///
    /// Only a log that nothing came into for two seconds is looked at so seldom, and only beside another's process: a
    /// look is five system calls. In the process that captures, the drainer ends a pause of more than 50 ms at once,
    /// and a provider that holds no event does nothing until then.
    public var longestPause = Duration.seconds(1)

    /// How long the end of a provider may take: the return of a cancelled call and ``Provider/shutdown()`` together. 5
    /// s. A removal waits as long for a call in progress before that.
    public var closingTime = Duration.seconds(5)

    /// The most bytes on the disk for one provider's records of attempts; the oldest records make room. 16 MiB.
    public var attemptLogBytes = 16 << 20

    /// The logger for errors, each kind of which is logged once until it is over; `nil` logs nothing.
    public var logger: Logger? = Logger(label: "weir.delivery")

    /// Tests only: the clocks that tell whether the process stood still. Nil: the machine's, if ``clock`` is.
    var resumeClocks: (@Sendable () -> ResumeWatch.Clocks)?

    /// Tests only: told of each worker that is made, a redrive's too.
    var madeWorker: (@Sendable (ProviderWorker) -> Void)?

    /// The calls to the system for what delivery itself writes, so that tests can make them fail.
    var calls = SystemCalls()

    /// The defaults.
    public init() {}

    /// Pauses as they are made: without any, looking would be all that a worker does.
    var firstPause: Duration { max(shortestPause, .milliseconds(1)) }
    var lastPause: Duration { max(longestPause, firstPause) }
  }
}
