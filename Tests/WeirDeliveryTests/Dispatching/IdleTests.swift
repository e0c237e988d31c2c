// What an idle process does: nothing, and it misses nothing when something comes.
//
// WEIR_IDLE=10 prints how often the threads of idle processes wake up in so many seconds.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

@Suite(.serialized)
struct IdleTests {
  /// Counts the events that it is given.
  private final class Given: Sendable {
    private let count = Atomic<Int>(0)

    var events: Int { count.load(ordering: .acquiring) }

    func provider(_ name: String) -> ClosureProvider {
      ClosureProvider(name) { events in
        self.count.add(events.count, ordering: .releasing)
        return events.map { _ in .accepted }
      }
    }
  }

  /// Captures an event at each of `delays` after the one before was done with, and waits until it is.
  private func track(_ tracker: Tracker, after delays: [Duration], _ done: () -> Int) async -> Bool {
    for (number, delay) in delays.enumerated() {
      let time = ContinuousClock.now + delay
      while ContinuousClock.now < time { await Task.yield() }
      #expect(tracker.track("e", fields: ["n": .int(Int64(number))]).isAccepted)
      let deadline = ContinuousClock.now + patience
      while done() <= number {
        guard ContinuousClock.now < deadline else { return false }
        await Task.yield()
      }
    }
    return true
  }

  @Test func `a provider that nobody but the drainer wakes misses no event on its way to sleep`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.drainInterval = .microseconds(100) })
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      // From the first look that finds nothing the drainer is all that ends a sleep.
      configuration.shortestPause = .seconds(3600)
      configuration.longestPause = .seconds(3600)
      let dispatcher = try Dispatcher(tracker, configuration: configuration)
      try dispatcher.start()
      let given = Given()
      var options = DeliveryOptions()
      options.flush.triggers = [.count]
      options.flush.queueLimit = 1
      try dispatcher.add(given.provider("one"), options: options)
      #expect(await track(tracker, after: (0..<300).map { .microseconds($0 * 7) }) { given.events })
      await dispatcher.shutdown(budget: patience)
    }
  }

  @Test func `an inspector that nobody but the drainer wakes misses no event on its way to sleep`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let inspector = try Inspector(tracker, contract: Contract("c", version: "1") { EventRule("e") {} }) { _, _ in }
      // The inspector looks from time to time for 63 ms and then goes to sleep.
      let delays = (0..<40).map { Duration.microseconds(55_000 + $0 * 500) }
      #expect(await track(tracker, after: delays) { Int(inspector.counts.inspected) })
      try tracker.close()
    }
  }

  @Test func `workers sleep without a time, and go back to looking when the tracker is gone`() async throws {
    try await withDirectoryAsync { directory in
      var tracker: Tracker? = try Tracker(directory: directory, configuration: quiet())
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      let dispatcher = try Dispatcher(try #require(tracker), configuration: configuration)
      try dispatcher.start()
      let given = Given()
      try dispatcher.add(given.provider("one"))
      let worker = try #require(dispatcher.worker(named: "one"))
      #expect(await eventually { worker.shared.alarm.current.map { $0.until == nil } ?? false })
      tracker = nil
      #expect(await eventually { worker.shared.alarm.current.map { $0.until != nil } ?? false })
      // Another opening's events, which nobody tells of.
      let next = try Tracker(directory: directory, configuration: quiet())
      #expect(next.track("e", fields: ["n": .int(1)]).isAccepted)
      #expect(await eventually { given.events == 1 })
      await dispatcher.shutdown(budget: patience)
    }
  }

  @Test func `a provider beside another process goes on after a silence in which it slept`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      // From then on nothing but the system ends a sleep.
      configuration.longestPause = .seconds(3600)
      let dispatcher = try Dispatcher(directory: directory, configuration: configuration)
      try dispatcher.start()
      let given = Given()
      try dispatcher.add(given.provider("one"))
      let worker = try #require(dispatcher.worker(named: "one"))
      for number in 1...2 {
        #expect(await eventually { worker.sleepsLongerThan(.seconds(3)) })
        #expect(tracker.track("e", fields: ["n": .int(Int64(number))]).isAccepted)
        #expect(await eventually { given.events == number })
      }
      await dispatcher.shutdown(budget: patience)
      try tracker.close()
    }
  }

  @Test func `a worker with the same progress again and again rings no observer`() async throws {
    let shared = WorkerShared()
    let alarm = Alarm()
    let clock = DeliveryClock(ContinuousClock())
    var report = WorkerReport()
    report.error = "down"
    shared.observe(alarm)
    shared.publish(report)
    await alarm.wait(until: nil, clock)
    let waiting = Task { await alarm.wait(until: nil, clock) }
    #expect(await eventually { alarm.current != nil })
    shared.publish(report)
    #expect(alarm.current != nil)
    report.open = 1
    shared.publish(report)
    await waiting.value
    shared.unobserve(alarm)
    shared.publish(WorkerReport())
    let last = Task { await alarm.wait(until: nil, clock) }
    #expect(await eventually { alarm.current != nil })
    alarm.ring()
    await last.value
  }

  // MARK: Threads

  /// The names of this process's threads that are the library's.
  private static var threads: [String] {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.compactMap { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
      .map { $0.trimmingCharacters(in: .newlines) }.filter { $0.hasPrefix("weir-") }.sorted()
  }

  /// How often all threads of this process went to sleep.
  private static var sleeps: Int {
    let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
    return tasks.reduce(0) { sum, task in
      let status = (try? String(contentsOfFile: "/proc/self/task/\(task)/status", encoding: .utf8)) ?? ""
      let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
      return sum + (line?.split(separator: "\t").last.flatMap { Int($0) } ?? 0)
    }
  }

  private static func measure(_ what: String) {
    guard let seconds = ProcessInfo.processInfo.environment["WEIR_IDLE"].flatMap(UInt32.init) else { return }
    sleep(5)
    let before = sleeps
    sleep(seconds)
    // One of them is the sleep of this thread.
    print("idle: \(what), \(seconds) s: \(sleeps - before - 1) wake-ups, \(threads.count) threads of the library")
  }

  private static let tracker = ["weir-drain", "weir-prefault", "weir-prepare", "weir-seal"]

  @Test func `a tracker has four threads`() async {
    await #expect(processExitsWith: .success) {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        #expect(tracker.track("e", fields: ["n": .int(1)]).isAccepted)
        #expect(await eventually { Self.threads == Self.tracker }, "\(Self.threads)")
        Self.measure("a tracker")
        try tracker.close()
        #expect(await eventually { Self.threads.isEmpty }, "\(Self.threads)")
      }
    }
  }

  @Test func `a contract takes one thread more, and none for violations`() async {
    await #expect(processExitsWith: .success) {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        let contract = Contract("c", version: "1") { EventRule("e") { Mandatory("m", .integer) } }
        let inspector = try Inspector(tracker, contract: contract) { _, _ in }
        #expect(tracker.track("e", fields: ["m": "no integer"]).isAccepted)
        #expect(await eventually { inspector.counts.violating == 1 })
        #expect(await eventually { (try? LogDirectory(directory + "/violations").events().count) == 1 })
        let expected = (Self.tracker + ["weir-inspect"]).sorted()
        #expect(await eventually { Self.threads == expected }, "\(Self.threads)")
        Self.measure("a tracker with a contract")
        try tracker.close()
        #expect(await eventually { Self.threads.isEmpty }, "\(Self.threads)")
      }
    }
  }

  @Test func `each provider takes one thread more, and none for attempts and dead letters`() async {
    await #expect(processExitsWith: .success) {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        let dispatcher = try Dispatcher(tracker)
        try dispatcher.start()
        for name in ["one", "two"] {
          try dispatcher.add(ClosureProvider(name) { events in events.map { _ in .rejected("no") } })
        }
        #expect(tracker.track("e", fields: ["n": .int(1)]).isAccepted)
        await dispatcher.flush(timeout: patience)
        for name in ["one", "two"] {
          #expect(try LogDirectory(directory).deadLetters(of: name).count == 1)
          #expect(FileManager.default.fileExists(atPath: AttemptLog.path(in: directory, provider: name)))
        }
        let expected = (Self.tracker + ["weir-deliver", "weir-deliver"]).sorted()
        #expect(await eventually { Self.threads == expected }, "\(Self.threads)")
        Self.measure("a tracker with two providers")
        await dispatcher.shutdown(budget: patience)
        #expect(await eventually { Self.threads.isEmpty }, "\(Self.threads)")
      }
    }
  }
}

extension ProviderWorker {
  /// Whether the worker sleeps, for at least so long from its beginning.
  fileprivate func sleepsLongerThan(_ time: Duration) -> Bool {
    guard let wait = shared.alarm.current, let until = wait.until else { return false }
    return until > orders.clock.now + time
  }
}
