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

  /// Appends a time without its zone, such as 2026-11-21T00:00:00. For the years 0 to 9999.
  package static func appendSeconds(_ secondsSince1970: Int, to bytes: inout [UInt8]) {
    let (quotient, remainder) = secondsSince1970.quotientAndRemainder(dividingBy: 86_400)
    // Rounds down, so that times before 1970 are correct.
    let date = date(daysSince1970: remainder < 0 ? quotient - 1 : quotient)
    let second = remainder < 0 ? remainder + 86_400 : remainder
    appendDigits(date.year, 4, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    appendDigits(date.month, 2, to: &bytes)
    bytes.append(UInt8(ascii: "-"))
    appendDigits(date.day, 2, to: &bytes)
    bytes.append(UInt8(ascii: "T"))
    appendDigits(second / 3_600, 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    appendDigits(second / 60 % 60, 2, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    appendDigits(second % 60, 2, to: &bytes)
  }

  /// Appends a number with leading zeros.
  package static func appendDigits(_ value: Int, _ count: Int, to bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: count))
    var rest = value
    for index in (start..<start + count).reversed() {
      bytes[index] += UInt8(rest % 10)
      rest /= 10
    }
  }
}
