// AccessLineParser: reads a line of Apache's combined log,
//
//     host ident user [17/May/2015:10:05:03 +0000] "METHOD path PROTOCOL" status bytes "referrer" "agent"
//
// and nothing else: single spaces, exactly nine parts, a request line of exactly three words, a time that exists,
// numbers in their shortest form. The strictness ensures that the fields mean the same as the line. Any other line
// becomes `malformed` with its exact text, which a better parser can still read.

#if Tool
  import Foundation
  import Weir

  extension AccessEvent {
    /// Parses a line. Never fails: a line that is no request becomes `malformed`.
    init(line: Span<UInt8>) {
      guard String(utf8: line) != nil, let request = AccessEvent(request: line) else {
        self = .malformed(LineText(line))
        return
      }
      self = request
    }

    private init?(request line: Span<UInt8>) {
      var at = 0
      guard let host = AccessLine.word(line, &at), let ident = AccessLine.word(line, &at),
        let user = AccessLine.word(line, &at), let time = AccessLine.time(line, &at),
        let request = AccessLine.quoted(line, &at), AccessLine.skip(AccessLine.space, line, &at),
        let status = AccessLine.word(line, &at), status.count == 3,
        let code = AccessLine.number(line, status), code >= 100,
        let size = AccessLine.word(line, &at),
        let referrer = AccessLine.quoted(line, &at), AccessLine.skip(AccessLine.space, line, &at),
        let agent = AccessLine.quoted(line, &at), at == line.count
      else { return nil }

      var within = 0
      let words = line.extracting(request)
      guard let method = AccessLine.word(words, &within), let path = AccessLine.word(words, &within),
        let end = AccessLine.lastWord(words, from: within)
      else { return nil }

      var bytes: UInt64?
      if !AccessLine.isAbsent(line, size) {
        guard let number = AccessLine.number(line, size) else { return nil }
        bytes = number
      }
      self = .request(
        host: AccessLine.text(line, host), ident: AccessLine.optionalText(line, ident),
        user: AccessLine.optionalText(line, user), time: time, method: AccessLine.text(words, method),
        path: AccessLine.text(words, path), protocol: AccessLine.text(words, end), status: UInt16(code), bytes: bytes,
        referrer: AccessLine.optionalText(line, referrer), agent: AccessLine.optionalText(line, agent))
    }
  }

  /// Reads the parts of a line. Each function reads its part at `at`, moves `at` behind the part, and returns the range
  /// of the part, or `nil` if the line has something else at `at`.
  private enum AccessLine {
    static let space = UInt8(ascii: " ")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    private static let hyphen = UInt8(ascii: "-")

    static func skip(_ byte: UInt8, _ line: Span<UInt8>, _ at: inout Int) -> Bool {
      guard at < line.count, line[at] == byte else { return false }
      at += 1
      return true
    }

    /// Reads a word of at least one byte, and the space after the word.
    static func word(_ line: Span<UInt8>, _ at: inout Int) -> Range<Int>? {
      let start = at
      while at < line.count, line[at] != space { at += 1 }
      guard at > start, at < line.count else { return nil }
      defer { at += 1 }
      return start..<at
    }

    /// Returns the rest of the line if the rest is one word.
    static func lastWord(_ line: Span<UInt8>, from start: Int) -> Range<Int>? {
      var end = start
      while end < line.count, line[end] != space { end += 1 }
      return end == line.count && end > start ? start..<end : nil
    }

    /// Reads a text in quotation marks. A byte after a backslash does not end the text.
    static func quoted(_ line: Span<UInt8>, _ at: inout Int) -> Range<Int>? {
      guard skip(quote, line, &at) else { return nil }
      let start = at
      while at < line.count, line[at] != quote { at += line[at] == backslash ? 2 : 1 }
      guard at < line.count else { return nil }
      defer { at += 1 }
      return start..<at
    }

    /// Returns the number that decimal digits without leading zeros stand for, up to UInt64.max.
    static func number(_ line: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
      if range.count > 1, line[range.lowerBound] == UInt8(ascii: "0") { return nil }
      var value: UInt64 = 0
      for index in range {
        guard let digit = digit(line[index]) else { return nil }
        let (tens, over) = value.multipliedReportingOverflow(by: 10)
        let (sum, carried) = tens.addingReportingOverflow(UInt64(digit))
        if over || carried { return nil }
        value = sum
      }
      return value
    }

    /// Reads a time such as "[17/May/2015:10:05:03 +0000] ", including the space after the time.
    static func time(_ line: Span<UInt8>, _ at: inout Int) -> Date? {
      let from = at
      guard line.count - from >= 29, matches(line, from), let day = digits(line, from + 1, 2),
        let month = month(line, from + 4), let year = digits(line, from + 8, 4), let hour = digits(line, from + 13, 2),
        let minute = digits(line, from + 16, 2), let second = digits(line, from + 19, 2),
        let zoneHours = digits(line, from + 23, 2), let zoneMinutes = digits(line, from + 25, 2),
        hour < 24, minute < 60, second < 60, zoneHours < 24, zoneMinutes < 60,
        let days = UTC.daysSince1970(year: year, month: month, day: day)
      else { return nil }
      at = from + 29
      let zone = (zoneHours * 60 + zoneMinutes) * (line[from + 22] == hyphen ? -60 : 60)
      let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - zone
      return Date(timeIntervalSince1970: Double(seconds))
    }

    /// Returns whether the punctuation of a time is in place.
    private static func matches(_ line: Span<UInt8>, _ from: Int) -> Bool {
      let sign = line[from + 22]
      return line[from] == UInt8(ascii: "[") && line[from + 3] == UInt8(ascii: "/")
        && line[from + 7] == UInt8(ascii: "/") && line[from + 12] == UInt8(ascii: ":")
        && line[from + 15] == UInt8(ascii: ":") && line[from + 18] == UInt8(ascii: ":") && line[from + 21] == space
        && (sign == UInt8(ascii: "+") || sign == hyphen) && line[from + 27] == UInt8(ascii: "]")
        && line[from + 28] == space
    }

    private static func digits(_ line: Span<UInt8>, _ from: Int, _ count: Int) -> Int? {
      var value = 0
      for index in from..<(from + count) {
        guard let digit = digit(line[index]) else { return nil }
        value = value * 10 + Int(digit)
      }
      return value
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
      let digit = byte &- UInt8(ascii: "0")
      return digit < 10 ? digit : nil
    }

    private static let months: [UInt32] = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ].map { name in name.utf8.reduce(0) { $0 << 8 | UInt32($1) } }

    private static func month(_ line: Span<UInt8>, _ from: Int) -> Int? {
      let name = UInt32(line[from]) << 16 | UInt32(line[from + 1]) << 8 | UInt32(line[from + 2])
      return months.firstIndex(of: name).map { $0 + 1 }
    }

    static func isAbsent(_ line: Span<UInt8>, _ range: Range<Int>) -> Bool {
      range.count == 1 && line[range.lowerBound] == hyphen
    }

    /// Returns a part of the line as text. The line is known to be UTF-8, and its parts end at ASCII bytes.
    static func text(_ line: Span<UInt8>, _ range: Range<Int>) -> String {
      line.extracting(range).withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
    }

    static func optionalText(_ line: Span<UInt8>, _ range: Range<Int>) -> String? {
      isAbsent(line, range) ? nil : text(line, range)
    }
  }
#endif
