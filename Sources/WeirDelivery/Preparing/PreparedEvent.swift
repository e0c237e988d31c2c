// PreparedEvent: an event on its way out of the log, completed, checked and flagged.

public import Weir
public import WeirContracts

/// An event as providers get it: with derived fields and defaults, checked against the contract, sensitive values
/// replaced, in the form that the provider's ``EventMapper`` gives it.
public struct PreparedEvent: Hashable, Sendable {
  /// What was noticed about an event while it was prepared. No flag keeps an event from being delivered.
  public enum Flag: Hashable, Sendable {
    /// The contract's default was filled in for this field, which the event lacks.
    case defaulted(field: String)
    /// The event has the same content, from the same source, as this one, which was captured within
    /// ``DeliveryOptions/duplicateWindow`` and came first.
    case duplicate(of: EventID)
    /// The event is against the contract; ``PreparedEvent/violations`` says how.
    case violating
  }

  /// The event as it is in the log: its id, offset and time, its name and fields before anything was done to them. Once
  /// the event is prepared, sensitive values are replaced here too.
  public internal(set) var stored: StoredEvent

  /// The name to deliver it under.
  public var name: String

  /// The fields to deliver: those of the event, derived ones, defaults.
  public var fields: FieldObject

  /// The context to deliver.
  public var context: EventContext

  /// What was noticed.
  public package(set) var flags: Set<Flag>

  /// How it is against the contract.
  public package(set) var violations: [Violation]

  /// The event as it is in the log, nothing done to it yet.
  public init(_ stored: StoredEvent) {
    self.stored = stored
    name = stored.name
    fields = stored.fields
    context = stored.context
    flags = []
    violations = []
  }
}
