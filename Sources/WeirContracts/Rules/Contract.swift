// Contract and EventRule: the rules for a program's events, as a value.

public import Weir

/// The rules for a program's events: which events exist, their fields, and the values of the fields.
///
/// A contract warns and never discards: an event that breaks a rule is flagged with a ``Violation``. A contract is a
/// plain value. ``compiled()`` validates the contract and returns the form that checks events.
///
/// ```swift
/// let contract = Contract("shop", version: "1.2") {
///   EventRule("checkout.completed", kind: .pageAction) {
///     Mandatory("context.user")
///     Mandatory("order", .integer, .range(1...))
///     Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "EUR")
///     Optionally("coupon", .string, .matches("[A-Z0-9]{4,12}"))
///     Mandatory("items", .array, .length(1...)) {
///       Mandatory("sku", .string)
///       Mandatory("price", .number, .range(0...))
///     }
///   }
/// }
/// ```
public struct Contract: Hashable, Sendable {
  /// The contract's name.
  public var name: String

  /// The version, in any numbering scheme.
  public var version: String

  /// Whether events that the contract does not name are allowed. Otherwise they are flagged as `unknown event`: a
  /// contract lists what a program captures, so an unknown name is usually a misspelt one.
  public var allowsUnknownEvents: Bool

  /// Whether every event must have a kind, also events that the contract does not name. An event without a kind is
  /// flagged: see ``EventRule/kind``.
  public var requiresKind: Bool

  /// The rules for the context of every event, also of events that the contract does not name. Their names begin with
  /// `context.`: see ``FieldRule/name``.
  public var everyEvent: [FieldRule]

  /// The events, in the order in which reports list them.
  public var events: [EventRule]

  /// Creates a contract with these rules for every event, and these events.
  public init(
    _ name: String, version: String, allowsUnknownEvents: Bool = false, requiresKind: Bool = false,
    everyEvent: [FieldRule] = [], events: [EventRule]
  ) {
    self.name = name
    self.version = version
    self.allowsUnknownEvents = allowsUnknownEvents
    self.requiresKind = requiresKind
    self.everyEvent = everyEvent
    self.events = events
  }

  /// Creates a contract with the rules for every event, and the events, that the builders list.
  ///
  /// ```swift
  /// let contract = Contract("shop", version: "1.2") {
  ///   Mandatory("context.globals.app", .string, default: "shop")
  /// } events: {
  ///   EventRule("page.viewed") { Mandatory("context.view") }
  /// }
  /// ```
  public init(
    _ name: String, version: String, allowsUnknownEvents: Bool = false, requiresKind: Bool = false,
    @FieldRuleBuilder everyEvent: () -> [FieldRule] = { [] }, @ContractBuilder events: () -> [EventRule]
  ) {
    self.init(
      name, version: version, allowsUnknownEvents: allowsUnknownEvents, requiresKind: requiresKind,
      everyEvent: everyEvent(), events: events())
  }
}

/// The rules for one event.
public struct EventRule: Hashable, Sendable {
  /// The event's name.
  public var name: String

  /// The kind of the event. An event is flagged if its declaration has another kind, or none, as events by name have;
  /// an event without a kind is delivered with this kind. `nil` allows any kind, and none if
  /// ``Contract/requiresKind`` is false.
  public var kind: EventKind?

  /// Whether fields that the contract does not name are allowed, in nested objects too. Otherwise they are flagged as
  /// `unknown field`, unless they are null, which counts as missing.
  public var isOpen: Bool

  /// Whether the event is going to be removed. This is for people and for ``CompiledContract/changes(to:)``: a
  /// deprecated event is checked like any other.
  public var isDeprecated: Bool

  /// The meaning of the event, for people.
  public var description: String

  /// The fields, in the order in which violations are listed.
  public var fields: [FieldRule]

  /// Creates the rules for the event `name` with these fields.
  public init(
    _ name: String, kind: EventKind? = nil, open: Bool = false, deprecated: Bool = false, description: String = "",
    fields: [FieldRule]
  ) {
    self.name = name
    self.kind = kind
    isOpen = open
    isDeprecated = deprecated
    self.description = description
    self.fields = fields
  }

  /// Creates the rules for the event `name` with the fields that the builder lists.
  public init(
    _ name: String, kind: EventKind? = nil, open: Bool = false, deprecated: Bool = false, description: String = "",
    @FieldRuleBuilder fields: () -> [FieldRule] = { [] }
  ) {
    self.init(name, kind: kind, open: open, deprecated: deprecated, description: description, fields: fields())
  }
}
