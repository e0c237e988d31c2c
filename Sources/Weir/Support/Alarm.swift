// Alarm: what a task waits for, be it rung or the time come.

/// Wakes one task. A ring that nobody waits for is kept for the next wait, so none is missed; several become one.
package final class Alarm: Sendable {
  /// A wait that goes on, and that nobody has ended. Only tests ask, which move the clock while everybody waits.
  package struct Wait: Hashable, Sendable {
    /// Counts the waits for this alarm.
    package var number: UInt64
    /// When it ends by itself; nil if it does not.
    package var until: Duration?
  }

  private struct State {
    var isRung = false
    var waiting: CheckedContinuation<Void, Never>?
    var wait = Wait(number: 0)
  }

  private let state = Lock(State())

  package init() {}

  /// Wakes the task that waits, or the next one that would. From any thread.
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

  /// The wait that goes on; nil from the moment on at which it is rung.
  package var current: Wait? { state.withLock { $0.waiting == nil ? nil : $0.wait } }

  /// Waits until it is rung. One task at a time; `time` is when it will be, if nobody does before.
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

  /// Waits until it is rung, or until the clock has come to `time`; nil for ever. It may return early: whoever waits
  /// looks whether there is something to do.
  package func wait(until time: Duration?, _ clock: DeliveryClock) async {
    guard let time else { return await wait(rungAt: nil) }
    let now = clock.now
    guard time > now else { return }
    // Clocks of the machine end the process at a time that they can't count to: for ever comes in parts.
    let end = min(time, now + Self.longestSleep)
    let sleeper = Task.detached {
      do { try await clock.sleep(until: end) } catch { return }
      self.ring()
    }
    await wait(rungAt: time)
    sleeper.cancel()
  }
}
