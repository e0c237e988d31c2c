// Durations as numbers and as text.

extension Duration {
  /// The units of durations in files, from the largest.
  private static let units: [(name: String, nanoseconds: UInt64)] = [
    ("d", 86_400_000_000_000), ("h", 3_600_000_000_000), ("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000),
    ("us", 1_000), ("ns", 1),
  ]

  /// Reads a whole number with a unit: `90s`, `500ms`, `30m`, `12h`, `7d`. Returns `nil` for any other text.
  package init?(text: String) {
    let digits = text.prefix { $0.isASCII && $0.isNumber }
    let unit = text.dropFirst(digits.count)
    guard let number = UInt64(digits), let scale = Self.units.first(where: { $0.name == unit })?.nanoseconds else {
      return nil
    }
    let (product, overflow) = number.multipliedReportingOverflow(by: scale)
    guard !overflow, product <= UInt64(Int64.max) else { return nil }
    self = .nanoseconds(Int64(product))
  }

  /// The duration as ``init(text:)`` reads it, in the largest unit that leaves no rest. Rounded down to nanoseconds.
  package var text: String {
    let total = wholeNanoseconds
    guard total > 0, let unit = Self.units.first(where: { total % $0.nanoseconds == 0 }) else { return "0s" }
    return "\(total / unit.nanoseconds)\(unit.name)"
  }

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
