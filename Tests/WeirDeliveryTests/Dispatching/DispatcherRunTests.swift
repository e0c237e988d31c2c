// A dispatcher as a task runs it: what is added before and after, how it ends, what is said where nobody runs it.

import Logging
import Synchronization
import TestSupport
import Testing
import Weir
import WeirDelivery
import WeirTesting

struct DispatcherRunTests {
  /// A spy's log, delivered by a clock that stands: the budget of the end lasts until the test moves the clock.
  private struct Setting {
    let spy: SpyTracker
    let clock = VirtualClock()
    let lines = LoggedLines()
    let dispatcher: Dispatcher

    init() throws {
      spy = try SpyTracker()
      var configuration = Dispatcher.Configuration()
      configuration.clock = clock
      configuration.logger = lines.logger
      dispatcher = try Dispatcher(spy.tracker, configuration: configuration)
    }

    func capture(_ count: Int) {
      for number in 0..<count { #expect(spy.tracker.track("e", fields: ["n": .int(Int64(number))]).isAccepted) }
    }

    /// Waits until a condition holds, while a little time passes.
    func eventually(_ condition: () -> Bool) async -> Bool {
      await TestSupport.eventually {
        clock.advance(by: .milliseconds(1))
        return condition()
      }
    }
  }

  @Test func `nothing is delivered before it runs, and everything then`() async throws {
    let setting = try Setting()
    let provider = ScriptedProvider()
    try setting.dispatcher.add(provider)
    setting.capture(7)
    let before = await setting.dispatcher.flush(timeout: .zero)
    #expect(before.entries.map(\.pending) == [7])
    #expect(before.entries.first?.error?.contains("call run()") == true)
    #expect(provider.calls.isEmpty)
    let running = Task { try await setting.dispatcher.run() }
    #expect(await setting.eventually { provider.delivered.count == 7 })
    running.cancel()
    let report = try await running.value
    #expect(report.isComplete)
    #expect(provider.calls.last == .shutdown)
    #expect(!setting.spy.tracker.track("late").isAccepted)
  }

  @Test func `a provider that is added while it runs is delivered to`() async throws {
    let setting = try Setting()
    setting.capture(3)
    let running = Task { try await setting.dispatcher.run() }
    let provider = ScriptedProvider()
    try setting.dispatcher.add(provider)
    #expect(await setting.eventually { provider.delivered.count == 3 })
    try await setting.dispatcher.remove("scripted")
    #expect(setting.dispatcher.providers.isEmpty)
    running.cancel()
    #expect(try await running.value.entries.isEmpty)
  }

  @Test func `it ends with the task group that it runs in`() async throws {
    let setting = try Setting()
    let provider = ScriptedProvider()
    // What leaves before the end is not in the end's report.
    try setting.dispatcher.add(provider, options: .atTheEnd)
    struct Failure: Error {}
    await #expect(throws: Failure.self) {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await setting.dispatcher.run() }
        group.addTask {
          setting.capture(5)
          throw Failure()
        }
        for try await _ in group {}
      }
    }
    #expect(provider.delivered.count == 5)
    #expect(setting.lines.lines.withLock { $0.last?.text.contains("after 5 acknowledged") } == true)
  }

  @Test func `a task that was cancelled before it ran delivers all the same`() async throws {
    let setting = try Setting()
    let provider = ScriptedProvider()
    try setting.dispatcher.add(provider, options: .atTheEnd)
    setting.capture(4)
    let running = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await setting.dispatcher.run()
    }
    running.cancel()
    #expect(try await running.value.entries.map(\.acknowledged) == [4])
  }

  @Test func `the budget ends a call, and what it held is pending`() async throws {
    let setting = try Setting()
    let provider = ScriptedProvider(finally: .hang)
    try setting.dispatcher.add(provider)
    setting.capture(2)
    let running = Task { try await setting.dispatcher.run(budget: .seconds(30)) }
    #expect(await setting.eventually { provider.waiting > 0 })
    running.cancel()
    // The call goes on after the cancellation, until the budget is spent.
    var late: UInt64 = 0
    while setting.spy.tracker.track("late").isAccepted { late += 1 }
    #expect(provider.waiting == 1)
    #expect(
      await eventually {
        setting.clock.advance(by: .seconds(30))
        return provider.waiting == 0
      })
    #expect(try await running.value.entries.map(\.pending) == [2 + late])
  }

  @Test func `it runs once`() async throws {
    let setting = try Setting()
    let provider = ScriptedProvider()
    try setting.dispatcher.add(provider)
    let running = Task { try await setting.dispatcher.run() }
    #expect(await eventually { provider.calls.contains(.setup) })
    let second = await #expect(throws: WeirError.self) { try await setting.dispatcher.run() }
    #expect(second?.code == .invalid)
    running.cancel()
    _ = try await running.value
    let third = await #expect(throws: WeirError.self) { try await setting.dispatcher.run() }
    #expect(third?.code == .closed)
    #expect(throws: WeirError.self) { try setting.dispatcher.add(ScriptedProvider(name: "late")) }
  }

  @Test func `a dispatcher that never ran says so when it is released`() throws {
    let lines = LoggedLines()
    func warnings() -> [String] {
      lines.lines.withLock { $0.map(\.text) }.filter { $0.hasPrefix("nothing was delivered from") }
    }
    func release(adding provider: ScriptedProvider?) throws {
      let spy = try SpyTracker()
      var configuration = Dispatcher.Configuration()
      configuration.logger = lines.logger
      let dispatcher = try Dispatcher(directory: spy.tracker.directory, configuration: configuration)
      if let provider { try dispatcher.add(provider) }
      withExtendedLifetime(dispatcher) {}
    }
    try release(adding: nil)
    #expect(warnings().isEmpty)
    try release(adding: ScriptedProvider())
    #expect(warnings().count == 1)
    #expect(warnings().first?.hasSuffix("to scripted; call run() on the dispatcher") == true)
  }
}

extension DeliveryOptions {
  fileprivate static var atTheEnd: DeliveryOptions {
    var options = DeliveryOptions()
    options.flush.triggers = [.shutdown]
    return options
  }
}
