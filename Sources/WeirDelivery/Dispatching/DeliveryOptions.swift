// DeliveryOptions: how one provider is delivered to.

public import Weir

/// Where a provider that has no cursor yet begins.
public enum StartPosition: Hashable, Sendable {
  /// With the oldest event that the log has.
  case beginning
  /// With what is captured from now on.
  case end
  /// With the first event that was captured at this time or later.
  case time(Timestamp)
}

/// How long to wait before the next try, after tries that failed.
///
/// Before the *n*-th try again it is drawn evenly from 0 to `least · 2ⁿ⁻¹`, at most ``most``: full jitter, after
/// *Exponential Backoff and Jitter* (Amazon Web Services, 2015). What the provider asked for with
/// ``Verdict/retry(after:)`` is the least that is waited.
public struct Backoff: Hashable, Sendable {
  /// The bound of the first wait. 500 ms.
  public var least = Duration.milliseconds(500)

  /// The bound of all waits, the longest that a provider may ask for, and the bound of the pauses between tries of one
  /// that stopped delivery. 5 minutes.
  public var most = Duration.seconds(300)

  /// The defaults.
  public init() {}
}

/// When a provider that does not answer is left alone for a while, and tried with a small batch after that.
///
/// After Nygard, *Release It!*: closed, open, half-open.
public struct CircuitBreaker: Hashable, Sendable {
  /// So many tries in a row that failed open the circuit. 5; at least 1.
  public var failures = 5

  /// How long it stays open the first time; twice as long each time after, up to ``Backoff/most``. 10 s.
  public var openFor = Duration.seconds(10)

  /// The most events of the probe. 10; at least 1.
  public var probeEvents = 10

  /// The defaults.
  public init() {}
}

/// How one provider is delivered to.
public struct DeliveryOptions: Sendable {
  /// Where it begins if it has no cursor yet. ``StartPosition/beginning``.
  public var start = StartPosition.beginning

  /// What happens to an event before the provider gets it. Redaction, and duplicates flagged.
  public var preparation = Preparation()

  /// When events go out, and how many at once.
  public var flush = FlushPolicy()

  /// How long to wait after a failure.
  public var backoff = Backoff()

  /// When to leave it alone for a while.
  public var breaker = CircuitBreaker()

  /// How long one call of the provider may take before it is cancelled. 30 s. A call of several events that took longer
  /// makes the next ones smaller, down to one event; they grow back slowly.
  public var attemptTimeout = Duration.seconds(30)

  /// The defaults.
  public init() {}
}
