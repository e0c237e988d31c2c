// VirtualClock: a clock that stands still until a test moves it.

import Weir

/// A clock that stands still until a test moves it, for code that takes `any Clock<Duration>` or a generic clock.
///
/// ```swift
/// let clock = VirtualClock()
/// let sending = Task { try await sender.sendWithBackOff(clock: clock) }
///
/// await clock.sleepers(atLeast: 1)     // the first try failed, and it waits
/// clock.advance(by: .seconds(1))       // no second passes
/// await clock.sleepers(atLeast: 1)
/// #expect(clock.next == VirtualClock.Instant(.seconds(1 + 2)))
/// ```
///
/// **Order.** Sleeping tasks are woken in the order of their deadlines, and tasks with the same deadline in the order
/// in which they began to sleep. Each sees its own deadline, or a later time, as ``now``. The clock only wakes tasks;
/// when they run is up to the runtime. A test therefore waits until the task sleeps again, with ``sleepers(atLeast:)``,
/// or for the task's effect.
///
/// **Threads.** Any thread or task may call any member. A cancelled task stops sleeping at once, with a
/// `CancellationError`.
public final class VirtualClock: Clock, Sendable {
  /// A time on a virtual clock, counted from the clock's start. Times of different clocks can't be compared.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// The time since the clock's start.
    public var sinceStart: Duration

    /// Creates the time `sinceStart` after the clock's start.
    public init(_ sinceStart: Duration = .zero) {
      self.sinceStart = sinceStart
    }

    public func advanced(by duration: Duration) -> Instant {
      Instant(sinceStart + duration)
    }

    public func duration(to other: Instant) -> Duration {
      other.sinceStart - sinceStart
    }

    public static func < (left: Instant, right: Instant) -> Bool {
      left.sinceStart < right.sinceStart
    }

    public var description: String { "\(sinceStart) after the start" }
  }

  private struct Sleeper {
    let deadline: Instant
    let number: UInt64
    let continuation: CheckedContinuation<Void, any Error>
  }

  /// A task that waits in ``VirtualClock/sleepers(atLeast:)``.
  private struct Watcher {
    let count: Int
    let number: UInt64
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var now: Instant
    /// In the order of their deadlines.
    var sleepers: [Sleeper] = []
    var watchers: [Watcher] = []
    /// The numbers of tasks that were cancelled before they slept or watched.
    var cancelled: Set<UInt64> = []
    var lastNumber: UInt64 = 0

    /// Removes and returns the watchers whose number of sleepers is reached.
    mutating func contentWatchers() -> [Watcher] {
      let content = watchers.filter { $0.count <= sleepers.count }
      watchers.removeAll { $0.count <= sleepers.count }
      return content
    }
  }

  private let state: Lock<State>

  /// Creates a clock that stands at `start`.
  public init(at start: Instant = Instant()) {
    state = Lock(State(now: start))
  }

  /// The current time of the clock.
  public var now: Instant { state.withLock { $0.now } }

  /// The smallest step of `Duration`, an attosecond.
  public var minimumResolution: Duration { Duration(secondsComponent: 0, attosecondsComponent: 1) }

  /// The number of sleeping tasks.
  public var sleepers: Int { state.withLock { $0.sleepers.count } }

  /// The next deadline; `nil` if no task sleeps.
  public var next: Instant? { state.withLock { $0.sleepers.first?.deadline } }
}

// MARK: Moving

extension VirtualClock {
  /// Moves the clock forward, and wakes the tasks whose deadline is reached. A negative duration does nothing.
  public func advance(by duration: Duration) {
    advance(to: now.advanced(by: duration))
  }

  /// Moves the clock to a time, and wakes the tasks whose deadline is reached. An earlier time does nothing.
  public func advance(to moment: Instant) {
    // One at a time, so that each task sees the clock at its deadline, or later if other threads move the clock too.
    while let sleeper = nextSleeper(before: moment) { sleeper.continuation.resume() }
  }

  /// Moves the clock to the next deadline, and wakes the tasks with that deadline. Returns `false` if no task sleeps.
  @discardableResult
  public func advanceToNext() -> Bool {
    guard let next else { return false }
    advance(to: next)
    return true
  }

  /// Moves the clock to the next deadline and returns that sleeper. If no deadline is due by `moment`, moves the clock
  /// to `moment` in the same step and returns `nil`. A task that begins to sleep afterwards sees the new time, so no
  /// task sleeps beyond its deadline.
  private func nextSleeper(before moment: Instant) -> Sleeper? {
    state.withLock { state in
      guard let first = state.sleepers.first, first.deadline <= moment else {
        state.now = max(state.now, moment)
        return nil
      }
      state.now = max(state.now, first.deadline)
      return state.sleepers.removeFirst()
    }
  }
}

// MARK: Sleeping

extension VirtualClock {
  /// Sleeps until the clock is moved to `deadline` or beyond. Returns at once if the clock is already there.
  /// `tolerance` is ignored. Throws a `CancellationError` if the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    let number = takeNumber()
    defer { forget(number) }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        goToSleep(Sleeper(deadline: deadline, number: number, continuation: continuation))
      }
    } onCancel: {
      wakeCancelled(number)
    }
  }

  /// Returns once at least `count` tasks sleep, which means that the code under test is waiting. Also returns if the
  /// task is cancelled.
  public func sleepers(atLeast count: Int) async {
    let number = takeNumber()
    defer { forget(number) }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.cancelled.remove(number) != nil || state.sleepers.count >= count { return true }
          state.watchers.append(Watcher(count: count, number: number, continuation: continuation))
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      let watcher: Watcher? = state.withLock { state in
        guard let index = state.watchers.firstIndex(where: { $0.number == number }) else {
          state.cancelled.insert(number)
          return nil
        }
        return state.watchers.remove(at: index)
      }
      watcher?.continuation.resume()
    }
  }

  private func takeNumber() -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
  }

  private func goToSleep(_ sleeper: Sleeper) {
    enum Outcome {
      case sleeps([Watcher])
      case due
      case cancelled
    }
    let outcome = state.withLock { state -> Outcome in
      if state.cancelled.remove(sleeper.number) != nil { return .cancelled }
      if sleeper.deadline <= state.now { return .due }
      let place = state.sleepers.firstIndex { $0.deadline > sleeper.deadline } ?? state.sleepers.endIndex
      state.sleepers.insert(sleeper, at: place)
      return .sleeps(state.contentWatchers())
    }
    switch outcome {
    case .sleeps(let watchers): for watcher in watchers { watcher.continuation.resume() }
    case .due: sleeper.continuation.resume()
    case .cancelled: sleeper.continuation.resume(throwing: CancellationError())
    }
  }

  private func wakeCancelled(_ number: UInt64) {
    let sleeper: Sleeper? = state.withLock { state in
      guard let index = state.sleepers.firstIndex(where: { $0.number == number }) else {
        // The task does not sleep yet. If it has just been woken, `forget` removes the number.
        state.cancelled.insert(number)
        return nil
      }
      return state.sleepers.remove(at: index)
    }
    sleeper?.continuation.resume(throwing: CancellationError())
  }

  /// Removes what is known about a task that neither sleeps nor watches.
  private func forget(_ number: UInt64) {
    state.withLock { _ = $0.cancelled.remove(number) }
  }
}
