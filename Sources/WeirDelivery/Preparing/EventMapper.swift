// EventMapper: changes events for one provider, and selects the events for that provider.

public import Weir
import WeirJSON

/// Changes events for one provider: adds fields, converts names and values to the provider's form, and withholds events
/// that are not for the provider.
///
/// A mapper is a value made of closures. Mappers compose: each mapper changes what the previous mapper returned. A
/// mapper has no effect until it is attached to a provider with ``Provider/mapped(by:)``:
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
/// For other changes, use a closure. The closure returns the changed event, or `nil` if the event is not for the
/// provider:
///
/// ```swift
/// let noTests = EventMapper { event in
///   event.context.user?.id.hasPrefix("test-") == true ? nil : event
/// }
/// ```
///
/// **Order.** Derived fields are computed first, regardless of the place of ``deriving(from:_:)`` among the mappers.
/// They are computed from the event as it was captured, and the contract is checked against the event with these
/// fields. The contract's defaults and flags and the redaction (``DeliveryOptions``) come next. All other mappers come
/// last, in their order. So a closure sees the flags, and never a sensitive value.
///
/// **Withheld events.** A withheld event is never delivered to the provider, and the provider never acknowledges the
/// event. For this provider, the ledger counts the event as ``Ledger/LossReason/withheld``, and the event's journey
/// shows this. The event stays in the log, and other providers get it.
///
/// **Repetition.** If an event is delivered again, it is mapped again. So the result of a mapper should depend only on
/// the event. No mapper changes ``PreparedEvent/stored``, ``PreparedEvent/flags`` and ``PreparedEvent/violations``,
/// which use the field names of the program.
///
/// **Name collisions.** Two fields of one object may get the same name, as `userID` and `user_id` do in snake_case. No
/// value is lost: a field whose name did not change keeps the name, otherwise the first field does. The other fields
/// get the suffixes `_2`, `_3` and so on. ``PreparedEvent/Counts/renamed`` counts these fields.
///
/// **Cost and threads.** Mappers run off the capture path, one event at a time, on the provider's thread. A slow
/// closure delays only its own provider.
public struct EventMapper: Sendable {
  /// What a step does to an event. Returns `false` if the event is not for this provider.
  typealias Change = @Sendable (inout PreparedEvent, inout PreparedEvent.Counts) -> Bool

  /// One step, with its form in a plan's file.
  struct Step: Sendable {
    let form: MapperForm
    let change: Change
  }

  let derivations: [Derivation]
  let steps: [Step]

  /// Creates a mapper that applies these mappers one after the other. Without mappers, events are unchanged.
  public init(_ mappers: EventMapper...) {
    derivations = mappers.flatMap(\.derivations)
    steps = mappers.flatMap(\.steps)
  }

  /// Creates a mapper from a closure, which returns the changed event, or `nil` if the event is not for the provider.
  public init(_ body: @escaping @Sendable (PreparedEvent) -> PreparedEvent?) {
    self.init(.closure("EventMapper(_:)")) { event, _ in
      guard let mapped = body(event) else { return false }
      event = mapped
      return true
    }
  }

  init(_ form: MapperForm, change: @escaping Change) {
    derivations = []
    steps = [Step(form: form, change: change)]
  }

  init(deriving derivation: Derivation) {
    derivations = [derivation]
    steps = []
  }

  /// Returns a mapper that applies this mapper, and then `next`.
  public func then(_ next: EventMapper) -> EventMapper {
    EventMapper(self, next)
  }

  /// Returns the event in the provider's form, or `nil` if the event is not for the provider. Leaves out the steps
  /// between the derived fields and the other mappers: see ``Preparation``.
  func callAsFunction(_ event: PreparedEvent) -> PreparedEvent? {
    var mapped = event
    var counts = PreparedEvent.Counts()
    derive(&mapped, &counts)
    return map(&mapped, &counts) ? mapped : nil
  }

  /// Adds derived fields to an event that no other step has changed.
  func derive(_ event: inout PreparedEvent, _ counts: inout PreparedEvent.Counts) {
    for derivation in derivations { derivation.add(to: &event, &counts) }
  }

  /// Applies the other mappers. Returns `false` if the event is not for the provider.
  func map(_ event: inout PreparedEvent, _ counts: inout PreparedEvent.Counts) -> Bool {
    for step in steps {
      guard step.change(&event, &counts) else { return false }
    }
    return true
  }
}

extension EventMapper {
  /// Keeps only events of these types: events that one of the types can read, or could read except for a field. So a
  /// damaged or redacted field does not exclude an event.
  ///
  /// Decodes the event for each type in turn, which costs some microseconds.
  public static func only(_ types: any Event.Type...) -> EventMapper {
    let names = types.map { "\($0)" }.joined(separator: ", ")
    return EventMapper(.closure("only(\(names))")) { event, _ in types.contains { event.stored.isOf($0) } }
  }

  /// Keeps only events whose names, as the earlier mappers made them, match one of these patterns. `*` in a pattern
  /// matches any text, so `checkout.*` matches `checkout.started`.
  public static func only(events patterns: String...) -> EventMapper { only(events: patterns) }

  /// Withholds events whose names, as the earlier mappers made them, match one of these patterns: see
  /// ``only(events:)``.
  public static func without(events patterns: String...) -> EventMapper { without(events: patterns) }

  static func only(events patterns: [String]) -> EventMapper {
    let names = NamePatterns(patterns)
    return EventMapper(.step("only", [("events", .texts(patterns))])) { event, _ in names.match(event.name) }
  }

  static func without(events patterns: [String]) -> EventMapper {
    let names = NamePatterns(patterns)
    return EventMapper(.step("without", [("events", .texts(patterns))])) { event, _ in !names.match(event.name) }
  }

  /// Keeps a sample of the events whose names, as the earlier mappers made them, match one of these patterns, and all
  /// other events. The sample has all such events of about `fraction` (0 to 1) of the users: the user's id decides,
  /// also if the provider gets a pseudonym, and without a user the opening that captured the event. So a user's events
  /// are kept or withheld together, by every provider with the same fraction.
  public static func sampling(events patterns: String..., fraction: Double) -> EventMapper {
    sampling(events: patterns, fraction: fraction)
  }

  static func sampling(events patterns: [String], fraction: Double) -> EventMapper {
    let names = NamePatterns(patterns)
    let form = MapperForm.step(
      "sampling", [("events", .texts(patterns)), ("fraction", DocumentNode(.number(.double(fraction))))])
    return EventMapper(form) { event, _ in
      guard names.match(event.name) else { return true }
      let user = event.context.user.map { event.sampled?.id ?? $0.id }
      let source = user ?? String(event.stored.id.opening, radix: 16)
      // The upper bits of FNV-1a of similar texts are similar, so they are mixed.
      var hash = FNV1a.hash64(source.utf8)
      hash = (hash ^ (hash >> 32)) &* 0x9e37_79b9_7f4a_7c15
      return Double(hash >> 11) / Double(1 << 53) < fraction
    }
  }

  /// Keeps only events for which the closure returns `true`.
  public static func only(_ isForProvider: @escaping @Sendable (PreparedEvent) -> Bool) -> EventMapper {
    EventMapper(.closure("only(_:)")) { event, _ in isForProvider(event) }
  }

  /// Renames events, by their names as the earlier mappers made them. Other events keep their names.
  public static func renaming(events names: [String: String]) -> EventMapper {
    EventMapper(.step("renaming", [("events", .names(names))])) { event, _ in
      if let name = names[event.name] { event.name = name }
      return true
    }
  }
}

extension StoredEvent {
  /// Returns whether the event is an event of this type: the type can read the event, or could read it except for a
  /// field.
  fileprivate func isOf(_ type: any Event.Type) -> Bool {
    do { return try type.init(self) != nil } catch { return true }
  }
}
