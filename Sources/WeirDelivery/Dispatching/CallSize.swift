// CallSize: how much goes into one call, by how long the calls before took.

import Weir

/// The size of a call that a slow link or a slow provider can take in time. A pure value, of whatever unit its owner
/// counts in: events of a call of ``Provider/deliver(_:)``, bytes of a request.
///
/// What timed out makes the next call a quarter of it. The size grows back only after several calls in a row that were
/// nearly as large as allowed and took a quarter of their time at most, so that twice as much takes half of it. After
/// growth that led to a time-out it takes twice as many: a link that swallows what is larger than some size is not
/// tried with that again and again.
package struct CallSize: Sendable {
  static let leastSuccesses = 4
  static let mostSuccesses = 256

  /// So much at most goes into the next call, and one event in any case; nil without a limit.
  package private(set) var most: Int?
  /// What timed out last.
  private var failed = 0
  private var successes = 0
  private var wantedSuccesses = Self.leastSuccesses
  private var hasGrown = false

  /// No call has timed out yet.
  package init() {}

  /// A call of this size, which had more than one event, did not end in its time.
  package mutating func timedOut(_ size: Int) {
    if hasGrown { wantedSuccesses = min(wantedSuccesses * 2, Self.mostSuccesses) }
    hasGrown = false
    successes = 0
    failed = size
    most = max(size / 4, 1)
  }

  /// A call of this size ended well; it took `time` of the time `limit` that it had.
  package mutating func succeeded(_ size: Int, in time: Duration, of limit: Duration) {
    guard let most else { return }
    // What was too much is not any more.
    guard size < failed else {
      self = CallSize()
      return
    }
    // A small call tells nothing of a large one.
    guard size > most / 2 else { return }
    successes = time <= limit / 4 ? successes + 1 : 0
    guard successes >= wantedSuccesses else { return }
    successes = 0
    hasGrown = true
    self.most = most > failed / 2 ? failed : most * 2
  }
}
