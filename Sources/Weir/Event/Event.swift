// Event: the protocol of types whose values are captured and read back.

/// A type whose values are events.
///
/// Events are usually enums, with one case for each event. There are two ways to conform:
///
/// **Without code.** An enum with labelled, `Codable` associated values only declares the conformance:
///
/// ```swift
/// enum Checkout: Codable, Event {
///   case started(cart: UInt64)
///   case completed(order: UInt64, total: Double, coupon: String?)
/// }
/// ```
///
/// The events are named after type and case (`Checkout.completed`), and each event carries the names of its fields. A
/// case with an unlabelled associated value is refused as ``DropReason/invalid``, because the log would have no name
/// for the field. A `Codable` structure is one event, named ``eventName``. A kind and sensitive fields are declared
/// with ``EventType/init(codable:kind:sensitive:)``.
///
/// A capture costs some 600 nanoseconds, and more if many threads capture at once: the standard library allocates the
/// containers that the value is encoded into, and their metadata is shared by all threads.
///
/// **By hand,** for captures of some tens of nanoseconds. Declare the events in ``eventTypes``, write the fields in
/// ``encode(into:)``, and read the fields in ``init(_:)``.
///
/// ```swift
/// enum Checkout: Event {
///   case started(cart: UInt64)
///   case completed(order: UInt64, total: Double)
///
///   static let eventTypes = [
///     EventType("checkout.started", [Field("cart", .uint64)]),
///     EventType("checkout.completed", [Field("order", .uint64), Field("total", .double)]),
///   ]
///
///   func encode(into encoder: inout EventEncoder) {
///     switch self {
///     case .started(let cart):
///       encoder.begin(0)
///       encoder.put(cart)
///     case .completed(let order, let total):
///       encoder.begin(1)
///       encoder.put(order)
///       encoder.put(total)
///     }
///   }
///
///   init?(_ stored: StoredEvent) throws {
///     switch stored.index(in: Self.eventTypes) {
///     case 0: self = .started(cart: try stored["cart"])
///     case 1: self = .completed(order: try stored["order"], total: try stored["total"])
///     default: return nil
///     }
///   }
/// }
/// ```
///
/// ``StoredEvent/index(in:)`` finds the event by its wire id, its name and its former names, so different versions of a
/// program read each other's logs. If nothing is ever renamed, comparing ``StoredEvent/name`` is enough.
///
/// An `encode(into:)` marked `@inline(__always)` compiles into each capture. That saves two or three nanoseconds and
/// enlarges the code.
///
/// Each capture compares the kinds that `encode(into:)` puts with the declaration, at no measurable cost. An event that
/// does not match its declaration is refused, so a record never decodes as something else.
public protocol Event: Sendable {
  /// The prefix of the event names of a `Codable` enum, or the whole event name of a `Codable` structure. The default
  /// is the type's name. Declare the name if the type may be renamed while its logs are still read.
  static var eventName: String { get }

  /// The events that ``encode(into:)`` writes. ``encode(into:)`` refers to an event by its index here. The log stores
  /// names and kinds, so it can be read without this type. Evaluated once for each tracker.
  static var eventTypes: [EventType] { get }

  /// Writes this event: calls ``EventEncoder/begin(_:)`` with an index into ``eventTypes``, then `put` once for each
  /// field, in the declared order. Called exactly once for each capture, on the capturing thread.
  func encode(into encoder: inout EventEncoder)

  /// Reads an event back.
  ///
  /// Returns `nil` for events of other types, and for cases that this version of the type does not know. Throws if the
  /// event is of this type and a field is missing or of another kind.
  init?(_ stored: StoredEvent) throws
}

extension Event {
  public static var eventName: String { String(describing: Self.self) }
}
