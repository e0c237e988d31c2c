// Registry: a small base for what one area of an application (feed, profile, checkout) tracks and derives.

public import Weir

/// The events of one area, with the tracker that they go to and the fields that are derived from them.
///
/// A feature module declares its events and its registry; no service, and no other module, has to know of them:
///
/// ```swift
/// struct CheckoutRegistry: Registry {
///   static let area = "checkout"
///   let tracker: Tracker
///
///   static func derivedFields(of event: Checkout, in stored: StoredEvent) -> FieldObject {
///     switch event {
///     case .completed(_, let total, let items, _): ["average": .double(total / Double(max(items, 1)))]
///     default: [:]
///     }
///   }
/// }
///
/// let checkout = CheckoutRegistry(tracker: tracker)
/// checkout.track(.completed(order: 7, total: 19.9, items: 2, coupon: ""))
/// ```
///
/// Derived fields cost a capture nothing: they are computed when the event is prepared for a provider, from the event
/// as it is in the log, and are not in the log. ``Preparation`` is given the registries by type; events whose registry
/// it is not given just have no derived fields.
///
/// Registries may be used from any thread.
public protocol Registry<Events>: Sendable {
  /// The events of the area.
  associatedtype Events: Event

  /// The area's name, under which ``Preparation/Counts`` counts what its derivation met.
  static var area: String { get }

  /// Where the area's events go.
  var tracker: Tracker { get }

  /// Fields to add to `event` when it is prepared; none unless written otherwise.
  ///
  /// Called on the thread that prepares, for each event of the area. It must depend on its arguments alone: an event
  /// that is delivered again is derived again. A field that the event has itself is never replaced. If this throws, the
  /// event goes on without derived fields, and that is counted.
  static func derivedFields(of event: Events, in stored: StoredEvent) throws -> FieldObject
}

extension Registry {
  public static func derivedFields(of event: Events, in stored: StoredEvent) throws -> FieldObject { [:] }

  /// Captures an event of the area: ``Tracker/track(_:)``, at no cost of its own.
  @inlinable
  @inline(__always)
  @discardableResult
  public func track(_ event: Events) -> Receipt {
    tracker.track(event)
  }

  /// Captures events of the area, in order: ``Tracker/track(contentsOf:)``.
  @inlinable
  @discardableResult
  public func track(contentsOf events: some Sequence<Events>) -> BulkReceipt {
    tracker.track(contentsOf: events)
  }

  /// What is derived from an event as it is in the log; nil if it is none of the area's.
  static func derivedFields(of stored: StoredEvent) throws -> FieldObject? {
    guard let event = try Events(stored) else { return nil }
    return try derivedFields(of: event, in: stored)
  }
}
