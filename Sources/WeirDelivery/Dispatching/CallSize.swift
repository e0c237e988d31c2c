// CallSize: the size of the next call, derived from the duration of earlier calls.

import Weir

/// The size of a call that a slow link or a slow provider can process in time. A pure value. The owner chooses the
/// unit: events of a call of ``Provider/deliver(_:)``, or bytes of a request.
///
/// After a timeout, the next call has a quarter of the size. The size grows again only after several calls in a row
/// that were nearly as large as allowed and took at most a quarter of their time limit. So a call of twice the size
/// takes about half of the limit. If a larger size led to a timeout, the next growth needs twice as many such calls. So
/// a link that drops everything above some size is not tried with larger calls again and again.
package struct CallSize: Sendable {
  static let leastSuccesses = 4
  static let mostSuccesses = 256

  /// The maximum size of the next call; a single event is always allowed. `nil` without a limit.
  package private(set) var most: Int?
  /// The size of the last call that timed out.
  private var failed = 0
  private var successes = 0
  private var wantedSuccesses = Self.leastSuccesses
  private var hasGrown = false

  /// Creates a size without a limit: no call has timed out yet.
  package init() {}

  /// Notes that a call of this size, with more than one event, timed out.
  package mutating func timedOut(_ size: Int) {
    if hasGrown { wantedSuccesses = min(wantedSuccesses * 2, Self.mostSuccesses) }
    hasGrown = false
    successes = 0
    failed = size
    most = max(size / 4, 1)
  }

  /// Notes that a call of this size succeeded within `time`; its time limit was `limit`.
  package mutating func succeeded(_ size: Int, in time: Duration, of limit: Duration) {
    guard let most else { return }
    // The size that timed out now succeeds.
    guard size < failed else {
      self = CallSize()
      return
    }
    // A small call shows nothing about a large call.
    guard size > most / 2 else { return }
    successes = time <= limit / 4 ? successes + 1 : 0
    guard successes >= wantedSuccesses else { return }
    successes = 0
    hasGrown = true
    self.most = most > failed / 2 ? failed : most * 2
  }
}
