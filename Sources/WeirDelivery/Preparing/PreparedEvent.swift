// PreparedEvent: an event on its way out of the log, completed, checked and flagged.

public import Weir
public import WeirContracts

/// What was noticed about an event while it was prepared. Nothing here keeps it from being delivered.
public enum EventFlag: Hashable, Sendable {
  /// The contract's default was filled in for this field, which the event lacks.
  case defaulted(field: String)
  /// The event has the same content, from the same source, as this one, which was captured within the window of
  /// ``DuplicateRule`` and came first.
  case duplicate(of: EventID)
  /// The event is against the contract; ``PreparedEvent/violations`` says how.
  case violating
}

/// An event as providers get it: completed with derived fields and defaults, checked against the contract, edited by
/// hooks, sensitive values replaced.
public struct PreparedEvent: Hashable, Sendable {
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
  public var flags: Set<EventFlag>

  /// How it is against the contract.
  public var violations: [Violation]

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
