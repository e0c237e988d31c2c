// StoredEvent and Recorded: events as readers return them.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An event of any type, as stored in the log.
public struct StoredEvent: Hashable, Sendable {
  /// The name of events whose definition is lost to damage. Their payload is in the field `payload`, as bytes.
  public static let undefinedName = "weir.undefined"

  /// The event's number in the log.
  public let offset: Offset

  /// The event's id, equal to the id in the receipt of the capture.
  public let id: EventID

  /// The time of the capture.
  public let time: Timestamp

  /// The event's name.
  public let name: String

  /// The event's fields. If the payload does not fit the definition, the only field is `payload`, with the payload's
  /// bytes.
  public let fields: FieldObject

  /// The event's declaration as stored in the log, with the fields of the program that captured the event. `nil` if the
  /// declaration is lost, or if there is none: events captured by name have no declaration, and events of `Codable`
  /// types only one that says more than the name (``EventType/init(codable:kind:sensitive:)``).
  public let declaration: EventType?

  /// The global fields, user, view and bound fields that the event was captured with.
  public package(set) var context: EventContext

  /// The time of the capture on the machine's monotonic clock, which does not count time in suspension, in nanoseconds
  /// since a moment of the boot ``bootID``. `nil` if the time is not known.
  public let monotonicNanoseconds: Int64?

  /// The machine's boot in which the event was captured. Monotonic times of different boots can't be compared.
  public let bootID: UUID?

  /// The name of the host on which the event was captured, if the log was collected from other hosts. `nil` in the log
  /// that captured the event.
  public let host: String?

  /// Creates an event, for tests of ``Event/init(_:)``. Programs get events from a reader.
  public init(
    offset: Offset, id: EventID, time: Timestamp, name: String, fields: FieldObject, declaration: EventType? = nil,
    context: EventContext = EventContext(), monotonicNanoseconds: Int64? = nil, bootID: UUID? = nil, host: String? = nil
  ) {
    self.offset = offset
    self.id = id
    self.time = time
    self.name = name
    self.fields = fields
    self.declaration = declaration
    self.context = context
    self.monotonicNanoseconds = monotonicNanoseconds
    self.bootID = bootID
    self.host = host
  }

  /// The category of the event, from its ``declaration``; `nil` if none is declared.
  public var kind: EventKind? { declaration?.kind }

  /// The value of the field `name`, as the requested type.
  ///
  /// If the event has no such field, but the event's ``declaration`` lists `name` as a former name of a field, the
  /// value of that field is returned: an old program can read a field that a newer program renamed. ``value(_:)`` also
  /// considers the reader's own former names.
  ///
  /// Throws a ``FieldError`` if the field is missing, of another kind, or out of the type's range. For an optional
  /// type, a missing field is `nil`, so a field can be added to an event while older logs are still read.
  public subscript<T: EventValue>(name: String) -> T {
    get throws {
      do {
        return try T(fieldValue: find(name) ?? .null)
      } catch let error as FieldError {
        throw error.inside(name)
      }
    }
  }

  /// Whether the log itself wrote this event: a gap (refused captures) or a hole (offsets without an event).
  /// Known by the lane in the ``id``, which no captured event has: a C program may capture an event of any name.
  public var isNotice: Bool { id.isNotice }
}

extension StoredEvent: CustomStringConvertible {
  /// One line with offset, time, name and fields, such as `12 2026-11-21T00:00:00.123456789Z checkout.completed {order:
  /// 7, total: 19.9}`.
  public var description: String { "\(offset) \(time) \(name) \(fields)" }
}

/// An event of a known type, with its offset, id, time and context.
public struct Recorded<E: Event>: Sendable {
  /// The event's number in the log.
  public let offset: Offset

  /// The event's id, equal to the id in the receipt of the capture.
  public let id: EventID

  /// The time of the capture.
  public let time: Timestamp

  /// The global fields, user, view and bound fields that the event was captured with.
  public let context: EventContext

  /// The event.
  public let event: E

  /// Reads `stored` as an event of type `E`. Returns `nil` if the event is of another type. Throws what
  /// ``Event/init(_:)`` throws.
  public init?(_ stored: StoredEvent) throws {
    guard let event = try E(stored) else { return nil }
    offset = stored.offset
    id = stored.id
    time = stored.time
    context = stored.context
    self.event = event
  }
}

extension Recorded: Equatable where E: Equatable {}
extension Recorded: Hashable where E: Hashable {}
