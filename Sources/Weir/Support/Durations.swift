// Durations as numbers and as text.

extension Duration {
  /// The duration as text for messages. `description` would have rounding errors in whole seconds.
  package var inWords: String {
    components.attoseconds == 0 ? "\(components.seconds) seconds" : description
  }

  /// The duration in nanoseconds; 0 if negative, and `UInt64.max` (forever) if it is out of range.
  package var wholeNanoseconds: UInt64 {
    guard self > .zero else { return 0 }
    let (seconds, attoseconds) = components
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
    return overflow || carry ? .max : sum
  }

  /// The duration in seconds, as events store it.
  package var inSeconds: Double {
    let (seconds, attoseconds) = components
    // The quotient of two exact numbers is the nearest double. The sum of two rounded numbers may be off by one
    // step.
    if attoseconds % 1_000_000_000 == 0, seconds.magnitude < (1 << 53) / 1_000_000_000 {
      return Double(seconds * 1_000_000_000 + attoseconds / 1_000_000_000) / 1e9
    }
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
