// BreakerState: whether a provider that failed is to be tried.

import Weir

/// The circuit breaker of ``DeliveryOptions/Backoff``. A pure value; times are those since any moment that stays the
/// same for one breaker.
///
/// Closed: everything goes. After ``DeliveryOptions/Backoff/failures`` tries in a row that failed it is open: nothing
/// goes until its time has passed. Then it is half-open: one try with at most ``DeliveryOptions/Backoff/probeEvents``
/// events. If that succeeds it is closed; if not it is open again, for twice as long, up to the most.
struct BreakerState: Sendable {
  enum Phase: Hashable, Sendable {
    case closed
    case open(until: Duration)
    case halfOpen
  }

  /// What may be tried.
  enum Permission: Hashable, Sendable {
    case everything
    /// The probe: at most so many events.
    case probe(events: Int)
    /// Nothing before this moment.
    case nothing(until: Duration)
  }

  private let backoff: DeliveryOptions.Backoff
  private let most: Duration
  private var openFor: Duration
  private(set) var phase = Phase.closed
  private(set) var failures = 0

  /// A closed one.
  init(_ backoff: DeliveryOptions.Backoff) {
    self.backoff = backoff
    most = max(backoff.most, backoff.openFor)
    openFor = backoff.openFor
  }

  /// What may be tried now. Moves from open to half-open when the time has passed; asked again before the probe's
  /// outcome is told, it answers the same.
  mutating func permission(at now: Duration) -> Permission {
    switch phase {
    case .closed: return .everything
    case .halfOpen: return .probe(events: backoff.probeEvents)
    case .open(let until):
      guard now >= until else { return .nothing(until: until) }
      phase = .halfOpen
      return .probe(events: backoff.probeEvents)
    }
  }

  /// A try failed.
  mutating func failed(at now: Duration) {
    failures += 1
    switch phase {
    case .closed:
      guard failures >= backoff.failures else { return }
      openFor = backoff.openFor
    case .halfOpen:
      openFor = openFor >= most / 2 ? most : openFor * 2
    case .open: return
    }
    phase = .open(until: now + openFor)
  }

  /// A try succeeded. True if the provider can be reached again, which is a signal: ``FlushPolicy/Triggers/reachable``.
  mutating func succeeded() -> Bool {
    defer {
      phase = .closed
      failures = 0
    }
    return phase != .closed
  }
}
