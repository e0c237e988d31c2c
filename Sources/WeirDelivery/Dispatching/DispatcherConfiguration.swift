// DispatcherConfiguration: how a dispatcher works, whatever its providers.

public import Logging
import Weir

extension Dispatcher {
  /// How a dispatcher works. What concerns one provider is in ``DeliveryOptions``.
  public struct Configuration: Sendable {
    /// What every wait and every time limit goes by. `ContinuousClock`; a virtual clock in tests.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// A number drawn evenly from 0 up to 1, without it: what makes the waits after failures random.
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }

    /// How long what was settled may be without its cursor's being moved on the disk: each move is a sync. What was
    /// settled in that time comes again if the process is killed. 100 ms.
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

    /// How long the end of a provider is waited for: the return of a call that was cancelled and
    /// ``Provider/shutdown()`` together; and before that, when it is removed, a call in progress. 5 s.
    public var closingTime = Duration.seconds(5)

    /// What all records of attempts of one provider may take on the disk: the oldest make room. 16 MiB.
    public var attemptLogBytes = 16 << 20

    /// Where trouble is reported, each kind once until it is over; nil for nowhere.
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
