// EventMapper: what is done to events for one provider, and which events are not for that provider.

public import Weir

/// What is done to events for one provider: fields are added, names and values get the provider's form, and events that
/// are not for the provider are withheld.
///
/// A mapper is a value made of closures, and mappers compose: each works on what the one before it made. A mapper does
/// nothing until it is attached to a provider with ``Provider/mapped(by:)``:
///
/// ```swift
/// let shop = EventMapper(
///   .only(Checkout.self, PageView.self),
///   .deriving(from: Checkout.self) { checkout, _ in ["items": .int(checkout.items)] },
///   .adding(["channel": "web"]),
///   .adding("page") { $0.context.view.map { .string($0.name) } },
///   .snakeCase(),
///   .flattening())
/// try dispatcher.add(HTTPProvider(SegmentPreset(writeKey: key)).mapped(by: shop))
/// ```
///
/// What none of the mappers does, a closure does. It returns the changed event, or nil if the event is not for the
/// provider:
///
/// ```swift
/// let noTests = EventMapper { event in
///   event.context.user?.id.hasPrefix("test-") == true ? nil : event
/// }
/// ```
///
/// **Order.** Derived fields come first, whatever the place of ``deriving(from:_:)`` among the other mappers: they are
/// computed from the event as it was captured, and the contract is held against the event with them. Then come the
/// contract's defaults and flags and the redaction (``DeliveryOptions``), and then all other mappers, in their order.
/// So a closure sees the flags, and never a sensitive value.
///
/// **Withheld events.** An event that is withheld is never given to the provider, and the provider never acknowledges
/// it: the ledger counts it as ``Ledger/LossReason/withheld`` for this provider, and its journey says so. It stays in
/// the log, and other providers get it.
///
/// **Repetition.** An event may be delivered again, and is mapped again then. So a mapper should depend on the event
/// alone. No mapper changes ``PreparedEvent/stored``, ``PreparedEvent/flags`` and ``PreparedEvent/violations``, which
/// name fields as the program does.
///
/// **Names that collide.** Two fields of one object can come out with the same name, as `userID` and `user_id` do in
/// snake_case. No value is lost then: a field whose name did not change keeps it, after that the one that comes first;
/// the others get `_2`, `_3` and so on. ``PreparedEvent/Counts/renamed`` counts them.
///
/// **Cost and threads.** Mappers run off the capture path, one event at a time, in the provider's own task. A closure
/// that takes long holds up its own provider alone.
public struct EventMapper: Sendable {
  /// One step. False: the event is not for this provider.
  typealias Step = @Sendable (inout PreparedEvent, inout PreparedEvent.Counts) -> Bool

  private let derivations: [Derivation]
  private let steps: [Step]

  /// Does what each of the mappers does, one after the other. Without any, events stay as they are.
  public init(_ mappers: EventMapper...) {
    derivations = mappers.flatMap(\.derivations)
    steps = mappers.flatMap(\.steps)
  }

  /// Does what the closure does: it returns the changed event, or nil if the event is not for the provider.
  public init(_ body: @escaping @Sendable (PreparedEvent) -> PreparedEvent?) {
    self.init(step: { event, _ in
      guard let mapped = body(event) else { return false }
      event = mapped
      return true
    })
  }

  init(step: @escaping Step) {
    derivations = []
    steps = [step]
  }

  init(deriving derivation: Derivation) {
    derivations = [derivation]
    steps = []
  }

  /// This mapper, and `next` on what it made.
  public func then(_ next: EventMapper) -> EventMapper {
    EventMapper(self, next)
  }

  /// The event in the provider's form; nil if it is not for the provider. What comes between derived fields and the
  /// rest is left out: see ``Preparation``.
  func callAsFunction(_ event: PreparedEvent) -> PreparedEvent? {
    var mapped = event
    var counts = PreparedEvent.Counts()
    derive(&mapped, &counts)
    return map(&mapped, &counts) ? mapped : nil
  }

  /// Adds derived fields to an event that nothing was done to yet.
  func derive(_ event: inout PreparedEvent, _ counts: inout PreparedEvent.Counts) {
    for derivation in derivations { derivation.add(to: &event, &counts) }
  }

  /// Does the rest; false if the event is not for the provider.
  func map(_ event: inout PreparedEvent, _ counts: inout PreparedEvent.Counts) -> Bool {
    for step in steps {
      guard step(&event, &counts) else { return false }
    }
    return true
  }
}

extension EventMapper {
  /// Events of these types alone: those that one of the types can read, or could but for a field. What is damaged or
  /// replaced in an event does not make the event another type's.
  ///
  /// Costs a decoding of the event for each type in turn, some microseconds.
  public static func only(_ types: any Event.Type...) -> EventMapper {
    only { event in types.contains { event.stored.isOf($0) } }
  }

  /// Those events alone for which the closure answers true.
  public static func only(_ isForProvider: @escaping @Sendable (PreparedEvent) -> Bool) -> EventMapper {
    EventMapper(step: { event, _ in isForProvider(event) })
  }

  /// Other names for events, by their name as it is by then. Other events keep their names.
  public static func renaming(events names: [String: String]) -> EventMapper {
    EventMapper(step: { event, _ in
      if let name = names[event.name] { event.name = name }
      return true
    })
  }
}

extension StoredEvent {
  /// Whether the event is one of the type's: one that it reads, or would but for a field.
  fileprivate func isOf(_ type: any Event.Type) -> Bool {
    do { return try type.init(self) != nil } catch { return true }
  }
}
