// Random sound contracts, and random events that are about as often for them as against them.

import Foundation
import TestSupport
import Weir
import WeirContracts
import WeirJSON

struct RandomContracts {
  var random: Seeded

  init(seed: UInt64) { random = Seeded(seed: seed) }

  mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

  /// A sound contract of few names, so that two of them have much in common.
  mutating func contract() -> Contract {
    while true {
      var contract = Contract(chance(5) ? "é \"\\\n" : "c", version: chance(2) ? "1" : "2", events: [])
      contract.allowsUnknownEvents = chance(4)
      contract.requiresKind = chance(6)
      contract.everyEvent = contextRules()
      for name in ["a", "b.c", "d\u{1}\""] where !chance(3) {
        var event = EventRule(name, fields: fields(depth: 2))
        event.isOpen = chance(4)
        event.isDeprecated = chance(6)
        if chance(4) { event.kind = EventKind.allCases.randomElement(using: &random) }
        if chance(4) { event.description = "ünï \u{7F}\u{2028}" }
        event.fields += contextRules()
        contract.events.append(event)
      }
      if (try? contract.compiled()) != nil { return contract }
    }
  }

  private mutating func fields(depth: Int) -> [FieldRule] {
    var rules: [FieldRule] = []
    for name in ["x", "y", "z", "o.x", "l[]", "l[].x", "q\\.r"] where chance(3) {
      rules.append(field(name, depth: depth))
    }
    return rules
  }

  private mutating func field(_ name: String, depth: Int) -> FieldRule {
    var rule = FieldRule(
      name, mandatory: chance(2), FieldRule.ValueType.allCases.randomElement(using: &random) ?? .any)
    let isNumber = rule.type == .integer || rule.type == .number
    if isNumber, chance(2) { rule.range = range() }
    if rule.type == .number, chance(4) { rule.isFinite = true }
    if [.string, .bytes, .array, .object].contains(rule.type), chance(3) {
      rule.length = LengthRange(
        min: chance(2) ? Int.random(in: 0...2, using: &random) : nil, max: Int.random(in: 1...3, using: &random))
    }
    if rule.type == .string, chance(3) {
      rule.pattern = ["a*", "[ab]+", ".{1,2}", "\\w?\""].randomElement(using: &random)
    }
    if chance(3) { rule.allowedValues = (0..<Int.random(in: 1...3, using: &random)).map { _ in listed(rule.type) } }
    if rule.isMandatory, chance(3) { rule.defaultValue = listed(rule.type) }
    rule.isSensitive = chance(6)
    rule.isDeprecated = chance(8)
    if chance(6) { rule.description = "why" }
    if depth > 0, rule.type == .object || rule.type == .array, chance(2) { rule.fields = fields(depth: depth - 1) }
    return rule
  }

  private mutating func range() -> NumberRange {
    func bound(_ random: inout Seeded) -> NumberRange.Bound? {
      let numbers: [FieldValue] = [.int(-3), .int(0), .int(2), .uint(.max), .double(1.5), .double(0x1p53)]
      guard let number = numbers.randomElement(using: &random) else { return nil }
      switch Int.random(in: 0..<3, using: &random) {
      case 0: return nil
      case 1: return .including(number)
      default: return .excluding(number)
      }
    }
    return NumberRange(lower: bound(&random), upper: bound(&random))
  }

  /// A value that a contract can list.
  private mutating func listed(_ type: FieldRule.ValueType) -> FieldValue {
    let id = UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8") ?? UUID()
    let values: [FieldValue] =
      switch type {
      case .bool: [true, false]
      case .integer: [0, 1, -2, .uint(.max), .int(.min)]
      case .number: [0, 1.5, -0.25, 1e300, .int(.max)]
      case .string: ["", "a", "ab", "\"\\\n\u{7F}é"]
      case .uuid: [.uuid(id)]
      case .array: [[], [1, "a"], [[true], nil]]
      case .object: [[:], ["x": 1], ["x": ["x": "a"], "y": nil]]
      default: [true, 7, "a", 2.5]
      }
    return values.randomElement(using: &random) ?? .null
  }

  /// Rules for a context, few enough that an event may keep them.
  private mutating func contextRules() -> [FieldRule] {
    var rules: [FieldRule] = []
    for name in ["user", "user.id", "user.traits.x", "view", "view.name"] where chance(8) {
      var rule = FieldRule("context.\(name)", mandatory: chance(2))
      if chance(4), name == "user.id" { rule.length = LengthRange(max: 1) }
      rules.append(rule)
    }
    for name in ["globals.x", "globals.o.x", "globals.l[].x", "fields.x", "fields.q\\.r"] where chance(6) {
      var rule = field("context.\(name)", depth: 1)
      rule.isSensitive = false
      rule.fields = []
      rules.append(rule)
    }
    return rules
  }

  /// A context with the names and values that the contracts have.
  mutating func context() -> EventContext {
    var context = EventContext(globals: object(depth: 1), fields: object(depth: 1))
    if !chance(3) { context.user = EventUser(id: chance(2) ? "a" : "ab", traits: object(depth: 0)) }
    if !chance(3) { context.view = EventView(id: "v", name: chance(2) ? "a" : "b") }
    return context
  }

  /// Fields with the names and values that the contracts have.
  mutating func fields() -> FieldObject { object(depth: 2) }

  private mutating func object(depth: Int) -> FieldObject {
    var members: [FieldObject.Member] = []
    for name in ["x", "y", "z", "o", "l", "q.r", "other"] where chance(name == "other" ? 12 : 2) {
      members.append(.init(name: name, value: value(depth: depth)))
    }
    return FieldObject(members)
  }

  private mutating func value(depth: Int) -> FieldValue {
    switch Int.random(in: 0..<16, using: &random) {
    case 0: .null
    case 1: .bool(chance(2))
    case 2, 3: [.int(0), .int(1), .int(2), .uint(3), .uint(.max), .int(-4)].randomElement(using: &random) ?? .null
    case 4, 5:
      [.double(1.5), .double(.nan), .float(0.5), .double(-9), .double(.infinity)].randomElement(using: &random)
        ?? .null
    case 6...8: ["", "a", "ab", "aé", "b", "abc", "_\""].randomElement(using: &random) ?? .null
    case 9: .bytes(chance(2) ? [] : [1, 2])
    case 10: listed(.uuid)
    case 11: .date(Date(timeIntervalSinceReferenceDate: 1))
    case 12, 13:
      depth > 0 ? .array((0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth: depth - 1) }) : .array([])
    default: depth > 0 ? .object(object(depth: depth - 1)) : .object([:])
    }
  }
}
