// Provider: a destination of events.

public import Weir

/// A provider's decision on one event.
public enum Verdict: Hashable, Sendable {
  /// The provider has stored the event permanently. The event may be removed from the log.
  case accepted
  /// The provider will never accept the event, for this reason.
  case rejected(String)
  /// The event must be delivered again, no sooner than after this time. `nil` leaves the time to the back-off.
  case retry(after: Duration?)
}

/// Thrown by ``Provider/deliver(_:)`` if the provider refused the batch as a whole, and accepted no event of the batch.
///
/// The batch is split in halves, which are delivered again, until the faulty event is alone. That event is rejected for
/// this reason. If a provider that never accepted an event rejects a hundred events in a row in this way, for the same
/// reason, delivery stops as with ``DeliveryStopped``.
public struct BatchRefused: Error, Hashable, Sendable, CustomStringConvertible {
  /// The provider's message, without credentials.
  public var reason: String

  /// Creates a refusal for this reason.
  public init(_ reason: String) {
    self.reason = reason
  }

  public var description: String { reason }
}

/// Thrown by a provider if nothing can be delivered before somebody fixes a problem, such as a wrong key or a wrong
/// address.
///
/// The delivery to this provider stops, logs the reason, and keeps the events. The provider is tried again with a few
/// events: first after about ``DeliveryOptions/Backoff/openFor``, then after pauses that double up to
/// ``DeliveryOptions/Backoff/most``, until the provider accepts some events. The provider is tried immediately after
/// ``Dispatcher/resume(_:)`` and at the next opening. A flush and a shutdown do not wait for the provider.
public struct DeliveryStopped: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem and its remedy, without credentials.
  public var reason: String

  /// Creates a stop for this reason.
  public init(_ reason: String) {
    self.reason = reason
  }

  public var description: String { reason }
}

/// A destination of events: a file, a service, or your own code.
///
/// To change events before the provider gets them, attach an ``EventMapper`` with ``mapped(by:)``.
///
/// Events are delivered at least once. If the process dies before an event's verdict is on disk, the event is delivered
/// again, with the same id in ``PreparedEvent/stored``.
public protocol Provider: Sendable {
  /// The provider's name: letters, digits, `-` and `_`. The name identifies the cursor, so the name must never change.
  var name: String { get }

  /// Called once before all other calls, and again after it threw.
  func setup() async throws

  /// Tells the provider that this user is the process's default user from here on. Called in order with the events, and
  /// again after a restart or a rewind. The provider's mapper applies to the user, in an event `weir.associated`. If the
  /// mapper withholds that event, the user has the id alone; if it removes the user, ``disassociate()`` is called.
  func associate(_ user: EventUser) async throws

  /// Tells the provider that the process has no default user from here on. Called in order with the events.
  func disassociate() async throws

  /// Tells the provider what is known about a user whom no event names yet: called after ``associate(_:)``, once for
  /// each change and not again after a restart. Events tell of their own users with ``PreparedEvent/identifies``.
  ///
  /// If the provider rejects an event that tells of its user, this function is called for the user, because no other
  /// event of the user may come. If the call throws anything but ``BatchRefused``, the event is delivered again. A
  /// later event of the user tells again.
  func identify(_ user: EventUser) async throws

  /// Delivers events, in the order of their offsets. Returns a verdict for each event, in the same order.
  ///
  /// Throwing an error has the same effect as returning ``Verdict/retry(after:)`` for all events, except for
  /// ``BatchRefused`` and ``DeliveryStopped``. Never called again before it returns. If the call takes too long, its
  /// task is cancelled, and the events are delivered again.
  ///
  /// Must not wait for the dispatcher that calls it. A ``Dispatcher/flush(timeout:)`` or ``Dispatcher/remove(_:)`` in
  /// this call would wait for this same call, until the call is cancelled.
  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict]

  /// Called once, after all other calls.
  func shutdown() async
}

extension Provider {
  public func setup() async throws {}
  public func associate(_ user: EventUser) async throws {}
  public func disassociate() async throws {}
  public func identify(_ user: EventUser) async throws {}
  public func shutdown() async {}
}
