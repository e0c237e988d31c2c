// Durations as numbers and words.

extension Duration {
  /// For messages: its description has rounding errors in whole seconds.
  package var inWords: String {
    components.attoseconds == 0 ? "\(components.seconds) seconds" : description
  }

  /// In nanoseconds, 0 if negative; what 64 bits can't hold is for ever.
  package var wholeNanoseconds: UInt64 {
    guard self > .zero else { return 0 }
    let (seconds, attoseconds) = components
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(UInt64(attoseconds) / 1_000_000_000)
    return overflow || carry ? .max : sum
  }

  /// As a number, of what events have.
  package var inSeconds: Double {
    let (seconds, attoseconds) = components
    // A quotient of two exact numbers is the nearest double; a sum of two rounded ones may be the one beside it.
    if attoseconds % 1_000_000_000 == 0, seconds.magnitude < (1 << 53) / 1_000_000_000 {
      return Double(seconds * 1_000_000_000 + attoseconds / 1_000_000_000) / 1e9
    }
    return Double(seconds) + Double(attoseconds) / 1e18
  }
}
