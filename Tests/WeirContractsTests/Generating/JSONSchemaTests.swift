// A contract as JSON Schema: the text of a small contract, and random contracts and events under a validator.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirJSON

struct JSONSchemaTests {
  private func schema(_ contract: Contract) throws -> String {
    String(decoding: try contract.jsonSchema(), as: UTF8.self)
  }

  /// The definition of the event `e` with one field `f`, as JSON.
  private func field(_ rule: FieldRule) throws -> String {
    let contract = Contract("c", version: "1", events: [EventRule("e", fields: [rule])])
    let root = try JSONReader.read(Array(try contract.jsonSchema()).span, limits: .init(depth: 64))
    let event = try root.object()["$defs"]?.object()["e"]?.object()
    var bytes: [UInt8] = []
    JSONText.append(try #require(event?["properties"]?.object()["f"]), to: &bytes)
    let required = try event?["required"]?.array() == ["f"]
    return (required ? "! " : "") + String(decoding: bytes, as: UTF8.self)
  }

  private func field(
    _ type: FieldRule.ValueType, _ clauses: FieldRule.Clause..., mandatory: Bool = true,
    default value: FieldValue? = nil, fields: [FieldRule] = []
  ) throws -> String {
    try field(FieldRule("f", mandatory: mandatory, type, clauses, default: value, fields: fields))
  }

  @Test func `each type and each rule has its keyword`() throws {
    #expect(try field(.bool) == #"! {"type":"boolean"}"#)
    #expect(try field(.bool, mandatory: false) == #"{"type":["boolean","null"]}"#)
    #expect(try field(.integer, .range(1..<9)) == #"! {"type":"integer","minimum":1,"exclusiveMaximum":9}"#)
    #expect(
      try field(.number, .range(NumberRange(lower: .excluding(0.5), upper: .including(.uint(.max)))))
        == #"! {"type":"number","exclusiveMinimum":0.5,"maximum":18446744073709551615}"#)
    #expect(try field(.number, .finite) == #"! {"type":"number"}"#)
    #expect(
      try field(.number) == #"! {"anyOf":[{"type":"number"},{"enum":["NaN","Infinity","-Infinity"]}]}"#)
    #expect(
      try field(.string, .length(1...3), .oneOf("a", "b"), default: "a")
        == #"{"default":"a","type":["string","null"],"minLength":1,"maxLength":3,"enum":["a","b",null]}"#)
    #expect(try field(.any) == #"! {"not":{"type":"null"}}"#)
    #expect(try field(.any, mandatory: false) == "{}")
    #expect(try field(.any, .oneOf(1, "a")) == #"! {"enum":[1,"a"]}"#)
    #expect(
      try field(.array, .length(1...), mandatory: false, fields: [FieldRule("x", mandatory: true, .bool)])
        == #"{"type":["array","null"],"minItems":1,"items":{"type":"object","properties":{"x":{"type":"boolean"}},"#
        + #""required":["x"],"additionalProperties":{"type":"null"}}}"#)
    #expect(
      try field(.object, .length(...2), .sensitive, .deprecated, .description("d"))
        == #"! {"description":"d","deprecated":true,"$comment":"sensitive: the value is redacted when it is shown or "#
        + #"sent","type":"object","maxProperties":2}"#)
    #expect(try field(.uuid).contains(#""format":"uuid""#))
    #expect(try field(.date).contains(#"{"$comment":"a date outside"#))
    #expect(try field(.bytes, .length(5)).contains(#""$comment":"length 5 counts the bytes before they are encoded""#))
  }

  @Test(arguments: [
    ("[A-Z0-9]{4,12}", "^(?:[0-9A-Z]{4,12})$"), ("a|b", "^(?:a|b)$"), ("^x(?:a|b)+y$", "^(?:x(?:a|b)+y)$"),
    ("\\d\\w\\.\\-\\@", "^(?:[0-9][0-9A-Z_a-z]\\.-@)$"), (".", "^(?:[^\\u000a])$"),
    ("[^\\s]", "^(?:[^\\u0009-\\u000d ])$"),
    ("[\\]\\-^a]", "^(?:[\\-\\]\\^a])$"), ("(ab)?c*?", "^(?:(?:ab)?c*)$"), ("é{2,}", "^(?:é{2,})$"),
    ("[\\s\\S]", "^(?:[\\s\\S])$"), ("(|a)b", "^(?:(?:|a)b)$"),
  ])
  func `a pattern is one of ECMA's`(_ pattern: String, _ expected: String) throws {
    let text = try field(.string, .matches(pattern))
    let object = try JSONReader.read(Array(text.dropFirst(2).utf8).span, limits: .init(depth: 9)).object()
    #expect(object["pattern"] == .string(expected))
  }

  @Test func `a schema is the same each time, and an empty contract has one`() throws {
    let contract = Contract("shop", version: "2") {
      EventRule("a/b ~%é", kind: .pageView, open: true, deprecated: true, description: "seen") {
        Optionally("o.x", .integer)
      }
    }
    #expect(try schema(contract) == schema(contract))
    let text = try schema(contract)
    #expect(
      text.contains(
        """
            "a/b ~%é": {
              "description": "seen",
              "deprecated": true,
              "$comment": "an event whose declaration has another kind than page_view, or none, is flagged",
              "type": "object",
              "properties": {
                "o": {
                  "type": ["object", "null"],
                  "properties": {
                    "x": {"type": ["integer", "null"]}
                  }
                }
              }
            }
        """), "\(text)")
    #expect(try schema(contract).contains(##""#/$defs/a~1b%20~0%25%C3%A9""##))
    #expect(try schema(Contract("c", version: "1", events: [])).contains("$defs"))
    #expect(throws: ContractError.self) { try Contract("", version: "1", events: []).jsonSchema() }
  }

  /// A validator that others wrote; `nil` if Python or the package is missing.
  private static let validator: String? = {
    let script = """
      import json, sys
      from jsonschema import Draft202012Validator
      for line in sys.stdin:
          case = json.loads(line)
          Draft202012Validator.check_schema(case["schema"])
          validator = Draft202012Validator(case["schema"])
          print(json.dumps([validator.is_valid(event) for event in case["events"]]))
      """
    let found = try? run("/usr/bin/env", ["python3", "-W", "ignore", "-c", script], sending: Data())
    return found == nil ? nil : script
  }()

  private struct Failed: Error {}

  private static func run(_ path: String, _ arguments: [String], sending input: Data) throws -> Data {
    let process = Process()
    process.executableURL = URL(filePath: path)
    process.arguments = arguments
    let file = FileManager.default.temporaryDirectory.appending(path: "weir-schema-\(UUID().uuidString)")
    try input.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    process.standardInput = try FileHandle(forReadingFrom: file)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let found = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failed() }
    return found
  }

  /// Whether a violation can't be seen in JSON, which has texts in place of bytes, UUIDs and dates.
  private static func isText(_ violation: Violation) -> Bool {
    ["type bytes", "type uuid", "type date"].contains(violation.rule)
  }

  @Test(.enabled(if: validator != nil, "python3 has no package jsonschema"))
  func `a validator agrees with the contract, as far as JSON goes`() throws {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    var random = RandomContracts(seed: seed)
    var cases: [(contract: Contract, events: [FieldObject])] = []
    var input = Data()
    for _ in 0..<400 {
      let contract = random.contract()
      guard let name = contract.events.first?.name else { continue }
      let events = (0..<30).map { _ in random.fields() }
      cases.append((contract, events))
      input += Data("{\"schema\":".utf8)
      input += try contract.jsonSchema().filter { $0 != UInt8(ascii: "\n") }
      input += Data(",\"events\":[".utf8)
      for (index, fields) in events.enumerated() {
        var bytes = Array((index > 0 ? "," : "").utf8)
        JSONText.append(["name": .string(name), "fields": .object(fields)] as FieldObject, to: &bytes)
        input += Data(bytes)
      }
      input += Data("]}\n".utf8)
    }
    let script = try #require(Self.validator)
    let output = try Self.run("/usr/bin/env", ["python3", "-W", "ignore", "-c", script], sending: input)
    let answers = try output.split(separator: UInt8(ascii: "\n")).map {
      try JSONDecoder().decode([Bool].self, from: $0)
    }
    #expect(answers.count == cases.count)
    var valid = 0
    var invalid = 0
    for (one, answer) in zip(cases, answers) {
      let compiled = try one.contract.compiled()
      let name = one.contract.events[0].name
      let text = try schema(one.contract)
      for (fields, isValid) in zip(one.events, answer) {
        // The schema is of the event's fields.
        let violations = compiled.check(name: name, fields: fields).violations.filter {
          !$0.field.hasPrefix("context.") && $0.rule.prefix { $0 != " " } != "kind"
        }
        if violations.isEmpty { #expect(isValid, "\(fields) of \(name): \(text)") }
        guard violations.contains(where: { !Self.isText($0) }), FieldValue.object(fields).isPlainJSON else { continue }
        #expect(!isValid, "\(violations) of \(name): \(fields): \(text)")
        if isValid { valid += 1 } else { invalid += 1 }
      }
    }
    #expect(valid == 0 && invalid > 1000, "\(valid) \(invalid)")
  }
}

extension FieldValue {
  /// Whether JSON has a form of its own for the value, so that its type is not lost.
  fileprivate var isPlainJSON: Bool {
    switch self {
    case .null, .bool, .int, .uint, .string: true
    case .float(let number): number.isFinite && number.rounded() != number
    case .double(let number): number.isFinite && number.rounded() != number
    case .bytes, .uuid, .date: false
    case .array(let values): values.allSatisfy(\.isPlainJSON)
    case .object(let object): object.allSatisfy(\.value.isPlainJSON)
    }
  }
}
