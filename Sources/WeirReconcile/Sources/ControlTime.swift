// ControlTime: times as exports write them.

import Weir

enum ControlTime {
  /// A time in nanoseconds since 1970: ISO 8601 as vendors write it, without a zone in Universal Time, or a number
  /// since 1970, as text too, in the unit that makes it a time of this century. `nil` for what is no time.
  static func nanoseconds(_ value: FieldValue) -> Int64? {
    switch value {
    case .string(let text): ofNumber(text) ?? ofMoment(text)
    case .int(let number): scaled(number)
    case .uint(let number): Int64(exactly: number).flatMap(scaled)
    case .double(let number): ofDouble(number)
    default: nil
    }
  }

  /// Whether a time is a text that says no zone.
  static func isZoneless(_ value: FieldValue) -> Bool {
    guard case .string(let text) = value, ofNumber(text) == nil else { return false }
    let clock = text.dropFirst(10)
    return clock.last != "Z" && clock.last != "z" && !clock.hasSuffix("UTC") && !clock.contains(where: isSign)
  }

  /// The number of nanoseconds of the unit in which so large a number is a time of this century.
  private static func unit(of magnitude: UInt64) -> Int64 {
    switch magnitude {
    case ..<100_000_000_000: 1_000_000_000
    case ..<100_000_000_000_000: 1_000_000
    case ..<100_000_000_000_000_000: 1_000
    default: 1
    }
  }

  private static func scaled(_ number: Int64) -> Int64? {
    let (product, isOver) = number.multipliedReportingOverflow(by: unit(of: number.magnitude))
    return isOver ? nil : product
  }

  private static func ofDouble(_ number: Double) -> Int64? {
    guard number.isFinite else { return nil }
    let unit = unit(of: UInt64(min(number.magnitude, 1e18)))
    return Int64(exactly: (number * Double(unit)).rounded())
  }

  /// A number in digits, perhaps with a fraction. Exact, which a `Double` of seconds is not.
  private static func ofNumber(_ text: String) -> Int64? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = parts.first, let number = Int64(whole) else { return nil }
    // A date without separators, such as 20261121, would pass for seconds.
    guard parts.count == 2 || number < 0 || ![8, 12, 14].contains(text.utf8.count) else { return nil }
    guard let time = scaled(number), parts.count == 2 else { return scaled(number) }
    let digits = parts[1].utf8
    guard !digits.isEmpty, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    var billionths: Int64 = 0
    for place in 0..<9 {
      let digit = digits.dropFirst(place).first ?? UInt8(ascii: "0")
      billionths = billionths * 10 + Int64(digit - UInt8(ascii: "0"))
    }
    let fraction = billionths * unit(of: number.magnitude) / 1_000_000_000
    let (sum, isOver) = time.addingReportingOverflow(whole.hasPrefix("-") ? -fraction : fraction)
    return isOver ? nil : sum
  }

  private static func ofMoment(_ text: String) -> Int64? {
    if let time = Timestamp(text: text, form: .lenient) { return time.nanosecondsSince1970 }
    var text = text
    if text.hasSuffix(" UTC") { text = "\(text.dropLast(4))Z" }
    // A space before the zone.
    if let space = text.lastIndex(of: " "), isSign(text[space...].dropFirst().first) { text.remove(at: space) }
    // A zone of whole hours, as PostgreSQL writes it. A date alone ends in the same way.
    if text.utf8.count > 10, isSign(text.dropLast(2).last) { text += ":00" }
    return Timestamp(text: text, form: .lenient)?.nanosecondsSince1970
  }

  private static func isSign(_ character: Character?) -> Bool { character == "+" || character == "-" }
  private static func isSign(_ character: Character) -> Bool { isSign(Optional(character)) }
}
