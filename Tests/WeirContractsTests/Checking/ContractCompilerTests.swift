// Contracts that contradict themselves are refused, with everything that is wrong and its place.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirJSON

struct ContractCompilerTests {
  /// What is wrong with a contract of one event `e` of these fields.
  private func problems(@FieldRuleBuilder _ fields: () -> [FieldRule]) -> [String] {
    problems(Contract("c", version: "1", events: [EventRule("e", fields: fields())]))
  }

  private func problems(_ contract: Contract) -> [String] {
    do {
      _ = try contract.compiled()
      return []
    } catch {
      return error.problems.map { problem in
        #expect(problem.line == nil)
        return problem.description
      }
    }
  }

  private func expect(_ rules: [FieldRule], _ reasons: [String], _ location: SourceLocation = #_sourceLocation) {
    let found = problems(Contract("c", version: "1", events: [EventRule("e", fields: rules)]))
    #expect(found.count == reasons.count, "\(found)", sourceLocation: location)
    for (problem, reason) in zip(found, reasons) {
      #expect(problem.contains(reason), "\(problem) and \(reason)", sourceLocation: location)
    }
  }

  @Test func `everything that is wrong comes at once, in the order of the contract`() throws {
    let contract = Contract("", version: "") {
      EventRule("") { Mandatory("a", .string, .range(1...)) }
      EventRule("b") {
        Mandatory("x", .integer, .range(NumberRange(lower: .including(5), upper: .including(1))))
        Mandatory("x", .integer)
        Optionally("y", .string, .oneOf([]), .matches("(a"))
      }
      EventRule("b")
      EventRule("weir.gap")
    }
    #expect(
      problems(contract) == [
        "the contract has no name", "the contract has no version", "an event has no name",
        "a: a range requires the type integer or number; use a length for other types",
        "b: x: the field appears twice; merge the two", "b: x: no number lies in the range 5...1",
        "b: y: no value is allowed; list some, or remove the clause",
        "b: y: the pattern \"(a\" is invalid: a ) is missing (character 3)",
        "b: the event appears twice; merge the two",
        "weir.gap: names that start with weir. are reserved for the log, and are not checked",
      ])
  }

  @Test func `names and paths that make no sense are refused`() {
    for (name, reason) in [
      ("", "the field has no name"), (".", "part of the path is empty"), ("a.", "part of the path is empty"),
      ("a..b", "part of the path is empty"), ("[]", "missing before []"), ("a[", "[ must be followed by ]"),
      ("a[]b", "[] must be followed by . or"), ("a]", "a ] without its ["), ("a\\b", "a backslash in"),
      ("a\\", "a backslash"), ("a[]..b", "part of the path is empty"), ("a[].[]", "missing before []"),
      ("a[].", "part of the path is empty"), ("a[][]..b", "part of the path is empty"),
      ("a.[]", "missing before []"), (String(repeating: "n", count: 1025), "longer than 1024 bytes"),
    ] {
      expect([FieldRule(name, mandatory: true)], [reason])
    }
    expect([FieldRule("a\\.b\\[\\]\\\\", mandatory: true), FieldRule("m[][].x", mandatory: true)], [])
    expect(
      [
        FieldRule("a.b", mandatory: true), FieldRule("a", mandatory: false, .object), FieldRule("a.b", mandatory: true),
      ], ["twice"])
    expect(
      [
        FieldRule("i[].b", mandatory: true),
        FieldRule("i", mandatory: true, .array, fields: [FieldRule("b", mandatory: true)]),
      ], ["e: i[].b: the field appears twice"])
    let long = String(repeating: "n", count: 1025)
    #expect(problems(Contract("c", version: "1", events: [EventRule(long)])).count == 1)
  }

  @Test func `nesting has a limit`() {
    func nested(_ depth: Int) -> FieldRule {
      (1..<depth).reduce(FieldRule("x", mandatory: true)) { inner, _ in
        FieldRule("x", mandatory: true, .object, fields: [inner])
      }
    }
    expect([nested(16)], [])
    expect([nested(17)], ["fields nest at most 16 deep"])
    expect([nested(1000)], ["fields nest at most 16 deep"])
    expect([FieldRule(Array(repeating: "x", count: 16).joined(separator: "."), mandatory: true)], [])
    expect([FieldRule(Array(repeating: "x", count: 17).joined(separator: "."), mandatory: true)], ["at most 16"])
    expect([FieldRule("x" + String(repeating: "[]", count: 16), mandatory: true)], ["at most 16"])
  }

  @Test func `fields inside of another type than theirs are refused`() {
    expect([FieldRule("a", mandatory: true, .string), FieldRule("a.b", mandatory: true)], ["set the type to object"])
    expect([FieldRule("a", mandatory: true, .object), FieldRule("a[]", mandatory: true)], ["set the type to array"])
    expect([FieldRule("a.b", mandatory: true), FieldRule("a[]", mandatory: true)], ["one of the two"])
    expect([FieldRule("a", mandatory: true, .any), FieldRule("a.b", mandatory: true)], [])
  }

  @Test func `clauses that do not go with the type are refused`() {
    for type in FieldRule.ValueType.allCases {
      let isNumber = type == .integer || type == .number
      let hasLength = [.string, .bytes, .array, .object].contains(type)
      expect([FieldRule("f", mandatory: true, type, [.range(1...)])], isNumber ? [] : ["a range requires"])
      expect([FieldRule("f", mandatory: true, type, [.length(1...)])], hasLength ? [] : ["a length requires"])
      expect([FieldRule("f", mandatory: true, type, [.matches("a")])], type == .string ? [] : ["a pattern requires"])
      expect([FieldRule("f", mandatory: true, type, [.finite])], type == .number ? [] : ["finite requires"])
    }
  }

  @Test func `bounds that make no sense are refused`() {
    func range(_ lower: NumberRange.Bound?, _ upper: NumberRange.Bound?) -> [FieldRule] {
      [FieldRule("f", mandatory: true, .number, [.range(NumberRange(lower: lower, upper: upper))])]
    }
    expect(range(nil, nil), ["the range has no bounds"])
    expect(range(.including(1), .including(1)), [])
    expect(range(.including(1), .excluding(1)), ["no number lies in the range 1..<1"])
    expect(range(.excluding(1), .including(1)), ["no number lies in the range above 1, ...1"])
    expect(range(.including(.uint(.max)), .including(.double(0x1p64))), [])
    expect(range(.including(.double(0x1p64)), .including(.uint(.max))), ["no number lies"])
    expect(range(.including(.double(.nan)), nil), ["no number that a field can have"])
    expect(range(nil, .including("1")), ["no number that a field can have"])
    expect([FieldRule("f", mandatory: true, .integer, [.range(Int128.max...)])], ["no number that a field can have"])
    func integers(_ lower: NumberRange.Bound?, _ upper: NumberRange.Bound?) -> [FieldRule] {
      [FieldRule("f", mandatory: true, .integer, [.range(NumberRange(lower: lower, upper: upper))])]
    }
    expect(range(.including(0.2), .including(0.8)), [])
    expect(range(.excluding(1), .excluding(2)), [])
    let contradictions: [(NumberRange.Bound?, NumberRange.Bound?)] = [
      (.including(0.2), .including(0.8)), (.excluding(1), .excluding(2)), (.excluding(-1), .excluding(-0.5)),
      (.excluding(.uint(.max)), nil), (nil, .excluding(.int(.min))), (.including(1e30), nil), (nil, .including(-1e300)),
      (.excluding(.double(0x1p53 - 1)), .excluding(.int(1 << 53))), (.including(.double(0x1p64)), nil),
    ]
    for (lower, upper) in contradictions { expect(integers(lower, upper), ["no integer that a field can have lies"]) }
    let possible: [(NumberRange.Bound?, NumberRange.Bound?)] = [
      (.including(0.2), .including(1)), (.including(1), .excluding(1.5)), (.excluding(1), .including(2)),
      (.including(.uint(.max)), nil), (nil, .including(.int(.min))), (.including(-1e300), .including(1e300)),
      (.excluding(-0.5), .excluding(0.5)), (.excluding(.double(0x1p53)), .excluding(.int((1 << 53) + 2))),
      (.including(.double(-0x1p63)), .including(.double(-0x1p63))),
    ]
    for (lower, upper) in possible { expect(integers(lower, upper), []) }
    func length(_ clause: FieldRule.Clause) -> [FieldRule] { [FieldRule("f", mandatory: true, .string, [clause])] }
    expect(length(.length(0)), [])
    expect(length(.length(-1)), ["no value has a length in -1"])
    expect(length(.length(...(-1))), ["no value has a length in ...-1"])
    expect(length(.length(3..<3)), ["no value has a length in 3...2"])
    expect(length(.length(Int.min..<0)), ["no value has a length"])
    expect(length(.length(..<Int.min)), ["no value has a length"])
  }

  @Test func `a clause that is there twice is refused`() {
    expect([FieldRule("f", mandatory: true, .integer, [.range(1...), .range(...5)])], ["range appears twice"])
    expect(
      [
        FieldRule(
          "f", mandatory: true, .string,
          [.oneOf("a"), .oneOf("a"), .length(1), .length(1), .matches("a"), .matches("a")])
      ],
      ["oneOf appears twice", "length appears twice", "matches appears twice"])
  }

  @Test func `allowed values that nothing can have are refused`() {
    func allowed(_ type: FieldRule.ValueType, _ values: [FieldValue], _ more: FieldRule.Clause...) -> [FieldRule] {
      [FieldRule("f", mandatory: true, type, [.oneOf(values)] + more)]
    }
    expect(allowed(.string, ["a", 1]), ["the allowed value 1 violates type string"])
    expect(allowed(.integer, [1, 7], .range(1...5)), ["the allowed value 7 violates range 1...5"])
    expect(allowed(.string, ["ab", "c"], .length(2)), ["the allowed value \"c\" violates length 2"])
    expect(allowed(.string, ["ab", "c"], .matches("a.")), ["the allowed value \"c\" violates matches a."])
    expect(allowed(.number, [1, 1.0]), ["the allowed value 1.0 appears twice"])
    expect(allowed(.any, [nil]), ["stands for a missing value"])
    expect(allowed(.any, [.double(.nan)]), ["is not finite"])
    expect(allowed(.any, [[1], ["a": 1]]), ["is nested", "is nested"])
    expect(allowed(.date, [.date(Date())]), ["is of a kind that a contract can't list"])
    expect(allowed(.bytes, [.bytes([])]), ["is of a kind that a contract can't list"])
    expect(allowed(.uuid, [.uuid(UUID()), .uuid(UUID())]), [])
  }

  /// Looked through one by one, each against those before it, they would take minutes.
  @Test func `allowed values have a limit, and are compared quickly up to it`() throws {
    let limit = Contract.maximumAllowedValues
    let lists: [(FieldRule.ValueType, [FieldValue])] = [
      (.integer, (0..<limit).map { .int(Int64($0)) }), (.string, (0..<limit).map { .string("value \($0)") }),
      (.number, (0..<limit).map { .double(Double($0) + 0.5) }),
    ]
    for (type, values) in lists {
      func rule(_ values: [FieldValue]) -> FieldRule { FieldRule("f", mandatory: true, type, [.oneOf(values)]) }
      expect([rule(values)], [])
      expect([rule(values + ["more"])], ["more than 10000 values are allowed; use a pattern or a range"])
      expect([rule(values.dropLast() + [values[7]])], ["the allowed value \(values[7]) appears twice"])
      func compiled(_ values: [FieldValue]) throws -> CompiledContract {
        try Contract("c", version: "1", events: [EventRule("e", fields: [rule(values)])]).compiled()
      }
      let old = try compiled(values)
      #expect(try old.changes(to: compiled(values.reversed())).isEmpty)
      #expect(try old.changes(to: compiled(Array(values.dropFirst()))).map(\.what) == [.valuesRemoved])
    }
  }

  @Test func `defaults against their own rule are refused`() {
    func field(_ type: FieldRule.ValueType, _ value: FieldValue, _ clauses: FieldRule.Clause...) -> [FieldRule] {
      [FieldRule("f", mandatory: true, type, clauses, default: value)]
    }
    expect(field(.string, "EUR", .oneOf("EUR")), [])
    expect(field(.string, "GBP", .oneOf("EUR")), ["the default \"GBP\" violates one of \"EUR\""])
    expect(field(.integer, 0, .range(1...)), ["the default 0 violates range 1..."])
    expect(field(.integer, "0"), ["the default \"0\" violates type integer"])
    expect(field(.string, "a", .matches("b")), ["the default \"a\" violates matches b"])
    expect(field(.string, nil), ["stands for a missing value"])
    expect(field(.number, .double(.infinity)), ["is not finite"])
    expect(field(.bytes, .bytes([1])), ["is of a kind"])
    expect(field(.array, [1, ["a": nil]]), [])
    expect(field(.array, [.bytes([])]), ["is of a kind"])
    expect([FieldRule("f", mandatory: false, .integer, default: 1)], ["only a mandatory field can have a default"])
    expect([FieldRule("f[]", mandatory: true, .integer, default: 1)], ["the values of an array can't have a default"])
    let inner = [FieldRule("x", mandatory: true, .integer), FieldRule("y", mandatory: true, default: 1)]
    expect([FieldRule("f", mandatory: true, .object, default: ["x": 1, "y": 2], fields: inner)], [])
    expect([FieldRule("f", mandatory: true, .object, default: ["x": 1], fields: inner)], [" violates f.y: mandatory"])
    expect([FieldRule("f", mandatory: true, .object, default: ["y": 1], fields: inner)], [" violates f.x: mandatory"])
    let deep = (0..<40).reduce(FieldValue.int(1)) { inner, _ in .array([inner]) }
    expect(field(.array, deep), ["is nested"])
  }

  @Test func `patterns together have a limit, and problems too`() {
    let rules = (0..<300).map { FieldRule("f\($0)", mandatory: true, .string, [.matches("[a-z]{400}")]) }
    expect(rules, ["the patterns of the contract have more than 100000 characters"])
    let wrong = (0..<300).map { FieldRule("f\($0)", mandatory: true, .string, [.matches("(")]) }
    #expect(problems(Contract("c", version: "1", events: [EventRule("e", fields: wrong)])).count == 100)
  }

  @Test func `the builder takes conditions, loops and arrays`() throws {
    let isStrict = true
    let extra: [EventRule] = [EventRule("x"), EventRule("y")]
    let contract = Contract("c", version: "1") {
      for name in ["a", "b"] {
        EventRule(name) {
          if isStrict { Mandatory("m", .bool) } else { Optionally("m", .bool) }
          if !isStrict { Optionally("n") }
          for number in 1...2 { Optionally("f\(number)", .integer) }
          [FieldRule("z", mandatory: true)]
          switch isStrict {
          case true: FieldRule("s", mandatory: true)
          case false: FieldRule("t", mandatory: true)
          }
        }
      }
      extra
    }
    #expect(contract.events.map(\.name) == ["a", "b", "x", "y"])
    #expect(contract.events[1].fields.map(\.name) == ["m", "f1", "f2", "z", "s"])
    #expect(contract.events[0].fields.map(\.isMandatory) == [true, false, false, true, true])
    _ = try contract.compiled()
  }
}
