// BackoffState: how long a provider is left alone after tries that failed.

import Weir

/// The tries in a row that failed, and what to wait before the next one: full jitter, see ``DeliveryOptions/Backoff``.
/// A pure value.
struct BackoffState: Sendable {
  private let backoff: DeliveryOptions.Backoff

  /// Tries in a row that failed.
  private(set) var failures = 0

  init(_ backoff: DeliveryOptions.Backoff) {
    self.backoff = backoff
  }

  /// A try failed: answers how long to wait before the next one. `retryAfter` is what the provider asked for: at least
  /// that is waited, but no longer than ``DeliveryOptions/Backoff/most``. `random` is drawn evenly from 0 up to 1.
  mutating func failed(retryAfter: Duration? = nil, random: Double) -> Duration {
    failures += 1
    // To the nanosecond; 292 years are enough to wait.
    let longest = Double(Int64(clamping: bound.wholeNanoseconds))
    let drawn = (longest * min(max(random, 0), 1)).rounded(.down)
    return max(.nanoseconds(Int64(exactly: drawn) ?? .max), min(retryAfter ?? .zero, backoff.most))
  }

  /// A try succeeded: the next failure waits as the first one does.
  mutating func succeeded() {
    failures = 0
  }

  /// The longest that is drawn after the last failure.
  private var bound: Duration {
    // Doubled step by step, so that nothing overflows, whatever the number of failures.
    var bound = min(backoff.least, backoff.most)
    var step = 1
    while step < failures, bound != .zero, bound < backoff.most {
      bound = bound >= backoff.most / 2 ? backoff.most : bound * 2
      step += 1
    }
    return bound
  }
}
