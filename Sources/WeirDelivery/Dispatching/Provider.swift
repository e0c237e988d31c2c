// Provider: where events are delivered to.

public import Weir

/// What became of one event that was given to a provider.
public enum Verdict: Hashable, Sendable {
  /// The provider has it for good: it may be removed from the log.
  case accepted
  /// The provider will never take it, for this reason.
  case rejected(String)
  /// To be given again, not before so long; nil leaves that to the back-off.
  case retry(after: Duration?)
}

/// Thrown by ``Provider/deliver(_:)``: the batch was refused as a whole, and nothing of it was taken.
///
/// It is split in halves, which are given again, until the event that is at fault stands alone: that one is rejected
/// for this reason. Of a provider that never accepted an event, a hundred that are rejected so in a row for the same
/// reason stop delivery, as ``DeliveryStopped`` does.
public struct BatchRefused: Error, Hashable, Sendable, CustomStringConvertible {
  /// What the provider said, without credentials.
  public var reason: String

  /// A refusal for this reason.
  public init(_ reason: String) {
    self.reason = reason
  }

  public var description: String { reason }
}

/// Thrown by a provider: nothing can be delivered before somebody mends it, such as a wrong key or a wrong address.
///
/// Delivery to this provider stops, says so, and keeps the events. It is tried again with a few events, after about
/// ``DeliveryOptions/Backoff/openFor`` and then after pauses that double up to ``DeliveryOptions/Backoff/most``, until
/// it takes some; at once after ``Dispatcher/resume(_:)`` and at the next opening. A flush and a shutdown do not wait
/// for it.
public struct DeliveryStopped: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong and what to do, without credentials.
  public var reason: String

  /// A stop for this reason.
  public init(_ reason: String) {
    self.reason = reason
  }

  public var description: String { reason }
}

/// Where events are delivered to: a file, a service, a program of your own. What each event is before the provider gets
/// it an ``EventMapper`` says, which is attached with ``mapped(by:)``.
///
/// Delivery is at least once: an event comes again if the process died before its verdict was on the disk.
/// ``PreparedEvent/stored``'s id is what to recognise it by.
public protocol Provider: Sendable {
  /// The provider's name: letters, digits, `-` and `_`. It names the cursor, and so must stay.
  var name: String { get }

  /// Called once, before anything else, and again after it threw.
  func setup() async throws

  /// The process's default user is this one from here on. In order with the events.
  func associate(_ user: EventUser) async throws

  /// The process has no default user from here on. In order with the events.
  func disassociate() async throws

  /// Takes events, in order of offset; answers a verdict for each, in the same order. Throwing is the same as to answer
  /// ``Verdict/retry(after:)`` for all, but for ``BatchRefused`` and ``DeliveryStopped``. Never called again before it
  /// returned. If it takes too long its task is cancelled, and the events come again. It must not wait for the
  /// dispatcher that calls it: a ``Dispatcher/flush(timeout:)`` or ``Dispatcher/remove(_:)`` from here waits for this
  /// very call, until that is cancelled.
  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict]

  /// Called once, after everything else.
  func shutdown() async
}

extension Provider {
  public func setup() async throws {}
  public func associate(_ user: EventUser) async throws {}
  public func disassociate() async throws {}
  public func shutdown() async {}
}
