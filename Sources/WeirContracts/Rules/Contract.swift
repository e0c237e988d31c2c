// Contract and EventRule: what the events of a program are to look like, as a value.

public import Weir

/// What the events of a program are to look like: which there are, their fields, and what these may hold.
///
/// A contract warns and never discards: what is against it is a ``Violation``, which flags the event. It is a plain
/// value; ``compiled()`` checks that it makes sense and gives what events are checked with.
///
/// ```swift
/// let contract = Contract("shop", version: "1.2") {
///   EventRule("checkout.completed", kind: .pageAction) {
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

  /// The version, in whatever scheme you number them.
  public var version: String

  /// Events that the contract does not name are as they should be. Without it they are flagged as `unknown event`: a
  /// contract is the list of what a program captures, and a name that is not on it is most often a misspelt one.
  public var allowsUnknownEvents: Bool

  /// The events, in the order in which reports list them.
  public var events: [EventRule]

  /// A contract of these events.
  public init(_ name: String, version: String, allowsUnknownEvents: Bool = false, events: [EventRule]) {
    self.name = name
    self.version = version
    self.allowsUnknownEvents = allowsUnknownEvents
    self.events = events
  }

  /// A contract of the events that `events` lists.
  public init(
    _ name: String, version: String, allowsUnknownEvents: Bool = false, @ContractBuilder events: () -> [EventRule]
  ) {
    self.init(name, version: version, allowsUnknownEvents: allowsUnknownEvents, events: events())
  }
}

/// What a contract says about one event.
public struct EventRule: Hashable, Sendable {
  /// The event's name.
  public var name: String

  /// What sort of thing the event reports. An event whose declaration says another kind is flagged; one that says none
  /// is not.
  public var kind: EventKind?

  /// Fields that the contract does not name are as they should be, in nested objects too. Without it they are flagged
  /// as `unknown field`, unless they are null, which is as good as missing.
  public var isOpen: Bool

  /// The event is to go. For people and for ``CompiledContract/changes(to:)``: a deprecated event is checked as any
  /// other.
  public var isDeprecated: Bool

  /// What the event means, for people.
  public var description: String

  /// The fields, in the order in which violations are listed.
  public var fields: [FieldRule]

  /// What a contract says about the event `name`, with these fields.
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

  /// What a contract says about the event `name`, with the fields that `fields` lists.
  public init(
    _ name: String, kind: EventKind? = nil, open: Bool = false, deprecated: Bool = false, description: String = "",
    @FieldRuleBuilder fields: () -> [FieldRule] = { [] }
  ) {
    self.init(name, kind: kind, open: open, deprecated: deprecated, description: description, fields: fields())
  }
}
