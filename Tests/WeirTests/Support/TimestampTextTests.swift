// TimestampTextTests: texts that are moments and texts that are not, in both forms.

import Testing
import Weir

struct TimestampTextTests {
  private func nanoseconds(_ text: String, _ form: Timestamp.TextForm) -> Int64? {
    Timestamp(text: text, form: form)?.nanosecondsSince1970
  }

  @Test(arguments: [
    ("1970-01-01", 0), ("1970-01-02", 86_400), ("1970-01-01T01:00:00+01:00", 0), ("1969-12-31T23:00:00-01:00", 0),
    ("2026-11-21T09:30:00Z", 1_795_253_400), ("2024-02-29T00:00:00Z", 1_709_164_800), ("1969-12-31T23:59:59Z", -1),
    ("2026-11-21t09:30:00z", 1_795_253_400),
  ])
  func `RFC 3339 is read in both forms`(text: String, seconds: Int64) {
    #expect(nanoseconds(text, .strict) == seconds * 1_000_000_000)
    #expect(nanoseconds(text, .lenient) == seconds * 1_000_000_000)
  }

  @Test(arguments: [
    ("1970-01-01T00:00:00.5Z", 500_000_000), ("1970-01-01T00:00:00.000000001Z", 1),
    ("1969-12-31T23:59:59.75Z", -250_000_000),
  ])
  func `fractions of a second are read in both forms`(text: String, moment: Int64) {
    #expect(nanoseconds(text, .strict) == moment)
    #expect(nanoseconds(text, .lenient) == moment)
  }

  @Test(arguments: [Int64.min, .min + 1, -1_000_000_000, -1, 0, 1, 1_795_253_400_123_456_789, .max])
  func `a printed moment is read`(moment: Int64) {
    let text = Timestamp(nanosecondsSince1970: moment).description
    #expect(nanoseconds(text, .strict) == moment)
    #expect(nanoseconds(text, .lenient) == moment)
  }

  @Test(arguments: [
    ("2026-11-21 00:00:00", 1_795_219_200_000_000_000), ("2026-11-20T23:00:00-0100", 1_795_219_200_000_000_000),
    ("2026-11-21T00:00:00.1234567899", 1_795_219_200_123_456_789),
    ("2026-11-20T23:59:60Z", 1_795_219_200_000_000_000),
  ])
  func `what vendors write is read in the lenient form alone`(text: String, moment: Int64) {
    #expect(nanoseconds(text, .lenient) == moment)
    #expect(nanoseconds(text, .strict) == nil)
  }

  @Test(arguments: [
    "", "x", "1970", "1970-13-01", "1970-02-30", "2023-02-29", "1970-01-01T", "1970-01-01T00:00Z",
    "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z", "1970-01-01T00:00:61Z", "1970-01-01T00:00:00.Z",
    "1970-01-01T00:00:00Z ", "1970-1-1", "+970-01-01", "1970-01-01T00:00:00+1:00", "1970-01-01T00:00:00+1",
    "1677-09-21T00:12:43.145224191Z", "2262-04-11T23:47:16.854775808Z", "9999-01-01", "9999-12-31T00:00:00Z",
    "0001-01-01T00:00:00Z", "２０２６-11-21",
  ])
  func `a text that is no moment is refused in both forms`(text: String) {
    #expect(nanoseconds(text, .strict) == nil)
    #expect(nanoseconds(text, .lenient) == nil)
  }
}
