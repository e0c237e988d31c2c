// Announcements: announces the states of the process one after the other: as events, to observers, and to scopes.

import Synchronization
import Weir

/// Announces states in order, whichever threads notice them. A thread that notes a state while another thread announces
/// waits until its own state is announced. If an observer notes a state, that state is announced after the current one.
final class Announcements: Sendable {
  /// A change to announce.
  enum Change: Sendable {
    case start
    /// Noticed by the clocks, or noted by the host.
    case resume(ResumeWatch.Stop, isNoticed: Bool)
    case idle
    case suspend
    case shutdown
  }

  /// Sendable, although not every C library's thread handle is: the handle is only compared.
  private struct Queue: @unchecked Sendable {
    var waiting: [(number: UInt64, change: Change)] = []
    var lastNumber: UInt64 = 0
    /// The number of the last announced change.
    var told: UInt64 = 0
    /// The thread that announces.
    var teller: ThreadIdentity?
  }

  private struct Progress: Sendable {
    var state = LifeCycle.State.start
    var isEnded = false
    var suspendedAt = Duration.zero
    var resumedAt: Duration?
    /// The scopes that were suspended with the process. Only these are resumed with the process.
    var suspended: [ScopeReference] = []
    var observers: [(number: UInt64, body: @Sendable (LifeCycle.State) -> Void)] = []
    var lastObserver: UInt64 = 0
  }

  /// Two resumes within this time count as one: the thread notices the standstill, and the signal arrives as well.
  private static let sameResume = Duration.seconds(1)

  private let tracker: Tracker
  private let clock: ScopeClock
  private let queue = ConditionLock(Queue())
  private let progress = Lock(Progress())
  private let own = Atomic<UInt64>(0)

  init(_ tracker: Tracker, _ clock: ScopeClock) {
    self.tracker = tracker
    self.clock = clock
  }

  /// The number of accepted events that were captured here, not by the program.
  var ownEvents: UInt64 { own.load(ordering: .sequentiallyConsistent) }

  var state: LifeCycle.State { progress.withLock { $0.state } }

  func observe(_ body: @escaping @Sendable (LifeCycle.State) -> Void) -> UInt64 {
    progress.withLock { progress in
      progress.lastObserver += 1
      if !progress.isEnded { progress.observers.append((progress.lastObserver, body)) }
      return progress.lastObserver
    }
  }

  func unobserve(_ number: UInt64) {
    // The closures are released outside of the lock, because objects they hold may end with them.
    let gone = progress.withLock { progress -> [@Sendable (LifeCycle.State) -> Void] in
      let bodies = progress.observers.filter { $0.number == number }.map(\.body)
      progress.observers.removeAll { $0.number == number }
      return bodies
    }
    withExtendedLifetime(gone) {}
  }

  /// Removes all observers.
  func end() {
    let gone = progress.withLock { progress in
      defer { progress.observers = [] }
      progress.isEnded = true
      return progress.observers.map(\.body)
    }
    withExtendedLifetime(gone) {}
  }

  // MARK: The order

  func announce(_ change: Change) {
    enum Part { case tells, waits, isTold }
    let me = ThreadIdentity.current
    let (number, part) = queue.change(wakes: false) { queue -> (UInt64, Part) in
      queue.lastNumber += 1
      queue.waiting.append((queue.lastNumber, change))
      guard let teller = queue.teller else {
        queue.teller = me
        return (queue.lastNumber, .tells)
      }
      return (queue.lastNumber, teller == me ? .isTold : .waits)
    }
    switch part {
    case .isTold: return
    case .waits: _ = queue.wait(until: MonotonicTime(nanoseconds: .max)) { $0.told >= number }
    case .tells:
      while let next = nextChange() {
        // These events belong to the process, not to the request of the announcing thread.
        rebind(nil) { tell(next.change) }
        queue.change { $0.told = next.number }
      }
    }
  }

  private func nextChange() -> (number: UInt64, change: Change)? {
    queue.change(wakes: false) { queue in
      guard queue.waiting.isEmpty else { return queue.waiting.removeFirst() }
      queue.teller = nil
      return nil
    }
  }

  // MARK: Telling

  private func tell(_ change: Change) {
    switch change {
    case .start: capture(.started)
    case .idle:
      guard begin(.idle, unless: [.suspend, .shutdown]) else { return }
      capture(.idle)
      tellObservers(.idle)
    case .suspend: suspend()
    case .resume(let stop, let isNoticed): resume(stop, isNoticed)
    case .shutdown: shutDown()
    }
  }

  private func suspend() {
    guard begin(.suspend, unless: [.suspend, .shutdown]) else { return }
    let now = clock.now
    progress.withLock { $0.suspendedAt = now }
    tellObservers(.suspend)
    var suspended: [ScopeReference] = []
    for scope in tracker.scopes.open.reversed() {
      guard let receipt = scope.suspend() else { continue }
      count(receipt)
      suspended.append(scope.reference)
    }
    progress.withLock { $0.suspended = suspended }
    capture(.suspended)
    tracker.companions.tellOfSuspension()
  }

  private func resume(_ stop: ResumeWatch.Stop, _ isNoticed: Bool) {
    let now = clock.now
    let found = progress.withLock { progress -> (stopped: Duration, scopes: [ScopeReference])? in
      guard progress.state != .shutdown else { return nil }
      let isSuspended = progress.state == .suspend
      // A suspension that the host noted ends only when the host notes it.
      if isSuspended, isNoticed { return nil }
      if !isSuspended, !isNoticed, stop.all == .zero, let last = progress.resumedAt, now - last <= Self.sameResume {
        return nil
      }
      defer { progress.suspended = [] }
      progress.state = .resume
      progress.resumedAt = now
      let stopped = isSuspended ? now - progress.suspendedAt + stop.machine : stop.all
      return (stopped, progress.suspended)
    }
    guard let found else { return }
    capture(.resumed(stoppedSeconds: found.stopped.inSeconds))
    // In the order in which the scopes began.
    for reference in found.scopes.reversed() {
      if let receipt = reference.scope?.resume() { count(receipt) }
    }
    tracker.companions.tellOfResumption()
    tellObservers(.resume)
  }

  private func shutDown() {
    guard begin(.shutdown, unless: [.shutdown]) else { return }
    tellObservers(.shutdown)
    for scope in tracker.scopes.open.reversed() {
      if let receipt = scope.end(interaction: "shutdown") { count(receipt) }
    }
    capture(.shutdown)
  }

  private func begin(_ state: LifeCycle.State, unless states: Set<LifeCycle.State>) -> Bool {
    progress.withLock { progress in
      guard !states.contains(progress.state) else { return false }
      progress.state = state
      return true
    }
  }

  private func tellObservers(_ state: LifeCycle.State) {
    for observer in progress.withLock({ $0.observers }) {
      // The observation may have ended in the meantime, through another observer.
      guard progress.withLock({ $0.observers.contains { $0.number == observer.number } }) else { continue }
      observer.body(state)
    }
  }

  private func capture(_ event: ProcessEvent) {
    count(tracker.track(event))
  }

  private func count(_ receipt: Receipt) {
    if receipt.isAccepted { own.add(1, ordering: .sequentiallyConsistent) }
  }
}
