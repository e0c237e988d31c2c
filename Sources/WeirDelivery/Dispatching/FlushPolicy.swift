// FlushPolicy: when events that wait for delivery are given to a provider.

import Weir

/// When events that wait for delivery are given to a provider, and how many at once.
///
/// ```swift
/// var policy = FlushPolicy([.count, .interval, .shutdown])
/// policy.queueLimit = 100
/// policy.interval = .seconds(10)
/// ```
public struct FlushPolicy: Hashable, Sendable {
  /// What makes a provider's waiting events go out. Each trigger of the set suffices.
  public struct Triggers: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
      self.rawValue = rawValue
    }

    /// ``FlushPolicy/queueLimit`` events wait.
    public static let count = Triggers(rawValue: 1 << 0)
    /// ``FlushPolicy/deliverySize`` bytes wait.
    public static let bytes = Triggers(rawValue: 1 << 1)
    /// The oldest event that waits has waited ``FlushPolicy/interval``.
    public static let interval = Triggers(rawValue: 1 << 2)
    /// Delivery begins: events that are in the log by then go out at once.
    public static let start = Triggers(rawValue: 1 << 3)
    /// Each of the first ``FlushPolicy/firstEvents`` events of an opening goes out at once.
    public static let firstEvents = Triggers(rawValue: 1 << 4)
    /// The process goes on after SIGCONT, a thaw or the machine's suspension.
    public static let resume = Triggers(rawValue: 1 << 5)
    /// Nothing new came for ``FlushPolicy/idleAfter``.
    public static let idle = Triggers(rawValue: 1 << 6)
    /// The provider can be reached again: its half-open probe was accepted.
    public static let reachable = Triggers(rawValue: 1 << 7)
    /// ``FlushPolicy/overflowThreshold`` of the log's byte limit is used, or a capture was refused because a lane or
    /// the disk was full.
    public static let overflow = Triggers(rawValue: 1 << 8)
    /// ``Dispatcher/run(budget:)`` ends.
    public static let shutdown = Triggers(rawValue: 1 << 9)
    /// The program calls ``Dispatcher/flush(timeout:)``.
    public static let demand = Triggers(rawValue: 1 << 10)

    /// All but ``idle`` and ``firstEvents``.
    public static let standard: Triggers = [
      .count, .bytes, .interval, .start, .resume, .reachable, .overflow, .shutdown, .demand,
    ]
  }

  /// What makes events go out. ``FlushPolicy/Triggers/standard``.
  public var triggers: Triggers

  /// The number of waiting events that are delivered at once: ``FlushPolicy/Triggers/count``. 500; at least 1.
  public var queueLimit = 500

  /// The number of waiting bytes of encoded events that are delivered at once: ``FlushPolicy/Triggers/bytes``. 256 KiB;
  /// at least 1.
  public var deliverySize = 256 << 10

  /// The longest time that an event waits: ``FlushPolicy/Triggers/interval``. 1 s.
  public var interval = Duration.seconds(1)

  /// How many events of an opening go out at once: ``FlushPolicy/Triggers/firstEvents``. 10.
  public var firstEvents = 10

  /// The time without a new event after which waiting events go out: ``FlushPolicy/Triggers/idle``. 200 ms.
  public var idleAfter = Duration.milliseconds(200)

  /// The used part of the log's byte limit that makes events go out: ``FlushPolicy/Triggers/overflow``. 0.8; above 0,
  /// at most 1.
  public var overflowThreshold = 0.8

  /// The most events in one call of ``Provider/deliver(_:)``. 1,000; at least 1.
  public var maximumEvents = 1_000

  /// The most bytes of encoded events in one call, unless a single event has more. 1 MiB; at least 1.
  public var maximumBytes = 1 << 20

  /// Creates a policy with these triggers and the default counts and times.
  public init(_ triggers: Triggers = .standard) {
    self.triggers = triggers
  }
}
