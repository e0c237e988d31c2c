// TimestampText: moments from their text, for arguments of the tool and for what vendors' forms have.

extension Timestamp {
  /// The texts that are read as moments. Both take a date alone, which is its midnight in Universal Time.
  package enum TextForm: Sendable {
    /// RFC 3339 with at most nine decimals, such as `2026-11-21T01:00:00.5+01:00`, and without leap seconds.
    case strict
    /// ISO 8601 as vendors write it: also a space in place of the T, a zone without a colon or no zone (Universal
    /// Time), and further decimals, which are dropped. A leap second is the first second after it.
    case lenient
  }

  /// Returns `nil` for a text that is no moment, and for a moment that a ``Timestamp`` can't hold.
  package init?(text: String, form: TextForm) {
    var reader = MomentReader(text, isLenient: form == .lenient)
    guard let nanoseconds = reader.nanosecondsSince1970() else { return nil }
    self.init(nanosecondsSince1970: nanoseconds)
  }
}

/// Reads a text from front to back.
private struct MomentReader {
  private var rest: Substring.UTF8View
  private let isLenient: Bool

  init(_ text: String, isLenient: Bool) {
    rest = text[...].utf8
    self.isLenient = isLenient
  }

  mutating func nanosecondsSince1970() -> Int64? {
    guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2),
      let days = UTC.daysSince1970(year: year, month: month, day: day)
    else { return nil }
    guard !rest.isEmpty else { return nanoseconds(seconds: days * 86_400, fraction: 0) }
    guard take("T") || take("t") || isLenient && take(" "), let hour = number(2), hour < 24, take(":"),
      let minute = number(2), minute < 60, take(":"), let second = number(2), second < (isLenient ? 61 : 60),
      let fraction = fraction(), let zone = secondsEast(), rest.isEmpty
    else { return nil }
    return nanoseconds(seconds: days * 86_400 + hour * 3_600 + minute * 60 + second - zone, fraction: fraction)
  }

  private func nanoseconds(seconds: Int, fraction: Int) -> Int64? {
    // Before 1970 towards zero: the whole second that the earliest moments lie in is out of range.
    let isBefore = seconds < 0
    let (product, overflow) = Int64(isBefore ? seconds + 1 : seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, carry) = product.addingReportingOverflow(Int64(isBefore ? fraction - 1_000_000_000 : fraction))
    return overflow || carry ? nil : sum
  }

  /// The decimals as nanoseconds; 0 without a decimal point.
  private mutating func fraction() -> Int? {
    guard take(".") else { return 0 }
    guard var value = digit() else { return nil }
    var places = 1
    while let digit = digit() {
      guard places < 9 else {
        if isLenient { continue } else { return nil }
      }
      value = value * 10 + digit
      places += 1
    }
    for _ in places..<9 { value *= 10 }
    return value
  }

  /// `Z` or `+01:00`.
  private mutating func secondsEast() -> Int? {
    if take("Z") || take("z") || isLenient && rest.isEmpty { return 0 }
    let isWest = take("-")
    guard isWest || take("+"), let hours = number(2), hours < 24, take(":") || isLenient, let minutes = number(2),
      minutes < 60
    else { return nil }
    return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  /// A number of so many digits.
  private mutating func number(_ count: Int) -> Int? {
    var value = 0
    for _ in 0..<count {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  private mutating func digit() -> Int? {
    guard let byte = rest.first, byte &- UInt8(ascii: "0") < 10 else { return nil }
    rest.removeFirst()
    return Int(byte - UInt8(ascii: "0"))
  }
}
