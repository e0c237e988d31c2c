// DeliveryOptions: the options of the delivery to one provider.

public import Weir
public import WeirContracts

/// The options of the delivery to one provider.
public struct DeliveryOptions: Sendable {
  /// The waits after failed tries, and the circuit breaker.
  ///
  /// The wait before the *n*-th retry is drawn uniformly from 0 to `least · 2ⁿ⁻¹`, and is at most ``most``. This is
  /// full jitter, as described in *Exponential Backoff and Jitter* (Amazon Web Services, 2015). The time that a
  /// provider asks for with ``Verdict/retry(after:)`` is the minimum wait.
  ///
  /// A provider that failed ``failures`` times in a row is not called for a while. After that, the provider is tried
  /// with a small batch. This is a circuit breaker with the states closed, open and half-open, as described in Nygard,
  /// *Release It!*.
  public struct Backoff: Hashable, Sendable {
    /// The upper bound of the first wait. Default 500 ms.
    public var least = Duration.milliseconds(500)

    /// The upper bound of all waits, of the time that a provider may ask for, and of the pauses between tries of a
    /// provider that stopped delivery. Default 5 minutes.
    public var most = Duration.seconds(300)

    /// The number of failed tries in a row that opens the circuit breaker. Default 5; at least 1.
    public var failures = 5

    /// The time for which the breaker is open the first time. The time doubles with each further opening, up to
    /// ``most``. Default 10 s.
    public var openFor = Duration.seconds(10)

    /// The maximum number of events of the try after that. If they are accepted, normal delivery continues. Default 10;
    /// at least 1.
    public var probeEvents = 10

    /// Creates a back-off with the default values.
    public init() {}
  }

  /// What delivery to a provider may take of the network, the provider and the processors: delivery is a good
  /// neighbour. Backlogs take longer.
  public struct Budget: Hashable, Sendable {
    /// The maximum number of calls of ``Provider/deliver(_:)`` in a second; `nil` (the default) for no limit. Above 0;
    /// 0.5 is a call every two seconds.
    public var callsPerSecond: Double?

    /// The maximum number of bytes in a second, as the events are encoded in the log; `nil` (the default) for no limit.
    /// At least 1. A call that takes more than that is followed by a longer pause.
    public var bytesPerSecond: Int?

    /// The maximum processor time in a second; `nil` (the default) for no limit. Above 0: 100 ms are a tenth of one
    /// processor. A call whose work takes more is followed by a longer pause.
    ///
    /// What counts is the delivery's own work: reading the log, preparing events, accounting, and the encoding and
    /// compression of `HTTPProvider` and ``JSONLinesProvider``. Connections, TLS and the code of other providers don't
    /// count. Measuring costs some system calls for each call of the provider.
    public var processorTimePerSecond: Duration?

    /// Creates a budget without limits.
    public init() {}

    /// The pause between the beginning of a call with so many bytes, whose work took this processor time, and the next
    /// call.
    func pause(after bytes: Int, processorTime: Duration = .zero) -> Duration {
      let calls = callsPerSecond.map { 1 / $0 } ?? 0
      let work = processorTimePerSecond.map { processorTime / $0 } ?? 0
      let seconds = max(calls, work, bytesPerSecond.map { Double(bytes) / Double($0) } ?? 0)
      return .nanoseconds(Int64(min(seconds, 1e9) * 1e9))
    }
  }

  /// The place where a provider without a cursor starts.
  public enum Start: Hashable, Sendable {
    /// The oldest event in the log.
    case beginning
    /// The first event captured from now on.
    case end
    /// The first event that was captured at this time or later.
    case time(Timestamp)
    /// The event at this offset, or the first event after it. The offset is at most that of the next captured event.
    case offset(Offset)
  }

  /// The place where the provider starts if it has no cursor. Default ``Start/beginning``.
  public var start = Start.beginning

  /// The contract that events are checked against before the provider gets them. Missing mandatory fields get their
  /// defaults, and violations are flagged. No event is withheld. Default `nil`: no contract.
  public var contract: CompiledContract?

  /// Whether fields that ``contract`` does not name are left out of the event that the provider gets, in nested objects
  /// too. The event is flagged as violating in any case. Default `false`.
  ///
  /// Derived fields are not left out, and neither are fields of an event that the contract declares as open or does not
  /// name. ``PreparedEvent/stored`` keeps all fields.
  public var omitsUnknownFields = false

  /// The maximum time between an event and its duplicates. An event with the name, fields and source of an earlier
  /// event is flagged ``PreparedEvent/Flag/duplicate(of:)`` if it was captured within this time before or after that
  /// event. Default 1 s. Zero flags only events of the same nanosecond; `nil` flags none.
  ///
  /// The time counts from the first of the events, not from its latest duplicate. So of an event that recurs regularly,
  /// such as a heartbeat, one event in each window is not flagged.
  ///
  /// The source is the user that the event was captured for. Without a user, the source is the opening and the lane of
  /// the capture; a thread is the source for as long as it keeps its lane. The time is the time of capture. So the
  /// result does not depend on when the events are prepared, nor on the order in which the lanes were drained.
  public var duplicateWindow: Duration? = .seconds(1)

  /// The maximum number of different events that are remembered to find duplicates. The latest events are remembered;
  /// each takes about 100 bytes. Default 65,536; at least 1. ``PreparedEvent/Counts/forgotten`` shows whether the
  /// number is too small.
  public var duplicateMemory = 65_536

  /// The maximum number of users of whom it is remembered what the provider was told: see
  /// ``PreparedEvent/identifies``. A user that was forgotten is told again. Default 100,000; each takes about 50 bytes
  /// of memory, and 32 to 128 bytes of the file `cursors/NAME.users`. Zero tells nothing.
  public var userMemory = 100_000

  /// Whether `FieldValue.redacted` replaces sensitive values in fields, context and violations. The event's
  /// declaration, the contract and the context mark values as sensitive. Default `true`. If `false`, the provider gets
  /// the true values.
  public var redactsSensitive = true

  /// What the provider gets in place of users' ids; `nil` (the default) for the ids. The mapper sees the pseudonym.
  /// Traits and fields may tell who a user is, too: leave them out with an ``EventMapper``.
  public var pseudonym: Pseudonym?

  /// What the provider is told of each event beside the event's content. Default ``Annotations/standard``.
  ///
  /// `EventJSON`, and so files and `JSONPreset`, has the key `kind` and, in `flags`, the keys `violations`, `defaulted`
  /// and `duplicate_of`. Vendors get properties of the same names with the prefix `weir_`, such as `weir_violations`,
  /// beside the event's own fields. ``Annotations/monotonic`` stands for two keys, `monotonic` and `boot`. An event
  /// without kind and findings has none of the other keys. Each list has at most 20 texts of at most 256 bytes.
  public var annotations = Annotations.standard

  /// Whether the provider gets the log's notices of events that are missing, as events `weir.gap`. Default `true`: a
  /// team that evaluates the events must see that some are missing, and cannot see that from the others.
  ///
  /// A `weir.gap` has the fields `reason` (a `DropReason.name`), `dropped` (the number of events), and `from` and `to`,
  /// the times of the first and the last notice that are summed. The events were refused before `to`, and after the
  /// previous `weir.gap` of the reason. Events that `Tracker.Configuration.sampling` left out are not reported: they
  /// are missing on purpose.
  ///
  /// Vendors charge for events. The notices of one reason that wait for the same call are summed, so a call has at most
  /// one `weir.gap` for each reason, and none while nothing is refused. The provider's mapper applies: a provider that
  /// gets only some events (`EventMapper.only(events:)`) gets a `weir.gap` only if that is named too.
  ///
  /// A `weir.gap` is not an accepted event. The ledger does not count it, and a provider that rejects it causes no dead
  /// letter. Like events, a `weir.gap` comes at least once. After a kill it may come again under the same id with more
  /// notices in the sum.
  public var sendsGaps = true

  /// The most events of some names that the provider gets in a time. Default none.
  public var rateCaps: [RateCap] = []

  /// Determines when events go out, and how many at once.
  public var flush = FlushPolicy()

  /// Determines when events go out, beside ``flush``; `nil` (the default) for no rule.
  public var flushRule: (any FlushRule)?

  /// The calls, bytes and processor time that the delivery to this provider may take in a second.
  public var budget = Budget()

  /// The waits after failures, and the circuit breaker.
  public var backoff = Backoff()

  /// The time after which a call of the provider is cancelled. Default 30 s. If a call with several events takes
  /// longer, the next calls are smaller, down to one event. The calls grow back slowly.
  public var attemptTimeout = Duration.seconds(30)

  /// Creates options with the default values.
  public init() {}
}
