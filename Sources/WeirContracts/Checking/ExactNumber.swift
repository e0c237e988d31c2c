// ExactNumber: compares numbers of different kinds by value, without rounding.

package import Weir

/// A number of a field, comparable with every other number. 2^53 + 1 is greater than the double 2^53, and the double
/// 2^63 is greater than every Int64. NaN is neither less than, equal to, nor greater than anything.
package enum ExactNumber: Sendable {
  case signed(Int64)
  case unsigned(UInt64)
  case floating(Double)

  package init?(_ value: FieldValue) {
    switch value {
    case .int(let number): self = .signed(number)
    case .uint(let number): self = .unsigned(number)
    case .float(let number): self = .floating(Double(number))
    case .double(let number): self = .floating(number)
    default: return nil
    }
  }

  var isFinite: Bool {
    if case .floating(let number) = self { number.isFinite } else { true }
  }

  /// The number as a double, if a double can hold it.
  fileprivate var double: Double? {
    switch self {
    case .signed(let number): Double(exactly: number)
    case .unsigned(let number): Double(exactly: number)
    case .floating(let number): number
    }
  }

  /// Returns the nearest integer in this direction, or the number itself if it is an integer and not excluded. Doubles
  /// far beyond the range of fields are clamped to values that are still beyond that range.
  fileprivate func whole(_ direction: FloatingPointRoundingRule, excluding: Bool) -> Int128 {
    let step: Int128 = direction == .up ? 1 : -1
    switch self {
    case .signed(let number): return Int128(number) + (excluding ? step : 0)
    case .unsigned(let number): return Int128(number) + (excluding ? step : 0)
    case .floating(let number):
      let rounded = number.rounded(direction)
      return Int128(Swift.max(-0x1p70, Swift.min(rounded, 0x1p70))) + (excluding && rounded == number ? step : 0)
    }
  }

  package static func < (left: ExactNumber, right: ExactNumber) -> Bool { sign(left, right) == -1 }
  package static func <= (left: ExactNumber, right: ExactNumber) -> Bool { sign(left, right).map { $0 <= 0 } ?? false }
  package static func == (left: ExactNumber, right: ExactNumber) -> Bool { sign(left, right) == 0 }

  /// Returns -1, 0 or 1 if the left number is less, equal or greater; `nil` if one of them is NaN.
  private static func sign(_ left: ExactNumber, _ right: ExactNumber) -> Int? {
    switch (left, right) {
    case (.signed(let left), .signed(let right)): order(left, right)
    case (.signed(let left), .unsigned(let right)): order(left, right)
    case (.unsigned(let left), .signed(let right)): order(left, right)
    case (.unsigned(let left), .unsigned(let right)): order(left, right)
    case (.floating(let left), .floating(let right)):
      left.isNaN || right.isNaN ? nil : left < right ? -1 : left == right ? 0 : 1
    case (.floating(let left), .signed(let right)): order(right, left).map { -$0 }
    case (.floating(let left), .unsigned(let right)): order(right, left).map { -$0 }
    case (.signed(let left), .floating(let right)): order(left, right)
    case (.unsigned(let left), .floating(let right)): order(left, right)
    }
  }

  /// Comparisons of integers of different types are exact.
  private static func order(_ left: some BinaryInteger, _ right: some BinaryInteger) -> Int {
    left < right ? -1 : left == right ? 0 : 1
  }

  /// Compares an integer with a double: first with the integer below the double, which is exact, then with the
  /// remaining fraction.
  private static func order(_ left: some BinaryInteger, _ right: Double) -> Int? {
    if right.isNaN { return nil }
    let below = right.rounded(.down)
    if below >= 0x1p64 { return -1 }
    if below < -0x1p63 { return 1 }
    let whole = below < 0 ? order(left, Int64(below)) : order(left, UInt64(below))
    return whole == 0 && below < right ? -1 : whole
  }
}

extension NumberRange {
  /// The range as exact numbers; `nil` if a bound is no number.
  var exact: ExactRange? {
    var range = ExactRange()
    if let lower {
      guard let number = ExactNumber(lower.number) else { return nil }
      range.lower = number
      if case .excluding = lower { range.excludesLower = true }
    }
    if let upper {
      guard let number = ExactNumber(upper.number) else { return nil }
      range.upper = number
      if case .excluding = upper { range.excludesUpper = true }
    }
    return range
  }
}

/// A range that is compared with numbers of every kind.
struct ExactRange: Sendable {
  var lower: ExactNumber?
  var upper: ExactNumber?
  var excludesLower = false
  var excludesUpper = false

  func contains(_ number: ExactNumber) -> Bool {
    if let lower, !(excludesLower ? lower < number : lower <= number) { return false }
    if let upper, !(excludesUpper ? number < upper : number <= upper) { return false }
    return true
  }

  /// Whether the bounds are in the wrong order, or are equal and one of them is excluded.
  var isEmpty: Bool {
    guard let lower, let upper else { return false }
    return excludesLower || excludesUpper ? !(lower < upper) : !(lower <= upper)
  }

  /// The integers that the range contains; the bounds are crossed if there are none. The range's bounds must be finite.
  var wholeBounds: (least: Int128, most: Int128) {
    (
      lower.map { $0.whole(.up, excluding: excludesLower) } ?? .min,
      upper.map { $0.whole(.down, excluding: excludesUpper) } ?? .max
    )
  }

  /// The doubles that the range contains; `nil` if a bound is no double.
  var doubleBounds: (least: Double, most: Double)? {
    let least: Double? = if let lower { lower.double } else { -Double.greatestFiniteMagnitude }
    let most: Double? = if let upper { upper.double } else { Double.greatestFiniteMagnitude }
    guard let least, let most else { return nil }
    return (excludesLower ? least.nextUp : least, excludesUpper ? most.nextDown : most)
  }

  /// Whether the range contains an integer that a field can have, of Int64 or UInt64. There is none between 0.2 and
  /// 0.8, and none above the maximum UInt64. The bounds must be finite.
  var holdsInteger: Bool {
    let (least, most) = wholeBounds
    return max(least, Int128(Int64.min)) <= min(most, Int128(UInt64.max))
  }
}
