// Violation: one rule of a contract that an event violates.

public import Weir

/// One rule of a contract that an event violates: which event, field and rule, and the value that was found.
public struct Violation: Hashable, Sendable {
  /// The event's name.
  public var event: String

  /// The field's path in the contract (`price.amount`, `items[].sku`, `context.globals.app`); empty if the violation is
  /// about the whole event.
  public var field: String

  /// The rule in the contract's terms, such as `mandatory` or `one of "EUR", "USD"`.
  public var rule: String

  /// The value that was found; `nil` if the field is missing.
  public var value: FieldValue?

  /// Whether the contract, the event's declaration or its context marks the field, an enclosing field or a field within
  /// it as sensitive. If so, ``value`` must not leave the process unredacted: see ``redacted()``.
  public var isSensitive: Bool

  /// Creates a violation.
  public init(event: String, field: String, rule: String, value: FieldValue?, isSensitive: Bool = false) {
    self.event = event
    self.field = field
    self.rule = rule
    self.value = value
    self.isSensitive = isSensitive
  }

  /// Returns the same violation, with a sensitive value replaced by `FieldValue.redacted`.
  public func redacted() -> Violation {
    guard isSensitive, value != nil else { return self }
    var copy = self
    copy.value = .redacted
    return copy
  }
}

extension Violation: CustomStringConvertible {
  public var description: String {
    let place = field.isEmpty ? event : "\(event): \(field)"
    return "\(place): \(rule)" + (value.map { ", found \($0)" } ?? "")
  }
}
