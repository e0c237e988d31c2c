// ProcessWatch: the thread of a life cycle. The thread sleeps, reads the clocks, waits for signals, and passes the
// result to the announcements.

import Synchronization
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The implementation of a ``LifeCycle``. The thread retains it, and with it the tracker, until the end. The release of
/// the LifeCycle ends the thread.
///
/// Lock order: `stops`, then the tracker's lock of its open scopes, then a scope's own lock. No lock is held while
/// other code runs, or while a reference to a scope is released.
final class ProcessWatch: Sendable {
  let tracker: Tracker
  let configuration: LifeCycle.Configuration
  /// The clock of the scopes that begin while this watch exists.
  let clock: ScopeClock
  private let scopes: OpenScopes
  private let process = getpid()
  private let handover: SignalHandover
  /// The machine's clocks; `nil` with a given clock.
  private let clocks: (@Sendable () -> ResumeWatch.Clocks)?
  private let givenClock: DeliveryClock?
  private let stops: Lock<Stops>
  private let idleness: Lock<Idleness>
  private let announcements: Announcements
  private let isEnded = Atomic<Bool>(false)
  private let sleeper = Lock<Task<Void, Never>?>(nil)

  /// The standstills that the clocks have shown.
  private struct Stops {
    var resume: ResumeWatch
    /// The expected duration of the thread's current activity: that of a sleep, zero while the thread is awake, and
    /// `nil` while it announces, which may take any time.
    var meant: Duration?
    /// A standstill that was noticed and is not announced yet.
    var found = ResumeWatch.Stop()
  }

  private struct Idleness {
    var accepted: UInt64 = 0
    var since: Duration
    var isIdle = false
  }

  init(_ tracker: Tracker, _ configuration: LifeCycle.Configuration) throws(WeirError) {
    self.tracker = tracker
    scopes = tracker.scopes
    self.configuration = configuration
    givenClock = configuration.clock.map { DeliveryClock($0) }
    let clocks = configuration.machineClocks ?? { ResumeWatch.Clocks.now }
    self.clocks = givenClock == nil ? clocks : nil
    if let givenClock {
      clock = ScopeClock { givenClock.now }
    } else {
      clock = configuration.machineClocks == nil ? .machine : ScopeClock { clocks().monotonic }
    }
    stops = Lock(Stops(resume: ResumeWatch(clocks())))
    idleness = Lock(Idleness(since: clock.now))
    announcements = Announcements(tracker, clock)
    handover = try SignalHandover(configuration.signals)
  }

  /// Captures `process.started` and starts the thread. Throws if the tracker already has a life cycle, or no thread can
  /// be started.
  func begin() throws(WeirError) {
    let isAlone = scopes.attach(self)
    guard isAlone == true else {
      end()
      guard isAlone != nil else {
        throw WeirError(
          .closed, "a forked process can't use its parent's tracker; open another log in the forked process",
          path: tracker.directory)
      }
      throw WeirError(
        .invalid, "the tracker of \(tracker.directory) already has a life cycle; use that one, or release it first",
        path: tracker.directory)
    }
    announcements.announce(.start)
    if let givenClock {
      let pause = configuration.wholePause
      sleeper.withLock { sleeper in
        sleeper = Task.detached { [weak self] in
          while (try? await givenClock.sleep(until: givenClock.now + pause)) != nil { self?.wakeUp() }
        }
      }
    }
    fallAsleep()
    guard givenClock == nil && configuration.machineClocks == nil || !handover.isEmpty else { return }
    do throws(WeirError) {
      try startThread("weir-process") { self.run() }
    } catch {
      end()
      throw error
    }
  }

  /// Stops noticing and announcing, and restores the previous signal handlers.
  func end() {
    guard isOfThisProcess, !isEnded.exchange(true, ordering: .sequentiallyConsistent) else { return }
    scopes.detach(self)
    handover.release()
    handover.wake()
    sleeper.withLock { $0?.cancel() }
    announcements.end()
  }

  private var isOfThisProcess: Bool { getpid() == process }

  // MARK: The thread

  private func run() {
    while !isEnded.load(ordering: .sequentiallyConsistent) {
      fallAsleep()
      let isTimed = clocks != nil && configuration.machineClocks == nil && state != .shutdown
      let signal = handover.wait(isTimed ? configuration.wholePause : nil)
      guard !isEnded.load(ordering: .sequentiallyConsistent) else {
        if let signal { handover.passOn(signal) }
        break
      }
      wakeUp()
      guard let signal else { continue }
      beginTelling()
      take(signal)
    }
    // Signals that arrived before the handlers were restored must be passed on here.
    while let signal = handover.wait(.zero) { handover.passOn(signal) }
  }

  private func take(_ signal: LifeCycle.Signal) {
    switch signal {
    case .continue:
      note(.resume)
      handover.passOn(signal)
    case .terminalStop:
      note(.suspend)
      handover.passOn(signal)
      note(.resume)
    case .terminate:
      note(.shutdown)
      // Events that are not drained stay in the lanes, and the next opening recovers them.
      _ = try? tracker.drain(timeout: configuration.shutdownBudget)
      handover.passOn(signal)
    }
  }

  /// Begins a sleep. Tests call this and ``wakeUp()`` themselves.
  func fallAsleep() {
    guard let clocks else { return }
    // A standstill since the thread woke is found here, and announced when the thread wakes again.
    look(awakes: true)
    let pause = configuration.wholePause
    stops.withLock { stops in
      let now = clocks()
      // An announcement may take any time, but a suspension of the machine can still be measured.
      if let stop = stops.resume.look(now, meant: .seconds(Int64.max)) { stops.found.machine += stop.machine }
      stops.meant = pause
      expectLook(after: pause, now)
    }
  }

  /// Ends a sleep: reads the clocks and the counters, and announces the result.
  func wakeUp() {
    guard isOfThisProcess else { return }
    look(awakes: true)
    if let stop = takeStop() { resume(stop, isNoticed: true) }
    lookForIdleness()
    if configuration.machineClocks != nil { fallAsleep() }
  }

  /// Marks the beginning of an announcement.
  private func beginTelling() {
    guard clocks != nil else { return }
    stops.withLock { stops in
      stops.meant = nil
      scopes.expectLook(by: nil)
    }
  }

  /// Reads the clocks, for a scope that changes or for the waking thread (`awakes`). When this returns, a standstill is
  /// excluded from all open scopes.
  func look(awakes: Bool = false) {
    guard let clocks, isOfThisProcess else { return }
    let changed = stops.withLock { stops -> [Scope] in
      guard let meant = stops.meant else { return [] }
      var resume = stops.resume
      let now = clocks()
      let stop = resume.look(now, meant: meant)
      if awakes { stops.meant = .zero }
      // For a sleep that continues, the time of its beginning is kept.
      if awakes || stop != nil { stops.resume = resume }
      defer { if awakes || stop != nil { expectLook(after: awakes ? .zero : meant, now) } }
      guard let stop else { return [] }
      stops.found.process += stop.process
      stops.found.machine += stop.machine
      let scopes = self.scopes.open
      for scope in scopes { scope.leaveOut(stop.process, before: now.monotonic) }
      return scopes
    }
    // One of these scopes may end here, and read the clocks in turn.
    withExtendedLifetime(changed) {}
  }

  /// Sets the time until which nobody else needs to read the clocks. Called last: from here on, others continue without
  /// waiting for the lock.
  private func expectLook(after meant: Duration, _ now: ResumeWatch.Clocks) {
    // A test's clocks must always be read: the machine's clocks don't show their time.
    let latest = configuration.machineClocks == nil ? now.monotonic + meant + ResumeWatch.tolerance : .zero
    scopes.expectLook(by: latest)
  }

  private func takeStop() -> ResumeWatch.Stop? {
    stops.withLock { stops in
      defer { stops.found = ResumeWatch.Stop() }
      return stops.found.all > .zero ? stops.found : nil
    }
  }

  /// Announces that the process is idle if nothing was captured for long enough, or if the host says so (`isSaid`).
  /// Announced once, until something is captured again.
  private func lookForIdleness(isSaid: Bool = false) {
    let now = clock.now
    let accepted = tracker.counters.accepted &- announcements.ownEvents
    let isResting = state == .suspend || state == .shutdown
    let isNews = idleness.withLock { idleness -> Bool in
      if accepted != idleness.accepted || isResting { idleness = Idleness(accepted: accepted, since: now) }
      guard !idleness.isIdle, !isResting else { return false }
      let limit = isSaid ? .zero : configuration.idleAfter
      idleness.isIdle = limit.map { now - idleness.since >= $0 } ?? false
      return idleness.isIdle
    }
    guard isNews else { return }
    if !isSaid { beginTelling() }
    announcements.announce(.idle)
  }

  /// Announces that the process continues. The standstill does not count as idleness.
  private func resume(_ stop: ResumeWatch.Stop, isNoticed: Bool) {
    let now = clock.now
    idleness.withLock { $0.since = max($0.since, now) }
    if isNoticed { beginTelling() }
    announcements.announce(.resume(stop, isNoticed: isNoticed))
  }

  // MARK: For the life cycle

  /// In a forked child the state is unknown, and reading it might wait for a lock that is never released.
  var state: LifeCycle.State { isOfThisProcess ? announcements.state : .start }

  func note(_ state: LifeCycle.State) {
    guard isOfThisProcess, !isEnded.load(ordering: .sequentiallyConsistent) else { return }
    switch state {
    case .start: return
    case .resume:
      look()
      resume(takeStop() ?? ResumeWatch.Stop(), isNoticed: false)
    case .idle: lookForIdleness(isSaid: true)
    case .suspend: announcements.announce(.suspend)
    case .shutdown: announcements.announce(.shutdown)
    }
  }

  func observe(_ body: @escaping @Sendable (LifeCycle.State) -> Void) -> UInt64 {
    isOfThisProcess ? announcements.observe(body) : 0
  }

  func unobserve(_ number: UInt64) {
    guard isOfThisProcess else { return }
    announcements.unobserve(number)
  }
}
