// Signals that a host hands over, and stops that nobody tells of: in processes of their own, which are stopped and
// ended for real.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir
import WeirScopes

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A process that is sent signals, and the log that it leaves.
private struct Victim {
  /// Where parent and child meet, for the child's code can't be given anything. `name` is the test's.
  static func directory(_ name: String, of process: pid_t) -> String {
    FileManager.default.temporaryDirectory.appending(path: "weir-signal-\(process)-\(name)").path
  }

  let tracker: Tracker

  init(_ name: String) throws {
    // Against hanging: whatever the process waits for, it ends by that signal in a quarter of an hour.
    alarm(900)
    tracker = try Tracker(
      directory: Self.directory(name, of: getppid()), configuration: quiet { $0.drainInterval = .milliseconds(1) })
  }

  /// One that does not look at the clocks by itself, unless told to: a machine that stalls for a second looks like a
  /// stop.
  func lifeCycle(_ signals: Set<LifeCycle.Signal>, pause: Duration = .seconds(3600)) throws -> LifeCycle {
    var configuration = LifeCycle.Configuration()
    configuration.signals = signals
    configuration.pause = pause
    return try LifeCycle(tracker, configuration: configuration)
  }

  /// What the log of a dead victim has: names of events.
  static func lines(_ name: String) throws -> [String] {
    try events(name).map(\.name)
  }

  /// By their time, for several threads captured them.
  static func events(_ name: String) throws -> [StoredEvent] {
    try EventReader(directory: directory(name, of: getpid())).all()
      .sorted { ($0.time, $0.offset) < ($1.time, $1.offset) }
  }

  static func remove(_ name: String) {
    try? FileManager.default.removeItem(atPath: directory(name, of: getpid()))
  }

  /// Has somebody else stop this process (unless it stops by itself), wait until it stands still, capture nothing for
  /// so long, and have it go on. Answers once it does.
  static func stopped(by stop: String = ":", seconds: Double = 0.2) throws {
    let shell = Process()
    shell.executableURL = URL(filePath: "/bin/sh")
    // State T in /proc; it ends with this process, so that nothing is left over.
    shell.arguments = [
      "-c",
      """
      \(stop)
      while [ -e /proc/\(getpid()) ]; do
        case "$(cut -d' ' -f3 /proc/\(getpid())/stat)" in T*) sleep \(seconds); kill -CONT \(getpid()); exit 0;; esac
        sleep 0.01
      done
      exit 1
      """,
    ]
    try shell.run()
    shell.waitUntilExit()
    precondition(shell.terminationStatus == 0, "the process did not stop")
  }

  /// Waits until something is so, which takes as long as the machine takes.
  static func wait(until condition: () throws -> Bool) rethrows {
    while try !condition() { usleep(2_000) }
  }

  /// Waits for a signal to end the process.
  static func waitForTheEnd() -> Never {
    while true { pause() }
  }

  /// Default actions of terminal stops need a process group whose leader has a parent in the session.
  static func leadsItsGroup() { setpgid(0, 0) }
}

struct SignalTests {
  @Test func `termination without a handler ends by the signal`() async throws {
    defer { Victim.remove("term") }
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let victim = try Victim("term")
      let lifeCycle = try victim.lifeCycle([.terminate])
      let scope = victim.tracker.beginScope("job")
      let observation = lifeCycle.observe { _ in _ = victim.tracker.track("told") }
      kill(getpid(), SIGTERM)
      withExtendedLifetime((scope, lifeCycle, observation)) { Victim.waitForTheEnd() }
    }
    #expect(
      try Victim.lines("term") == ["process.started", "scope.entered", "told", "scope.exited", "process.shutdown"])
    #expect(try Victim.events("term")[3].fields["interaction"] == "shutdown")
  }

  /// A second one is the host's at once, though an observer hangs.
  @Test func `a second termination is not waited for`() async throws {
    defer { Victim.remove("twice") }
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let victim = try Victim("twice")
      let lifeCycle = try victim.lifeCycle([.terminate])
      let hangs = Atomic<Bool>(false)
      let observation = lifeCycle.observe { _ in
        hangs.store(true, ordering: .sequentiallyConsistent)
        Victim.waitForTheEnd()
      }
      kill(getpid(), SIGTERM)
      Victim.wait { hangs.load(ordering: .sequentiallyConsistent) }
      kill(getpid(), SIGTERM)
      withExtendedLifetime((lifeCycle, observation)) { Victim.waitForTheEnd() }
    }
  }

  @Test func `the handler that was there is called after`() async throws {
    defer { Victim.remove("before") }
    await #expect(processExitsWith: .exitCode(42)) {
      signal(SIGTERM) { number in _exit(number == SIGTERM ? 42 : 1) }
      let victim = try Victim("before")
      let lifeCycle = try victim.lifeCycle([.terminate])
      kill(getpid(), SIGTERM)
      withExtendedLifetime(lifeCycle) { Victim.waitForTheEnd() }
    }
    #expect(try Victim.lines("before") == ["process.started", "process.shutdown"])
  }

  /// Many a handler cleans up, and then raises the signal again for its default action.
  @Test func `a handler that raises the signal again ends the process by it`() async throws {
    defer { Victim.remove("again") }
    await #expect(processExitsWith: .signal(SIGTERM)) {
      signal(SIGTERM) { number in
        signal(number, SIG_DFL)
        raise(number)
      }
      let victim = try Victim("again")
      let lifeCycle = try victim.lifeCycle([.terminate])
      kill(getpid(), SIGTERM)
      withExtendedLifetime(lifeCycle) { Victim.waitForTheEnd() }
    }
    #expect(try Victim.lines("again") == ["process.started", "process.shutdown"])
  }

  /// On a thread of the host's, whose wait it interrupts: the life cycle's own has every signal blocked.
  @Test func `the handler is called where it would have been`() async throws {
    defer { Victim.remove("where") }
    await #expect(processExitsWith: .exitCode(44)) {
      signal(SIGTERM) { _ in
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        _exit(sigismember(&mask, SIGUSR1) == 0 ? 44 : 1)
      }
      let victim = try Victim("where")
      let lifeCycle = try victim.lifeCycle([.terminate])
      kill(getpid(), SIGTERM)
      withExtendedLifetime(lifeCycle) { Victim.waitForTheEnd() }
    }
    #expect(try Victim.lines("where") == ["process.started", "process.shutdown"])
  }

  /// A handler that the host puts in place later, and that calls ours, stays, and a second signal is not waited for.
  @Test func `a later handler stays`() async throws {
    defer { Victim.remove("later") }
    await #expect(processExitsWith: .signal(SIGTERM)) {
      let victim = try Victim("later")
      let lifeCycle = try victim.lifeCycle([.terminate])
      let observation = lifeCycle.observe { _ in Victim.waitForTheEnd() }
      var later = sigaction()
      later.__sigaction_handler.sa_sigaction = { number, info, context in
        continued.add(1, ordering: .sequentiallyConsistent)
        handlerBefore.__sigaction_handler.sa_sigaction(number, info, context)
      }
      later.sa_flags = SA_SIGINFO
      sigaction(SIGTERM, &later, &handlerBefore)
      kill(getpid(), SIGTERM)
      Victim.wait { lifeCycle.state == .shutdown }
      var now = sigaction()
      sigaction(SIGTERM, nil, &now)
      guard now.sa_flags & SA_SIGINFO != 0 else { _exit(1) }
      kill(getpid(), SIGTERM)
      withExtendedLifetime(observation) { Victim.waitForTheEnd() }
    }
  }

  /// It stays through a stop, too; and so does the life cycle, which it calls.
  @Test func `a later handler of stops stays, and calls the life cycle`() async throws {
    defer { Victim.remove("later-stop") }
    await #expect(processExitsWith: .exitCode(2)) {
      Victim.leadsItsGroup()
      let victim = try Victim("later-stop")
      let lifeCycle = try victim.lifeCycle([.terminalStop])
      var later = sigaction()
      later.__sigaction_handler.sa_sigaction = { number, info, context in
        continued.add(1, ordering: .sequentiallyConsistent)
        handlerBefore.__sigaction_handler.sa_sigaction(number, info, context)
      }
      later.sa_flags = SA_SIGINFO
      sigaction(SIGTSTP, &later, &handlerBefore)
      for _ in 0..<2 {
        try Victim.stopped(by: "kill -TSTP \(getpid())", seconds: 0)
        Victim.wait { lifeCycle.state == .resume }
      }
      try victim.tracker.drain()
      _exit(Int32(continued.load(ordering: .sequentiallyConsistent)))
    }
    #expect(try Victim.lines("later-stop").filter { $0 == "process.suspended" }.count == 2)
  }

  /// SIGCONT takes back a stop that has not happened yet, as the kernel has it: nobody would have the process go on.
  @Test func `a stop that is taken back is told as one`() async throws {
    defer { Victim.remove("taken-back") }
    await #expect(processExitsWith: .exitCode(0)) {
      Victim.leadsItsGroup()
      let victim = try Victim("taken-back")
      let lifeCycle = try victim.lifeCycle([.terminalStop, .continue])
      var later = sigaction()
      later.__sigaction_handler.sa_sigaction = { number, info, context in
        handlerBefore.__sigaction_handler.sa_sigaction(number, info, context)
        continued.add(1, ordering: .sequentiallyConsistent)
      }
      later.sa_flags = SA_SIGINFO
      sigaction(SIGCONT, &later, &handlerBefore)
      let process = getpid()
      let observation = lifeCycle.observe { state in
        guard state == .suspend else { return }
        kill(process, SIGCONT)
        // The handler runs on another thread: it is to have run first.
        Victim.wait { continued.load(ordering: .sequentiallyConsistent) == 1 }
      }
      // Lest the test wait for ever, where it fails.
      let shell = Process()
      shell.executableURL = URL(filePath: "/bin/sh")
      shell.arguments = [
        "-c",
        "while sleep 1; do grep -q 'State:.[a-zA-SU-Z]' /proc/\(process)/status || kill -KILL \(process) || exit; done",
      ]
      try shell.run()
      kill(process, SIGTSTP)
      Victim.wait { lifeCycle.state == .resume }
      shell.terminate()
      withExtendedLifetime(observation) {}
      _exit(0)
    }
  }

  @Test func `a released life cycle puts the handlers back`() async throws {
    defer { Victim.remove("back") }
    await #expect(processExitsWith: .exitCode(43)) {
      signal(SIGTERM) { _ in _exit(43) }
      let victim = try Victim("back")
      var lifeCycle: LifeCycle? = try victim.lifeCycle([.terminate, .continue])
      let other = try Tracker(directory: victim.tracker.directory + "/other", configuration: quiet())
      do {
        var configuration = LifeCycle.Configuration()
        configuration.signals = [.terminalStop, .terminate]
        _ = try LifeCycle(other, configuration: configuration)
        _exit(1)
      } catch let error as WeirError {
        guard error.code == .invalid, error.message.contains("SIGTERM") else { _exit(2) }
      }
      lifeCycle = nil
      var now = sigaction()
      for number in [SIGTSTP, SIGCONT] {
        sigaction(number, nil, &now)
        guard now.__sigaction_handler.sa_handler == nil else { _exit(3) }
      }
      // And they can be taken again.
      lifeCycle = try victim.lifeCycle([.terminate])
      lifeCycle = nil
      kill(getpid(), SIGTERM)
      withExtendedLifetime(lifeCycle) { Victim.waitForTheEnd() }
    }
    #expect(try Victim.lines("back") == ["process.started", "process.started"])
  }

  /// The process really stops, after all of it is captured, and goes on.
  @Test func `a stop from the terminal is told`() async throws {
    defer { Victim.remove("stop") }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      Victim.leadsItsGroup()
      let victim = try Victim("stop")
      let lifeCycle = try victim.lifeCycle([.terminalStop, .continue])
      let scope = victim.tracker.beginScope("s")
      try Victim.stopped(by: "kill -TSTP \(getpid())")
      Victim.wait { lifeCycle.state == .resume && !scope.isSuspended }
      // Our handler is in place again.
      try Victim.stopped(by: "kill -TSTP \(getpid())")
      Victim.wait { scope.suspended > .milliseconds(400) && lifeCycle.state == .resume && !scope.isSuspended }
      try victim.tracker.drain()
      kill(getpid(), SIGKILL)
    }
    let stop = ["scope.suspended", "process.suspended", "process.resumed", "scope.resumed"]
    // On a machine that stalls the signal may come long after the thread said so, and is another one then.
    var lines: [String] = []
    for line in try Victim.lines("stop") where line != "process.resumed" || lines.last == "process.suspended" {
      lines.append(line)
    }
    #expect(lines == ["process.started", "scope.entered"] + stop + stop)
    let resumed = try Victim.events("stop").filter { $0.name == "process.resumed" }
    let stopped: [Double] = try resumed.map { try $0["stoppedSeconds"] }
    #expect(stopped.filter { $0 >= 0.2 }.count == 2)
  }

  /// Nobody tells of SIGSTOP: what the process stood still is left out of a scope that ends right after.
  @Test func `a stop that nobody tells of is told by the clocks`() async throws {
    defer { Victim.remove("freeze") }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      let victim = try Victim("freeze")
      let lifeCycle = try victim.lifeCycle([], pause: .milliseconds(50))
      let scope = victim.tracker.beginScope("s")
      // The thread sleeps by then.
      usleep(200_000)
      try Victim.stopped(by: "kill -STOP \(getpid())", seconds: 2)
      scope.end()
      Victim.wait { lifeCycle.state == .resume }
      try victim.tracker.drain()
      kill(getpid(), SIGKILL)
    }
    let events = try Victim.events("freeze")
    let exit = try #require(events.first { $0.name == "scope.exited" })
    let suspended: Double = try exit["suspendedSeconds"]
    // It stood still for two seconds; all but a pause and the rounding of clocks is known.
    #expect(suspended >= 1.9)
    let resumed = events.filter { $0.name == "process.resumed" }
    let stopped: [Double] = try resumed.map { try $0["stoppedSeconds"] }
    #expect(stopped.contains { $0 >= 1.9 })
  }

  @Test func `a process that continues calls its own handler, too`() async throws {
    defer { Victim.remove("cont") }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      let victim = try Victim("cont")
      signal(SIGCONT) { _ in continued.add(1, ordering: .sequentiallyConsistent) }
      let lifeCycle = try victim.lifeCycle([.continue])
      try Victim.stopped(by: "kill -STOP \(getpid())", seconds: 0)
      Victim.wait { lifeCycle.state == .resume && continued.load(ordering: .sequentiallyConsistent) == 1 }
      try victim.tracker.drain()
      kill(getpid(), SIGKILL)
    }
    #expect(try Victim.lines("cont") == ["process.started", "process.resumed"])
  }

  /// A scope that a kill cut short is entered and never exited.
  @Test func `a scope that a kill cut short is entered, and never exited`() async throws {
    defer { Victim.remove("killed") }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      let victim = try Victim("killed")
      let lifeCycle = try victim.lifeCycle([.terminate])
      victim.tracker.withScope("done") { _ in }
      victim.tracker.withScope("cut short") { _ in
        victim.tracker.track("last")
        kill(getpid(), SIGKILL)
      }
      withExtendedLifetime(lifeCycle) {}
    }
    let events = try Victim.events("killed")
    var open: [String: StoredEvent] = [:]
    for event in events {
      guard let view = event.context.view else { continue }
      switch try ScopeEvent(event) {
      case .entered: open[view.id] = event
      case .exited: open[view.id] = nil
      default: break
      }
    }
    #expect(open.values.map { $0.context.view?.name } == ["cut short"])
    #expect(events.map(\.name) == ["process.started", "scope.entered", "scope.exited", "scope.entered", "last"])
  }

  /// A child of a fork has the handlers, too: there a signal does what it did before, and the parent knows nothing of
  /// it.
  @Test func `a fork passes signals on`() async throws {
    defer { Victim.remove("fork") }
    await #expect(processExitsWith: .exitCode(0)) {
      let victim = try Victim("fork")
      let lifeCycle = try victim.lifeCycle([.terminate])
      let child = forkProcess()
      if child == 0 {
        // This thread, the only one that is left, may be one of those that block signals.
        var none = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, nil)
        alarm(900)
        kill(getpid(), SIGTERM)
        Victim.waitForTheEnd()
      }
      var status: Int32 = 0
      waitpid(child, &status, 0)
      guard status & 0x7f == SIGTERM, lifeCycle.state == .start else { _exit(2) }
      try victim.tracker.drain()
      _exit(0)
    }
    #expect(try Victim.lines("fork") == ["process.started"])
  }

  /// Signals that come in any number while a life cycle is made and released: each does what it would have done.
  @Test func `signals that come while handlers are taken and given back do what they would have done`() async throws {
    defer { Victim.remove("churn") }
    await #expect(processExitsWith: .exitCode(0)) {
      signal(SIGCONT) { _ in continued.add(1, ordering: .sequentiallyConsistent) }
      let victim = try Victim("churn")
      let isOver = Atomic<Bool>(false)
      let sender = Thread {
        while !isOver.load(ordering: .sequentiallyConsistent) {
          kill(getpid(), SIGCONT)
          usleep(100)
        }
      }
      sender.start()
      for _ in 0..<100 {
        let lifeCycle = try victim.lifeCycle([.continue])
        lifeCycle.note(.suspend)
      }
      isOver.store(true, ordering: .sequentiallyConsistent)
      let lifeCycle = try victim.lifeCycle([.continue])
      let before = continued.load(ordering: .sequentiallyConsistent)
      kill(getpid(), SIGCONT)
      Victim.wait { continued.load(ordering: .sequentiallyConsistent) > before }
      withExtendedLifetime(lifeCycle) {}
      _exit(0)
    }
  }
}

private let continued = Atomic<Int>(0)

/// Written before any signal comes.
private nonisolated(unsafe) var handlerBefore = sigaction()

@_silgen_name("fork") private func forkProcess() -> pid_t
