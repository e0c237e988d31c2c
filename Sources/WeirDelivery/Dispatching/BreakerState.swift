// BreakerState: determines whether a provider that failed may be tried.

import Weir

/// The circuit breaker of ``DeliveryOptions/Backoff``. A pure value. Times count from any moment that is fixed for one
/// breaker.
///
/// Closed: all tries are allowed. After ``DeliveryOptions/Backoff/failures`` failed tries in a row, the breaker opens.
/// Open: no try is allowed until the breaker's time has passed. Half-open: one try with at most
/// ``DeliveryOptions/Backoff/probeEvents`` events is allowed. If the try succeeds, the breaker closes. If the try
/// fails, the breaker opens again, for twice as long, up to the maximum.
package struct BreakerState: Sendable {
  package enum Phase: Hashable, Sendable {
    case closed
    case open(until: Duration)
    case halfOpen
  }

  /// The tries that are allowed.
  package enum Permission: Hashable, Sendable {
    case everything
    /// The probe, with at most this many events.
    case probe(events: Int)
    /// No try before this time.
    case nothing(until: Duration)
  }

  private let backoff: DeliveryOptions.Backoff
  private let most: Duration
  private var openFor: Duration
  package private(set) var phase = Phase.closed
  private(set) var failures = 0

  /// Creates a closed breaker.
  package init(_ backoff: DeliveryOptions.Backoff) {
    self.backoff = backoff
    most = max(backoff.most, backoff.openFor)
    openFor = backoff.openFor
  }

  /// Creates a breaker after so many failed tries in a row, as an earlier breaker was. `openFor` is the time of the
  /// earlier breaker's last opening, and `until` the time at which the opening ends; both are `nil` if it was closed.
  init(_ backoff: DeliveryOptions.Backoff, failures: Int, openFor: Duration?, until: Duration?) {
    self.init(backoff)
    self.failures = failures
    guard let openFor, let until else { return }
    self.openFor = min(max(openFor, backoff.openFor), most)
    phase = .open(until: until)
  }

  /// The time of the last opening; `nil` if the breaker is closed.
  var lastOpening: Duration? { phase == .closed ? nil : openFor }

  /// Returns the tries that are allowed now. Moves from open to half-open when the time has passed. Repeated calls
  /// return the same until the result of the probe is noted.
  package mutating func permission(at now: Duration) -> Permission {
    switch phase {
    case .closed: return .everything
    case .halfOpen: return .probe(events: backoff.probeEvents)
    case .open(let until):
      guard now >= until else { return .nothing(until: until) }
      phase = .halfOpen
      return .probe(events: backoff.probeEvents)
    }
  }

  /// Notes a failed try.
  package mutating func failed(at now: Duration) {
    // The number may come from a file.
    failures = min(failures, .max - 1) + 1
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

  /// Notes a successful try. Returns `true` if the provider is reachable again, which is the signal
  /// ``FlushPolicy/Triggers/reachable``.
  @discardableResult
  package mutating func succeeded() -> Bool {
    defer {
      phase = .closed
      failures = 0
    }
    return phase != .closed
  }
}
