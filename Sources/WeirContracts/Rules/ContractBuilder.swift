// ContractBuilder: contracts in Swift code: Mandatory, Optionally, and the result builders that collect them.

public import Weir

/// A field that every event must have: see ``FieldRule``.
public struct Mandatory: Hashable, Sendable {
  /// The rule.
  public var rule: FieldRule

  /// Declares that the field `name` must be present, with this type and these clauses. If the field is missing and has
  /// a default, the default is filled in.
  ///
  /// - Parameters:
  ///   - name: The field's name, or the path of a nested field: `items[].price`.
  ///   - type: The type of the value.
  ///   - clauses: Further rules for the value.
  ///   - defaultValue: The value that is filled in if the field is missing; `nil` for no default.
  ///   - fields: The fields of the object, or of each object in the array.
  public init(
    _ name: String, _ type: FieldRule.ValueType = .any, _ clauses: FieldRule.Clause...,
    default defaultValue: FieldValue? = nil, @FieldRuleBuilder fields: () -> [FieldRule] = { [] }
  ) {
    rule = FieldRule(name, mandatory: true, type, clauses, default: defaultValue, fields: fields())
  }
}

/// A field that an event may have: see ``FieldRule``. Not named `Optional`, because Swift has a type of that name.
public struct Optionally: Hashable, Sendable {
  /// The rule.
  public var rule: FieldRule

  /// Declares that the field `name`, if it is present and not null, has this type and these clauses.
  ///
  /// - Parameters:
  ///   - name: The field's name, or the path of a nested field: `items[].price`.
  ///   - type: The type of the value.
  ///   - clauses: Further rules for the value.
  ///   - fields: The fields of the object, or of each object in the array.
  public init(
    _ name: String, _ type: FieldRule.ValueType = .any, _ clauses: FieldRule.Clause...,
    @FieldRuleBuilder fields: () -> [FieldRule] = { [] }
  ) {
    rule = FieldRule(name, mandatory: false, type, clauses, fields: fields())
  }
}

/// Collects the events of a contract: single events, arrays of events, and those under `if`, `switch` and `for`.
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

/// Collects the fields of an event or a nested object, like ``ContractBuilder`` does for events.
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
