// Violation: one way in which an event is against its contract.

/// One way in which an event is against a contract. Says which event, field and rule, and what was found.
public struct Violation: Hashable, Sendable {
  /// The event's name.
  public var event: String

  /// The field, with those around it (`price.amount`); empty if it is about the event as a whole.
  public var field: String

  /// The rule, in the words of the contract, such as `mandatory` or `one of "EUR", "USD"`.
  public var rule: String

  /// What was found; nil if the field is missing.
  public var value: FieldValue?

  /// A violation.
  public init(event: String, field: String, rule: String, value: FieldValue?) {
    self.event = event
    self.field = field
    self.rule = rule
    self.value = value
  }
}

extension Violation: CustomStringConvertible {
  public var description: String {
    let place = field.isEmpty ? event : "\(event): \(field)"
    return "\(place): \(rule)" + (value.map { ", found \($0)" } ?? "")
  }
}
