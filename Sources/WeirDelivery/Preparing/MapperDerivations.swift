// Mappers that derive: fields that follow from an event as it was captured.

public import Weir

extension EventMapper {
  /// Fields that follow from an event of one type. The closure gets the event, and the event as it is in the log.
  ///
  /// An area of a program (feed, profile, checkout) keeps what is derived from its events next to them:
  ///
  /// ```swift
  /// extension EventMapper {
  ///   static let checkout = deriving(from: Checkout.self) { checkout, _ in
  ///     switch checkout {
  ///     case .completed(_, let total, let items): ["average": .double(total / Double(max(items, 1)))]
  ///     default: [:]
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Derived fields cost a capture nothing, and are not in the log: they are computed from the true values of the event
  /// before anything else is done to it. A field that the event has itself, or that was derived before, is never
  /// replaced: ``PreparedEvent/Counts/collisions`` counts it, by the type's name. If the closure throws, or the event
  /// can't be read as one of its type, the event goes on without, and ``PreparedEvent/Counts/underived`` counts it.
  ///
  /// The values are the true ones, of sensitive fields too: a field that is computed from these is replaced before the
  /// provider gets the event only if the contract marks it.
  public static func deriving<E: Event>(
    from type: E.Type, _ fields: @escaping @Sendable (E, StoredEvent) throws -> FieldObject
  ) -> EventMapper {
    EventMapper(
      deriving: Derivation(name: "\(E.self)") { stored in
        guard let event = try E(stored) else { return [:] }
        return try fields(event, stored)
      })
  }

  /// Fields that follow from an event of any type, as ``deriving(from:_:)`` has it. What is counted is counted under
  /// `StoredEvent`.
  public static func deriving(
    _ fields: @escaping @Sendable (StoredEvent) throws -> FieldObject
  ) -> EventMapper {
    EventMapper(deriving: Derivation(name: "\(StoredEvent.self)", fields: fields))
  }

  /// A derivation, and the name that its faults are counted under.
  struct Derivation: Sendable {
    let name: String
    let fields: @Sendable (StoredEvent) throws -> FieldObject

    func add(to event: inout PreparedEvent, _ counts: inout PreparedEvent.Counts) {
      do {
        for field in try fields(event.stored) {
          if event.fields[field.name] == nil {
            event.fields[field.name] = field.value
          } else {
            counts.collisions[name, default: 0] += 1
          }
        }
      } catch {
        counts.underived[name, default: 0] += 1
      }
    }
  }
}
