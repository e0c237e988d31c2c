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
  /// What makes a provider's waiting events go out. Any of those that are set does.
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
    /// Delivery begins: what is there after the recovery goes out at once.
    public static let start = Triggers(rawValue: 1 << 3)
    /// Each of the first ``FlushPolicy/firstEvents`` events of an opening goes out at once.
    public static let firstEvents = Triggers(rawValue: 1 << 4)
    /// The process goes on after SIGCONT, a thaw or the machine's suspension.
    public static let resume = Triggers(rawValue: 1 << 5)
    /// Nothing new came for ``FlushPolicy/idleAfter``.
    public static let idle = Triggers(rawValue: 1 << 6)
    /// The provider can be reached again: its half-open probe was accepted.
    public static let reachable = Triggers(rawValue: 1 << 7)
    /// ``FlushPolicy/overflowThreshold`` of the log's byte limit is used, or a capture was refused for want of room.
    public static let overflow = Triggers(rawValue: 1 << 8)
    /// The dispatcher shuts down.
    public static let shutdown = Triggers(rawValue: 1 << 9)
    /// Somebody calls ``Dispatcher/flush(timeout:)``.
    public static let demand = Triggers(rawValue: 1 << 10)

    /// All but ``idle`` and ``firstEvents``.
    public static let standard: Triggers = [
      .count, .bytes, .interval, .start, .resume, .reachable, .overflow, .shutdown, .demand,
    ]
  }

  /// What makes events go out. ``FlushPolicy/Triggers/standard``.
  public var triggers: Triggers

  /// How many waiting events make a delivery: ``FlushPolicy/Triggers/count``. 500; at least 1.
  public var queueLimit = 500

  /// How many waiting bytes of encoded events make a delivery: ``FlushPolicy/Triggers/bytes``. 256 KiB; at least 1.
  public var deliverySize = 256 << 10

  /// How long an event waits at most: ``FlushPolicy/Triggers/interval``. 1 s.
  public var interval = Duration.seconds(1)

  /// How many events of an opening go out at once: ``FlushPolicy/Triggers/firstEvents``. 10.
  public var firstEvents = 10

  /// How long nothing new comes: ``FlushPolicy/Triggers/idle``. 200 ms.
  public var idleAfter = Duration.milliseconds(200)

  /// The part of the log's byte limit: ``FlushPolicy/Triggers/overflow``. 0.8; above 0, at most 1.
  public var overflowThreshold = 0.8

  /// The most events in one call of ``Provider/deliver(_:)``. 1,000; at least 1.
  public var maximumEvents = 1_000

  /// The most bytes of encoded events in one call, unless a single event has more. 1 MiB; at least 1.
  public var maximumBytes = 1 << 20

  /// A policy with these triggers; counts and times can be set after.
  public init(_ triggers: Triggers = .standard) {
    self.triggers = triggers
  }
}
