// Instant.swift: a moment as a command-line argument: 2026-11-21T09:30:00Z, with a fraction or another zone if there is
// one; a date alone is its midnight, in Universal Time.

#if Tool
  import ArgumentParser
  import Weir

  struct Instant: ExpressibleByArgument, Equatable, Sendable {
    var timestamp: Timestamp

    init?(argument: String) {
      guard let nanoseconds = Self.nanoseconds(Array(argument.utf8)[...]) else { return nil }
      timestamp = Timestamp(nanosecondsSince1970: nanoseconds)
    }

    /// Since 1970; nil for what is no RFC 3339, and for what 64 bits can't hold.
    private static func nanoseconds(_ text: ArraySlice<UInt8>) -> Int64? {
      var rest = text
      guard let year = digits(4, &rest), skip("-", &rest), let month = digits(2, &rest), skip("-", &rest),
        let day = digits(2, &rest), let days = UTC.daysSince1970(year: year, month: month, day: day)
      else { return nil }
      var seconds = days * 86_400
      var fraction = 0
      if !rest.isEmpty {
        guard skip("T", &rest) || skip("t", &rest), let hour = digits(2, &rest), skip(":", &rest),
          let minute = digits(2, &rest), skip(":", &rest), let second = digits(2, &rest),
          hour < 24, minute < 60, second < 60
        else { return nil }
        seconds += hour * 3_600 + minute * 60 + second
        if skip(".", &rest) {
          guard let found = nanoseconds(ofFraction: &rest) else { return nil }
          fraction = found
        }
        guard let zone = secondsEast(&rest), rest.isEmpty else { return nil }
        seconds -= zone
      }
      let (product, isTooMuch) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
      let (sum, carry) = product.addingReportingOverflow(Int64(fraction))
      return isTooMuch || carry ? nil : sum
    }

    /// Z, or +02:00.
    private static func secondsEast(_ rest: inout ArraySlice<UInt8>) -> Int? {
      if skip("Z", &rest) || skip("z", &rest) { return 0 }
      let isWest = rest.first == UInt8(ascii: "-")
      guard skip("+", &rest) || skip("-", &rest), let hours = digits(2, &rest), skip(":", &rest),
        let minutes = digits(2, &rest), hours < 24, minutes < 60
      else { return nil }
      return (isWest ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }

    /// At least one digit, and at most the nine that a nanosecond takes.
    private static func nanoseconds(ofFraction rest: inout ArraySlice<UInt8>) -> Int? {
      let found = rest.prefix { isDigit($0) }
      guard (1...9).contains(found.count) else { return nil }
      rest = rest.dropFirst(found.count)
      let value = found.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
      return (found.count..<9).reduce(value) { value, _ in value * 10 }
    }

    private static func digits(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
      let found = rest.prefix(count)
      guard found.count == count, found.allSatisfy({ isDigit($0) }) else { return nil }
      rest = rest.dropFirst(count)
      return found.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func skip(_ mark: Character, _ rest: inout ArraySlice<UInt8>) -> Bool {
      guard let first = rest.first, first == mark.asciiValue else { return false }
      rest = rest.dropFirst()
      return true
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
  }
#endif
