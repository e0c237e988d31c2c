// Mappers that derive: fields computed from an event as it was captured.

public import Weir

extension EventMapper {
  /// Adds fields computed from an event of one type. The closure gets the event, and the event as it is stored in the
  /// log.
  ///
  /// Each area of a program (feed, profile, checkout) can keep its derivations next to its events:
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
  /// Derived fields cost a capture nothing, and are not in the log. They are computed from the true values of the event
  /// before any other step. A field that the event has, or that was derived before, is never replaced;
  /// ``PreparedEvent/Counts/collisions`` counts such fields by the type's name. If the closure throws, or the event
  /// can't be read as an event of its type, the event continues without the derived fields, and
  /// ``PreparedEvent/Counts/underived`` counts the event.
  ///
  /// The closure gets the true values of sensitive fields too. A field derived from sensitive values is redacted only
  /// if the contract marks the field.
  public static func deriving<E: Event>(
    from type: E.Type, _ fields: @escaping @Sendable (E, StoredEvent) throws -> FieldObject
  ) -> EventMapper {
    EventMapper(
      deriving: Derivation(name: "\(E.self)", form: .closure("deriving(from: \(E.self))")) { stored in
        guard let event = try E(stored) else { return [:] }
        return try fields(event, stored)
      })
  }

  /// Adds fields computed from an event of any type, like ``deriving(from:_:)``. Problems are counted under
  /// `StoredEvent`.
  public static func deriving(
    _ fields: @escaping @Sendable (StoredEvent) throws -> FieldObject
  ) -> EventMapper {
    EventMapper(deriving: Derivation(name: "\(StoredEvent.self)", form: .closure("deriving(_:)"), fields: fields))
  }

  /// A derivation, and the name under which its problems are counted.
  struct Derivation: Sendable {
    let name: String
    let form: MapperForm
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
