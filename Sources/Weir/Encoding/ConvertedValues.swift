// Types that are stored as a value of another type: URL and Decimal as text, Duration in seconds, Set as an array.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// Stored as its absolute text. As in JSON, the base URL is not kept.
extension URL: EventValue {
  public static var fieldKind: FieldKind { .string }

  public func encode(into encoder: inout EventEncoder) { absoluteString.encode(into: &encoder) }

  public init(fieldValue: FieldValue) throws {
    let text = try String(fieldValue: fieldValue)
    guard let url = URL(string: text) else { throw FieldError("\(text.debugDescription) is no URL") }
    self = url
  }
}

/// Stored as text, with every digit: numbers in the log are binary, and few decimals have an exact binary value.
extension Decimal: EventValue {
  public static var fieldKind: FieldKind { .string }

  public func encode(into encoder: inout EventEncoder) { description.encode(into: &encoder) }

  /// Also reads a number, as the decimal of the number's shortest text.
  public init(fieldValue: FieldValue) throws {
    let text: String
    switch fieldValue {
    case .string(let value): text = value
    case .int(let value): text = value.description
    case .uint(let value): text = value.description
    case .float(let value): text = value.description
    case .double(let value): text = value.description
    default: throw fieldValue.mismatch("decimal")
    }
    guard let value = Decimal(wholeText: text) else { throw FieldError("\(text.debugDescription) is no decimal") }
    self = value
  }

  /// Parses the whole text in the form of ``description``. Returns `nil` for any other text, and for a number that is
  /// out of range. Foundation would ignore the part of the text that it can't parse.
  private init?(wholeText text: String) {
    let text = text.lowercased()
    if text == "nan" {
      self = .nan
      return
    }
    guard Self.isWhole(text), let value = Decimal(string: text) else { return nil }
    self = value
  }

  /// Whether the whole text is a number, such as `-12.5e3`.
  private static func isWhole(_ text: String) -> Bool {
    func unsigned(_ part: Substring) -> Substring { part.first == "-" || part.first == "+" ? part.dropFirst() : part }
    func hasOnlyDigits(_ part: Substring) -> Bool { part.utf8.allSatisfy { (UInt8(ascii: "0")...57).contains($0) } }
    let parts = text.split(separator: "e", maxSplits: 1, omittingEmptySubsequences: false)
    let halves = unsigned(parts[0]).split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard halves.allSatisfy(hasOnlyDigits), !halves.allSatisfy(\.isEmpty) else { return false }
    guard parts.count == 2 else { return true }
    let exponent = unsigned(parts[1])
    return !exponent.isEmpty && hasOnlyDigits(exponent)
  }
}

/// Stored in seconds, exact to the nanosecond up to a hundred days, and to 16 digits beyond that.
extension Duration: EventValue {
  public static var fieldKind: FieldKind { .double }

  public func encode(into encoder: inout EventEncoder) { inSeconds.encode(into: &encoder) }

  /// Reads any number, as seconds.
  public init(fieldValue: FieldValue) throws {
    let seconds: Double
    switch fieldValue {
    case .int(let value): seconds = Double(value)
    case .uint(let value): seconds = Double(value)
    default: seconds = try Double(fieldValue: fieldValue)
    }
    guard let value = Duration(nearest: seconds) else { throw FieldError("\(seconds) seconds are no duration") }
    self = value
  }

  /// Creates the duration of the number's shortest text: 0.1 becomes exactly a tenth of a second, which no double is.
  /// Returns `nil` for a number that is out of range.
  private init?(nearest seconds: Double) {
    guard seconds.isFinite, abs(seconds) < 0x1p127 / 1e18 else { return nil }
    let parts = seconds.description.split(separator: "e")
    let halves = parts[0].split(separator: ".")
    let fraction = halves.count > 1 ? halves[1] : ""
    let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    guard let digits = Int128(String(halves[0] + fraction)) else { return nil }
    // There are at most 17 digits, so a shift beyond these limits gives 0.
    let shift = max(-20, 18 + exponent - fraction.count)
    let power = (0..<abs(shift)).reduce(into: 1 as Int128) { power, _ in power *= 10 }
    let (attoseconds, isTooLarge) =
      shift < 0
      ? ((digits + digits.signum() * power / 2) / power, false) : digits.multipliedReportingOverflow(by: power)
    guard !isTooLarge else { return nil }
    self.init(attoseconds: attoseconds)
  }
}

/// Stored as an array, in no particular order.
extension Set: EventValue where Element: EventValue {
  public static var fieldKind: FieldKind { [Element].fieldKind }

  public func encode(into encoder: inout EventEncoder) { Array(self).encode(into: &encoder) }

  public init(fieldValue: FieldValue) throws { self.init(try [Element](fieldValue: fieldValue)) }
}
