// The words of a contract in Swift: Mandatory, Optionally, and the result builders that collect them.

public import Weir

/// A field that each event must have: see ``FieldRule``.
public struct Mandatory: Hashable, Sendable {
  /// What it says.
  public var rule: FieldRule

  /// The field `name` is there, of this type and as the clauses ask. Where it is missing and there is a default, that
  /// is filled in.
  ///
  /// - Parameters:
  ///   - name: The field's name or, for a nested field, its path: `items[].price`.
  ///   - type: The type that its value has.
  ///   - clauses: What else holds for the value.
  ///   - defaultValue: What is filled in where the field is missing; nil for nothing.
  ///   - fields: The fields of the object, or of each object in the array.
  public init(
    _ name: String, _ type: FieldRule.ValueType = .any, _ clauses: FieldRule.Clause...,
    default defaultValue: FieldValue? = nil, @FieldRuleBuilder fields: () -> [FieldRule] = { [] }
  ) {
    rule = FieldRule(name, mandatory: true, type, clauses, default: defaultValue, fields: fields())
  }
}

/// A field that an event may have: see ``FieldRule``. Its name keeps it apart from Swift's `Optional`.
public struct Optionally: Hashable, Sendable {
  /// What it says.
  public var rule: FieldRule

  /// The field `name`, if it is there and not null, is of this type and as the clauses ask.
  ///
  /// - Parameters:
  ///   - name: The field's name or, for a nested field, its path: `items[].price`.
  ///   - type: The type that its value has.
  ///   - clauses: What else holds for the value.
  ///   - fields: The fields of the object, or of each object in the array.
  public init(
    _ name: String, _ type: FieldRule.ValueType = .any, _ clauses: FieldRule.Clause...,
    @FieldRuleBuilder fields: () -> [FieldRule] = { [] }
  ) {
    rule = FieldRule(name, mandatory: false, type, clauses, fields: fields())
  }
}

/// Collects the events of a contract: one after the other, arrays of them, under `if`, `switch` and `for`.
@resultBuilder
public enum ContractBuilder {
  public static func buildExpression(_ rule: EventRule) -> [EventRule] { [rule] }
  public static func buildExpression(_ rules: [EventRule]) -> [EventRule] { rules }
  public static func buildBlock(_ parts: [EventRule]...) -> [EventRule] { parts.flatMap { $0 } }
  public static func buildArray(_ parts: [[EventRule]]) -> [EventRule] { parts.flatMap { $0 } }
  public static func buildOptional(_ part: [EventRule]?) -> [EventRule] { part ?? [] }
  public static func buildEither(first part: [EventRule]) -> [EventRule] { part }
  public static func buildEither(second part: [EventRule]) -> [EventRule] { part }
  public static func buildLimitedAvailability(_ part: [EventRule]) -> [EventRule] { part }
}

/// Collects the fields of an event or a nested object, as ``ContractBuilder`` does with events.
@resultBuilder
public enum FieldRuleBuilder {
  public static func buildExpression(_ field: Mandatory) -> [FieldRule] { [field.rule] }
  public static func buildExpression(_ field: Optionally) -> [FieldRule] { [field.rule] }
  public static func buildExpression(_ rule: FieldRule) -> [FieldRule] { [rule] }
  public static func buildExpression(_ rules: [FieldRule]) -> [FieldRule] { rules }
  public static func buildBlock(_ parts: [FieldRule]...) -> [FieldRule] { parts.flatMap { $0 } }
  public static func buildArray(_ parts: [[FieldRule]]) -> [FieldRule] { parts.flatMap { $0 } }
  public static func buildOptional(_ part: [FieldRule]?) -> [FieldRule] { part ?? [] }
  public static func buildEither(first part: [FieldRule]) -> [FieldRule] { part }
  public static func buildEither(second part: [FieldRule]) -> [FieldRule] { part }
  public static func buildLimitedAvailability(_ part: [FieldRule]) -> [FieldRule] { part }
}
