// FlushRule: a flush policy of the program's own.

import Weir

/// Determines when waiting events go out, beside the triggers of the ``FlushPolicy``: ``DeliveryOptions/flushRule``.
///
/// ```swift
/// /// Events go out while the provider's tariff is low, or after an hour.
/// struct OffPeak: FlushRule {
///   func wait(of waiting: WaitingEvents) -> Duration? {
///     isOffPeak() || waiting.oldest >= .seconds(3600) ? .zero : .seconds(60)
///   }
/// }
/// ```
///
/// To let only the rule decide, use a policy with few triggers, such as `FlushPolicy([.shutdown, .demand])`. A full
/// call goes out if the policy has the trigger `count` or `bytes`. Without these, the worker holds at most
/// ``FlushPolicy/maximumEvents`` events, and the rule must let them go.
public protocol FlushRule: Sendable {
  /// Returns how long the events still wait. With zero or less, the events go out. With a time, the rule is asked again
  /// after the time, or when events came. With `nil`, the rule is asked again when events came.
  ///
  /// Called on the provider's thread when events came or left, and after the returned time. Never called while no event
  /// waits.
  func wait(of waiting: WaitingEvents) -> Duration?
}

/// The events that wait for a provider.
public struct WaitingEvents: Hashable, Sendable {
  /// The number of events; at most ``FlushPolicy/maximumEvents``, whatever waits in the log behind them.
  public var count: Int

  /// The size of the encoded events, in bytes.
  public var bytes: Int

  /// The time since the oldest of the events was read.
  public var oldest: Duration

  /// The time since the latest of the events was read.
  public var latest: Duration
}
