// DrainBell: wakes workers of this process when the drainer has written events into the log.

/// The followers that reached the log's end and sleep. The drainer wakes each follower once.
///
/// A follower that has just read something looks again after milliseconds, and does not arm the bell. A busy drainer
/// therefore wakes nobody. A tracker has one bell for all followers of its log.
package final class DrainBell: Sendable {
  private let armed = Lock<[ObjectIdentifier: @Sendable () -> Void]>([:])

  package init() {}

  /// Has the drainer call `wake` with the next events. `sleeper` names the follower for ``disarm(_:)``. `wake` runs on
  /// the drainer's thread, and must not block. The caller must look at the log's end after arming, or may miss events.
  package func arm(_ sleeper: some AnyObject & Sendable, _ wake: @escaping @Sendable () -> Void) {
    armed.withLock { $0[ObjectIdentifier(sleeper)] = wake }
  }

  /// Arms an alarm for the next events.
  package func arm(_ alarm: Alarm) {
    arm(alarm) { alarm.ring() }
  }

  /// Disarms the bell for a follower. Returns `false` if the follower has been woken since the bell was armed.
  package func disarm(_ sleeper: some AnyObject & Sendable) -> Bool {
    armed.withLock { $0.removeValue(forKey: ObjectIdentifier(sleeper)) != nil }
  }

  /// Wakes all followers that armed the bell. Called by the drainer.
  package func ring() {
    let wakes = armed.withLock { armed in
      if armed.isEmpty { return [@Sendable () -> Void]() }
      defer { armed = [:] }
      return Array(armed.values)
    }
    for wake in wakes { wake() }
  }
}
