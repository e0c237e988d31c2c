// FlushPolicy: determines when waiting events are delivered to a provider.

import Weir

/// Determines when waiting events are delivered to a provider, and how many at once.
///
/// ```swift
/// var policy = FlushPolicy([.count, .interval, .shutdown])
/// policy.queueLimit = 100
/// policy.interval = .seconds(10)
/// ```
public struct FlushPolicy: Hashable, Sendable {
  /// The conditions that make waiting events go out. A single condition is enough.
  public struct Triggers: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    /// ``FlushPolicy/queueLimit`` events are waiting.
    public static let count = Triggers(rawValue: 1 << 0)
    /// ``FlushPolicy/deliverySize`` bytes are waiting.
    public static let bytes = Triggers(rawValue: 1 << 1)
    /// The oldest waiting event has waited for ``FlushPolicy/interval``.
    public static let interval = Triggers(rawValue: 1 << 2)
    /// Delivery starts: the events in the log after the recovery go out immediately.
    public static let start = Triggers(rawValue: 1 << 3)
    /// Each of the first ``FlushPolicy/firstEvents`` events of an opening goes out immediately.
    public static let firstEvents = Triggers(rawValue: 1 << 4)
    /// The process resumes after SIGCONT, after a thaw, or after the machine was suspended, or a `LifeCycle` announces
    /// that.
    public static let resume = Triggers(rawValue: 1 << 5)
    /// No new event came for ``FlushPolicy/idleAfter``.
    public static let idle = Triggers(rawValue: 1 << 6)
    /// The provider is reachable again: it accepted its half-open probe.
    public static let reachable = Triggers(rawValue: 1 << 7)
    /// The log uses ``FlushPolicy/overflowThreshold`` of its byte limit, or a capture was refused for lack of space.
    public static let overflow = Triggers(rawValue: 1 << 8)
    /// ``Dispatcher/run(budget:)`` ends.
    public static let shutdown = Triggers(rawValue: 1 << 9)
    /// ``Dispatcher/flush(timeout:)`` was called.
    public static let demand = Triggers(rawValue: 1 << 10)

    /// A `LifeCycle` announces that the process is about to stand still, or to move to the background. Nobody waits for
    /// the delivery: what is not settled by then goes out when the process resumes.
    public static let suspend = Triggers(rawValue: 1 << 11)

    /// All triggers except ``idle`` and ``firstEvents``.
    public static let standard: Triggers = [
      .count, .bytes, .interval, .start, .suspend, .resume, .reachable, .overflow, .shutdown, .demand,
    ]
  }

  /// The triggers that make events go out. Default ``FlushPolicy/Triggers/standard``.
  public var triggers: Triggers

  /// The number of waiting events that starts a delivery: ``FlushPolicy/Triggers/count``. Default 500; at least 1.
  public var queueLimit = 500

  /// The number of waiting bytes of encoded events that starts a delivery: ``FlushPolicy/Triggers/bytes``. Default 256
  /// KiB; at least 1.
  public var deliverySize = 256 << 10

  /// The longest time that an event waits: ``FlushPolicy/Triggers/interval``. Default 1 s.
  public var interval = Duration.seconds(1)

  /// The number of events of an opening that go out immediately: ``FlushPolicy/Triggers/firstEvents``. Default 10.
  public var firstEvents = 10

  /// The time without new events: ``FlushPolicy/Triggers/idle``. Default 200 ms.
  public var idleAfter = Duration.milliseconds(200)

  /// The fraction of the log's byte limit: ``FlushPolicy/Triggers/overflow``. Default 0.8; above 0, at most 1.
  public var overflowThreshold = 0.8

  /// The maximum number of events in one call of ``Provider/deliver(_:)``. Default 1,000; at least 1.
  public var maximumEvents = 1_000

  /// The maximum number of bytes of encoded events in one call. A single larger event goes out alone. Default 1 MiB; at
  /// least 1.
  public var maximumBytes = 1 << 20

  /// Creates a policy with these triggers and the default limits and times.
  public init(_ triggers: Triggers = .standard) {
    self.triggers = triggers
  }
}
