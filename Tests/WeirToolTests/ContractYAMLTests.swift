// Contracts in YAML: the same as in JSON, what is refused and on which line, and texts meant to do harm. Built with the
// trait YAML only.

#if YAML
  import Foundation
  import Testing
  import Weir
  import WeirContracts
  import WeirYAML

  struct DocumentYAMLTests {
    private func problems(_ text: String) -> [String] {
      do {
        _ = try Contract(yaml: text)
        return []
      } catch {
        return error.problems.map(\.description)
      }
    }

    /// A contract of one event with one field of these keys.
    private func field(_ keys: String) -> String {
      "contract: c\nversion: '1'\nevents:\n  e:\n    fields:\n      f: \(keys)\n"
    }

    private func rule(_ keys: String) throws -> FieldRule {
      try #require(try Contract(yaml: field(keys)).events.first?.fields.first)
    }

    @Test func `the contract of the sample is the same in both forms`() throws {
      let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Contract")
      let yaml = try String(contentsOf: folder.appendingPathComponent("access.yaml"), encoding: .utf8)
      let json = try Data(contentsOf: folder.appendingPathComponent("access.json"))
      #expect(try Contract(yaml: yaml) == Contract(json: json))
      // JSON is YAML.
      #expect(try Contract(yaml: String(decoding: json, as: UTF8.self)) == Contract(json: json))
    }

    @Test func `rules for every event and for the context are read as in JSON`() throws {
      let yaml = """
        contract: c
        version: "1"
        requires_kind: true
        every_event:
          context.globals.app: {type: string, mandatory: true, default: shop}
          context.user: {mandatory: true}
        events:
          e:
            kind: page_view
            fields:
              context.view: {mandatory: true}
        """
      let contract = Contract("c", version: "1", requiresKind: true) {
        Mandatory("context.globals.app", .string, default: "shop")
        Mandatory("context.user")
      } events: {
        EventRule("e", kind: .pageView) { Mandatory("context.view") }
      }
      #expect(try Contract(yaml: yaml) == contract)
      #expect(
        problems("contract: c\nversion: '1'\nevery_event:\n  app: {}\nevents: {}\n") == [
          "line 4: app: a rule for every event is about its context; begin the name with context."
        ])
    }

    @Test func `plain values are read as in JSON`() throws {
      func values(_ list: String) throws -> [FieldValue]? { try rule("{one_of: \(list)}").allowedValues }
      #expect(
        try values("[true, False, 1, -2, 1.5, 1e3, 18446744073709551615]")
          == [true, false, 1, -2, 1.5, 1000.0, .uint(.max)])
      #expect(
        try values("[NO, yes, on, 010, 0x1F, 1_000, +1, .inf, 1:30, 2026-11-21, '1', \"true\"]")
          == ["NO", "yes", "on", "010", "0x1F", "1_000", "+1", ".inf", "1:30", "2026-11-21", "1", "true"])
      #expect(try values("[a*b, '*', \"**\", 'x *y']") == ["a*b", "*", "**", "x *y"])
      #expect(try values("[!!str 5, ! 6]") == ["5", "6"])
      #expect(try rule("{type: string, matches: '.*'}").pattern == ".*")
      #expect(try rule("\n        description: |\n          *two\n          lines\n").description == "*two\nlines\n")
      #expect(try rule("{description: a} # *not an alias\n").description == "a")
      #expect(try Contract(yaml: "contract: c\nversion: '1'\nevents: {e: , f: ~}\n").events.map(\.name) == ["e", "f"])
    }

    /// While the text is parsed, a character of private use stands for each asterisk; none of the text may be one.
    @Test func `characters of private use stay what they are`() throws {
      func values(_ list: String) throws -> [FieldValue]? { try rule("{one_of: \(list)}").allowedValues }
      #expect(
        try values(#"["\uE000", "\U0000e001", "*", "\uE002*"]"#) == ["\u{E000}", "\u{E001}", "*", "\u{E002}*"])
      #expect(try values("[\"\u{E000}\", \u{E001}*, \"\\uE002\"]") == ["\u{E000}", "\u{E001}*", "\u{E002}"])
      #expect(try values(#"['\uE000*', "\\uE001*"]"#) == ["\\uE000*", "\\uE001*"])
      #expect(try rule(#"{type: string, matches: "\uE000+"}"#).pattern == "\u{E000}+")
      #expect(problems(field(#"{description: "\uE000", one_of: *a}"#)).first?.contains("an alias") == true)
      let all = (0xE000...0xF8FF).map { "\\u" + String($0, radix: 16) }.joined()
      let tooMany = problems(field("{description: \"\(all)\"}"))
      #expect(tooMany == ["line 1: the file holds too many characters of private use"])
      #expect(try rule("{description: \"\(all.dropLast(6))\", one_of: ['*']}").allowedValues == ["*"])
    }

    @Test func `a byte order mark is passed over`() throws {
      let text = field("{one_of: ['*', a]}")
      #expect(try Contract(yaml: "\u{FEFF}" + text) == Contract(yaml: text))
      #expect(problems("\u{FEFF}contract: c\nversion: 1\nevents: {}\n").first?.hasPrefix("line 2: version") == true)
      #expect(problems("\u{FEFF}") == ["line 1: the file is empty"])
    }

    @Test func `problems are told with their lines`() {
      #expect(
        problems("contract: c\nversion: 1.2\nevents: {}\n") == [
          "line 2: version is a number; write a text, in quotation marks"
        ])
      #expect(
        problems(field("{type: integer,\n  min: 5, max: 1}")) == ["line 6: e: f: no number lies in the range 5...1"])
      #expect(
        problems(field("{mandatory: yes, typ: string}")) == [
          "line 6: e: f: a field has no key \"typ\"; did you mean type?",
          "line 6: e: f: mandatory is a text; write true or false",
        ])
      let cases = [
        ("", "the file is empty"), ("[a", "this is no YAML"), ("a: b: c", "this is no YAML"),
        ("x: 1\na:\n  b: 1\n  b: 2\n", "line 3: repeated keys: b, in the map that begins here"),
        ("--- {}\n--- {}\n", "this is no YAML"),
        ("? [a]\n: b\n", "a list or a map is a key"), ("a: !custom b\n", "line 1: the tag !custom is not supported"),
        ("a: !!binary b\n", "is not supported"), ("a: !!set {b}\n", "is not supported"),
        ("a: 1e999\n", "out of range for a field"), ("a: 18446744073709551616\n", "out of range for a field"),
        ("x: &a 1\ny: *a\n", "line 2: an alias"), ("<<: *a\n", "an alias"), ("*a : b\n", "an alias"),
        ("- *a\n", "an alias"),
        ("{a: *b}\n", "an alias"), ("b: 1\na: \u{7}\n", "line 2: this is no YAML"), ("a: \0\n", "this is no YAML"),
        ("7\n", "the contract is a number"),
      ]
      for (text, reason) in cases {
        #expect(problems(text).contains { $0.contains(reason) }, "\(text.debugDescription): \(problems(text))")
      }
    }

    /// Each of these would take more memory or time than there is, were it followed.
    @Test func `texts meant to do harm are refused`() async {
      let bomb =
        "a: &a [x, x, x, x, x, x, x, x, x]\n"
        + zip("bcdefghi", "abcdefgh").map { "\($0): &\($0) [*\($1), *\($1), *\($1), *\($1), *\($1), *\($1), *\($1)]\n" }
        .joined()
      #expect(problems(bomb).first?.contains("line 2: an alias") == true)
      let keys = bomb + "? *i\n: 1\n"
      #expect(problems(keys).first?.contains("an alias") == true)
      let size = Contract.maximumYAMLBytes
      #expect(problems(String(repeating: "#", count: size + 1)) == ["line 1: the file is larger than 1 MiB"])
      let full = String(repeating: "a,", count: size / 2 - 2)
      #expect(problems("[" + full + "]").first?.contains("the contract is a list") == true)
      for open in ["[", "{a: ", "- ", "? "] {
        // On a thread of the pool, whose stack is small.
        let text = String(repeating: open, count: size / open.utf8.count)
        let found = await Task.detached { self.problems(text) }.value
        #expect(found.count == 1, "\(open): \(found)")
        let deep = await Task.detached { self.problems(String(repeating: open, count: 900)) }.value
        #expect(deep.count == 1, "\(open): \(deep)")
      }
      let nested = (0..<70).map { String(repeating: " ", count: $0) + "a:\n" }.joined()
      #expect(problems(nested).first?.contains("nest more than 64") == true)
    }
  }
#endif
