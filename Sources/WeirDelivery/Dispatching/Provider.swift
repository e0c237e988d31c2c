// Provider: where events are delivered to.

public import Weir

/// What a provider answers for one event.
public enum Verdict: Hashable, Sendable {
  /// The provider has the event for good. The log may remove the event.
  case accepted
  /// The provider will never take the event, for this reason. The event goes to the dead letters.
  case rejected(String)
  /// The provider wants the event again, not before this time has passed; `nil` leaves the time to the back-off.
  case retry(after: Duration?)
}

/// Thrown by ``Provider/deliver(_:)``: the provider refused the batch as a whole, and took no event of it.
///
/// Delivery splits the batch in halves and gives each half again, until the event at fault stands alone. That event is
/// rejected for this reason. A provider that never accepted an event, and has rejected a hundred in a row in this way
/// for the same reason, stops delivery as ``DeliveryStopped`` does.
public struct BatchRefused: Error, Hashable, Sendable, CustomStringConvertible {
  /// The provider's reason, without credentials.
  public var reason: String

  /// Creates a refusal.
  public init(_ reason: String) {
    self.reason = reason
  }

  public var description: String { reason }
}

/// Thrown by a provider: no event can be delivered before a person mends the cause, such as a wrong key or address.
///
/// Delivery to this provider stops, logs the reason, and keeps the events. Delivery tries a few events after about
/// ``DeliveryOptions/Backoff/openFor``, and then after pauses that double up to ``DeliveryOptions/Backoff/most``, until
/// the provider accepts some. ``Dispatcher/resume(_:)`` and the next start try at once. Neither a flush nor the end of
/// ``Dispatcher/run(budget:)`` waits for a stopped provider.
public struct DeliveryStopped: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong and what to do, without credentials.
  public var reason: String

  /// Creates a stop.
  public init(_ reason: String) {
    self.reason = reason
  }

  public var description: String { reason }
}

/// Takes the events of a log: a file, a service, or code of your own. An ``EventMapper``, attached with
/// ``mapped(by:)``, brings each event into the provider's form.
///
/// Delivery is at least once. An event comes again if the process died before the verdict on the event was on the disk,
/// with the same ``PreparedEvent/stored`` id.
public protocol Provider: Sendable {
  /// The provider's name: letters, digits, `-` and `_`. The name is that of the cursor, so a new name begins anew.
  var name: String { get }

  /// Called once before every other call, and again after it has thrown.
  func setup() async throws

  /// Called in order with the events: from here on, the process has this default user.
  func associate(_ user: EventUser) async throws

  /// Called in order with the events: from here on, the process has no default user.
  func disassociate() async throws

  /// Takes events in order of offset, and returns a verdict for each, in the same order.
  ///
  /// An error counts as ``Verdict/retry(after:)`` for all events, except for ``BatchRefused`` and ``DeliveryStopped``.
  /// The next call comes after this one has returned. A call that takes longer than ``DeliveryOptions/attemptTimeout``
  /// is cancelled, and its events come again. Don't wait for the dispatcher here: ``Dispatcher/flush(timeout:)`` and
  /// ``Dispatcher/remove(_:)`` would wait for this very call until it is cancelled.
  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict]

  /// Called once, after every other call.
  func shutdown() async
}

extension Provider {
  public func setup() async throws {}
  public func associate(_ user: EventUser) async throws {}
  public func disassociate() async throws {}
  public func shutdown() async {}
}
