// PreparedEvent: an event that was completed, checked and flagged for one provider.

public import Weir
public import WeirContracts

/// An event as a provider gets it: with derived fields and defaults, checked against the contract, with sensitive
/// values replaced, in the form that the provider's ``EventMapper`` returns.
public struct PreparedEvent: Hashable, Sendable {
  /// A finding about an event. No flag prevents the delivery of the event.
  public enum Flag: Hashable, Sendable {
    /// The event lacks this field, and the contract's default was filled in. The field is the path in the contract,
    /// such as `currency` or `context.globals.app`.
    case defaulted(field: String)
    /// The event is a duplicate of this event: both have the same content and the same source, and were captured within
    /// ``DeliveryOptions/duplicateWindow``. The other event came first.
    case duplicate(of: EventID)
    /// The event violates the contract: see ``PreparedEvent/violations``.
    case violating
  }

  /// The event as it is in the log: its id, offset and time, and its name and fields before any change. Sensitive
  /// values are replaced here too once the event is prepared.
  public internal(set) var stored: StoredEvent

  /// The name under which the event is delivered.
  public var name: String

  /// The fields that are delivered: the event's fields, derived fields and defaults.
  public var fields: FieldObject

  /// The context that is delivered.
  public var context: EventContext

  /// The category of the event: the one that the event declares, or else the one that the contract has for the event.
  /// `nil` if there is none.
  public var kind: EventKind?

  /// What the provider is told beside the event's content.
  package var annotations = DeliveryOptions.Annotations.standard

  /// Whom the pseudonym in ``context`` stands for; `nil` without a pseudonym.
  var sampled: SampledUser?

  /// The findings.
  public package(set) var flags: Set<Flag>

  /// The violations of the contract.
  public package(set) var violations: [Violation]

  /// Whether the provider has yet to be told the traits of the event's user: the user is new to the provider, or has
  /// other traits than the provider was told. A provider that knows users sends the traits with this event, and only
  /// with such events.
  ///
  /// A provider counts as told when the provider accepts the event. If the provider rejects the event,
  /// ``Provider/identify(_:)`` is called for the user. What the provider was told is stored beside the provider's
  /// cursor, so a restart repeats nothing that was accepted. A kill may repeat what was told since the last move of the
  /// cursor.
  public package(set) var identifies = false

  /// Creates an event as it is in the log, before any change.
  public init(_ stored: StoredEvent) {
    self.stored = stored
    name = stored.name
    fields = stored.fields
    context = stored.context
    kind = stored.kind
    flags = []
    violations = []
  }
}
