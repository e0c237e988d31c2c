// OutputTests: values, times, events and quantities as they are printed.

#if Tool
  import Foundation
  import Testing
  import Weir
  import WeirJSON

  @testable import WeirTool

  private func json(_ value: FieldValue) -> String {
    var bytes: [UInt8] = []
    JSONText.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  struct JSONTextTests {
    @Test func `scalars are written as JSON`() {
      #expect(json(.null) == "null")
      #expect(json(.bool(true)) == "true")
      #expect(json(.int(.min)) == "-9223372036854775808")
      #expect(json(.uint(.max)) == "18446744073709551615")
      #expect(json(.double(0.1)) == "0.1")
      #expect(json(.double(-0.0)) == "-0.0")
      #expect(json(.double(.leastNonzeroMagnitude)) == "5e-324")
      #expect(json(.float(0.1)) == "0.1")
      #expect(json(.double(.nan)) == "\"NaN\"")
      #expect(json(.float(.infinity)) == "\"Infinity\"")
      #expect(json(.double(-.infinity)) == "\"-Infinity\"")
      #expect(json(.bytes([])) == "\"\"")
      #expect(json(.bytes([0, 255, 16])) == "\"AP8Q\"")
      let text = "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"
      #expect(UUID(uuidString: text).map { json(.uuid($0)) } == "\"\(text)\"")
    }

    @Test func `nested values are written as JSON`() {
      let object: FieldObject = ["b": .array([.int(1), .object(["x": .null])]), "a": .string("\"")]
      #expect(json(.object(object)) == #"{"b":[1,{"x":null}],"a":"\""}"#)
      #expect(json(.array([])) == "[]")
      #expect(json(.object([:])) == "{}")
    }

    /// What is written is read back by Foundation as the same text: every ASCII character, and some beyond.
    @Test func `strings agree with Foundation`() throws {
      let beyond: [Unicode.Scalar] = ["\u{2028}", "\u{202E}", "\u{2066}", "\u{FEFF}", "😀", "\u{301}"]
      let scalars = (0..<0x100).compactMap { Unicode.Scalar(UInt32($0)) } + beyond
      for scalar in scalars {
        let text = "x\(scalar)y"
        let read = try JSONDecoder().decode([String].self, from: Data("[\(json(.string(text)))]".utf8))
        #expect(read.first.map { Array($0.utf8) } == Array(text.utf8))
      }
      #expect(json(.string("\u{1}\u{1F}\n")) == #""\u0001\u001f\n""#)
      #expect(json(.string("\u{7F}\u{80}\u{9F}\u{A0}¡")) == "\"\\u007f\\u0080\\u009f\u{A0}¡\"")
      #expect(json(.string("\u{FEFF}\u{2028}\u{2029}\u{2030}")) == "\"\\ufeff\\u2028\\u2029\u{2030}\"")
    }

    /// Texts that turn the direction of writing would show a line in another order than it has.
    @Test func `marks of direction are escaped`() {
      let turning = [0x200E...0x200F, 0x202A...0x202E, 0x2066...0x2069].joined().compactMap { Unicode.Scalar($0) }
      for scalar in turning {
        let code = String(scalar.value, radix: 16)
        #expect(json(.string("x\(scalar)y")) == "\"x\\u\(code)y\"")
        #expect(Terminal.printable("x\(scalar)y") == "x\\u{\(code)}y")
        #expect(Terminal.name("x\(scalar)y") == "\"x\\u\(code)y\"")
      }
      let plain = "\u{200D}\u{2010}\u{2027}\u{202F}\u{2065}\u{206A}\u{20AC}\u{10A6}\u{1F468}"
      #expect(json(.string(plain)) == "\"\(plain)\"")
      #expect(Terminal.printable(plain) == plain)
    }

    /// What this parser reads, this writer writes again.
    @Test func `a printed line comes back`() {
      let line =
        #"{"event":"e","fields":{"z":[1,-2,18446744073709551615,0.25,1e+300,-0.0],"a":{"x":null},"s":"\\é\n"}}"#
      guard case .event(_, let fields) = JSONLines.parse(Array(line.utf8).span) else {
        Issue.record("malformed")
        return
      }
      #expect(#"{"event":"e","fields":\#(json(.object(fields)))}"# == line)
    }
  }

  struct UTCTests {
    private func rfc3339(_ date: Date) -> String? {
      var bytes: [UInt8] = []
      return UTC.append(date, to: &bytes) ? String(decoding: bytes, as: UTF8.self) : nil
    }

    /// A day in each month of nine centuries, against the C library.
    @Test func `days agree with the C library`() {
      for year in stride(from: 1600, through: 2500, by: 1) {
        for month in 1...12 {
          var parts = tm()
          parts.tm_year = Int32(year - 1900)
          parts.tm_mon = Int32(month - 1)
          parts.tm_mday = 28
          let days = timegm(&parts) / 86_400
          #expect(UTC.daysSince1970(year: year, month: month, day: 28) == days)
          let date = UTC.date(daysSince1970: days)
          #expect(date.year == year)
          #expect(date.month == month)
          #expect(date.day == 28)
        }
      }
    }

    @Test func `a leap day is there in leap years alone`() {
      #expect(UTC.daysSince1970(year: 2000, month: 2, day: 29) != nil)
      #expect(UTC.daysSince1970(year: 1900, month: 2, day: 29) == nil)
      #expect(UTC.daysSince1970(year: 2015, month: 13, day: 1) == nil)
      #expect(UTC.daysSince1970(year: 2015, month: 1, day: 0) == nil)
    }

    @Test(arguments: [0, 1, -1, 1_795_219_200, -9_223_372_036, 9_223_372_036])
    func `dates agree with Timestamp`(seconds: Int) {
      let time = Timestamp(nanosecondsSince1970: Int64(seconds) * 1_000_000_000).description
      let date = Date(timeIntervalSince1970: Double(seconds))
      #expect(rfc3339(date) == time.replacingOccurrences(of: ".000000000", with: ""))
    }

    @Test func `a date is written as of RFC 3339, if that can write it`() {
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: 0)) == "2001-01-01T00:00:00Z")
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: 0.5)) == "2001-01-01T00:00:00.500000000Z")
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: -0.25)) == "2000-12-31T23:59:59.750000000Z")
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: -1e-12)) == "2001-01-01T00:00:00Z")
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: 252_423_993_599)) == "9999-12-31T23:59:59Z")
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: -63_145_526_400)) == "0000-01-01T00:00:00Z")
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: 252_423_993_600)) == nil)
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: -63_145_526_400.5)) == nil)
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: .nan)) == nil)
      #expect(rfc3339(Date(timeIntervalSinceReferenceDate: .infinity)) == nil)
      #expect(json(.date(Date(timeIntervalSinceReferenceDate: .infinity))) == "\"Infinity\"")
      #expect(json(.date(Date(timeIntervalSinceReferenceDate: 3e11))) == "300000000000.0")
    }
  }

  struct EventFormatTests {
    private let event = StoredEvent(
      offset: 7, id: EventID(opening: 0xAB, sequence: 1), time: Timestamp(nanosecondsSince1970: 1_000_000_001),
      name: "shop sold", fields: ["b": .string("x,\"y"), "a": .int(1)])

    private func line(_ format: EventFormat) -> String {
      var bytes: [UInt8] = []
      format.append(event, withContext: false, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `an event is a line of JSON`() {
      #expect(
        line(.jsonl)
          == #"{"offset":7,"id":"00000000000000ab0000000000000001","time":"1970-01-01T00:00:01.000000001Z","#
          + #""event":"shop sold","fields":{"b":"x,\"y","a":1}}"# + "\n")
    }

    @Test func `an event is a row of CSV`() {
      #expect(EventFormat.csv.header(withContext: false) == "offset,id,time,event,fields\n")
      #expect(
        line(.csv)
          == "7,00000000000000ab0000000000000001,1970-01-01T00:00:01.000000001Z,shop sold,"
          + #""{""b"":""x,\""y"",""a"":1}""# + "\n")
    }

    /// A name may be anything: it shall neither reach a terminal as a command nor pass for another name.
    @Test(arguments: [
      "a\u{1B}[2Jb", "a\nb", "a\u{9B}b", "a\u{7F}", "\u{0}", "\"quoted\"", "plain, name", "é\u{301}", "",
    ])
    func `a name in CSV is quoted so that it passes for no other`(_ name: String) throws {
      var bytes: [UInt8] = []
      let id = EventID(opening: 0xAB, sequence: 1)
      EventFormat.csv.append(
        StoredEvent(offset: 7, id: id, time: Timestamp(nanosecondsSince1970: 1), name: name, fields: [:]),
        withContext: false, to: &bytes)
      let text = String(decoding: bytes.dropLast(), as: UTF8.self)
      #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
      var cell = String(text.split(separator: ",", maxSplits: 3)[3].dropLast(",{}".utf8.count))
      if cell.hasPrefix("\"") { cell = String(cell.dropFirst().dropLast()).replacing("\"\"", with: "\"") }
      let isJSON = cell.hasPrefix("\"")
      let read = isJSON ? try JSONDecoder().decode([String].self, from: Data("[\(cell)]".utf8))[0] : cell
      #expect(Array(read.utf8) == Array(name.utf8))
    }

    @Test func `an event is a line of text`() {
      #expect(line(.text) == "7  1970-01-01T00:00:01.000000001Z  \"shop sold\"  b=\"x,\\\"y\" a=1\n")
    }
  }

  struct QuantityTests {
    @Test func `quantities are written for people`() {
      #expect(Quantity.count(0) == "0")
      #expect(Quantity.count(999) == "999")
      #expect(Quantity.count(1_000) == "1,000")
      #expect(Quantity.count(.max) == "18,446,744,073,709,551,615")
      #expect(Quantity.decimal(1234.56) == "1,234.6")
      #expect(Quantity.seconds(999) == "1.0 us")
      #expect(Quantity.seconds(4_100_000) == "4.1 ms")
      #expect(Quantity.seconds(2_034_000_000) == "2.03 s")
      #expect(Quantity.bytes(1_023) == "1023 B")
      #expect(Quantity.bytes(17 << 20) == "17.0 MiB")
    }

    @Test func `sizes are read with their units`() {
      #expect(Quantity.parseBytes("65536") == 65_536)
      #expect(Quantity.parseBytes("64K") == 65_536)
      #expect(Quantity.parseBytes("1m") == 1 << 20)
      #expect(Quantity.parseBytes("2G") == 2 << 30)
      for text in ["", "K", "-1", "+1", "1.5M", "1T", "1 K", "99999999999999G", "١K"] {
        #expect(Quantity.parseBytes(text) == nil, "\(text)")
      }
    }

    @Test func `progress is one line`() {
      let half = Progress.line(1_000_000, nanoseconds: 500_000_000, fraction: 0.5)
      #expect(half == "[###############               ]  50 %  1,000,000 events  2,000,000/s")
      #expect(Progress.line(5, nanoseconds: 0, fraction: nil) == "5 events  0/s")
      #expect(Progress.line(0, nanoseconds: 1, fraction: 1).contains("] 100 %"))
    }

    @Test func `a summary tells counts and times`() {
      let tally = Tally(accepted: 1_000, refused: [.tooLarge: 2], captureNanoseconds: 85_000)
      let summary = RecordSummary(tally: tally, nanoseconds: 2_000_000_000, dropped: 2)
      #expect(
        summary.description
          == "1,000 events recorded in 2.00 s, 500 events/s, 85.0 ns per capture, 2 dropped "
          + "(\(DropReason.tooLarge.name): 2)")
    }

    @Test func `a summary tells what was removed, and why`() {
      let bounds = RecordSummary.Bounds(bytes: 4 << 20, retainedBytes: nil, retainedSeconds: 3_600)
      let summary = RecordSummary(
        tally: Tally(accepted: 1_000), nanoseconds: 1_000_000_000, dropped: 0, displaced: 1_200, expired: 34,
        bounds: bounds)
      #expect(
        summary.description.hasSuffix(
          "0 dropped, 1,200 displaced at the byte limit (--max-bytes 4194304), 34 expired by retention (--retain 3600s)"
        ))
    }

    @Test func `errors name the options of the command`() throws {
      var configuration = Tracker.Configuration()
      configuration.logger = nil
      configuration.byteLimit = 5
      let error = #expect(throws: WeirError.self) {
        try Tracker(directory: "/nonexistent/log", configuration: configuration)
      }
      let named = try #require(error).named(RecordOptions.names)
      #expect(named.message.hasPrefix("--max-bytes is 5; "), "\(named.message)")
      #expect(named.code == .cannotRun, "\(named.message)")
    }
  }
#endif
