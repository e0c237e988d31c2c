// DeliveryOptions: how one provider is delivered to.

public import Weir
public import WeirContracts

/// How one provider is delivered to.
public struct DeliveryOptions: Sendable {
  /// What happens after tries that failed: how long to wait before the next one, and when the provider is left alone.
  ///
  /// Before the *n*-th try again it is drawn evenly from 0 to `least · 2ⁿ⁻¹`, at most ``most``: full jitter, after
  /// *Exponential Backoff and Jitter* (Amazon Web Services, 2015). What the provider asked for with
  /// ``Verdict/retry(after:)`` is the least that is waited.
  ///
  /// A provider that failed ``failures`` times in a row is left alone for a while, and tried with a small batch after
  /// that: a circuit breaker, closed, open and half-open, after Nygard, *Release It!*.
  public struct Backoff: Hashable, Sendable {
    /// The bound of the first wait. 500 ms.
    public var least = Duration.milliseconds(500)

    /// The bound of all waits, the longest that a provider may ask for, and the bound of the pauses between tries of
    /// one that stopped delivery. 5 minutes.
    public var most = Duration.seconds(300)

    /// So many tries in a row that failed have the provider left alone for a while. 5; at least 1.
    public var failures = 5

    /// How long the provider is left alone the first time; twice as long each time after, up to ``most``. 10 s.
    public var openFor = Duration.seconds(10)

    /// The most events of the try after that. All goes on when they are accepted. 10; at least 1.
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

  /// The contract that events are held against before the provider gets them. Missing mandatory fields get their
  /// default, and what is against the contract is flagged; no event is kept back. Nil, the default: none.
  public var contract: CompiledContract?

  /// How far from another one of the same name, fields and source an event is flagged
  /// ``PreparedEvent/Flag/duplicate(of:)``: so much time before or after the one that is kept, the first. 1 s; nil
  /// flags none, zero those of the same nanosecond.
  ///
  /// The time is counted from that first one, not from its latest duplicate. So of an event that comes again and again,
  /// as a heartbeat does, one in each window is kept, and they are not all duplicates of one long ago.
  ///
  /// The source is the user that the event was captured for; without one, the opening and lane of the capture, which is
  /// a thread as long as it keeps its lane. Time is that of the captures, so it does not matter when the events are
  /// prepared, nor in what order the lanes were drained.
  public var duplicateWindow: Duration? = .seconds(1)

  /// How many different events are remembered at most to find duplicates, the latest ones. Each takes some 100 bytes.
  /// 65,536; at least 1. ``PreparedEvent/Counts/forgotten`` tells whether it was too few.
  public var duplicateMemory = 65_536

  /// Whether `FieldValue.redacted` takes the place of sensitive values: what the event's declaration, the contract or
  /// the context marks, in fields, context and violations. True; false lets them go to the provider as they are.
  public var redactsSensitive = true

  /// When events go out, and how many at once.
  public var flush = FlushPolicy()

  /// How long to wait after a failure, and when to leave the provider alone for a while.
  public var backoff = Backoff()

  /// How long one call of the provider may take before it is cancelled. 30 s. A call of several events that took longer
  /// makes the next ones smaller, down to one event; they grow back slowly.
  public var attemptTimeout = Duration.seconds(30)

  /// The defaults.
  public init() {}
}
