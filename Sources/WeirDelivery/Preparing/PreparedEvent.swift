// PreparedEvent: an event that was completed, checked and flagged for one provider.

public import Weir
public import WeirContracts

/// An event as a provider gets it: with derived fields and defaults, checked against the contract, with sensitive
/// values replaced, in the form that the provider's ``EventMapper`` returns.
public struct PreparedEvent: Sendable {
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

  /// The parts of an event. They have many references, so they are copied only for a change.
  fileprivate struct Content: Hashable, Sendable {
    var stored: StoredEvent
    var name: String
    var fields: FieldObject
    var context: EventContext
    var kind: EventKind?
    var sampled: SampledUser?
    var flags: Set<Flag> = []
    var violations: [Violation] = []

    init(_ stored: StoredEvent) {
      self.stored = stored
      name = stored.name
      fields = stored.fields
      context = stored.context
      kind = stored.kind
    }
  }

  private enum Source: Sendable {
    /// The event as it is in the log, redacted if `redacts` is true. Decoded where somebody asks.
    case encoded(EncodedEvent, redacts: Bool)
    /// Exactly one element: an array copies its element only for a change.
    case content([Content])
  }

  private var source: Source

  /// What the provider is told beside the event's content.
  package var annotations = DeliveryOptions.Annotations.standard

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
    source = .content([Content(stored)])
  }

  /// Creates an event as it is in the log, which is redacted if `redacts` is true and has no other change. Each access
  /// to a part decodes the event: only for providers that use little more than ``offset``, ``id`` and ``encoded``.
  init(_ encoded: EncodedEvent, redacts: Bool, _ annotations: DeliveryOptions.Annotations) {
    source = .encoded(encoded, redacts: redacts)
    self.annotations = annotations
  }

  /// The event as it is in the log: its id, offset and time, and its name and fields before any change. Sensitive
  /// values are replaced here too once the event is prepared.
  public internal(set) var stored: StoredEvent {
    get { content.stored }
    set { content.stored = newValue }
  }

  /// The name under which the event is delivered.
  public var name: String {
    get { content.name }
    set { content.name = newValue }
  }

  /// The fields that are delivered: the event's fields, derived fields and defaults.
  public var fields: FieldObject {
    get { content.fields }
    _modify { yield &content.fields }
  }

  /// The context that is delivered.
  public var context: EventContext {
    get {
      // Nothing has to be decoded for a context without sensitive values.
      if case .encoded(let event, let redacts) = source, !redacts || event.isPlain { return event.context }
      return content.context
    }
    _modify { yield &content.context }
  }

  /// The category of the event: the one that the event declares, or else the one that the contract has for the event.
  /// `nil` if there is none.
  public var kind: EventKind? {
    get { content.kind }
    set { content.kind = newValue }
  }

  /// Whom the pseudonym in ``context`` stands for; `nil` without a pseudonym.
  var sampled: SampledUser? {
    get { if case .content(let content) = source { content[0].sampled } else { nil } }
    set { content.sampled = newValue }
  }

  /// The findings.
  public package(set) var flags: Set<Flag> {
    get { if case .content(let content) = source { content[0].flags } else { [] } }
    _modify { yield &content.flags }
  }

  /// Whether there are findings.
  var hasFlags: Bool { if case .content(let content) = source { !content[0].flags.isEmpty } else { false } }

  /// The violations of the contract.
  public package(set) var violations: [Violation] {
    get { if case .content(let content) = source { content[0].violations } else { [] } }
    _modify { yield &content.violations }
  }

  private static func content(of event: EncodedEvent, _ redacts: Bool) -> Content {
    Content(redacts ? event.stored.redacted() : event.stored)
  }

  private var content: Content {
    // Lends the parts, because a copy of all of them for one would cost more than most of what is done with it.
    _read {
      switch source {
      case .content(let all): yield all[0]
      case .encoded(let event, let redacts): yield Self.content(of: event, redacts)
      }
    }
    _modify {
      var all: [Content]
      switch source {
      case .content(let known): all = known
      case .encoded(let event, let redacts): all = [Self.content(of: event, redacts)]
      }
      // So that `all` alone has the element, which is then changed in place.
      source = .content([])
      defer { source = .content(all) }
      yield &all[0]
    }
  }
}

// MARK: Events as bytes

extension PreparedEvent {
  /// The event's offset in the log. Costs no decoding.
  package var offset: Offset {
    switch source {
    case .encoded(let event, _): event.offset
    case .content(let content): content[0].stored.offset
    }
  }

  /// The event's id. Costs no decoding.
  package var id: EventID {
    switch source {
    case .encoded(let event, _): event.id
    case .content(let content): content[0].stored.id
    }
  }

  /// The event as its bytes in the log, if these are what the provider gets: nothing was changed, and nothing has to be
  /// redacted but a payload that can't be read. `nil` otherwise.
  package var encoded: EncodedEvent? {
    guard case .encoded(let event, let redacts) = source, !redacts || event.isPlain else { return nil }
    return event
  }

  /// Whether the event may tell a provider of its user: the context has a user with an id and traits.
  var namesUserWithTraits: Bool {
    switch source {
    case .encoded(let event, _): event.namesUserWithTraits
    case .content(let content): content[0].context.user.map { !$0.id.isEmpty && !$0.traits.isEmpty } ?? false
    }
  }

  /// The same event, decoded: the event then holds no memory of its neighbours in the log.
  var decoded: PreparedEvent {
    guard case .encoded = source else { return self }
    var event = self
    event.source = .content([content])
    return event
  }
}

extension PreparedEvent: Hashable {
  public static func == (left: PreparedEvent, right: PreparedEvent) -> Bool {
    left.annotations == right.annotations && left.identifies == right.identifies && left.content == right.content
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(annotations)
    hasher.combine(identifies)
    hasher.combine(content)
  }
}
