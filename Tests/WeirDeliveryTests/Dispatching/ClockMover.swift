// ClockMover: moves a virtual clock for workers of delivery, and only while none of them could do something without it.

import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

/// A provider whose calls wait for the test, and that says how many do.
protocol WaitingProvider: Provider {
  var waiting: Int { get }
  /// What is left on the clock until the first of the calls that sleep goes on; nil if none sleeps.
  var timeLeft: Duration? { get }
}

extension WaitingProvider {
  var timeLeft: Duration? { nil }
}

extension ScriptedProvider: WaitingProvider {}

/// Moves a virtual clock from one time that somebody waits for to the next.
///
/// The clock stands while a worker does something, while one was woken and has not waited again, while a call of a
/// provider goes on that does not wait for the test, and while somebody waits for news of a worker that came: so what
/// happens at which time of the clock's does not depend on how fast the machine is.
struct ClockMover: Sendable {
  let clock: VirtualClock
  let workers: @Sendable () -> [ProviderWorker]
  /// The clock stands until it holds.
  var isBegun: @Sendable () -> Bool = { true }

  init(_ clock: VirtualClock, _ workers: @escaping @Sendable () -> [ProviderWorker]) {
    self.clock = clock
    self.workers = workers
  }

  /// Moves the clock until `condition` holds; false if it does not within that time of the clock's.
  ///
  /// A call of `providers` that waits is left to wait until it is cancelled; one of `stubborn` after that, too. A call
  /// of another provider is waited for.
  func run(
    _ providers: [any WaitingProvider] = [], stubborn: [any WaitingProvider] = [],
    upTo limit: Duration = .seconds(3600), until condition: () throws -> Bool
  ) async rethrows -> Bool {
    let end = clock.now.advanced(by: limit)
    let deadline = ContinuousClock.now + patience
    var pause = Duration.microseconds(100)
    while try !condition() {
      if ContinuousClock.now > deadline { return false }
      // Asked twice: a call that has come to its end in between has yet to say so.
      guard isBegun(), let standstill = standstill(providers, stubborn), isBegun() else {
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(4))
        continue
      }
      pause = .microseconds(100)
      if try condition() { return true }
      guard let next = standstill.next, next <= end else { return false }
      clock.advance(to: next)
    }
    return true
  }

  /// Waits until nothing happens before the clock is moved, and does not move it.
  func rest(_ providers: [any WaitingProvider] = [], stubborn: [any WaitingProvider] = []) async -> Bool {
    await eventually { standstill(providers, stubborn) != nil }
  }

  /// Whether somebody waits for news of a worker: then a call of the dispatcher has come to where it waits.
  var isWatched: Bool { workers().contains { !$0.shared.watchers.isEmpty } }

  /// The same, but the clock stands until somebody waits for news of a worker.
  var onceWatched: ClockMover {
    var mover = self
    mover.isBegun = { isWatched }
    return mover
  }

  /// Everybody waits.
  private struct Standstill {
    /// Whose waits they are.
    var waits: [Alarm.Wait]
    /// The first time that somebody waits for; nil if nobody waits for one.
    var next: VirtualClock.Instant?
  }

  /// Nil while somebody does something, or is about to.
  private func standstill(_ providers: [any WaitingProvider], _ stubborn: [any WaitingProvider]) -> Standstill? {
    // Looked at twice: if the same waits still go on, nobody did anything between.
    guard let first = look(providers, stubborn), let second = look(providers, stubborn), first.waits == second.waits
    else { return nil }
    return second
  }

  private func look(_ providers: [any WaitingProvider], _ stubborn: [any WaitingProvider]) -> Standstill? {
    var found = Standstill(waits: [], next: clock.next)
    for worker in workers() {
      let now = worker.orders.clock.now
      let isFinished = worker.shared.read { $0.isFinished }
      // Those who wait for news of one that has ended are about to get them.
      for alarm in (isFinished ? [] : [worker.shared.alarm]) + worker.shared.watchers {
        guard let wait = alarm.current else { return nil }
        found.waits.append(wait)
        guard let until = wait.until else { continue }
        // Its time has come: it is about to wake.
        guard until > now else { return nil }
        // Not the clock's own list alone: a sleep that was begun may not be on it yet.
        let time = clock.now.advanced(by: until - now)
        found.next = min(found.next ?? time, time)
      }
      let name = worker.orders.name
      let known = worker.shared.read({ $0.call }).map { $0 == .inProgress ? providers + stubborn : stubborn } ?? []
      let isCalling = worker.shared.read { $0.call != nil }
      if isCalling, !known.contains(where: { $0.name == name && $0.waiting > 0 }) { return nil }
    }
    for provider in providers + stubborn {
      guard let left = provider.timeLeft else { continue }
      // The call is about to go on.
      guard left > .zero else { return nil }
      let time = clock.now.advanced(by: left)
      found.next = min(found.next ?? time, time)
    }
    return found
  }
}

extension Dispatcher {
  /// What moves the clock of this dispatcher, which is no stage's.
  func mover(_ clock: VirtualClock) -> ClockMover {
    ClockMover(clock) { self.workers }
  }
}
