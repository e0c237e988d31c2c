// CompiledField: a contract's rule for one field, prepared for checking values.

import Weir

/// A field of a contract, including nested fields. The texts of violations are made once, here.
final class CompiledField: Sendable {
  /// The name within the enclosing object; empty for the values of an array.
  let name: String
  /// The path: the name, with the names of enclosing objects before it.
  let path: String
  let isMandatory: Bool
  /// The rule that this field was compiled from; `nil` if only fields within this one have rules. In that case these
  /// are reported as missing instead of this field.
  let rule: FieldRule?
  let type: FieldRule.ValueType
  let checks: [CompiledCheck]
  let defaultValue: FieldValue?
  let members: CompiledMembers?
  let element: CompiledField?
  /// Whether the field, an enclosing field or a field within it is sensitive.
  let isSensitive: Bool

  init(
    name: String, path: String, isMandatory: Bool, rule: FieldRule?, type: FieldRule.ValueType, checks: [CompiledCheck],
    members: CompiledMembers?, element: CompiledField?, isSensitive: Bool
  ) {
    self.name = name
    self.path = path
    self.isMandatory = isMandatory
    self.rule = rule
    self.type = type
    self.checks = checks
    defaultValue = rule?.defaultValue
    self.members = members
    self.element = element
    self.isSensitive = isSensitive
  }
}

extension CompiledField {
  /// Whether an event without the field has a violation, of this field or of a field within it.
  var failsWhenMissing: Bool {
    guard isMandatory, defaultValue == nil else { return false }
    guard rule == nil, let members else { return true }
    return members.fields.contains(where: \.failsWhenMissing)
  }
}

/// The fields of an object or an event.
struct CompiledMembers: Sendable {
  let fields: [CompiledField]
  let positions: [String: Int]
  /// Whether fields that are not listed are allowed.
  let isOpen: Bool
  /// Whether an enclosing object is sensitive, so that unknown fields are sensitive too.
  let isSensitive: Bool

  init(_ fields: [CompiledField], isOpen: Bool, isSensitive: Bool) {
    self.fields = fields
    self.isOpen = isOpen
    self.isSensitive = isSensitive
    positions = Dictionary(fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// Returns the index of the field `name`, or `nil` if there is none. Events usually have their fields in the
  /// contract's order, so the index after `last` is tried first.
  func position(of name: String, after last: Int) -> Int? {
    let next = last + 1
    if next < fields.count, fields[next].name == name { return next }
    return positions[name]
  }
}

/// One check of a value that has the right type.
enum CompiledCheck: Sendable {
  case finite
  case range(ExactRange, rule: String)
  case length(LengthRange, rule: String)
  case allowed(AllowedValues, rule: String)
  case matches(Pattern, rule: String)

  static let finiteRule = "finite"

  /// Returns the rule that `value` violates, or `nil`.
  func violated(by value: FieldValue) -> String? {
    switch self {
    case .finite:
      return ExactNumber(value)?.isFinite == false ? Self.finiteRule : nil
    case .range(let range, let rule):
      guard let number = ExactNumber(value) else { return nil }
      if !number.isFinite { return Self.finiteRule }
      return range.contains(number) ? nil : rule
    case .length(let range, let rule):
      guard let length = value.contractLength else { return nil }
      return range.contains(length) ? nil : rule
    case .allowed(let values, let rule):
      return values.contains(value) ? nil : rule
    case .matches(let pattern, let rule):
      guard case .string(let text) = value, !pattern.matches(text) else { return nil }
      return text.utf8.count > Pattern.maximumTextBytes ? rule + Self.tooLong : rule
    }
  }

  /// The note for a text that is too long to be matched.
  static let tooLong = " (the text is longer than \(Pattern.maximumTextBytes >> 10) KiB)"
}

extension FieldRule.ValueType {
  /// Returns whether `value` has this type.
  func admits(_ value: FieldValue) -> Bool {
    switch (self, value) {
    case (.any, _), (.bool, .bool), (.integer, .int), (.integer, .uint), (.number, .int), (.number, .uint),
      (.number, .float), (.number, .double), (.string, .string), (.bytes, .bytes), (.uuid, .uuid), (.date, .date),
      (.array, .array), (.object, .object):
      true
    default: false
    }
  }

  /// The rule's text in violations.
  var rule: String {
    switch self {
    case .any: "any"
    case .bool: "type bool"
    case .integer: "type integer"
    case .number: "type number"
    case .string: "type string"
    case .bytes: "type bytes"
    case .uuid: "type uuid"
    case .date: "type date"
    case .array: "type array"
    case .object: "type object"
    }
  }
}

extension FieldValue {
  /// The length that a contract limits; `nil` for a value that has no length.
  var contractLength: Int? {
    switch self {
    // Counts the bytes that begin a Unicode scalar, without decoding the scalars.
    case .string(let text): text.utf8.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 &+ 1 }
    case .bytes(let bytes): bytes.count
    case .array(let values): values.count
    case .object(let object): object.count
    default: nil
    }
  }

  /// Returns whether both values are equal for a contract. Numbers are compared by value, and texts by their bytes:
  /// Swift's `==` treats an é of one scalar and an é of two as equal. Other values are compared as they are.
  func isSame(as other: FieldValue) -> Bool {
    switch (self, other) {
    case (.string(let left), .string(let right)):
      return left.utf8.elementsEqual(right.utf8)
    default:
      if let left = ExactNumber(self), let right = ExactNumber(other) { return left == right }
      return self == other
    }
  }
}
