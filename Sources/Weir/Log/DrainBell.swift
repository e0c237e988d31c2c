// DrainBell: what the drainer of this process's log rings when something came into the log.

/// The alarms of workers that found the log's end and sleep: rung by the drainer, once each.
///
/// A worker that has just read something looks again after milliseconds, and is not in the list, so a busy drainer has
/// nobody to wake.
package final class DrainBell: Sendable {
  private let armed = Lock<[ObjectIdentifier: Alarm]>([:])

  package init() {}

  /// Has this alarm rung with the next events. Who arms it looks at the log's end after that, or might miss some.
  package func arm(_ alarm: Alarm) {
    armed.withLock { $0[ObjectIdentifier(alarm)] = alarm }
  }

  /// Takes an alarm back. False if it was rung since it was armed.
  package func disarm(_ alarm: Alarm) -> Bool {
    armed.withLock { $0.removeValue(forKey: ObjectIdentifier(alarm)) != nil }
  }

  /// For the drainer: wakes all that are armed.
  package func ring() {
    let alarms = armed.withLock { armed in
      if armed.isEmpty { return [Alarm]() }
      defer { armed = [:] }
      return Array(armed.values)
    }
    for alarm in alarms { alarm.ring() }
  }
}
