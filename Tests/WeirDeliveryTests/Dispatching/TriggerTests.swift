// Every flush trigger through the dispatcher, each as the only one of its policy, on a clock that the test moves: what
// it does not hold for stays, what it holds for goes.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

/// A provider with one policy, and the log that it gets.
private struct Trial {
  let stage: DeliveryStage
  let provider: ScriptedProvider

  init(
    _ directory: String, _ triggers: FlushPolicy.Triggers, provider: ScriptedProvider = ScriptedProvider(),
    waiting: Int = 0, machine: Machine? = nil, byteLimit: Int? = nil, whenFull: Tracker.OverflowPolicy = .block,
    _ change: (inout DeliveryOptions) -> Void = { _ in }
  ) throws {
    self.provider = provider
    stage = try DeliveryStage(
      directory,
      tracker: {
        $0.byteLimit = byteLimit
        $0.whenFull = whenFull
      },
      dispatcher: { configuration in
        guard let machine else { return }
        configuration.resumeClocks = { machine.clocks }
        configuration.calls = SystemCalls(fault: { _ in machine.work() })
      })
    if waiting > 0 { try stage.capture(waiting) }
    var options = DeliveryOptions()
    options.flush = FlushPolicy(triggers)
    change(&options)
    try stage.dispatcher.add(provider, options: options)
  }

  var delivered: Int { provider.delivered.count }

  /// Whether nothing more is delivered for a while of the clock's.
  func staysAt(_ count: Int, for time: Duration = .seconds(2)) async -> Bool {
    !(await stage.run(upTo: time) { delivered > count }) && delivered == count
  }

  /// How long it takes by the clock until so many are delivered; nil if they are not.
  func time(until count: Int) async -> Duration? {
    let begin = stage.clock.now
    guard await stage.run(until: { delivered >= count }), delivered == count else { return nil }
    return begin.duration(to: stage.clock.now)
  }
}

/// The clocks of a machine, or of a process on it, that stands still for a while. They move at no other time.
private final class Machine: Sendable {
  private let state = Mutex(ResumeWatch.Clocks(boot: .seconds(1000), monotonic: .seconds(1000)))
  private let stop = Mutex(Duration.zero)

  var clocks: ResumeWatch.Clocks { state.withLock { $0 } }

  func suspend(for time: Duration) {
    state.withLock { $0.boot += time }
  }

  func stopProcess(for time: Duration) {
    state.withLock { clocks in
      clocks.boot += time
      clocks.monotonic += time
    }
  }

  /// The process is to stand still in the next call to the system that delivery makes.
  func stopProcessAtWork(for time: Duration) {
    stop.withLock { $0 = time }
  }

  /// A call to the system, which works.
  func work() -> Int32? {
    let time = stop.withLock { stop in
      defer { stop = .zero }
      return stop
    }
    stopProcess(for: time)
    return nil
  }
}

/// A look for new events comes at most that much later.
private let look = Duration.milliseconds(60)

struct TriggerTests {
  @Test func `a count triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, .count) { $0.flush.queueLimit = 10 }
      try trial.stage.capture(9)
      #expect(await trial.staysAt(0))
      try trial.stage.capture(1, from: 9)
      #expect(try #require(await trial.time(until: 10)) <= look)
      #expect(trial.provider.callSizes == [10])
    }
  }

  @Test func `a byte size triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, .bytes) { $0.flush.deliverySize = 3000 }
      let text = FieldValue.string(String(repeating: "x", count: 2000))
      #expect(trial.stage.tracker.track("large", fields: ["text": text]).isAccepted)
      try trial.stage.tracker.drain()
      #expect(await trial.staysAt(0))
      #expect(trial.stage.tracker.track("large", fields: ["text": text]).isAccepted)
      try trial.stage.tracker.drain()
      #expect(try #require(await trial.time(until: 2)) <= look)
    }
  }

  @Test func `an interval triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, .interval) { $0.flush.interval = .seconds(5) }
      #expect(await trial.staysAt(0))
      for round in 0..<3 {
        try trial.stage.capture(2, from: round * 2)
        let time = try #require(await trial.time(until: round * 2 + 2))
        #expect(time >= .seconds(5))
        #expect(time <= .seconds(5) + look)
      }
      #expect(trial.provider.callSizes == [2, 2, 2])
    }
  }

  @Test func `the start triggers delivery of all that is there`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, .start, waiting: 25) { $0.flush.maximumEvents = 10 }
      #expect(try #require(await trial.time(until: 25)) <= look)
      #expect(trial.provider.callSizes == [10, 10, 5])
      try trial.stage.capture(9, from: 25)
      #expect(await trial.staysAt(25))
    }
  }

  @Test func `the first events of an opening trigger delivery`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, .firstEvents) { $0.flush.firstEvents = 3 }
      for number in 0..<3 {
        try trial.stage.capture(1, from: number)
        #expect(try #require(await trial.time(until: number + 1)) <= look)
      }
      try trial.stage.capture(5, from: 3)
      #expect(await trial.staysAt(3))
    }
  }

  @Test func `a while without events triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, .idle) { $0.flush.idleAfter = .seconds(1) }
      for number in 0..<4 {
        try trial.stage.capture(1, from: number)
        #expect(await trial.staysAt(0, for: .milliseconds(700)))
      }
      let time = try #require(await trial.time(until: 4))
      #expect(time <= .milliseconds(500))
      #expect(trial.provider.callSizes == [4])
    }
  }

  @Test(arguments: [true, false])
  func `a process that goes on after a stop or a suspension triggers delivery`(_ isSuspension: Bool) async throws {
    try await withDirectoryAsync { directory in
      let machine = Machine()
      let trial = try Trial(directory, .resume, machine: machine) { $0.flush.maximumEvents = 3 }
      // More than a call takes, too: then nothing is read while it waits.
      try trial.stage.capture(5)
      #expect(await trial.staysAt(0))
      if isSuspension { machine.suspend(for: .seconds(1)) } else { machine.stopProcess(for: .seconds(30)) }
      #expect(try #require(await trial.time(until: 5)) <= look * 2)
      try trial.stage.capture(5, from: 5)
      #expect(await trial.staysAt(5))
    }
  }

  @Test func `a process that goes on after a stop between two sleeps triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let machine = Machine()
      let trial = try Trial(directory, .resume, machine: machine)
      try trial.stage.capture(2)
      #expect(await trial.staysAt(0, for: .seconds(25)))
      // Every ten seconds it looks at the cursors of others, and that is when it stands still.
      machine.stopProcessAtWork(for: .seconds(2))
      #expect(try #require(await trial.time(until: 2)) <= .seconds(10) + look)
    }
  }

  @Test func `SIGCONT after SIGSTOP triggers delivery`() async {
    await #expect(processExitsWith: .success) {
      let spy = try SpyTracker()
      let dispatcher = try Dispatcher(spy.tracker)
      try dispatcher.start()
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.flush = FlushPolicy(.resume)
      try dispatcher.add(provider, options: options)
      spy.tracker.track("e")
      // What is in a lane at the stop comes into the log after it, and that may be after the flush.
      try spy.tracker.drain()
      let helper = Process()
      helper.executableURL = URL(filePath: "/bin/sh")
      // Again and again, a little longer each time: how much of a stop the worker sees, and how far it comes between two,
      // depends on what else the machine does. It ends with this process, and its last word is always to go on.
      let process = getpid()
      helper.arguments = [
        "-c",
        """
        i=1; while [ $i -le 40 ]; do
        kill -STOP \(process) || exit; sleep 1.3; kill -CONT \(process); sleep $i; i=$((i + 1)); done
        """,
      ]
      try helper.run()
      while provider.delivered.isEmpty, helper.isRunning { try await Task.sleep(for: .milliseconds(20)) }
      exit(provider.delivered.count == 1 ? 0 : 1)
    }
  }

  @Test func `a provider that can be reached again triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let provider = ScriptedProvider(answers: [.fail("down")])
      let trial = try Trial(directory, [.count, .reachable], provider: provider) {
        $0.flush.queueLimit = 5
        $0.backoff.failures = 1
        $0.backoff.openFor = .seconds(10)
      }
      try trial.stage.capture(3)
      #expect(await trial.staysAt(0))
      try trial.stage.capture(2, from: 3)
      #expect(await trial.stage.run { provider.callSizes == [5] })
      // Too few for the count: only the probe's success sends them.
      try trial.stage.capture(2, from: 5)
      let time = try #require(await trial.time(until: 7))
      #expect(time >= .seconds(10) - look)
      #expect(time <= .seconds(10) + look)
      #expect(provider.callSizes == [5, 5, 2])
      try trial.stage.capture(2, from: 7)
      #expect(await trial.staysAt(7))
    }
  }

  @Test func `a part of the log's byte limit triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let limit = 40 << 20
      let trial = try Trial(directory, .overflow, byteLimit: limit) {
        $0.flush.overflowThreshold = 0.5
        $0.flush.maximumEvents = 7
      }
      let text = FieldValue.string(String(repeating: "x", count: 60_000))
      // Ring and segments that are made ahead are far below the half of it.
      for _ in 0..<10 { #expect(trial.stage.tracker.track("large", fields: ["text": text]).isAccepted) }
      #expect(await trial.staysAt(0, for: .seconds(3)))
      let count = limit / 2 / 60_000
      for _ in 0..<count { #expect(trial.stage.tracker.track("large", fields: ["text": text]).isAccepted) }
      try trial.stage.tracker.drain()
      #expect(try #require(await trial.time(until: 10 + count)) <= .seconds(2))
    }
  }

  @Test func `a capture that was refused for want of room triggers delivery`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, .overflow, byteLimit: 24 << 20, whenFull: .dropNewest) {
        $0.flush.overflowThreshold = 1
      }
      try trial.stage.capture(5)
      #expect(await trial.staysAt(0, for: .seconds(3)))
      let text = FieldValue.string(String(repeating: "x", count: 60_000))
      var accepted = 5
      for _ in 0..<4000 {
        guard trial.stage.tracker.track("large", fields: ["text": text]).isAccepted else { break }
        accepted += 1
      }
      #expect(trial.stage.tracker.counters.refusedForRoom > 0)
      #expect(await trial.stage.run { trial.delivered >= 5 })
    }
  }

  @Test(arguments: [FlushPolicy.Triggers.shutdown, .count])
  func `a shutdown triggers delivery`(_ trigger: FlushPolicy.Triggers) async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, trigger)
      try trial.stage.capture(5)
      #expect(await trial.staysAt(0))
      let report = try await trial.stage.running { [dispatcher = trial.stage.dispatcher] in
        await dispatcher.shutdown(budget: .seconds(50_000))
      }
      let isDelivered = trigger == .shutdown
      #expect(trial.delivered == (isDelivered ? 5 : 0))
      #expect(report.entries.map(\.acknowledged) == [isDelivered ? 5 : 0])
      #expect(report.entries.map(\.pending) == [isDelivered ? 0 : 5])
    }
  }

  @Test(arguments: [FlushPolicy.Triggers.demand, .count])
  func `a demand triggers delivery`(_ trigger: FlushPolicy.Triggers) async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, trigger)
      try trial.stage.capture(5)
      #expect(await trial.staysAt(0))
      let report = try await trial.stage.running { [dispatcher = trial.stage.dispatcher] in
        await dispatcher.flush(timeout: .seconds(50_000))
      }
      let isDelivered = trigger == .demand
      #expect(trial.delivered == (isDelivered ? 5 : 0))
      #expect(report.entries.map(\.pending) == [isDelivered ? 0 : 5])
      try trial.stage.capture(5, from: 5)
      #expect(await trial.staysAt(isDelivered ? 5 : 0))
    }
  }

  @Test func `nothing goes without a trigger`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, [], waiting: 900)
      #expect(await trial.staysAt(0, for: .seconds(5)))
    }
  }

  @Test func `the first of several triggers counts`() async throws {
    try await withDirectoryAsync { directory in
      let trial = try Trial(directory, [.count, .interval]) {
        $0.flush.queueLimit = 10
        $0.flush.interval = .seconds(5)
      }
      try trial.stage.capture(3)
      let byInterval = try #require(await trial.time(until: 3))
      #expect(byInterval >= .seconds(5))
      #expect(byInterval <= .seconds(5) + look)
      try trial.stage.capture(10, from: 3)
      #expect(try #require(await trial.time(until: 13)) <= look)
      #expect(trial.provider.callSizes == [3, 10])
    }
  }
}
