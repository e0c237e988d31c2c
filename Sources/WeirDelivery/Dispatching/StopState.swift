// StopState: when a provider that stopped delivery is tried again.

import Weir

/// A stop of delivery, see ``DeliveryStopped``. A pure value; times are those since any moment that stays the same for
/// one stop.
///
/// A wrong key stays wrong until somebody mends it, but the same answer comes from a gateway for some seconds while its
/// service is replaced. So the provider is tried again, with a few events: the first time after about
/// ``DeliveryOptions/Backoff/openFor``, then after pauses that double, up to ``DeliveryOptions/Backoff/most``. Each
/// pause is drawn from its upper half, so that the providers of many processes do not come back at once.
struct StopState: Sendable {
  /// The first pause, however short the circuit breaker's is: a stop is no failure that may be over at once.
  private static let leastPause = Duration.seconds(1)

  /// What the provider said last.
  private(set) var reason: String
  /// No call before this time.
  private(set) var nextTry: Duration
  private var bound: Duration
  private let most: Duration

  /// The provider stopped. `random` is drawn evenly from 0 up to 1.
  init(_ reason: String, _ options: DeliveryOptions, at now: Duration, random: Double) {
    self.reason = reason
    bound = max(options.backoff.openFor, Self.leastPause)
    most = max(options.backoff.most, bound)
    nextTry = now
    wait(from: now, random)
  }

  /// The provider was tried again, and stopped again.
  mutating func again(_ reason: String, at now: Duration, random: Double) {
    self.reason = reason
    bound = bound >= most / 2 ? most : bound * 2
    wait(from: now, random)
  }

  private mutating func wait(from now: Duration, _ random: Double) {
    // To the nanosecond; 292 years are enough to wait.
    let half = Int64(clamping: bound.wholeNanoseconds / 2)
    let drawn = (Double(half) * min(max(random, 0), 1)).rounded(.down)
    nextTry = now + .nanoseconds(half) + .nanoseconds(Int64(exactly: drawn) ?? half)
  }
}
