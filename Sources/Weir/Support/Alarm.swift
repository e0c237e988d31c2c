// Alarm: wakes a task or a thread when it is rung, or at a given time.

import Synchronization

/// Wakes one task or one thread. A ring before the wait is kept and ends the next wait, so no ring is missed. Several
/// kept rings count as one.
package final class Alarm: Sendable {
  /// A wait in progress. Only tests use it, to move the clock while everybody waits.
  package struct Wait: Hashable, Sendable {
    /// The number of the wait, counted for each alarm.
    package var number: UInt64
    /// The time at which the wait ends by itself; `nil` if it does not.
    package var until: Duration?
  }

  private enum Waiting: Sendable {
    case task(CheckedContinuation<Void, Never>)
    case thread
  }

  private struct State: Sendable {
    var isRung = false
    var waiting: Waiting?
    var wait = Wait(number: 0)

    /// Begins a wait. Returns `false` if the alarm has been rung.
    mutating func begin(_ waiting: Waiting, until time: Duration?) -> Bool {
      precondition(self.waiting == nil, "an alarm wakes one task or one thread")
      if isRung {
        isRung = false
        return false
      }
      self.waiting = waiting
      wait = Wait(number: wait.number + 1, until: time)
      return true
    }
  }

  private let state = ConditionLock(State())
  /// Rings at the end of a task's last wait.
  private let sleeper = Mutex<(end: Duration, task: Task<Void, Never>)?>(nil)

  package init() {}

  deinit {
    sleeper.withLock { $0?.task.cancel() }
  }

  /// Wakes the task or thread that waits. If none waits, the next wait ends at once. Any thread may call this.
  package func ring() {
    let waiting = state.change { state -> Waiting? in
      if state.waiting == nil { state.isRung = true }
      defer { state.waiting = nil }
      return state.waiting
    }
    if case .task(let continuation) = waiting { continuation.resume() }
  }

  /// The wait in progress; `nil` as soon as the alarm is rung.
  package var current: Wait? { state.read { $0.waiting == nil ? nil : $0.wait } }

  /// Waits until the alarm is rung or the clock reaches `time`; `nil` waits forever. May return early, so the caller
  /// must check whether there is something to do. Cancelling the task does not end the wait.
  package func wait(until time: Duration?, _ clock: DeliveryClock) async {
    if let time, time <= clock.now { return }
    keepSleeper(until: time, clock)
    await withCheckedContinuation { continuation in
      let isWaiting = state.change(wakes: false) { $0.begin(.task(continuation), until: time) }
      if !isWaiting { continuation.resume() }
    }
  }

  /// Waits that end at the same time share a sleeper: one that is cancelled keeps its memory until its time.
  private func keepSleeper(until time: Duration?, _ clock: DeliveryClock) {
    sleeper.withLock { sleeper in
      guard sleeper?.end != time else { return }
      sleeper?.task.cancel()
      sleeper = time.map { ($0, ring(at: $0, clock)) }
    }
  }

  /// 1 minute. The monotonic clock, by which threads wait, stands still while the machine is suspended.
  private static let longestWait = Duration.seconds(60)

  /// The same for a thread, which blocks. Starts no task, except for a clock that is not the machine's.
  package func block(until time: Duration?, _ clock: DeliveryClock) {
    var end = MonotonicTime(nanoseconds: .max)
    if let time {
      let rest = time - clock.now
      guard rest > .zero else { return }
      if clock.isMachines { end = .now.after(min(rest, Self.longestWait)) }
    }
    guard state.change(wakes: false, { $0.begin(.thread, until: time) }) else { return }
    let sleeper = clock.isMachines ? nil : time.map { ring(at: $0, clock) }
    if !state.wait(until: end, for: { $0.waiting == nil }) { state.change(wakes: false) { $0.waiting = nil } }
    sleeper?.cancel()
  }

  /// 34 years.
  private static let longestSleep = Duration.seconds(1 << 30)

  /// Rings once the clock reaches `time`. The task is no child of its caller's, whose cancellation must not end it.
  private func ring(at time: Duration, _ clock: DeliveryClock) -> Task<Void, Never> {
    // System clocks end the process for times that they can't represent, so a long sleep is split.
    let end = min(time, clock.now + Self.longestSleep)
    return Task { [weak self] in
      do { try await clock.sleep(until: end) } catch { return }
      self?.ring()
    }
  }
}
