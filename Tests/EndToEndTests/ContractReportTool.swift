// ContractReportTool.swift: `weir contract report`: the tables that a data team gets of a log: every cell, the order,
// what is hidden, what a hostile text can't do, and what is refused.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct ContractReportTool {
    private static let shop = """
      {"contract": "shop", "version": "1.2", "events": {
        "refund": {"fields": {"order": {"type": "integer", "mandatory": true}}},
        "checkout": {"description": "A purchase.", "fields": {
          "order": {"type": "integer", "mandatory": true, "min": 1},
          "coupon": {"type": "string", "description": "a | b <c>"},
          "email": {"type": "string", "sensitive": true}}}}}
      """

    private static let lines = [
      #"{"event":"checkout","fields":{"order":7,"coupon":"SPRING","email":"a@b.example"}}"#,
      #"{"event":"checkout","fields":{"order":0,"colour":"=1|<b>"}}"#,
      #"{"event":"checkout","fields":{"order":"x","email":null}}"#,
      #"{"event":"checkout","fields":{"coupon":"SPRING"}}"#,
      #"{"event":"chekout","fields":{"order":1}}"#,
    ]

    private static let header =
      "event,field,contract,finding,seen,share_percent,missing,absent,defaulted,unknown,wrong_type,out_of_range,"
      + "violated_rules,violating_values,examples,first_seen,last_seen,description"

    private func record(_ lines: [String], _ scratch: Scratch) throws -> String {
      let text = lines.map { $0 + "\n" }.joined()
      try Tool.record(scratch("log"), ["--format", "jsonl"], sending: Data(text.utf8))
      return scratch("log")
    }

    /// The report with `TIME` in place of every time.
    private func report(_ arguments: String..., code: Int32) throws -> String {
      let outcome = try Tool.run(["contract", "report"] + arguments)
      try Tool.require(outcome, code: code, "weir contract report \(arguments.joined(separator: " "))")
      return outcome.text.replacing(#/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/#, with: "TIME")
    }

    @Test func `the markdown has the totals, and a table for each event, the most violations first`() throws {
      let scratch = try Scratch()
      let log = try record(Self.lines, scratch)
      let text = try report(log, try scratch.file("shop.json", Self.shop), code: 1)
      let start = "# Contract report\n\n* log: "
      #expect(text.hasPrefix(start))
      let head = "* contract: shop 1.2\n* first event: TIME\n* last event: TIME\n* events: 5\n* violating events: 4\n"
      #expect(text.contains(head + "* violations: 5\n\nEach count"), "\(text)")
      let tables = try #require(text.range(of: "\n## ")).lowerBound
      let columns =
        "| field | contract | finding | seen | share percent | missing | absent | unknown | wrong type | out of range "
        + "| violated rules | violating values | examples | first seen | last seen | description |"
      #expect(
        String(text[tables...]) == """

          ## checkout

          Events: 4, violations: 4

          \(columns)
          |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
          | *the event* | event | violations | 4 | 80.0 |  |  |  |  |  |  |  |  | TIME | TIME | A purchase. |
          | order | mandatory integer | violations | 3 | 75.0 | 1 | 0 | 0 | 1 | 1 \
          | range 1...: 1; type integer: 1; mandatory: 1 | 0; "x" | 7; 0; "x" | TIME | TIME |  |
          | coupon | optional string | ok | 2 | 50.0 | 0 | 2 | 0 | 0 | 0 |  |  | "SPRING" | TIME | TIME \
          | a \\| b &lt;c> |
          | email | optional string, sensitive | ok | 1 | 25.0 | 0 | 3 | 0 | 0 | 0 |  |  | "[redacted]" \
          | TIME | TIME |  |
          | colour |  | unknown field | 1 | 25.0 |  |  | 1 | 0 | 0 | unknown field: 1 |  | "=1\\|&lt;b>" \
          | TIME | TIME |  |

          ## chekout

          Events: 1, violations: 1

          | field | contract | finding | seen | share percent | violated rules | examples | first seen | last seen |
          |---|---|---|---|---|---|---|---|---|
          | *the event* |  | unknown event | 1 | 20.0 | unknown event: 1 |  | TIME | TIME |
          | order |  | not in the contract | 1 | 100.0 |  | 1 | TIME | TIME |

          ## refund

          Events: 0, violations: 0

          | field | contract | finding | seen | share percent |
          |---|---|---|---|---|
          | *the event* | event | never seen | 0 | 0.0 |
          | order | mandatory integer | never seen | 0 |  |

          """, "\(text)")
    }

    @Test func `the table has a row for each event and each field`() throws {
      let scratch = try Scratch()
      let log = try record(Self.lines, scratch)
      let contract = try scratch.file("shop.json", Self.shop)
      let text = try report(log, contract, "--format", "csv", code: 1)
      #expect(
        text == #"""
          \#(Self.header)
          checkout,,event,violations,4,80.0,,,,,,,,,,TIME,TIME,A purchase.
          checkout,order,mandatory integer,violations,3,75.0,1,0,0,0,1,1,\#
          range 1...: 1; type integer: 1; mandatory: 1,"0; ""x""","7; 0; ""x""",TIME,TIME,
          checkout,coupon,optional string,ok,2,50.0,0,2,0,0,0,0,,,"""SPRING""",TIME,TIME,a | b <c>
          checkout,email,"optional string, sensitive",ok,1,25.0,0,3,0,0,0,0,,,"""[redacted]""",TIME,TIME,
          checkout,colour,,unknown field,1,25.0,,,,1,0,0,unknown field: 1,,"""=1|<b>""",TIME,TIME,
          chekout,,,unknown event,1,20.0,,,,,,,unknown event: 1,,,TIME,TIME,
          chekout,order,,not in the contract,1,100.0,,,,0,0,0,,,1,TIME,TIME,
          refund,,event,never seen,0,0.0,,,,,,,,,,,,
          refund,order,mandatory integer,never seen,0,,0,0,0,0,0,0,,,,,,

          """#, "\(text)")
      let shown = try report(log, contract, "--format", "csv", "--show-sensitive", code: 1)
      #expect(shown.contains("\"\"\"a@b.example\"\"\""))
      #expect(!shown.contains("redacted"))
      let help = try Tool.run("contract", "report", "--help").text
      for column in Self.header.split(separator: ",") { #expect(help.contains(column), "\(column)") }
    }

    @Test func `fields within objects and arrays, the context and defaults are counted by event`() throws {
      let scratch = try Scratch()
      let log = try record(
        [#"{"event":"e","fields":{"items":[{"sku":"a","price":-1},{"price":2,"x":1}],"o":{"a":1}}}"#], scratch)
      let contract = try scratch.file(
        "c.json",
        """
        {"contract": "c", "version": "1",
          "every_event": {"context.globals.app": {"type": "string", "mandatory": true}},
          "events": {"e": {"kind": "page_view", "fields": {
            "items": {"type": "array", "mandatory": true, "fields": {
              "sku": {"type": "string", "mandatory": true}, "price": {"type": "number", "min": 0}}},
            "currency": {"type": "string", "mandatory": true, "default": "EUR"},
            "o.a": {"type": "integer", "deprecated": true}}}}}
        """)
      let text = try report(log, contract, "--format", "csv", code: 1)
      #expect(
        text == #"""
          \#(Self.header)
          e,,"event, page_view",violations,1,100.0,,,,,,,kind page_view: 1,,,TIME,TIME,
          e,items,mandatory array,ok,1,100.0,0,0,0,0,0,0,,,\#
          "[{""sku"":""a"",""price"":-1},{""price"":2,""x"":1}]",TIME,TIME,
          e,items[].sku,mandatory string,violations,1,100.0,1,0,0,0,0,0,mandatory: 1,,"""a""",TIME,TIME,
          e,items[].price,optional number,violations,1,100.0,0,0,0,0,0,1,range 0...: 1,'-1,'-1; 2,TIME,TIME,
          e,currency,mandatory string,never seen,0,0.0,0,0,1,0,0,0,,,,,,
          e,o.a,"optional integer, deprecated",ok,1,100.0,0,0,0,0,0,0,,,1,TIME,TIME,
          e,context.globals.app,mandatory string,never seen,0,0.0,1,0,0,0,0,0,mandatory: 1,,,,,
          e,items[].x,,unknown field,1,100.0,,,,1,0,0,unknown field: 1,,1,TIME,TIME,

          """#, "\(text)")
    }

    @Test func `what is within a sensitive object is counted, and not shown`() throws {
      let scratch = try Scratch()
      let log = try record([#"{"event":"e","fields":{"home":{"street":"Elm 5","zip":7}}}"#], scratch)
      let contract = try scratch.file(
        "c.json",
        """
        {"contract": "c", "version": "1", "events": {"e": {"fields": {"home": {
          "type": "object", "sensitive": true, "fields": {"street": {"type": "integer"}}}}}}}
        """)
      let text = try report(log, contract, "--format", "csv", code: 1)
      #expect(!text.contains("Elm"), "\(text)")
      let hidden = "\"\"\"[redacted]\"\"\""
      #expect(text.contains("e,home.street,optional integer,violations,1,100.0,0,0,0,0,1,0,type integer: 1,\(hidden),"))
      #expect(text.contains("e,home.zip,,unknown field,1,100.0,,,,1,0,0,unknown field: 1,,\(hidden),"))
    }

    @Test func `a text of the log makes no formula, no column, no link and no line`() throws {
      let scratch = try Scratch()
      let names = ["=1+1", "+1", "-1", "@a", #"a|b\\|<i>&[x](y)`_z_*"#, #"two\nlines\u0009\u001b[31m"#, #"a,\"b"#]
      let log = try record(names.map { #"{"event":"\#($0)","fields":{}}"# }, scratch)
      let contract = try scratch.file("c.json", #"{"contract": "c", "version": "1", "events": {}}"#)
      let table = try report(log, contract, "--format", "csv", code: 1)
      let first = table.split(separator: "\n").dropFirst().map { $0.prefix { $0 != "," } }
      #expect(
        first == [
          "'=1+1", "'+1", "'-1", "'@a", #"a|b\|<i>&[x](y)`_z_*"#, #"two\u{a}lines\u{9}\u{1b}[31m"#, "\"a",
        ], "\(table)")
      #expect(table.contains("\n\"a,\"\"b\",,,unknown event,"))
      let text = try report(log, contract, code: 1)
      let headings = text.split(separator: "\n").filter { $0.hasPrefix("## ") }
      #expect(headings.count == names.count)
      #expect(headings[4].dropFirst(3) == #"a\|b\\\|&lt;i>&amp;[x]\(y)\`\_z\_\*"#)
      #expect(headings[5].dropFirst(3) == #"two\\u{a}lines\\u{9}\\u{1b}[31m"#)
      let bytes = Set(text.utf8)
      #expect(!bytes.contains(0x1b) && !bytes.contains(0x09))
    }

    @Test func `examples are different, few and short`() throws {
      let scratch = try Scratch()
      let exact = String(repeating: "a", count: 78)
      let values = [#""\#(exact)""#, #""\#(exact)b""#, "1", "1", "2", "3"]
      let log = try record(values.map { #"{"event":"e","fields":{"f":\#($0)}}"# }, scratch)
      let contract = try scratch.file(
        "c.json", #"{"contract": "c", "version": "1", "events": {"e": {"fields": {"f": {}}}}}"#)
      let three = try report(log, contract, "--format", "csv", code: 0)
      #expect(three.contains("e,f,optional any,ok,6,100.0,0,0,0,0,0,0,,,"), "\(three)")
      let long = "\"\"\"\(exact)\"\"; \"\"\(exact)b…"
      #expect(three.contains("\(long); 1\",TIME"), "\(three)")
      #expect(try report(log, contract, "--format", "csv", "--examples", "4", code: 0).contains("\(long); 1; 2\",TIME"))
      #expect(try report(log, contract, "--format", "csv", "--examples", "0", code: 0).contains("0,0,,,,TIME"))
    }

    @Test func `only the events of the span count`() throws {
      let scratch = try Scratch()
      let log = try record(Self.lines, scratch)
      let contract = try scratch.file("shop.json", Self.shop)
      let times = try Tool.cat(log).map(\.time)
      let text = try report(log, contract, "--since", times[2], "--until", times[4], code: 1)
      // RFC 3339 with nine decimals: the order of the texts is the order of the times.
      let count = times.count { $0 >= times[2] && $0 < times[4] }
      #expect(text.contains("* since: TIME\n* until: TIME\n"), "\(text)")
      #expect(text.contains("* events: \(count)\n"), "\(text)")
      #expect(!text.contains("## chekout"))
      let none = try report(log, contract, "--until", "2000-01-01", code: 0)
      #expect(none.contains("* first event: none\n* last event: none\n* events: 0\n"), "\(none)")
      #expect(none.contains("| *the event* | event | never seen | 0 |  |"), "\(none)")
    }

    @Test func `beyond the limit, events are counted together`() throws {
      let scratch = try Scratch()
      let log = try record((1...10_001).map { #"{"event":"e\#($0)","fields":{}}"# }, scratch)
      let contract = try scratch.file("c.json", #"{"contract": "c", "version": "1", "events": {"a": {}}}"#)
      let table = try report(log, contract, "--format", "csv", code: 1).split(separator: "\n")
      #expect(table.count == 10_002)
      #expect(table.last == #",,,"not listed: events: 2, violations: 2",,,,,,,,,,,,,,"#)
      let text = try report(log, contract, code: 1)
      #expect(text.contains("* events: 10,001\n"))
      #expect(text.contains("* not listed: events: 2, violations: 2\n"))
    }

    @Test func `fields beyond the limit are counted together`() throws {
      let scratch = try Scratch()
      let log = try record(
        (0...10).map { line in
          let fields = (1...1_000).map { "\"f\(line * 1_000 + $0)\":1" }.joined(separator: ",")
          return #"{"event":"a","fields":{\#(fields)}}"#
        }, scratch)
      let contract = try scratch.file(
        "c.json", #"{"contract": "c", "version": "1", "events": {"a": {"open": true, "fields": {"f1": {}}}}}"#)
      let table = try report(log, contract, "--format", "csv", code: 0).split(separator: "\n")
      // The event and f1 have rows from the start: of 11,000 fields, 9,999 have one.
      #expect(table.count == 10_002)
      #expect(table.last == #",,,"not listed: fields of events: 1,001",,,,,,,,,,,,,,"#)
    }

    @Test func `damage is said, and the rest is reported`() throws {
      let scratch = try Scratch()
      let contract = try scratch.file(
        "c.json", #"{"contract": "c", "version": "1", "events": {"line": {"fields": {"text": {}}}}}"#)
      try Tool.record(scratch("log"), ["--format", "lines"], sending: Numbered.lines(1...5_000))
      #expect(try Tool.run("contract", "report", scratch("log"), contract).code == 0)
      let segment = try #require(try Files.segments(in: scratch("log")).first)
      try Files.overwrite(scratch("log/\(segment)"), at: 30_000, with: Array(repeating: 0xA5, count: 64))
      let damaged = try Tool.run("contract", "report", scratch("log"), contract)
      #expect(damaged.code == 1)
      #expect(damaged.errors.contains("missing"), "\(damaged.errors)")
      #expect(damaged.text.contains("| text | optional any | ok |"), "\(damaged.text)")
    }

    @Test func `what can't be reported is refused in one line`() throws {
      let scratch = try Scratch()
      let log = try record(Self.lines, scratch)
      let contract = try scratch.file("shop.json", Self.shop)
      let bad = [
        ([scratch("none"), contract], scratch("none")), ([log, scratch("none.json")], scratch("none.json")),
        ([log, contract, "--since", "yesterday"], "--since"), ([log, contract, "--format", "xml"], "--format"),
        ([log, contract, "--since", "2026-01-02", "--until", "2026-01-01"], "--until"),
        ([log, contract, "--examples", "101"], "--examples"), ([log, contract, "--examples=-1"], "--examples"),
      ]
      for (arguments, subject) in bad {
        let outcome = try Tool.run(["contract", "report"] + arguments)
        #expect(outcome.code == 2, "\(arguments): \(outcome.code ?? -1)")
        #expect(outcome.complaints.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.contains(subject), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
      }
    }
  }
}
