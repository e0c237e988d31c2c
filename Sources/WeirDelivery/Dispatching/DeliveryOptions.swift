// DeliveryOptions: how one provider is delivered to.

public import Weir
public import WeirContracts

/// How one provider is delivered to.
public struct DeliveryOptions: Sendable {
  /// How long delivery waits after a failed try, and when it leaves the provider alone.
  ///
  /// The wait before the *n*-th retry is drawn evenly from 0 to `least · 2ⁿ⁻¹`, but at most ``most``: full jitter,
  /// after *Exponential Backoff and Jitter* (Amazon Web Services, 2015). The wait is never shorter than the provider
  /// asked for with ``Verdict/retry(after:)``.
  ///
  /// After ``failures`` failed tries in a row, delivery leaves the provider alone for ``openFor``, and then tries a
  /// small batch: a circuit breaker with the states closed, open and half-open, after Nygard, *Release It!*.
  public struct Backoff: Hashable, Sendable {
    /// The longest first wait. 500 ms.
    public var least = Duration.milliseconds(500)

    /// The longest wait of all, also where the provider asks for more or has stopped delivery. 5 minutes.
    public var most = Duration.seconds(300)

    /// The number of failed tries in a row that opens the circuit breaker. 5; at least 1.
    public var failures = 5

    /// How long the circuit breaker stays open the first time. Each further time doubles, up to ``most``. 10 s.
    public var openFor = Duration.seconds(10)

    /// The most events in the try that follows. If the provider accepts them, delivery goes on. 10; at least 1.
    public var probeEvents = 10

    /// The defaults.
    public init() {}
  }

  /// Where a provider that has no cursor yet begins.
  public enum Start: Hashable, Sendable {
    /// With the oldest event that the log has.
    case beginning
    /// With what is captured from now on.
    case end
    /// With the first event that was captured at this time or later.
    case time(Timestamp)
  }

  /// Where the provider begins if it has no cursor yet. ``Start/beginning``.
  public var start = Start.beginning

  /// The contract that each event is checked against before the provider gets the event. A missing mandatory field gets
  /// its default, and violations are flagged. No event is kept back. `nil`, the default: no contract.
  public var contract: CompiledContract?

  /// The time within which an event of the same name, fields and source is flagged
  /// ``PreparedEvent/Flag/duplicate(of:)``. 1 s; zero flags events of the same nanosecond, and `nil` flags none.
  ///
  /// The window begins with the first event, not with the latest duplicate. So an event that comes again and again,
  /// such as a heartbeat, has one original in each window.
  ///
  /// The source is the user that the event was captured for. An event without a user has the opening and the lane of
  /// its capture as its source; a lane belongs to one thread as long as the thread keeps the lane. The window compares
  /// the times of the captures, so neither the time of delivery nor the order in which lanes were drained matters.
  public var duplicateWindow: Duration? = .seconds(1)

  /// The most events that are remembered to find duplicates: the latest ones, at some 100 bytes each. 65,536; at least
  /// 1. ``PreparedEvent/Counts/forgotten`` tells whether the number was too small.
  public var duplicateMemory = 65_536

  /// Whether `FieldValue.redacted` replaces the values that the event's declaration, the contract or the context marks
  /// as sensitive, in fields, context and violations. `true`; with `false` the provider gets them as they are.
  public var redactsSensitive = true

  /// When events go out, and how many at once.
  public var flush = FlushPolicy()

  /// How long delivery waits after a failure, and when it leaves the provider alone.
  public var backoff = Backoff()

  /// How long one call of the provider may take before the call is cancelled. 30 s. After a call of several events that
  /// took longer, calls get fewer events, down to one; later their number grows back slowly.
  public var attemptTimeout = Duration.seconds(30)

  /// The defaults.
  public init() {}
}
