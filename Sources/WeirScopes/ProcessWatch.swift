// ProcessWatch: the thread behind a life cycle. It sleeps, looks at the clocks, and waits for signals; what it finds it
// has the announcements tell.

import Synchronization
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// What a ``LifeCycle`` is, apart from its being released: the thread keeps this, and the tracker until the end.
///
/// The locks: `stops`, then the tracker's of its open scopes, then a scope's own; none of them while anybody else's code
/// runs or a reference to a scope is let go.
final class ProcessWatch: Sendable {
  let tracker: Tracker
  let configuration: LifeCycle.Configuration
  /// What the scopes go by that begin while there is this watch.
  let clock: ScopeClock
  private let scopes: OpenScopes
  private let process = getpid()
  private let handover: SignalHandover
  /// The machine's clocks; nil with a clock that was given.
  private let clocks: (@Sendable () -> ResumeWatch.Clocks)?
  private let givenClock: DeliveryClock?
  private let stops: Lock<Stops>
  private let idleness: Lock<Idleness>
  private let announcements: Announcements
  private let isEnded = Atomic<Bool>(false)
  private let sleeper = Lock<Task<Void, Never>?>(nil)

  /// What the clocks told.
  private struct Stops {
    var resume: ResumeWatch
    /// How long what the thread is doing is to take: a sleep; nothing, while it is awake; nil while it tells others, which
    /// may take any time, so that nothing can be said.
    var meant: Duration?
    /// Found, and not announced yet.
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

  /// Captures `process.started` and starts the thread. Throws if the tracker has another one, or there are no threads.
  func begin() throws(WeirError) {
    let isAlone = scopes.attach(self)
    guard isAlone == true else {
      end()
      guard isAlone != nil else {
        throw WeirError(
          .closed, "a forked process has no use for its parent's tracker; open a log of its own there",
          path: tracker.directory)
      }
      throw WeirError(
        .invalid, "the tracker of \(tracker.directory) has a life cycle; release that first, or use it",
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

  /// Nothing is noticed or told any more, and signals are their former owners' again.
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
    // What came before the handlers were put back is nobody else's to pass on.
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
      // What is not drained stays in the lanes, and is recovered: only the time is at stake.
      _ = try? tracker.drain(timeout: configuration.shutdownBudget)
      handover.passOn(signal)
    }
  }

  /// A sleep begins. Tests only call it, and ``wakeUp()``, themselves.
  func fallAsleep() {
    guard let clocks else { return }
    // What stood still since the thread woke is found here, and told when it wakes again.
    look(awakes: true)
    let pause = configuration.wholePause
    stops.withLock { stops in
      let now = clocks()
      // What the thread told may have taken any time; but the machine was suspended whenever it was.
      if let stop = stops.resume.look(now, meant: .seconds(Int64.max)) { stops.found.machine += stop.machine }
      stops.meant = pause
      expectLook(after: pause, now)
    }
  }

  /// The sleep is over: looks at the clocks and the counters, and has others told.
  func wakeUp() {
    guard isOfThisProcess else { return }
    look(awakes: true)
    if let stop = takeStop() { resume(stop, isNoticed: true) }
    lookForIdleness()
    if configuration.machineClocks != nil { fallAsleep() }
  }

  /// The thread has others told from here on.
  private func beginTelling() {
    guard clocks != nil else { return }
    stops.withLock { stops in
      stops.meant = nil
      scopes.expectLook(by: nil)
    }
  }

  /// Looks at the clocks, on behalf of a scope that changes, or of the thread, which `awakes`: if the process stood
  /// still, that is left out of all open scopes when this returns.
  func look(awakes: Bool = false) {
    guard let clocks, isOfThisProcess else { return }
    let changed = stops.withLock { stops -> [Scope] in
      guard let meant = stops.meant else { return [] }
      var resume = stops.resume
      let now = clocks()
      let stop = resume.look(now, meant: meant)
      if awakes { stops.meant = .zero }
      // Of a sleep that goes on the beginning counts.
      if awakes || stop != nil { stops.resume = resume }
      defer { if awakes || stop != nil { expectLook(after: awakes ? .zero : meant, now) } }
      guard let stop else { return [] }
      stops.found.process += stop.process
      stops.found.machine += stop.machine
      let scopes = self.scopes.open
      for scope in scopes { scope.leaveOut(stop.process, before: now.monotonic) }
      return scopes
    }
    // One of them may end here, and look in its turn.
    withExtendedLifetime(changed) {}
  }

  /// Until then nobody else has to look. To be said last: from here on others go on without waiting for the lock.
  private func expectLook(after meant: Duration, _ now: ResumeWatch.Clocks) {
    // With clocks of a test's own always: those of the machine say nothing about them.
    let latest = configuration.machineClocks == nil ? now.monotonic + meant + ResumeWatch.tolerance : .zero
    scopes.expectLook(by: latest)
  }

  private func takeStop() -> ResumeWatch.Stop? {
    stops.withLock { stops in
      defer { stops.found = ResumeWatch.Stop() }
      return stops.found.all > .zero ? stops.found : nil
    }
  }

  /// Whether nothing was captured for long enough, or somebody says that the process is idle; told once until something
  /// is captured.
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

  /// The process goes on: what it stood still was no idleness.
  private func resume(_ stop: ResumeWatch.Stop, isNoticed: Bool) {
    let now = clock.now
    idleness.withLock { $0.since = max($0.since, now) }
    if isNoticed { beginTelling() }
    announcements.announce(.resume(stop, isNoticed: isNoticed))
  }

  // MARK: For the life cycle

  /// In a child of a fork nobody knows, and whoever asked might wait for a lock that nobody lets go of.
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
