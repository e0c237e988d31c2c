// BackoffState: the wait after failed tries.

import Weir

/// The number of failed tries in a row, and the wait before the next try: full jitter, see ``DeliveryOptions/Backoff``.
/// A pure value.
struct BackoffState: Sendable {
  private let backoff: DeliveryOptions.Backoff

  /// The number of failed tries in a row.
  private(set) var failures = 0

  /// Creates a state after so many failed tries in a row.
  init(_ backoff: DeliveryOptions.Backoff, failures: Int = 0) {
    self.backoff = backoff
    self.failures = failures
  }

  /// Notes a failed try. Returns the wait before the next try.
  ///
  /// `retryAfter` is the time that the provider asked for. The wait is at least as long, but `retryAfter` counts as at
  /// most ``DeliveryOptions/Backoff/most``. `random` is uniformly distributed in 0..<1.
  mutating func failed(retryAfter: Duration? = nil, random: Double) -> Duration {
    // The number may come from a file.
    failures = min(failures, .max - 1) + 1
    // In nanoseconds: the maximum is 292 years.
    let longest = Double(Int64(clamping: bound.wholeNanoseconds))
    let drawn = (longest * min(max(random, 0), 1)).rounded(.down)
    return max(.nanoseconds(Int64(exactly: drawn) ?? .max), min(retryAfter ?? .zero, backoff.most))
  }

  /// Notes a successful try. The next failure waits like the first failure.
  mutating func succeeded() {
    failures = 0
  }

  /// The upper bound of the wait after the last failure.
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
