// Alarm: wakes a task when it is rung, or at a given time.

/// Wakes one task. A ring that no task waits for is kept for the next wait, so no ring is missed. Several such rings
/// count as one.
package final class Alarm: Sendable {
  /// A wait in progress. Only tests use it, to move the clock while all tasks wait.
  package struct Wait: Hashable, Sendable {
    /// The number of the wait, counted for each alarm.
    package var number: UInt64
    /// The time at which the wait ends by itself; `nil` if it does not.
    package var until: Duration?
  }

  private struct State {
    var isRung = false
    var waiting: CheckedContinuation<Void, Never>?
    var wait = Wait(number: 0)
  }

  private let state = Lock(State())

  package init() {}

  /// Wakes the waiting task, or the next task that waits. Any thread may call this.
  package func ring() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard let waiting = state.waiting else {
        state.isRung = true
        return nil
      }
      state.waiting = nil
      return waiting
    }
    waiting?.resume()
  }

  /// 34 years.
  private static let longestSleep = Duration.seconds(1 << 30)

  /// The wait in progress; `nil` as soon as the alarm is rung.
  package var current: Wait? { state.withLock { $0.waiting == nil ? nil : $0.wait } }

  /// Waits until the alarm is rung. Only one task may wait. `time` is the time at which the alarm rings by itself.
  private func wait(rungAt time: Duration?) async {
    await withCheckedContinuation { continuation in
      let isRung = state.withLock { state in
        precondition(state.waiting == nil, "an alarm wakes one task")
        if state.isRung {
          state.isRung = false
          return true
        }
        state.waiting = continuation
        state.wait = Wait(number: state.wait.number + 1, until: time)
        return false
      }
      if isRung { continuation.resume() }
    }
  }

  /// Waits until the alarm is rung or the clock reaches `time`; `nil` waits forever. May return early, so the caller
  /// must check whether there is something to do.
  package func wait(until time: Duration?, _ clock: DeliveryClock) async {
    guard let time else { return await wait(rungAt: nil) }
    let now = clock.now
    guard time > now else { return }
    // System clocks end the process for times that they can't represent, so a long wait is split.
    let end = min(time, now + Self.longestSleep)
    let sleeper = Task.detached {
      do { try await clock.sleep(until: end) } catch { return }
      self.ring()
    }
    await wait(rungAt: time)
    sleeper.cancel()
  }
}
