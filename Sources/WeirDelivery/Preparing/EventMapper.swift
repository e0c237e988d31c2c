// EventMapper: turns the names and fields of prepared events into a provider's form.

import Weir

/// Turns prepared events into the form that a provider wants: names, fields, values; or says that one is not for it.
///
/// Mappers are values and compose, each working on what the one before made:
///
/// ```swift
/// let mapper = EventMapper(
///   .dropEvents("debug.tick"),
///   .snakeCase(words: ["OAuth"]),
///   .renameEvents(["checkout_completed": "purchase"]),
///   .flatten(),
///   .jsonValues())
/// ```
///
/// A mapper depends on the event alone: the same event is mapped the same whenever it is delivered. None of them
/// touches ``PreparedEvent/stored``, ``PreparedEvent/flags`` and ``PreparedEvent/violations``, which name fields as the
/// program does.
///
/// **Names that collide.** Two fields of one object can come out with the same name, as `userID` and `user_id` do in
/// snake_case. No value is lost then: a field whose name did not change keeps it, after that the one that comes first;
/// the others get `_2`, `_3` and so on. ``Preparation/Counts/renamed`` counts them.
public struct EventMapper: Sendable {
  /// What mappers count.
  struct Counts: Hashable, Sendable {
    /// Fields that got a number at the end of their name, which another one has.
    var renamed: UInt64 = 0
    /// Names and values that were cut.
    var truncated: UInt64 = 0
  }

  /// One step. False: the event is not for this provider.
  typealias Step = @Sendable (inout PreparedEvent, inout Counts) -> Bool

  private let steps: [Step]

  /// Does one after the other. Of none, leaves events as they are.
  public init(_ mappers: EventMapper...) {
    steps = mappers.flatMap(\.steps)
  }

  /// A mapper of your own: changes the event, and answers whether it is for the provider.
  ///
  /// ```swift
  /// let noTests = EventMapper { event in event.context.user?.id.hasPrefix("test-") != true }
  /// ```
  public init(_ body: @escaping @Sendable (inout PreparedEvent) -> Bool) {
    self.init(step: { event, _ in body(&event) })
  }

  init(step: @escaping Step) {
    steps = [step]
  }

  /// This mapper, and `next` on what it made.
  public func then(_ next: EventMapper) -> EventMapper {
    EventMapper(self, next)
  }

  /// The event in the provider's form; nil if it is not for the provider.
  public func callAsFunction(_ event: PreparedEvent) -> PreparedEvent? {
    var mapped = event
    var counts = Counts()
    return map(&mapped, &counts) ? mapped : nil
  }

  func map(_ event: inout PreparedEvent, _ counts: inout Counts) -> Bool {
    for step in steps {
      guard step(&event, &counts) else { return false }
    }
    return true
  }
}

extension EventMapper {
  /// Events of these names alone.
  public static func keepEvents(_ names: String...) -> EventMapper {
    let names = Set(names)
    return EventMapper { names.contains($0.name) }
  }

  /// All but the events of these names.
  public static func dropEvents(_ names: String...) -> EventMapper {
    let names = Set(names)
    return EventMapper { !names.contains($0.name) }
  }

  /// Other names for events, by their name as it is by then.
  public static func renameEvents(_ names: [String: String]) -> EventMapper {
    EventMapper { event in
      if let name = names[event.name] { event.name = name }
      return true
    }
  }

  /// A prefix before the name of each event.
  public static func prefixEvents(_ prefix: String) -> EventMapper {
    EventMapper { event in
      event.name = prefix + event.name
      return true
    }
  }
}
