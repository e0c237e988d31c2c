// StoredEvent and Recorded: events as they are read back.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// An event as it is in the log, of any type.
public struct StoredEvent: Hashable, Sendable {
  /// The name of events whose definition is lost to damage. Their payload is in the field `payload`, as bytes.
  public static let undefinedName = "weir.undefined"

  /// Its number in the log.
  public let offset: Offset

  /// Its identity, equal to the one in the receipt of its capture.
  public let id: EventID

  /// When it was captured.
  public let time: Timestamp

  /// The event's name.
  public let name: String

  /// The event's fields. If the payload does not fit its definition, one field `payload` with the bytes as they are.
  public let fields: FieldObject

  /// The event's declaration as it is in the log; nil if there is none (events of `Codable` types, and those captured
  /// by name) or it is lost. Its fields are those of the program that captured the event.
  public let declaration: EventType?

  /// Who and what the event was captured for: global fields, user, view, and what was bound around the capture.
  public let context: EventContext

  /// The capture on the monotonic clock of the machine, which leaves out the time that it was suspended: nanoseconds
  /// since some moment of the boot that ``bootID`` names. Nil if it is not known.
  public let monotonicNanoseconds: Int64?

  /// The boot of the machine that the event was captured in. Monotonic times of different boots can't be compared.
  public let bootID: UUID?

  /// An event as a reader gives it; public for tests of ``Event/init(_:)``.
  public init(
    offset: Offset, id: EventID, time: Timestamp, name: String, fields: FieldObject, declaration: EventType? = nil,
    context: EventContext = EventContext(), monotonicNanoseconds: Int64? = nil, bootID: UUID? = nil
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
  }

  /// The field named `name`, as the type that is asked for.
  ///
  /// Also one that goes by another name in the log, if the event's ``declaration`` says that this is one of its former
  /// ones: an old program reads what a newer one renamed. ``value(_:)`` knows the reader's former names too.
  ///
  /// Throws a ``FieldError`` if the field is missing, of another kind, or out of the type's range. An optional type
  /// takes a missing field as nil, so that a field can be added to an event while older logs are read.
  public subscript<T: EventValue>(name: String) -> T {
    get throws {
      do {
        return try T(fieldValue: find(name) ?? .null)
      } catch let error as FieldError {
        throw error.inside(name)
      }
    }
  }

  /// Whether the log itself wrote this: a gap (captures that were refused), or a hole (offsets that no event has).
  public var isNotice: Bool { name == "weir.gap" || name == "weir.hole" }
}

extension StoredEvent: CustomStringConvertible {
  /// One line: offset, time, name and fields, such as
  /// `12 2026-11-21T00:00:00.123456789Z checkout.completed {order: 7, total: 19.9}`.
  public var description: String { "\(offset) \(time) \(name) \(fields)" }
}

/// An event of a known type, with what the log knows about it.
public struct Recorded<E: Event>: Sendable {
  /// Its number in the log.
  public let offset: Offset

  /// Its identity, equal to the one in the receipt of its capture.
  public let id: EventID

  /// When it was captured.
  public let time: Timestamp

  /// Who and what the event was captured for.
  public let context: EventContext

  /// The event.
  public let event: E

  /// The event in `stored` if it is one of `E`'s; nil if not. Throws what ``Event/init(_:)`` throws.
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
