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
/// **Order.** Those who sleep are woken in the order of their deadlines, and those with one deadline in the order in
/// which they went to sleep; each sees as ``now`` its own deadline or later. Waking is all that the clock does: when a
/// task that was woken runs is up to the runtime. So a test waits until the task sleeps again, with
/// ``sleepers(atLeast:)``, or for what it does.
///
/// **Threads.** Every call may be made from any thread or task. A task that is cancelled stops sleeping at once, with a
/// `CancellationError`.
public final class VirtualClock: Clock, Sendable {
  /// A moment of a virtual clock: the time since its beginning. Those of different clocks have nothing in common.
  public struct Instant: InstantProtocol, CustomStringConvertible {
    /// The time since the clock's beginning.
    public var sinceStart: Duration

    /// The moment so long after the clock's beginning.
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

  /// A task in ``VirtualClock/sleepers(atLeast:)``.
  private struct Watcher {
    let count: Int
    let number: UInt64
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var now: Instant
    /// In the order of waking.
    var sleepers: [Sleeper] = []
    var watchers: [Watcher] = []
    /// Numbers of tasks that were cancelled before they slept or watched.
    var cancelled: Set<UInt64> = []
    var lastNumber: UInt64 = 0

    /// Those whose number of sleepers is reached, who are not kept any longer.
    mutating func contentWatchers() -> [Watcher] {
      let content = watchers.filter { $0.count <= sleepers.count }
      watchers.removeAll { $0.count <= sleepers.count }
      return content
    }
  }

  private let state: Lock<State>

  /// A clock that stands at `start`.
  public init(at start: Instant = Instant()) {
    state = Lock(State(now: start))
  }

  /// Where the clock stands.
  public var now: Instant { state.withLock { $0.now } }

  /// There is no shorter step than one of `Duration`, an attosecond.
  public var minimumResolution: Duration { Duration(secondsComponent: 0, attosecondsComponent: 1) }

  /// How many tasks sleep.
  public var sleepers: Int { state.withLock { $0.sleepers.count } }

  /// The deadline that comes next; nil if nobody sleeps.
  public var next: Instant? { state.withLock { $0.sleepers.first?.deadline } }
}

// MARK: Moving

extension VirtualClock {
  /// Moves the clock on and wakes those whose time has come. What is negative moves nothing: a clock never goes back.
  public func advance(by duration: Duration) {
    advance(to: now.advanced(by: duration))
  }

  /// The same, to a moment.
  public func advance(to moment: Instant) {
    // One at a time, so that each finds the clock at its deadline, or later if others move the clock too.
    while let sleeper = nextSleeper(before: moment) { sleeper.continuation.resume() }
  }

  /// Moves the clock to the next deadline, and wakes those who sleep until then. False if nobody sleeps.
  @discardableResult
  public func advanceToNext() -> Bool {
    guard let next else { return false }
    advance(to: next)
    return true
  }

  /// The sleeper to wake next, with the clock moved to its deadline; nil if none is due by `moment`. Then the clock is
  /// moved there, at once: whoever goes to sleep after that finds it there, and nobody sleeps past his deadline.
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
  /// Sleeps until the clock is moved to `deadline` or beyond; returns at once if it is there. Of `tolerance` no use is
  /// made. Throws a `CancellationError` if the task is cancelled.
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

  /// Returns once at least so many tasks sleep, which is when the code under test has come to where it waits; or when
  /// the task is cancelled.
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
        // Not asleep yet; if it was woken just now, `forget` clears this up.
        state.cancelled.insert(number)
        return nil
      }
      return state.sleepers.remove(at: index)
    }
    sleeper?.continuation.resume(throwing: CancellationError())
  }

  /// Nothing is kept about a task that neither sleeps nor watches.
  private func forget(_ number: UInt64) {
    state.withLock { _ = $0.cancelled.remove(number) }
  }
}
