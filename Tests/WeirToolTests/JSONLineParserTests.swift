// JSONLineParserTests: a JSON line becomes the event it says, to the last digit, or it is malformed.

#if Tool
  import Foundation
  import Testing
  import Weir

  @testable import WeirTool

  private func parse(_ line: String) -> JSONLines.Parsed { JSONLines.parse(Array(line.utf8).span) }

  private func field(_ json: String) -> FieldValue? {
    guard case .event(_, let fields) = parse(#"{"event":"e","fields":{"f":\#(json)}}"#) else { return nil }
    return fields.first?.value
  }

  struct JSONLineParserTests {
    @Test func `a line has its name, and its fields in their order`() {
      let line = #" { "fields" : {"z":1, "a":[true,false,null,"x"], "o":{"b":{}, "a":[]}} , "event" : "shop.sold" } "#
      let object: FieldObject = ["b": .object([:]), "a": .array([])]
      let array = FieldValue.array([.bool(true), .bool(false), .null, .string("x")])
      let fields: FieldObject = ["z": .int(1), "a": array, "o": .object(object)]
      #expect(parse(line) == .event(name: "shop.sold", fields: fields))
    }

    @Test func `numbers are exact where they can be`() {
      #expect(field("0") == .int(0))
      #expect(field("-1") == .int(-1))
      #expect(field("9223372036854775807") == .int(.max))
      #expect(field("-9223372036854775808") == .int(.min))
      #expect(field("9223372036854775808") == .uint(1 << 63))
      #expect(field("18446744073709551615") == .uint(.max))
      #expect(field("18446744073709551616") == .double(18_446_744_073_709_551_616))
      #expect(field("1.0") == .double(1))
      #expect(field("1e2") == .double(100))
      #expect(field("0.1") == .double(0.1))
      #expect(field("5e-324") == .double(.leastNonzeroMagnitude))
      #expect(field("1.7976931348623157E+308") == .double(.greatestFiniteMagnitude))
      guard case .double(let zero)? = field("-0") else {
        Issue.record("-0 is not a double")
        return
      }
      #expect(zero.sign == .minus)
    }

    @Test(arguments: [
      "01", "+1", "1.", ".5", "1e", "1e+", "-", "0x1", "NaN", "Infinity", "1e999", "1e-999", "1 2", "--1",
    ])
    func `a text that is no number, or beyond a double, is refused`(text: String) {
      #expect(field(text) == nil)
    }

    @Test func `strings are read with their escapes`() {
      #expect(field(#""""#) == .string(""))
      #expect(field(#""\"\\\/\b\f\n\r\t""#) == .string("\"\\/\u{8}\u{C}\n\r\t"))
      #expect(field(#""\u00e9\uD83D\uDE00x""#) == .string("é😀x"))
      #expect(field(#""\u0000""#) == .string("\0"))
      #expect(field(#""é😀""#) == .string("é😀"))
    }

    @Test(arguments: [
      #""\ud800""#, #""\ud800x""#, #""\ud800\u0041""#, #""\udc00""#, #""\x41""#, #""\u12""#, #""\u00g0""#, #"""#,
      #""\"#, "\"\t\"", "\"\n\"", "'x'", "tru", "nulll", "[1,]", "[,]", "[1", "{\"a\":1,}", "{a:1}", "{\"a\"}", "",
    ])
    func whatIsNoJSON(text: String) {
      #expect(field(text) == nil)
    }

    @Test(arguments: [
      "", "{}", "[]", "1", "null", #"{"event":"e"}"#, #"{"fields":{}}"#, #"{"event":1,"fields":{}}"#,
      #"{"event":"","fields":{}}"#, #"{"event":"e","fields":[]}"#, #"{"event":"e","fields":{},"x":1}"#,
      #"{"event":"e","event":"e"}"#, #"{"event":"e","fields":{}} x"#, #"{"event":"weir.gap","fields":{}}"#,
      #"{"event":"e","fields":{"a":1,"a":2}}"#, #"{"event":"e","fields":{"o":{"a":1,"a":2}}}"#, "{\"event\":\"e\"",
    ])
    func `any other line is malformed, with its text`(line: String) {
      #expect(parse(line) == .malformed(.text(line)))
    }

    @Test func `names that only look alike are two`() {
      let line = "{\"event\":\"e\",\"fields\":{\"\u{E9}\":1,\"e\u{301}\":2}}"
      guard case .event(_, let fields) = parse(line) else {
        Issue.record("malformed")
        return
      }
      #expect(fields.count == 2)
    }

    @Test func `values nest up to the limit`() {
      func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
      }
      #expect(field(nested(15)) != nil)
      #expect(field(nested(16)) == nil)
      #expect(field(nested(100_000)) == nil)
    }

    @Test func `names have up to the limit of bytes`() {
      let longest = String(repeating: "n", count: 1024)
      #expect(parse("{\"event\":\"\(longest)\",\"fields\":{}}") == .event(name: longest, fields: [:]))
      let longer = "{\"event\":\"\(longest)n\",\"fields\":{}}"
      #expect(parse(longer) == .malformed(.text(longer)))
    }

    @Test func `bytes that are not UTF-8 stay bytes`() {
      let line = Array(#"{"event":"e","fields":{"f":""#.utf8) + [0xC3, 0x28] + Array(#""}}"#.utf8)
      #expect(JSONLines.parse(line.span) == .malformed(.bytes(line)))
    }

    /// Every prefix of a line, and every line with one byte changed: no crash, and never anything but the line's own
    /// text or an event.
    @Test func `damaged lines never trap`() {
      let line = Array(#"{"event":"e","fields":{"a":[1.5e3,-2,"\u00e9\ud83d\ude00"],"b":{"c":null}}}"#.utf8)
      for count in 0..<line.count {
        let prefix = Array(line[..<count])
        #expect(JSONLines.parse(prefix.span) == .malformed(LineText(prefix.span)))
      }
      for index in line.indices {
        for byte in UInt8.min...UInt8.max {
          var changed = line
          changed[index] = byte
          if case .malformed(let text) = JSONLines.parse(changed.span) { #expect(text == LineText(changed.span)) }
        }
      }
    }
  }
#endif
