// LifeCycle: what is told in which order, what stands still, what is idle; on clocks that the test moves.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirScopes

/// The clocks of a machine that stand still until they are moved.
private final class Machine: Sendable {
  private let state = Mutex(ResumeWatch.Clocks(boot: .seconds(500), monotonic: .seconds(500)))

  var clocks: ResumeWatch.Clocks { state.withLock { $0 } }

  /// Time passes; of it the machine was suspended so long.
  func pass(_ seconds: Double, suspended: Double = 0) {
    state.withLock { state in
      state.monotonic += .seconds(seconds)
      state.boot += .seconds(seconds + suspended)
    }
  }
}

private struct Stage {
  let log: ScopeLog
  let machine = Machine()
  let lifeCycle: LifeCycle

  init(_ log: ScopeLog, _ change: (inout LifeCycle.Configuration) -> Void = { _ in }) throws {
    self.log = log
    var configuration = LifeCycle.Configuration()
    configuration.machineClocks = { [machine] in machine.clocks }
    configuration.idleAfter = nil
    change(&configuration)
    lifeCycle = try LifeCycle(log.tracker, configuration: configuration)
  }

  /// The thread's next look, after so long.
  func wake(after seconds: Double, suspended: Double = 0) {
    machine.pass(seconds, suspended: suspended)
    lifeCycle.watchForTests.wakeUp()
  }

  func processEvents() throws -> [ProcessEvent] { try log.tracker.events(of: ProcessEvent.self).map(\.event) }

  func exit(_ name: String) throws -> (seconds: Double, suspended: Double)? {
    for recorded in try log.tracker.events(of: ScopeEvent.self) {
      if case .exited(name, _, let seconds, let suspended) = recorded.event { return (seconds, suspended) }
    }
    return nil
  }
}

struct LifeCycleTests {
  @Test func `the events of the life cycle nest`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let told = Mutex<[LifeCycle.State]>([])
      let observation = stage.lifeCycle.observe { state in
        told.withLock { $0.append(state) }
        log.tracker.track("told \(state)")
      }
      let parent = log.tracker.beginScope("parent")
      let child = parent.run { log.tracker.beginScope("child") }
      let away = log.tracker.beginScope("away")
      away.suspend()
      for state in [.start, .suspend, .suspend, .idle, .resume, .resume, .shutdown, .shutdown, .resume]
        as [LifeCycle.State]
      {
        stage.lifeCycle.note(state)
      }
      #expect(stage.lifeCycle.state == .shutdown)
      #expect(parent.isEnded)
      #expect(child.isEnded)
      #expect(away.isEnded)
      #expect(
        try log.lines() == [
          "process.started", "entered parent", "entered child", "entered away", "suspended away",
          "told suspend", "suspended child", "suspended parent", "process.suspended",
          "process.resumed", "resumed parent", "resumed child", "told resume",
          "told shutdown", "exited away shutdown", "exited child shutdown", "exited parent shutdown",
          "process.shutdown",
        ])
      #expect(told.withLock { $0 } == [.suspend, .resume, .shutdown])
      withExtendedLifetime(observation) {}
    }
  }

  /// A request notes what becomes of the process: that is no more of this request than of any other.
  @Test func `the process's own events are of no request`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let observed = Mutex<[String?]>([])
      let observation = stage.lifeCycle.observe { _ in
        let user = Bindings.current.user?.id
        observed.withLock { $0.append(user) }
      }
      let scope = Bindings.with(user: "bob") { log.tracker.beginScope("page") }
      Bindings.with(user: "ada") {
        Bindings.with(view: "other") {
          stage.lifeCycle.note(.suspend)
          stage.lifeCycle.note(.resume)
        }
      }
      let found = try log.tracker.events()
      let ofProcess = found.filter { $0.name.hasPrefix("process.") }
      #expect(ofProcess.count == 3)
      #expect(ofProcess.allSatisfy { $0.context == EventContext() })
      #expect(observed.withLock { $0 } == [nil, nil])
      let ofScope = found.filter { $0.name.hasPrefix("scope.") }
      #expect(ofScope.count == 3)
      #expect(ofScope.allSatisfy { $0.context.user?.id == "bob" })
      withExtendedLifetime((observation, scope)) {}
    }
  }

  @Test func `an observer that ended is not told`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let told = Mutex(0)
      var observation: LifeCycle.Observation? = stage.lifeCycle.observe { _ in told.withLock { $0 += 1 } }
      let other = stage.lifeCycle.observe { _ in told.withLock { $0 += 100 } }
      stage.lifeCycle.note(.suspend)
      #expect(told.withLock { $0 } == 101)
      observation = nil
      stage.lifeCycle.note(.resume)
      #expect(told.withLock { $0 } == 201)
      #expect(observation == nil)
      other.end()
      stage.lifeCycle.note(.shutdown)
      #expect(told.withLock { $0 } == 201)
    }
  }

  /// An observer may note a state, and end another's observation: that comes after, and counts at once.
  @Test func `an observer may note a state, and end another's observation`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let others = Mutex<[LifeCycle.Observation]>([])
      let lifeCycle = stage.lifeCycle
      let first = lifeCycle.observe { [weak lifeCycle] state in
        guard state == .suspend else { return }
        lifeCycle?.note(.resume)
        log.tracker.track("noted")
        for other in others.withLock({ $0 }) { other.end() }
      }
      others.withLock { $0 = [lifeCycle.observe { _ in _ = log.tracker.track("never") }] }
      lifeCycle.note(.suspend)
      #expect(try log.lines() == ["process.started", "noted", "process.suspended", "process.resumed"])
      withExtendedLifetime(first) {}
    }
  }

  @Test func `a stop is left out of open scopes`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let long = log.tracker.beginScope("long")
      stage.wake(after: 1)
      stage.machine.pass(0.5)
      let young = log.tracker.beginScope("young")
      let away = log.tracker.beginScope("away")
      away.suspend()
      // A sleep of a second that took 100.
      stage.wake(after: 99.5)
      #expect(try stage.processEvents() == [.started, .resumed(stoppedSeconds: 99)])
      #expect(long.elapsed == .seconds(2))
      #expect(long.suspended == .seconds(99))
      #expect(young.elapsed == .seconds(0.5))
      #expect(young.suspended == .seconds(99))
      #expect(away.elapsed == .zero)
      #expect(away.suspended == .seconds(99.5))
      #expect(away.isSuspended)
      stage.wake(after: 1)
      #expect(long.elapsed == .seconds(3))
      long.end()
      #expect(try #require(try stage.exit("long")) == (3, 99))
      // Scopes that were not suspended are not resumed.
      let lines = try log.lines()
      #expect(!lines.contains { $0.hasPrefix("resumed") || $0 == "suspended long" })
    }
  }

  /// Whoever ends a scope, or begins one, before the thread wakes has the clocks looked at.
  @Test func `a stop that only the end notices is told`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let scope = log.tracker.beginScope("s")
      stage.machine.pass(51)
      scope.end()
      #expect(try #require(try stage.exit("s")) == (1, 50))
      let after = log.tracker.beginScope("after")
      stage.machine.pass(0.5)
      #expect(after.elapsed == .seconds(0.5))
      #expect(after.suspended == .zero)
      // Told once, by the thread.
      #expect(try stage.processEvents() == [.started])
      stage.wake(after: 0)
      stage.wake(after: 1)
      #expect(try stage.processEvents() == [.started, .resumed(stoppedSeconds: 50)])
    }
  }

  /// The thread was about to sleep again, having found nothing: told when it wakes.
  @Test func `a stop while the thread is awake is told`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let scope = log.tracker.beginScope("s")
      stage.machine.pass(1)
      stage.lifeCycle.watchForTests.look(awakes: true)
      stage.machine.pass(30)
      stage.lifeCycle.watchForTests.fallAsleep()
      #expect(scope.elapsed == .seconds(1))
      #expect(scope.suspended == .seconds(30))
      stage.wake(after: 1)
      #expect(try stage.processEvents() == [.started, .resumed(stoppedSeconds: 30)])
    }
  }

  @Test func `a suspension of the machine is told`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let scope = log.tracker.beginScope("s")
      stage.wake(after: 1, suspended: 3600)
      #expect(try stage.processEvents() == [.started, .resumed(stoppedSeconds: 3600)])
      // The monotonic clock stood still with it.
      #expect(scope.elapsed == .seconds(1))
      #expect(scope.suspended == .zero)
      stage.wake(after: 1.5)
      #expect(try stage.processEvents().count == 2)
    }
  }

  @Test func `a signal and the clocks tell of one stop`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      // The signal first, as when it wakes the thread.
      stage.machine.pass(20)
      stage.lifeCycle.note(.resume)
      stage.wake(after: 0)
      #expect(try stage.processEvents() == [.started, .resumed(stoppedSeconds: 19)])
      // The clocks first.
      stage.wake(after: 30)
      stage.machine.pass(0.9)
      stage.lifeCycle.note(.resume)
      #expect(try stage.processEvents().count == 3)
      // Long after, it is another one, too short to be noticed.
      stage.machine.pass(0.9)
      stage.lifeCycle.note(.resume)
      #expect(try stage.processEvents().last == .resumed(stoppedSeconds: 0))
      #expect(try stage.processEvents().count == 4)
    }
  }

  /// A stop while the host says that the process is suspended is a part of that.
  @Test func `a stop while suspended is no second suspension`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let scope = log.tracker.beginScope("s")
      stage.machine.pass(0.5)
      stage.lifeCycle.note(.suspend)
      stage.wake(after: 40)
      #expect(try stage.processEvents() == [.started, .suspended])
      #expect(scope.isSuspended)
      stage.machine.pass(1, suspended: 7)
      stage.lifeCycle.note(.resume)
      #expect(try stage.processEvents().last == .resumed(stoppedSeconds: 48))
      #expect(scope.elapsed == .seconds(0.5))
      #expect(scope.suspended == .seconds(41))
      #expect(!scope.isSuspended)
    }
  }

  @Test func `the process is idle once until something is captured`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log) { $0.idleAfter = .seconds(10) }
      func idles() throws -> Int { try stage.processEvents().filter { $0 == .idle }.count }
      log.tracker.track("work")
      for _ in 0..<11 { stage.wake(after: 1) }
      #expect(try idles() == 1)
      #expect(stage.lifeCycle.state == .idle)
      for _ in 0..<30 { stage.wake(after: 1) }
      stage.lifeCycle.note(.idle)
      #expect(try idles() == 1)
      log.tracker.track("work")
      for _ in 0..<10 { stage.wake(after: 1) }
      #expect(try idles() == 1)
      stage.wake(after: 1)
      #expect(try idles() == 2)
      // Said, and after that by itself again.
      log.tracker.track("work")
      stage.lifeCycle.note(.idle)
      #expect(try idles() == 3)
      // A suspension and a stop are none, and the life cycle's own events, and those of scopes, no work.
      let scope = log.tracker.beginScope("s")
      stage.lifeCycle.note(.suspend)
      for _ in 0..<30 { stage.wake(after: 1) }
      stage.lifeCycle.note(.resume)
      stage.wake(after: 9)
      #expect(try idles() == 3)
      for _ in 0..<10 { stage.wake(after: 1) }
      #expect(try idles() == 4)
      scope.end()
      stage.lifeCycle.note(.shutdown)
      for _ in 0..<30 { stage.wake(after: 1) }
      #expect(try idles() == 4)
      #expect(try stage.processEvents().last == .shutdown)
    }
  }

  /// No later time can be computed from times near the end of what there is: they are no reason to trap.
  @Test func `a pause may be for ever`() throws {
    try ScopeLog.with { log throws in
      var configuration = LifeCycle.Configuration()
      configuration.pause = .seconds(Int64.max)
      configuration.idleAfter = .seconds(Int64.max)
      let lifeCycle = try LifeCycle(log.tracker, configuration: configuration)
      log.tracker.beginScope("s").end()
      lifeCycle.note(.suspend)
      #expect(lifeCycle.state == .suspend)
    }
  }

  @Test func `a process that is not to be idle never is`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      for _ in 0..<500 { stage.wake(after: 1) }
      #expect(try stage.processEvents() == [.started])
    }
  }

  /// With a clock that is given everything goes by that, and nothing is noticed but idleness.
  @Test(.timeLimit(.minutes(15))) func `a virtual clock leaves idleness alone to be noticed`() async throws {
    try await ScopeLog.withAsync { log async throws in
      let clock = VirtualClock()
      var configuration = LifeCycle.Configuration()
      configuration.clock = clock
      configuration.idleAfter = .seconds(60)
      let lifeCycle = try LifeCycle(log.tracker, configuration: configuration)
      let scope = log.tracker.beginScope("s")
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(30))
      #expect(scope.elapsed == .seconds(30))
      scope.suspend()
      clock.advance(by: .seconds(5))
      #expect(scope.elapsed == .seconds(30))
      #expect(scope.suspended == .seconds(5))
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(1))
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(200))
      while lifeCycle.state != .idle { await Task.yield() }
      await clock.sleepers(atLeast: 1)
      #expect(try log.tracker.events(of: ProcessEvent.self).map(\.event) == [.started, .idle])
    }
  }

  @Test func `a tracker has one life cycle`() throws {
    try ScopeLog.with { log throws in
      var configuration = LifeCycle.Configuration()
      configuration.pause = .seconds(3600)
      var first: LifeCycle? = try LifeCycle(log.tracker, configuration: configuration)
      let error = #expect(throws: WeirError.self) { try LifeCycle(log.tracker) }
      #expect(error?.code == .invalid)
      #expect(try log.lines() == ["process.started"])
      first = nil
      let second = try LifeCycle(log.tracker, configuration: configuration)
      #expect(try log.lines() == ["process.started", "process.started"])
      #expect(first == nil)
      second.note(.suspend)
      #expect(second.state == .suspend)
    }
  }

  /// Its thread, and whatever holds it, is gone with it.
  @Test(.timeLimit(.minutes(15))) func `a released life cycle keeps nothing`() async throws {
    try await withDirectoryAsync { directory in
      weak var tracker: Tracker?
      do {
        let open = try Tracker(directory: directory, configuration: quiet())
        tracker = open
        var configuration = LifeCycle.Configuration()
        configuration.pause = .seconds(3600)
        let lifeCycle = try LifeCycle(open, configuration: configuration)
        let observation = lifeCycle.observe { _ in }
        lifeCycle.note(.suspend)
        withExtendedLifetime((lifeCycle, observation)) {}
      }
      while tracker != nil { try await Task.sleep(for: .milliseconds(1)) }
    }
  }

  @Test func `a life cycle of a closed tracker ends without events`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log) { $0.idleAfter = .seconds(5) }
      let scope = log.tracker.beginScope("s")
      try log.tracker.close()
      for state in LifeCycle.State.allCases { stage.lifeCycle.note(state) }
      stage.wake(after: 90)
      #expect(scope.isEnded)
      #expect(stage.lifeCycle.state == .shutdown)
    }
  }

  /// Whoever notes a state finds it told when the call returns, though another thread tells it.
  @Test func `many threads may note states`() throws {
    try ScopeLog.with { log throws in
      let stage = try Stage(log)
      let told = Mutex<[LifeCycle.State]>([])
      let observation = stage.lifeCycle.observe { state in told.withLock { $0.append(state) } }
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for _ in 0..<200 {
          log.tracker.withScope("\(thread)") { _ in
            stage.lifeCycle.note(.suspend)
            stage.lifeCycle.note(.resume)
          }
        }
      }
      // In turns, and what was told is what was captured.
      let states = told.withLock { $0 }
      #expect(states.first == .suspend)
      #expect(states.last == .resume)
      #expect(zip(states, states.dropFirst()).allSatisfy { $0 != $1 })
      #expect(try stage.processEvents().count == states.count + 1)
      #expect(log.tracker.scopes.open.isEmpty)
      withExtendedLifetime(observation) {}
    }
  }
}
