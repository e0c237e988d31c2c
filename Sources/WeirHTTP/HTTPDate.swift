// HTTPDate: the three date formats that RFC 9110 requires readers to accept.

#if HTTP
  import Weir

  /// Dates in headers: `Sun, 06 Nov 1994 08:49:37 GMT`, and the older `Sunday, 06-Nov-94 08:49:37 GMT` and
  /// `Sun Nov  6 08:49:37 1994`.
  enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Returns the seconds since 1970, or `nil` if the text is no date.
    static func secondsSince1970(_ text: String) -> Int? {
      var parts = text.split(separator: " ", omittingEmptySubsequences: true)
      guard parts.count > 1 else { return nil }
      if parts[0].hasSuffix(",") {
        parts.removeFirst()
        if parts.count == 3, parts[2] == "GMT" {
          let date = parts[0].split(separator: "-")
          guard date.count == 3, let year = twoDigitYear(date[2]) else { return nil }
          return seconds(year, date[1], date[0], parts[1])
        }
        guard parts.count == 5, parts[4] == "GMT", let year = number(parts[2], digits: 4...4) else { return nil }
        return seconds(year, parts[1], parts[0], parts[3])
      }
      guard parts.count == 5, let year = number(parts[4], digits: 4...4) else { return nil }
      return seconds(year, parts[1], parts[2], parts[3])
    }

    private static func seconds(_ year: Int, _ month: Substring, _ day: Substring, _ time: Substring) -> Int? {
      guard let month = months.firstIndex(of: String(month)), let day = number(day, digits: 1...2),
        let days = UTC.daysSince1970(year: year, month: month + 1, day: day)
      else { return nil }
      let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0, digits: 2...2) }
      guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2], hour < 24,
        minute < 60, second <= 60
      else { return nil }
      return days * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// Interprets a two-digit year. By RFC 9110, a year more than 50 years ahead belongs to the previous century.
    /// Servers send no dates before 2020.
    private static func twoDigitYear(_ text: Substring) -> Int? {
      guard let year = number(text, digits: 2...2) else { return nil }
      return year > 70 ? 1900 + year : 2000 + year
    }

    private static func number(_ text: Substring, digits: ClosedRange<Int>) -> Int? {
      guard digits.contains(text.utf8.count),
        text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
      else { return nil }
      return Int(text)
    }
  }
#endif
