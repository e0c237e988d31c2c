// UTC: days, dates and their text in Universal Time, for the times of events, and in the tool for access logs and dates
// in fields. Foundation's formatters take microseconds for a date and stop at milliseconds; these take a few divisions.
// Proleptic Gregorian calendar.

package enum UTC {
  /// Returns the number of a day since 1970-01-01; `nil` if the day does not exist.
  package static func daysSince1970(year: Int, month: Int, day: Int) -> Int? {
    guard (1...12).contains(month), day >= 1, day <= daysIn(month: month, year: year) else { return nil }
    // Years start on 1 March, so that a leap day is the last day of its year.
    let shifted = month > 2 ? year : year - 1
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Returns the date of a day.
  package static func date(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let index = (5 * dayOfYear + 2) / 153
    let month = index < 10 ? index + 3 : index - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * index + 2) / 5 + 1)
  }

  private static func daysIn(month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Appends a time in RFC 3339 format, with nine decimals unless `nanoseconds` is `nil`. For the years 0 to 9999.
  package static func append(_ secondsSince1970: Int, nanoseconds: Int?, to bytes: inout [UInt8]) {
    let (quotient, remainder) = secondsSince1970.quotientAndRemainder(dividingBy: 86_400)
    // Rounds down, so that times before 1970 are correct.
    let date = date(daysSince1970: remainder < 0 ? quotient - 1 : quotient)
    let second = remainder < 0 ? remainder + 86_400 : remainder
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 30) { text in
      put(date.year, 0..<4, before: "-", in: text)
      put(date.month, 5..<7, before: "-", in: text)
      put(date.day, 8..<10, before: "T", in: text)
      put(second / 3_600, 11..<13, before: ":", in: text)
      put(second / 60 % 60, 14..<16, before: ":", in: text)
      put(second % 60, 17..<19, before: nanoseconds == nil ? "Z" : ".", in: text)
      if let nanoseconds { put(nanoseconds, 20..<29, before: "Z", in: text) }
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: text[..<(nanoseconds == nil ? 20 : 30)]))
    }
  }

  /// Writes a number with leading zeros, and the character that follows it.
  private static func put(
    _ value: Int, _ places: Range<Int>, before next: Unicode.Scalar, in text: UnsafeMutableBufferPointer<UInt8>
  ) {
    var rest = UInt32(truncatingIfNeeded: value)
    for place in places.reversed() {
      text[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    text[places.upperBound] = UInt8(ascii: next)
  }
}
