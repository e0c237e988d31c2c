// ContractTool.swift: `weir contract`: the sample of real requests under a contract, held against what a script finds
// in the text; what is printed; exit codes; two contracts compared.
import Foundation
import Testing
import Weir

extension EndToEnd {
  @Suite struct ContractTool {
    /// A file of Tests/Contract.
    private static func file(_ name: String) -> String {
      URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Contract/\(name)").path
    }

    /// One violation, or a default, as the tool and the script both write it.
    private struct Found: Decodable, Equatable {
      enum Value: Decodable, Equatable {
        case missing
        case number(Int64)
        case text(String)

        init(from decoder: any Decoder) throws {
          let container = try decoder.singleValueContainer()
          if container.decodeNil() {
            self = .missing
          } else if let number = try? container.decode(Int64.self) {
            self = .number(number)
          } else {
            self = .text(try container.decode(String.self))
          }
        }
      }

      var offset: UInt64
      var event: String
      var field: String
      var rule: String
      var value: Value

      static func parse(_ output: Data) throws -> [Found] {
        try output.split(separator: UInt8(ascii: "\n")).map { try JSONDecoder().decode(Found.self, from: $0) }
      }
    }

    /// The sample, each line an event whose offset is the line's number.
    private func recordSample(_ directory: String) throws {
      let outcome = try Tool.run("record", directory, RequestLine.samplePath, "--format", "clf", "--threads", "1")
      try Tool.require(outcome, code: 0, "weir record")
    }

    @Test func `what a plain script finds in the text is what the contract finds in the log, one by one`() throws {
      let scratch = try Scratch()
      try recordSample(scratch("log"))
      let script = try Child(
        "/usr/bin/env", ["python3", Self.file("check_text.py")], input: .file(RequestLine.samplePath)
      ).wait()
      try Tool.require(script, code: 0, "Tests/Contract/check_text.py")
      let expected = try Found.parse(script.output)
      let outcome = try Tool.run("contract", "check", scratch("log"), Self.file("access.json"), "--format", "jsonl")
      #expect(outcome.code == 1)
      let found = try Found.parse(outcome.output)
      for (index, (one, other)) in zip(found, expected).enumerated() where one != other {
        Issue.record("number \(index): \(one) in the log, \(other) in the text")
        break
      }
      #expect(found.count == expected.count)
      let kinds = Set(expected.map { "\($0.event) \($0.field) \($0.rule)" })
      #expect(kinds.count == 11, "the text has enough in it: \(kinds)")
      #expect(expected.count > 11_000, "the text has enough in it: \(kinds)")
    }

    @Test func `what is printed agrees, in every format`() throws {
      let scratch = try Scratch()
      try recordSample(scratch("log"))
      let arguments = ["contract", "check", scratch("log"), Self.file("access.json")]
      let json = try Tool.run(arguments + ["--format", "json"])
      #expect(json.code == 1)
      let report = try #require(try JSONSerialization.jsonObject(with: json.output) as? [String: Any])
      let help = try Tool.run("contract", "check", "--help").text
      for key in report.keys { #expect(help.contains(key), "the help does not tell of \(key)") }
      let rules = try #require(report["rules"] as? [[String: Any]])
      let defaults = try #require(report["defaults"] as? [[String: Any]])
      let keys = Set((rules + defaults).flatMap(\.keys))
      for key in keys { #expect(help.contains(key), "the help does not tell of \(key)") }
      #expect(report["kept"] as? Bool == false)
      #expect(report["events"] as? Int == 10_000)
      #expect(report["violations"] as? Int == rules.compactMap { $0["count"] as? Int }.reduce(0, +))
      #expect(report["defaulted"] as? Int == defaults.compactMap { $0["count"] as? Int }.reduce(0, +))
      #expect(rules.first?["field"] as? String == "protocol")
      #expect(rules.first?["first_offset"] as? Int == 0)
      #expect(rules.contains { $0["example"] is NSNull }, "where nothing was there")
      let text = try Tool.run(arguments)
      #expect(text.code == 1)
      #expect(text.text.contains("request: status: range 200..<400: 220 times, first at offset 62, found 404\n"))
      #expect(text.text.contains("malformed: unknown event: once, at offset 8898\n"))
      #expect(text.text.contains("request: bytes: default 0: 669 times, first at offset 76\n"))
      let three = try Tool.run(arguments + ["--format", "jsonl", "--limit", "3"])
      #expect(three.code == 1)
      #expect(three.text.split(separator: "\n").count == 3)
      let one = try Tool.run(arguments + ["--format", "json", "--limit", "1"])
      let short = try #require(try JSONSerialization.jsonObject(with: one.output) as? [String: Any])
      #expect((short["rules"] as? [Any])?.count == 1)
      #expect(short["violations"] as? Int == report["violations"] as? Int)
    }

    @Test func `sensitive values are shown only if asked for`() throws {
      let scratch = try Scratch()
      let lines = #"{"event":"login","fields":{"email":"x","name":7}}"# + "\n"
      try Tool.record(scratch("log"), ["--format", "jsonl"], sending: Data(lines.utf8))
      let contract = try scratch.file(
        "contract.json",
        """
        {"contract": "c", "version": "1", "events": {"login": {"fields": {
          "email": {"type": "string", "min_length": 3, "sensitive": true}, "name": {"type": "string"}}}}}
        """)
      for format in ["text", "json", "jsonl"] {
        let arguments = ["contract", "check", scratch("log"), contract, "--format", format]
        let hidden = try Tool.run(arguments)
        #expect(hidden.code == 1)
        #expect(hidden.text.contains("[redacted]"))
        #expect(!hidden.text.contains(#""x""#))
        #expect(hidden.text.contains("7"), "only what is sensitive is hidden")
        let shown = try Tool.run(arguments + ["--show-sensitive"])
        #expect(shown.code == 1)
        #expect(!shown.text.contains("[redacted]"))
        #expect(shown.text.contains(#""x""#))
      }
    }

    @Test func `a check tells a log as it should be from an empty, a damaged and a missing one`() throws {
      let scratch = try Scratch()
      let contract = try scratch.file(
        "contract.json",
        #"{"contract": "c", "version": "1", "events": {"line": {"fields": {"text": {"mandatory": true}}}}}"#)
      try Tool.record(scratch("log"), ["--format", "lines"], sending: Numbered.lines(1...5_000))
      let good = try Tool.run("contract", "check", scratch("log"), contract)
      #expect(good.code == 0, "\(good.errors)")
      #expect(good.text.contains("as the contract says"), "\(good.errors)")
      try Tool.record(scratch("empty"), ["--format", "lines"], sending: Data())
      #expect(try Tool.run("contract", "check", scratch("empty"), contract).code == 0)
      let segment = try #require(try Files.segments(in: scratch("log")).first)
      try Files.overwrite(scratch("log/\(segment)"), at: 30_000, with: Array(repeating: 0xA5, count: 64))
      let damaged = try Tool.run("contract", "check", scratch("log"), contract)
      #expect(damaged.code == 1)
      #expect(damaged.errors.contains("missing"))
      #expect(damaged.text.contains("as the contract says"), "what could be read is")
      let none = try Tool.run("contract", "check", scratch("none"), contract)
      #expect(none.code == 2)
      #expect(none.complaints.count == 1)
    }

    /// The definition of the one type that requests are has been overwritten wherever it stands: what is in the events,
    /// nobody can say, and so not that it is as the contract says either.
    @Test func `events that have lost their definitions are counted as not checked`() throws {
      let scratch = try Scratch()
      let contract = try scratch.file(
        "contract.json",
        #"{"contract": "c", "version": "1", "events": {"request": {"open": true}}}"#)
      let sample = try String(contentsOfFile: RequestLine.samplePath, encoding: .utf8)
      let lines = sample.split(separator: "\n").prefix(50).joined(separator: "\n") + "\n"
      #expect(!lines.contains("request"), "only the definitions have the name")
      try Tool.record(scratch("log"), ["--format", "clf"], sending: Data(lines.utf8))
      #expect(try Tool.run("contract", "check", scratch("log"), contract).code == 0)
      for name in try FileManager.default.contentsOfDirectory(atPath: scratch("log")) {
        let path = scratch("log/\(name)")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        while let found = bytes.range(of: Data("request".utf8)) {
          try Files.overwrite(path, at: found.lowerBound, with: [UInt8(ascii: "X")])
          bytes[found.lowerBound] = UInt8(ascii: "X")
        }
      }
      let text = try Tool.run("contract", "check", scratch("log"), contract)
      #expect(text.code == 1, "\(text.text) \(text.errors)")
      #expect(!text.text.contains("as the contract says"), "\(text.text) \(text.errors)")
      #expect(text.text.contains("unknown, because not every event could be checked"), "\(text.text)")
      #expect(text.errors.contains("50 events are not checked, because the definitions are lost to damage"))
      let json = try Tool.run("contract", "check", scratch("log"), contract, "--format", "json")
      let report = try #require(try JSONSerialization.jsonObject(with: json.output) as? [String: Any])
      #expect(json.code == 1)
      #expect(report["unchecked"] as? Int == 50)
      #expect(report["events"] as? Int == 0)
      #expect(report["kept"] is NSNull)
      let each = try Tool.run("contract", "check", scratch("log"), contract, "--format", "jsonl")
      #expect(each.code == 1)
      #expect(each.text.isEmpty)
      #expect(each.errors.contains("50 events are not checked"))
    }

    @Test func `files that are no contracts are refused with their line`() throws {
      let scratch = try Scratch()
      let wrong = try scratch.file("wrong.json", "{\"contract\": 1,\n\"version\": \"1\",\n\"evnts\": {}}")
      let outcome = try Tool.run("contract", "diff", wrong, wrong)
      #expect(outcome.code == 2)
      #expect(outcome.text.isEmpty)
      #expect(
        outcome.complaints.first == "weir: \(wrong): line 1: contract is a number; write a text, in quotation marks")
      #expect(outcome.errors.contains("line 3: the contract has no key \"evnts\"; did you mean events?"))
      #expect(outcome.complaints.allSatisfy { $0.hasPrefix("weir: ") })
      for path in [scratch("none.json"), scratch.path] {
        let outcome = try Tool.run("contract", "diff", path, path)
        #expect(outcome.code == 2, "\(outcome.errors)")
        #expect(outcome.complaints.count == 1, "\(outcome.errors)")
      }
      let yaml = try Tool.run("contract", "diff", Self.file("access.yaml"), Self.file("access.json"))
      let isRead = yaml.code == 0 && yaml.text == "no difference\n"
      let isRefused = yaml.code == 2 && yaml.errors.contains("--traits YAML")
      #expect(isRead || isRefused, "\(yaml.text) \(yaml.errors)")
    }

    @Test func `a comparison of two contracts says what breaks`() throws {
      let scratch = try Scratch()
      func contract(_ name: String, _ fields: String) throws -> String {
        try scratch.file(
          name, "{\"contract\": \"c\", \"version\": \"1\", \"events\": {\"e\": {\"fields\": {\(fields)}}}}")
      }
      let old = try contract("old.json", #""a": {"type": "integer"}"#)
      let wider = try contract("wider.json", #""a": {"type": "number"}, "b": {}"#)
      let same = try Tool.run("contract", "diff", old, old)
      #expect(same.code == 0)
      #expect(same.text == "no difference\n")
      let fine = try Tool.run("contract", "diff", old, wider)
      #expect(fine.code == 0)
      #expect(
        fine.text == """
          fine: e: a: type changed: it was integer and is number
          fine: e: b: field added: it may be missing
          2 differences, 0 breaking

          """)
      let breaking = try Tool.run("contract", "diff", wider, old, "--format", "json")
      #expect(breaking.code == 1)
      let report = try #require(try JSONSerialization.jsonObject(with: breaking.output) as? [String: Any])
      #expect(report["breaking"] as? Int == 2)
      let changes = try #require(report["changes"] as? [[String: Any]])
      #expect(changes.map { $0["what"] as? String } == ["type_changed", "field_removed"])
      let help = try Tool.run("contract", "diff", "--help").text
      for key in Set(report.keys).union(changes.flatMap(\.keys)) { #expect(help.contains(key), "\(key)") }
    }
  }
}
