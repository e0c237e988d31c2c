// ContractMapping: reads a contract from the tree of a file. Strict: everything unknown is a problem with a line, and
// is never ignored.

import Weir
import WeirJSON

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Reads a contract from a tree, and collects the problems.
struct ContractMapping: DocumentReading {
  private(set) var problems: [ContractError.Problem] = []
  private var lines: [[String]: Int] = [:]
  private var unsure: Set<[String]> = []
  private var event = ""
  private var field = ""

  /// Returns the line on which an event or a field begins.
  func line(ofEvent event: String, field: String) -> Int? {
    lines[[event, field]] ?? lines[[event, ""]]
  }

  /// Returns whether the contract's own keys, or the type of the field, had problems.
  func isUnsure(ofEvent event: String, field: String) -> Bool { unsure.contains([event, field]) }

  mutating func problem(_ line: Int, _ message: String) {
    if event.isEmpty { unsure.insert([event, field]) }
    guard problems.count < ContractError.maximumProblems else { return }
    problems.append(.init(event: event, field: field, line: line == 0 ? nil : line, message: message))
  }

  /// Returns the contract, without the parts that had problems.
  mutating func contract(_ node: DocumentNode) -> Contract {
    var contract = Contract("", version: "", events: [])
    lines[["", ""]] = node.line
    guard let map = map(node, "the contract", ContractKeys.contract, ContractKeys.otherKeys) else { return contract }
    contract.name = text(map, "contract") ?? ""
    contract.version = text(map, "version") ?? ""
    contract.allowsUnknownEvents = flag(map, "allows_unknown_events")
    contract.requiresKind = flag(map, "requires_kind")
    if let rules = map["every_event"] {
      contract.everyEvent = fieldRules(rules, "every_event", inside: "", depth: 0)
    }
    guard let events = map["events"] else {
      problem(node.line, "the key events is missing; it lists the events by name")
      return contract
    }
    for entry in entries(events, "events", of: "the event") {
      event = entry.key
      if lines[[event, ""]] == nil { lines[[event, ""]] = entry.line }
      contract.events.append(eventRule(entry))
    }
    event = ""
    return contract
  }

  private mutating func eventRule(_ entry: DocumentNode.Entry) -> EventRule {
    var rule = EventRule(entry.key, fields: [])
    // The value of an event without fields may be empty.
    if case .null = entry.value.content { return rule }
    guard let map = map(entry.value, "an event", ContractKeys.event, ContractKeys.otherKeys) else { return rule }
    if let kind = text(map, "kind") {
      rule.kind = EventKind(rawValue: kind)
      if rule.kind == nil {
        let kinds = EventKind.allCases.map(\.rawValue)
        problem(map["kind"]?.line ?? 0, "there is no kind \(quoted(kind))\(Spelling.hint(kind, among: kinds))")
      }
    }
    rule.isOpen = flag(map, "open")
    rule.isDeprecated = flag(map, "deprecated")
    rule.description = text(map, "description") ?? ""
    if let fields = map["fields"] { rule.fields = fieldRules(fields, inside: "", depth: 0) }
    return rule
  }

  private mutating func fieldRules(
    _ node: DocumentNode, _ key: String = "fields", inside path: String, depth: Int
  ) -> [FieldRule] {
    // The compiler reports nesting that is too deep. Here it is only ignored.
    guard depth <= maximumDepth + 1 else { return [] }
    let outer = field
    defer { field = outer }
    var rules: [FieldRule] = []
    for entry in entries(node, key, of: "the field") {
      field = path.isEmpty ? entry.key : "\(path).\(entry.key)"
      for place in [field, FieldPath.member(entry.key, of: path)] where lines[[event, place]] == nil {
        lines[[event, place]] = entry.line
      }
      rules.append(fieldRule(entry, depth: depth))
    }
    return rules
  }

  private mutating func fieldRule(_ entry: DocumentNode.Entry, depth: Int) -> FieldRule {
    var rule = FieldRule(entry.key, mandatory: false)
    guard let map = map(entry.value, "a field", ContractKeys.field, ContractKeys.otherKeys) else { return rule }
    if let name = text(map, "type") {
      if let type = FieldRule.ValueType(rawValue: name) {
        rule.type = type
      } else {
        unsure.insert([event, field])
        let types = FieldRule.ValueType.allCases.map(\.rawValue)
        let hint = Spelling.hint(name, among: types, alsoKnownAs: ContractKeys.otherTypes)
        problem(map["type"]?.line ?? 0, "there is no type \(quoted(name))\(hint)")
      }
    }
    rule.isMandatory = flag(map, "mandatory")
    rule.isFinite = flag(map, "finite")
    rule.isSensitive = flag(map, "sensitive")
    rule.isDeprecated = flag(map, "deprecated")
    rule.description = text(map, "description") ?? ""
    rule.pattern = text(map, "matches")
    rule.range = range(map)
    let lengths = (whole(map, "min_length"), whole(map, "max_length"))
    if lengths.0 != nil || lengths.1 != nil { rule.length = LengthRange(min: lengths.0, max: lengths.1) }
    if let node = map["one_of"] {
      if case .list(let values) = node.content {
        rule.allowedValues = values.map { value($0, rule.type) }
      } else {
        problem(node.line, "one_of is \(node.kindName); write a list of values")
      }
    }
    if let node = map["default"] { rule.defaultValue = value(node, rule.type) }
    if let fields = map["fields"] {
      rule.fields = fieldRules(fields, inside: rule.type == .array ? "\(field)[]" : field, depth: depth + 1)
    }
    return rule
  }

  private mutating func range(_ map: [String: DocumentNode]) -> NumberRange? {
    func bound(_ key: String) -> FieldValue? {
      guard let node = map[key] else { return nil }
      if case .number(let number) = node.content { return number }
      problem(node.line, "\(key) is \(node.kindName); write a number")
      return nil
    }
    for (one, other) in [("min", "above"), ("max", "below")] where map[one] != nil && map[other] != nil {
      problem(map[other]?.line ?? 0, "\(one) and \(other) are both given; remove one of them")
    }
    let lower = bound("min").map { NumberRange.Bound.including($0) } ?? bound("above").map { .excluding($0) }
    let upper = bound("max").map { NumberRange.Bound.including($0) } ?? bound("below").map { .excluding($0) }
    return lower == nil && upper == nil ? nil : NumberRange(lower: lower, upper: upper)
  }

  /// Returns a value that a field may have.
  private mutating func value(_ node: DocumentNode, _ type: FieldRule.ValueType, depth: Int = 0) -> FieldValue {
    guard depth <= maximumDepth + 1 else { return .null }
    switch node.content {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .number(let value): return value
    case .text(let text):
      guard type == .uuid else { return .string(text) }
      return UUID(uuidString: text).map { .uuid($0) } ?? .string(text)
    case .list(let values): return .array(values.map { value($0, .any, depth: depth + 1) })
    case .map(let entries):
      noteEqualKeys(entries, "the key")
      return .object(
        FieldObject(entries.map { FieldObject.Member(name: $0.key, value: value($0.value, .any, depth: depth + 1)) }))
    }
  }
}

/// The keys of contract files.
enum ContractKeys {
  static let contract = ["contract", "version", "allows_unknown_events", "requires_kind", "every_event", "events"]
  static let event = ["kind", "open", "deprecated", "description", "fields"]
  static let field = [
    "type", "mandatory", "one_of", "min", "max", "above", "below", "finite", "min_length", "max_length", "matches",
    "default", "sensitive", "deprecated", "description", "fields",
  ]

  /// The names of these keys in other schema languages.
  static let otherKeys = [
    "name": "contract", "required": "mandatory", "enum": "one_of", "allowed": "one_of", "values": "one_of",
    "minimum": "min", "maximum": "max", "exclusiveMinimum": "above", "exclusiveMaximum": "below", "pattern": "matches",
    "regex": "matches", "format": "matches", "minLength": "min_length", "maxLength": "max_length",
    "minItems": "min_length", "maxItems": "max_length", "properties": "fields", "items": "fields", "doc": "description",
  ]
  static let otherTypes = [
    "boolean": "bool", "int": "integer", "int64": "integer", "uint64": "integer", "long": "integer", "float": "number",
    "double": "number", "decimal": "number", "text": "string", "str": "string", "binary": "bytes", "data": "bytes",
    "timestamp": "date", "datetime": "date", "time": "date", "list": "array", "map": "object", "dict": "object",
  ]
}
