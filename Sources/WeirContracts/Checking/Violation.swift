// Violation: one way in which an event is against its contract.

public import Weir

/// One way in which an event is against a contract. Says which event, field and rule, and what was found.
public struct Violation: Hashable, Sendable {
  /// The event's name.
  public var event: String

  /// The field as the contract names it, with those around it (`price.amount`, `items[].sku`); empty if it is about the
  /// event as a whole.
  public var field: String

  /// The rule, in the words of the contract, such as `mandatory` or `one of "EUR", "USD"`.
  public var rule: String

  /// What was found; nil if the field is missing.
  public var value: FieldValue?

  /// The contract or the event's declaration marks the field as sensitive, or one around or inside it: ``value`` must
  /// not leave the process as it is. See ``redacted()``.
  public var isSensitive: Bool

  /// A violation.
  public init(event: String, field: String, rule: String, value: FieldValue?, isSensitive: Bool = false) {
    self.event = event
    self.field = field
    self.rule = rule
    self.value = value
    self.isSensitive = isSensitive
  }

  /// The same with ``FieldValue/redacted`` in the place of a sensitive value.
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
