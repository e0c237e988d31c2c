// ControlTime: times as exports write them.

import Weir

enum ControlTime {
  /// A time in nanoseconds since 1970: RFC 3339, with a space or without a zone (then UTC) too, or a number since 1970,
  /// in the unit that makes it a time of this century.
  static func nanoseconds(_ value: FieldValue) -> Int64? {
    switch value {
    case .string(let text): return Int64(text).flatMap(scaled) ?? ofText(text)
    case .int(let number): return scaled(number)
    case .uint(let number): return Int64(exactly: number).flatMap(scaled)
    case .double(let number):
      guard number.isFinite, number.magnitude < 1e11 else { return Int64(exactly: number.rounded()).flatMap(scaled) }
      return Int64(exactly: (number * 1e9).rounded())
    default: return nil
    }
  }

  private static func scaled(_ number: Int64) -> Int64? {
    let factor: Int64 =
      switch number.magnitude {
      case ..<100_000_000_000: 1_000_000_000
      case ..<100_000_000_000_000: 1_000_000
      case ..<100_000_000_000_000_000: 1_000
      default: 1
      }
    let (product, isOver) = number.multipliedReportingOverflow(by: factor)
    return isOver ? nil : product
  }

  private static func ofText(_ text: String) -> Int64? {
    if let time = Timestamp(text: text, form: .strict) { return time.nanosecondsSince1970 }
    var text = text.replacing(" UTC", with: "Z")
    if let space = text.firstIndex(of: " ") { text.replaceSubrange(space...space, with: "T") }
    let clock = text.drop { $0 != "T" }
    let hasZone = clock.contains { $0 == "Z" || $0 == "z" || $0 == "+" || $0 == "-" }
    return Timestamp(text: hasZone ? text : text + "Z", form: .strict)?.nanosecondsSince1970
  }
}
