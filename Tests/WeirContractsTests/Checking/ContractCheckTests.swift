// What the check of an event finds: every rule broken and kept, defaults, unknown fields, the order, the limits.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirJSON

struct ContractCheckTests {
  private static let shop = Contract("shop", version: "1.2") {
    EventRule("checkout.completed", kind: .pageAction) {
      Mandatory("order", .integer, .range(1...))
      Mandatory("total", .number, .range(0..<10_000.0))
      Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "EUR")
      Optionally("coupon", .string, .matches("[A-Z0-9]{4,12}"))
      Optionally("email", .string, .length(3...10), .sensitive)
      Optionally("address", .object) {
        Mandatory("street", .string)
        Mandatory("country", .string, default: "DE")
        Optionally("geo.lat", .number, .range(-90...90))
      }
      Mandatory("items", .array, .length(1...)) {
        Mandatory("sku", .string)
        Mandatory("count", .integer, default: 1)
      }
      Optionally("tags[]", .string, .length(...3))
    }
    EventRule("open", open: true) { Mandatory("a.b", .bool) }
    EventRule("empty")
  }

  private func check(_ name: String, _ fields: FieldObject) throws -> ContractOutcome {
    let kind = Self.shop.events.first { $0.name == name }?.kind
    return try Self.shop.compiled().check(name: name, fields: fields, declaration: EventType(name, kind: kind))
  }

  /// The violations as `field: rule` with the value if there is one.
  private func found(_ fields: FieldObject, _ name: String = "checkout.completed") throws -> [String] {
    try check(name, fields).violations.map { violation in
      #expect(violation.event == name)
      return "\(violation.field): \(violation.rule)" + (violation.value.map { " = \($0)" } ?? "")
    }
  }

  private static let good: FieldObject = [
    "order": 41, "total": 19.9, "currency": "USD", "items": [["sku": "a", "count": 2]],
  ]

  private func good(_ changes: KeyValuePairs<String, FieldValue?>) -> FieldObject {
    var fields = Self.good
    for (name, value) in changes {
      fields.members.removeAll { $0.name == name }
      if let value { fields.members.append(.init(name: name, value: value)) }
    }
    return fields
  }

  @Test func `an event as it should be is clean`() throws {
    #expect(try check("checkout.completed", Self.good).isClean)
    #expect(try check("checkout.completed", FieldObject(Self.good.reversed())).isClean, "in any order")
    #expect(try check("empty", [:]).isClean)
    let all: FieldObject = good([
      "coupon": "ABCD", "email": "a@b.c", "tags": ["x", nil, "yyy"],
      "address": ["street": "s", "country": "FR", "geo": ["lat": 52.5]],
    ])
    #expect(try check("checkout.completed", all).isClean)
    #expect(try check("checkout.completed", good(["coupon": .some(nil)])).isClean, "null is missing")
  }

  @Test func `a mandatory field that is missing is found`() throws {
    #expect(try found(good(["order": nil])) == ["order: mandatory"])
    #expect(try found(good(["order": .some(.null)])) == ["order: mandatory"])
    #expect(try found([:]) == ["order: mandatory", "total: mandatory", "items: mandatory"])
    #expect(try found(good(["items": [["count": 1], nil]])) == ["items[].sku: mandatory", "items[].sku: mandatory"])
    #expect(try found(good(["address": ["geo": [:]]])) == ["address.street: mandatory"])
    #expect(try found([:], "open") == ["a.b: mandatory"], "what is asked for in an object is named")
    #expect(try found(["a": nil], "open") == ["a.b: mandatory"])
  }

  @Test func `a value of another type is found`() throws {
    #expect(try found(good(["order": "41"])) == ["order: type integer = \"41\""])
    #expect(try found(good(["order": 41.0])) == ["order: type integer = 41.0"])
    #expect(try found(good(["order": .uint(.max)])) == [])
    #expect(try found(good(["total": true])) == ["total: type number = true"])
    #expect(try found(good(["total": 7])) == [])
    #expect(try found(good(["total": .float(1.5)])) == [])
    #expect(try found(good(["items": [:]])) == ["items: type array = {}"])
    #expect(try found(good(["items": [1]])) == ["items[]: type object = 1"])
    #expect(try found(good(["tags": ["a", 1]])) == ["tags[]: type string = 1"])
    #expect(try found(["a": 1], "open") == ["a: type object = 1"])
    let values: [FieldValue] = [
      true, 1, 1.5, "a", .bytes([1]), .uuid(UUID()), .date(Date()), [1], ["a": 1],
    ]
    let types: [FieldRule.ValueType] = [.bool, .integer, .number, .string, .bytes, .uuid, .date, .array, .object]
    for (index, type) in types.enumerated() {
      let contract = try Contract("t", version: "1") { EventRule("e") { Mandatory("f", type) } }.compiled()
      for (other, value) in values.enumerated() {
        let isRight = index == other || type == .number && other == 1
        #expect(contract.check(name: "e", fields: ["f": value]).violations.isEmpty == isRight, "\(type) \(value)")
      }
    }
  }

  @Test func `a value against its clauses is found`() throws {
    #expect(try found(good(["order": 0])) == ["order: range 1... = 0"])
    #expect(try found(good(["total": 10_000])) == ["total: range 0.0..<10000.0 = 10000"])
    #expect(try found(good(["total": -1])) == ["total: range 0.0..<10000.0 = -1"])
    for number in [Double.nan, .infinity, -.infinity] {
      #expect(try found(good(["total": .double(number)])) == ["total: finite = \(number)"])
    }
    #expect(try found(good(["currency": "GBP"])) == ["currency: one of \"EUR\", \"USD\" = \"GBP\""])
    #expect(try found(good(["coupon": "abc"])) == ["coupon: matches [A-Z0-9]{4,12} = \"abc\""])
    let long = String(repeating: "A", count: Pattern.maximumTextBytes + 1)
    #expect(
      try check("checkout.completed", good(["coupon": .string(long)])).violations.map(\.rule)
        == ["matches [A-Z0-9]{4,12} (the text is longer than 16 KiB)"])
    #expect(try found(good(["email": "ab"])) == ["email: length 3...10 = \"ab\""])
    #expect(try found(good(["email": "éé😀😀😀"])) == [], "Unicode scalars are counted")
    #expect(try found(good(["email": "é😀"])) == ["email: length 3...10 = \"é😀\""])
    #expect(try found(good(["email": "e\u{301}é"])) == [])
    #expect(try found(good(["items": []])) == ["items: length 1... = []"])
    #expect(
      try found(good(["tags": ["abcd", "abc", "abcde"]]))
        == ["tags[]: length ...3 = \"abcd\"", "tags[]: length ...3 = \"abcde\""])
    #expect(
      try found(good(["address": ["street": "s", "geo": ["lat": 91]]])) == ["address.geo.lat: range -90...90 = 91"])
  }

  /// At 2^53 and 2^63 doubles stand for several integers.
  @Test func `bounds are exact`() throws {
    func takes(_ range: FieldRule.Clause, _ value: FieldValue) throws -> Bool {
      let contract = Contract("t", version: "1") { EventRule("e") { Mandatory("f", .number, range) } }
      return try contract.compiled().check(name: "e", fields: ["f": value]).isClean
    }
    #expect(try takes(.range(...9_007_199_254_740_992), .int(1 << 53)))
    #expect(try !takes(.range(...9_007_199_254_740_992), .int((1 << 53) + 1)))
    #expect(try !takes(.range(...0x1p53), .int((1 << 53) + 1)))
    #expect(try takes(.range(...0x1p63), .uint(1 << 63)))
    #expect(try !takes(.range(..<0x1p63), .uint(1 << 63)))
    #expect(try takes(.range(..<0x1p63), .int(.max)))
    #expect(try takes(.range(UInt64.max...), .uint(.max)))
    #expect(try !takes(.range(UInt64.max...), .uint(.max - 1)))
    #expect(try !takes(.range(NumberRange(lower: .excluding(0))), .double(-0.0)))
    #expect(try takes(.range(NumberRange(lower: .excluding(0))), .double(.leastNonzeroMagnitude)))
    #expect(try !takes(.finite, .float(.infinity)))
    #expect(try takes(.finite, .int(3)))
  }

  @Test func `allowed values are compared by what they are`() throws {
    func takes(_ allowed: [FieldValue], _ value: FieldValue) throws -> Bool {
      let contract = Contract("t", version: "1") { EventRule("e") { Mandatory("f", .any, .oneOf(allowed)) } }
      return try contract.compiled().check(name: "e", fields: ["f": value]).isClean
    }
    #expect(try takes([1, "a", true], .uint(1)))
    #expect(try takes([1, "a", true], .double(1)))
    #expect(try takes([1, "a", true], true))
    #expect(try !takes([1, "a", true], "1"))
    #expect(try !takes(["é"], "e\u{301}"), "the same to Swift, other bytes to everybody else")
    let many = (0..<20).map { FieldValue.string("é\($0)") } + [7]
    #expect(try takes(many, "é19"))
    #expect(try takes(many, .uint(7)))
    #expect(try !takes(many, "e\u{301}19"))
    #expect(try !takes(many, "é20"))
    #expect(try !takes(many, 8))
    let id = UUID()
    #expect(try takes([.uuid(id)], .uuid(id)))
    #expect(try !takes([.uuid(id)], .uuid(UUID())))
  }

  @Test func `unknown events and fields are found`() throws {
    #expect(try found(good(["color": "red"])) == ["color: unknown field = \"red\""])
    #expect(try found(good(["a.b": nil, "a.c": 1])) == ["a\\.c: unknown field = 1"])
    #expect(try found(good(["address": ["street": "s", "zip": 1]])) == ["address.zip: unknown field = 1"])
    #expect(try found(good(["items": [["sku": "a", "colour": 1]]])) == ["items[].colour: unknown field = 1"])
    #expect(try found(good(["color": .some(nil)])) == [], "null is as good as missing")
    #expect(try found(["a": ["b": true, "c": 1], "d": 2], "open") == [])
    #expect(try found(["x": 1], "checkout.started") == [": unknown event"])
    var lenient = Self.shop
    lenient.allowsUnknownEvents = true
    #expect(try lenient.compiled().check(name: "checkout.started", fields: ["x": 1]).isClean)
    for name in ["weir.gap", "weir.hole", "weir.associated", StoredEvent.undefinedName] {
      #expect(try found(["x": 1], name) == [], "what the log itself wrote")
    }
  }

  @Test func `the order is that of the contract, then that of the event`() throws {
    let fields: FieldObject = ["z": 1, "coupon": "-", "order": 0, "a": 2, "email": "", "items": []]
    #expect(
      try found(fields).map { $0.prefix { $0 != ":" } } == [
        "order", "total", "coupon", "email", "items", "z", "a",
      ])
    #expect(try check("checkout.completed", fields).defaults.map(\.field) == ["currency"])
  }

  @Test func `defaults are filled in where they are missing`() throws {
    let outcome = try check(
      "checkout.completed",
      good([
        "currency": nil, "address": ["street": "s", "country": nil],
        "items": [["sku": "a"], ["sku": "b", "count": 5]],
      ]))
    #expect(outcome.violations.isEmpty)
    #expect(!outcome.isClean)
    #expect(
      outcome.defaults.map { "\($0.field) \($0.value)" } == [
        "currency \"EUR\"", "address.country \"DE\"", "items[].count 1",
      ])
    let completed = outcome.completed(
      good([
        "currency": nil, "address": ["street": "s", "country": nil],
        "items": [["sku": "a"], ["sku": "b", "count": 5]],
      ]))
    #expect(completed["currency"] == "EUR")
    #expect(completed["address"] == ["street": "s", "country": "DE"], "in the place of the null")
    #expect(completed["items"] == [["sku": "a", "count": 1], ["sku": "b", "count": 5]])
    #expect(try check("checkout.completed", completed).isClean)
    #expect(try check("checkout.completed", Self.good).completed(Self.good) == Self.good)
  }

  @Test func `a default makes the objects that lead to it`() throws {
    let contract = try Contract("t", version: "1") {
      EventRule("e") { Mandatory("a.b.c", .integer, default: 7) }
    }.compiled()
    for fields: FieldObject in [[:], ["a": nil], ["a": [:]], ["a": ["b": nil]], ["a": ["b": ["c": nil]]]] {
      let outcome = contract.check(name: "e", fields: fields)
      #expect(outcome.violations.isEmpty)
      #expect(outcome.defaults.map(\.field) == ["a.b.c"])
      #expect(outcome.completed(fields) == ["a": ["b": ["c": 7]]])
    }
    #expect(contract.check(name: "e", fields: ["a": 1]).violations.map(\.rule) == ["type object"])
  }

  /// Dynamic events may have a name twice; the last one is what readers see.
  @Test func `of two fields with one name the last counts`() throws {
    let twice = FieldObject([("order", .int(0))] + Self.good.map { ($0.name, $0.value) })
    #expect(try found(twice) == [])
    #expect(try found(FieldObject(twice.reversed())) == ["order: range 1... = 0"])
    let nulls = FieldObject([("currency", .string("EUR"))] + good(["currency": .some(nil)]).map { ($0.name, $0.value) })
    let outcome = try check("checkout.completed", nulls)
    #expect(outcome.completed(nulls)["currency"] == "EUR")
    #expect(outcome.defaults.count == 1)
  }

  @Test func `an event of another kind is found`() throws {
    let contract = try Self.shop.compiled()
    func rules(_ kind: EventKind?) -> [String] {
      let declaration = EventType("checkout.completed", kind: kind)
      let outcome = contract.check(name: "checkout.completed", fields: Self.good, declaration: declaration)
      return outcome.violations.map(\.description)
    }
    #expect(rules(.pageAction) == [])
    #expect(rules(.pageView) == ["checkout.completed: kind page_action, found \"page_view\""])
    #expect(rules(nil) == ["checkout.completed: kind page_action"])
    let byName = contract.check(name: "checkout.completed", fields: Self.good)
    #expect(byName.violations.map(\.rule) == ["kind page_action"], "an event without a declaration has no kind")
    #expect(contract.check(name: "empty", fields: [:], declaration: EventType("empty", kind: .pageView)).isClean)
    var every = Self.shop
    every.requiresKind = true
    let strict = try every.compiled()
    func strictRules(_ name: String, _ kind: EventKind?) -> [String] {
      strict.check(name: name, fields: [:], declaration: EventType(name, kind: kind)).violations.map(\.rule)
    }
    #expect(strictRules("empty", .systemAction) == [])
    #expect(strictRules("empty", nil) == ["kind"])
    #expect(strictRules("oder", nil) == ["kind", "unknown event"])
    #expect(strictRules("checkout.completed", nil).filter { $0.hasPrefix("kind") } == ["kind page_action"], "told once")
    #expect(strictRules("weir.gap", nil) == [])
  }

  @Test func `what is sensitive is marked so`() throws {
    let contract = try Contract("t", version: "1") {
      EventRule("e") {
        Optionally("email", .string, .length(...3), .sensitive)
        Optionally("address", .object) { Optionally("street", .string, .sensitive) }
        Optionally("card", .object, .sensitive) { Optionally("number", .string) }
        Optionally("plain", .string)
      }
    }.compiled()
    func marks(_ fields: FieldObject, _ declaration: EventType? = nil) -> [String: Bool] {
      let violations = contract.check(name: "e", fields: fields, declaration: declaration).violations
      for violation in violations {
        #expect(violation.redacted().value == (violation.isSensitive ? .redacted : violation.value))
      }
      return Dictionary(uniqueKeysWithValues: violations.map { ($0.field, $0.isSensitive) })
    }
    #expect(marks(["email": "abcd", "plain": 1]) == ["email": true, "plain": false])
    #expect(marks(["address": 1]) == ["address": true], "something in it is")
    #expect(marks(["address": ["street": 1, "x": 1]]) == ["address.street": true, "address.x": false])
    #expect(marks(["card": ["number": 1, "x": 1]]) == ["card.number": true, "card.x": true], "the whole is")
    #expect(contract.sensitiveFields(of: "e") == ["email", "address.street", "card"])
    #expect(contract.sensitiveFields(of: "f") == [])
    let declaration = EventType(
      "e",
      [
        Field("plain", .string, sensitive: true),
        Field("extra", .optional(.array(.object([Field("inner", .string, sensitive: true), Field("open", .string)])))),
      ])
    #expect(
      marks(["plain": 1, "extra": 1, "other": 1], declaration) == ["plain": true, "extra": true, "other": false])
  }

  @Test func `violations and defaults have a limit`() throws {
    let many = FieldObject((0..<250).map { ("f\($0)", FieldValue.int($0)) })
    let outcome = try check("empty", many)
    #expect(outcome.violations.count == CompiledContract.maximumViolations)
    #expect(outcome.omittedViolations == 150)
    #expect(outcome.violations.last?.field == "f99")
    let fields = good(["items": .array(Array(repeating: ["sku": "a"], count: 1_005))])
    let defaults = try check("checkout.completed", fields)
    #expect(defaults.defaults.count == CompiledContract.maximumDefaults)
    #expect(defaults.violations.map(\.rule) == Array(repeating: "mandatory", count: 5))
  }

  @Test func `a payload that can't be read is found`() throws {
    let declaration = EventType("checkout.completed", [Field("email", .string, sensitive: true)])
    let event = StoredEvent(
      offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0),
      name: "checkout.completed", fields: ["payload": .bytes([1, 2])], declaration: declaration)
    let violations = try Self.shop.compiled().check(event).violations
    #expect(violations.map(\.rule) == ["readable"])
    #expect(violations.allSatisfy { $0.isSensitive })
  }
}
