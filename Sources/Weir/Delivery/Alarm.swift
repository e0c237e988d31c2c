// Alarm: what a task waits for, be it rung or the time come.

import Synchronization

/// Wakes one task. A ring that nobody waits for is kept for the next wait, so none is missed; several become one.
final class Alarm: Sendable {
  private struct State {
    var isRung = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  /// Wakes the task that waits, or the next one that would. From any thread.
  func ring() {
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

  /// Waits until it is rung. One task at a time.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isRung = state.withLock { state in
        precondition(state.waiting == nil, "an alarm wakes one task")
        if state.isRung {
          state.isRung = false
          return true
        }
        state.waiting = continuation
        return false
      }
      if isRung { continuation.resume() }
    }
  }

  /// Waits until it is rung, or until the clock has come to `time`; nil for ever. It may return early: whoever waits
  /// looks whether there is something to do.
  func wait(until time: Duration?, _ clock: DeliveryClock) async {
    guard let time else { return await wait() }
    guard time > clock.now else { return }
    let sleeper = Task.detached {
      do { try await clock.sleep(until: time) } catch { return }
      self.ring()
    }
    await wait()
    sleeper.cancel()
  }
}
