// TimeText: the times that vendors' forms have, as moments: ISO 8601 texts and numbers.

#if Collector
  import Weir

  enum TimeText {
    /// Up to which number a unit is meant: until the year 5138 each.
    private static let units: [(most: Int64, nanoseconds: Int64)] = [
      (99_999_999_999, 1_000_000_000), (99_999_999_999_999, 1_000_000), (99_999_999_999_999_999, 1_000),
    ]

    /// The moment of a text such as `2026-11-21T00:00:00.123456789Z`, `2026-11-21 00:00:00` (Universal Time) or
    /// `2026-11-21T01:00:00+01:00`; nil for any other, and outside the years 1677 to 2262.
    static func timestamp(_ text: String) -> Timestamp? {
      var digits = Digits(text)
      guard let year = digits.number(4), digits.take("-"), let month = digits.number(2), digits.take("-"),
        let day = digits.number(2), let days = UTC.daysSince1970(year: year, month: month, day: day)
      else { return nil }
      guard !digits.isAtEnd else { return timestamp(seconds: days * 86_400, nanoseconds: 0) }
      guard digits.take("T") || digits.take("t") || digits.take(" "), let hour = digits.number(2), hour < 24,
        digits.take(":"), let minute = digits.number(2), minute < 60, digits.take(":"),
        // A leap second counts as the first one after it.
        let second = digits.number(2), second <= 60
      else { return nil }
      var nanoseconds = 0
      if digits.take(".") {
        guard let fraction = digits.fraction() else { return nil }
        nanoseconds = fraction
      }
      guard let zone = digits.zone(), digits.isAtEnd else { return nil }
      return timestamp(
        seconds: days * 86_400 + hour * 3_600 + minute * 60 + second - zone, nanoseconds: nanoseconds)
    }

    /// The moment of a number, whose size tells its unit: seconds, milliseconds, microseconds or nanoseconds since
    /// 1970; nil for what is no number, or negative.
    static func timestamp(_ value: FieldValue) -> Timestamp? {
      switch value {
      case .string(let text): return timestamp(text) ?? Double(text).flatMap { timestamp(FieldValue.double($0)) }
      case .int(let number):
        guard number >= 0 else { return nil }
        let unit: Int64? = units.first { number <= $0.most }?.nanoseconds
        let (product, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
        return overflow ? nil : Timestamp(nanosecondsSince1970: product)
      case .double(let number):
        guard number >= 0, number < 99_999_999_999_999 else { return nil }
        let unit: Int64 = number <= 99_999_999_999 ? 1_000_000_000 : 1_000_000
        // The fraction by itself, or its last digits would be lost beside the whole.
        let whole = number.rounded(.down)
        let (product, overflow) = Int64(whole).multipliedReportingOverflow(by: unit)
        let fraction = Int64(((number - whole) * Double(unit)).rounded())
        let (sum, carry) = product.addingReportingOverflow(fraction)
        return overflow || carry ? nil : Timestamp(nanosecondsSince1970: sum)
      default: return nil
      }
    }

    private static func timestamp(seconds: Int, nanoseconds: Int) -> Timestamp? {
      let (product, overflow) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
      let (sum, carry) = product.addingReportingOverflow(Int64(nanoseconds))
      return overflow || carry ? nil : Timestamp(nanosecondsSince1970: sum)
    }
  }

  /// Reads a text from front to back.
  private struct Digits {
    private var rest: Substring.UTF8View

    init(_ text: String) {
      rest = text[...].utf8
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }

    /// A number of so many digits.
    mutating func number(_ count: Int) -> Int? {
      var value = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    /// The digits after the point as nanoseconds; those beyond nine are left out.
    mutating func fraction() -> Int? {
      guard var value = digit() else { return nil }
      var places = 1
      while let digit = digit() {
        guard places < 9 else { continue }
        value = value * 10 + digit
        places += 1
      }
      for _ in places..<9 { value *= 10 }
      return value
    }

    /// Seconds east of Greenwich: `Z`, nothing, `+01:00` or `+0100`.
    mutating func zone() -> Int? {
      if isAtEnd || take("Z") || take("z") { return 0 }
      let isWest = take("-")
      guard isWest || take("+"), let hours = number(2), hours < 24 else { return nil }
      _ = take(":")
      guard let minutes = number(2), minutes < 60 else { return nil }
      return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }

    private mutating func digit() -> Int? {
      guard let byte = rest.first, byte &- UInt8(ascii: "0") < 10 else { return nil }
      rest.removeFirst()
      return Int(byte - UInt8(ascii: "0"))
    }
  }
#endif
