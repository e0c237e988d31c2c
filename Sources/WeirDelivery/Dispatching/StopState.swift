// StopState: determines when a provider that stopped delivery is tried again.

import Weir

/// A stop of delivery, see ``DeliveryStopped``. A pure value. Times count from any moment that is fixed for one stop.
///
/// A wrong key stays wrong until somebody fixes it. But a gateway gives the same answer for some seconds while its
/// service is replaced. So the provider is tried again with a few events: first after about
/// ``DeliveryOptions/Backoff/openFor``, then after pauses that double up to ``DeliveryOptions/Backoff/most``. Each
/// pause is drawn from its upper half, so that the providers of many processes do not come back at the same time.
struct StopState: Sendable {
  /// The minimum of the first pause, however short the circuit breaker's is: a stop rarely ends immediately.
  private static let leastPause = Duration.seconds(1)

  /// The provider's last message.
  private(set) var reason: String
  /// No call is made before this time.
  private(set) var nextTry: Duration
  private var bound: Duration
  private let most: Duration

  /// Creates a stop. `random` is uniformly distributed in 0..<1.
  init(_ reason: String, _ options: DeliveryOptions, at now: Duration, random: Double) {
    self.reason = reason
    bound = max(options.backoff.openFor, Self.leastPause)
    most = max(options.backoff.most, bound)
    nextTry = now
    wait(from: now, random)
  }

  /// Notes that the provider was tried again and stopped again.
  mutating func again(_ reason: String, at now: Duration, random: Double) {
    self.reason = reason
    bound = bound >= most / 2 ? most : bound * 2
    wait(from: now, random)
  }

  private mutating func wait(from now: Duration, _ random: Double) {
    // In nanoseconds: the maximum is 292 years.
    let half = Int64(clamping: bound.wholeNanoseconds / 2)
    let drawn = (Double(half) * min(max(random, 0), 1)).rounded(.down)
    nextTry = now + .nanoseconds(half) + .nanoseconds(Int64(exactly: drawn) ?? half)
  }
}
