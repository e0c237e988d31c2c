// Timestamp: when an event was captured, to the nanosecond.

/// A moment, in nanoseconds since 1970 (Universal Time, without leap seconds), between the years 1677 and 2262.
public struct Timestamp: Hashable, Comparable, Sendable {
  public var nanosecondsSince1970: Int64

  public init(nanosecondsSince1970: Int64) {
    self.nanosecondsSince1970 = nanosecondsSince1970
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.nanosecondsSince1970 < right.nanosecondsSince1970
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in Universal Time with nine decimals, such as `2026-11-21T00:00:00.123456789Z`.
  public var description: String {
    let nanosecondsADay: Int64 = 86_400_000_000_000
    // Divided downwards, so that moments before 1970 come out right.
    let (quotient, rest) = nanosecondsSince1970.quotientAndRemainder(dividingBy: nanosecondsADay)
    let days = rest < 0 ? quotient - 1 : quotient
    let nanoseconds = rest < 0 ? rest + nanosecondsADay : rest
    let (year, month, day) = Self.civil(daysSince1970: Int(days))
    let seconds = Int(nanoseconds / 1_000_000_000)

    var text: [UInt8] = []
    text.reserveCapacity(30)
    func put(_ number: Int, _ width: Int, _ separator: Character) {
      var divisor = 1
      for _ in 1..<width { divisor *= 10 }
      while divisor > 0 {
        text.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
        divisor /= 10
      }
      text.append(separator.asciiValue ?? 0)
    }
    put(year, 4, "-")
    put(month, 2, "-")
    put(day, 2, "T")
    put(seconds / 3600, 2, ":")
    put(seconds / 60 % 60, 2, ":")
    put(seconds % 60, 2, ".")
    put(Int(nanoseconds % 1_000_000_000), 9, "Z")
    return String(decoding: text, as: UTF8.self)
  }

  /// Year, month and day of the Gregorian calendar. Counts in years that begin in March, so that the leap day is the
  /// last of its year and needs no case of its own.
  private static func civil(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
    let days = daysSince1970 + 719_468  // since 0000-03-01; positive over the whole range
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }
}
