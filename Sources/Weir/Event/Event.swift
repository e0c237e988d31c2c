// Event: what a type conforms to so that its values can be captured and read back.

/// A type whose values are events.
///
/// Events are usually enums, one case an event. There are two ways to conform:
///
/// **Without code.** An enum whose associated values are `Codable` and labelled needs nothing but the conformance:
///
/// ```swift
/// enum Checkout: Codable, Event {
///   case started(cart: UInt64)
///   case completed(order: UInt64, total: Double, coupon: String?)
/// }
/// ```
///
/// Its events are named after type and case (`Checkout.completed`), and each carries the names of its fields. A case
/// with an associated value that has no label is refused as ``DropReason/invalid``, because the log would have no name
/// for the field. A `Codable` structure works too, as one event named ``eventName``. A capture allocates nothing of
/// Weir's own once a thread has captured the type, and costs some 200 nanoseconds, about as much from many threads as
/// from one; what a value's own `encode(to:)` allocates comes on top.
///
/// **By hand,** for the fast path, some tens of nanoseconds: describe the events in ``eventTypes``, write the fields in
/// ``encode(into:)``, and read them in ``init(_:)``.
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
/// ``StoredEvent/index(in:)`` finds the event by its wire id, its name and its former names, so that versions of a
/// program read each other's logs; comparing ``StoredEvent/name`` does where nothing is ever renamed.
///
/// Marked `@inline(__always)`, `encode(into:)` compiles into each capture, which saves two or three nanoseconds more
/// and costs code.
///
/// The kinds that `encode(into:)` puts are held against the declaration at every capture, at no cost that can be
/// measured: an encoder that disagrees with its declaration is refused, so a record never decodes as something else.
public protocol Event: Sendable {
  /// The prefix of the event names of a `Codable` type, and the whole name for a structure. The type's name unless
  /// declared otherwise. Declare it if the type may be renamed while its logs live on.
  static var eventName: String { get }

  /// The events that ``encode(into:)`` writes, in an order that it refers to by index. Names and kinds go into the log
  /// itself, which is therefore readable without this type. Evaluated once for each tracker.
  static var eventTypes: [EventType] { get }

  /// Writes this event: ``EventEncoder/begin(_:)`` with an index into ``eventTypes``, then one `put` for each field, in
  /// the declared order. Called on the capturing thread, exactly once for each capture.
  func encode(into encoder: inout EventEncoder)

  /// Reads an event back.
  ///
  /// Answers nil for events that are not of this type, and for cases that it does not know (a later version of the
  /// program may have written them). Throws if the event is of this type and a field is missing or of another kind.
  init?(_ stored: StoredEvent) throws
}

extension Event {
  public static var eventName: String { String(describing: Self.self) }
}
