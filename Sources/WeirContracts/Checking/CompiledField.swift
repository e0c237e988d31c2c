// CompiledField: what a contract says about one field, ready to be held against values.

import Weir

/// A field of a contract, with those inside it. Texts that violations need are made once, here.
final class CompiledField: Sendable {
  /// The name within the object around it; empty for the values of an array.
  let name: String
  /// The name with those around it.
  let path: String
  let isMandatory: Bool
  /// What it was compiled from. Nil if only things inside it have rules: then what is missing in it is named, not it.
  let rule: FieldRule?
  let type: FieldRule.ValueType
  let checks: [CompiledCheck]
  let defaultValue: FieldValue?
  let members: CompiledMembers?
  let element: CompiledField?
  /// The field, one around it or one inside it is sensitive.
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

/// The fields of an object, or of an event.
struct CompiledMembers: Sendable {
  let fields: [CompiledField]
  let positions: [String: Int]
  /// Fields that are not listed are as they should be.
  let isOpen: Bool
  /// An object around is sensitive, and so are unknown fields in it.
  let isSensitive: Bool

  init(_ fields: [CompiledField], isOpen: Bool, isSensitive: Bool) {
    self.fields = fields
    self.isOpen = isOpen
    self.isSensitive = isSensitive
    positions = Dictionary(fields.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
  }

  /// The number of the field `name`, nil if there is none. Events mostly have their fields in the order of the
  /// contract, so the one after the last is tried first.
  func position(of name: String, after last: Int) -> Int? {
    let next = last + 1
    if next < fields.count, fields[next].name == name { return next }
    return positions[name]
  }
}

/// One check of a value whose type is right.
enum CompiledCheck: Sendable {
  case finite
  case range(ExactRange, rule: String)
  case length(LengthRange, rule: String)
  case allowed(AllowedValues, rule: String)
  case matches(Pattern, rule: String)

  static let finiteRule = "finite"

  /// The rule that `value` is against, or nil.
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

  /// What is said of a text that is not even tried.
  static let tooLong = " (the text is longer than \(Pattern.maximumTextBytes >> 10) KiB)"
}

extension FieldRule.ValueType {
  /// Whether `value` is of this type.
  func admits(_ value: FieldValue) -> Bool {
    switch (self, value) {
    case (.any, _), (.bool, .bool), (.integer, .int), (.integer, .uint), (.number, .int), (.number, .uint),
      (.number, .float), (.number, .double), (.string, .string), (.bytes, .bytes), (.uuid, .uuid), (.date, .date),
      (.array, .array), (.object, .object):
      true
    default: false
    }
  }

  /// The rule as violations have it.
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
  /// The length that a contract speaks of; nil for a value that has none.
  var contractLength: Int? {
    switch self {
    // Bytes that begin a scalar: the count of scalars, without decoding them.
    case .string(let text): text.utf8.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 &+ 1 }
    case .bytes(let bytes): bytes.count
    case .array(let values): values.count
    case .object(let object): object.count
    default: nil
    }
  }

  /// Whether the two are the same value to a contract: numbers by what they are worth, texts by their bytes (Swift's
  /// `==` takes an é of one scalar for one of two), everything else as it is.
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
