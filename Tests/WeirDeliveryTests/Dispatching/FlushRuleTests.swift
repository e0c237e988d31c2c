// Rules of the program's own for when events go out, and budgets of calls and bytes.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir
import WeirTesting

@testable import WeirDelivery

struct FlushRuleTests {
  /// Three at once, or a single one after a minute.
  private struct Threes: FlushRule {
    func wait(of waiting: WaitingEvents) -> Duration? {
      waiting.count >= 3 ? .zero : .seconds(60) - waiting.oldest
    }
  }

  @Test func `a rule lets events go, and is asked again in time`() {
    var plan = FlushPlan(FlushPolicy([]), rule: Threes())
    plan.arrived(bytes: 1, opening: 1, at: .seconds(1))
    plan.reachedEnd()
    #expect(plan.due(at: .seconds(1)) == nil)
    #expect(plan.nextLook(after: .seconds(11)) == .seconds(61))
    #expect(plan.due(at: .seconds(61)) != nil)
    plan.left(events: 1)
    for _ in 0..<3 { plan.arrived(bytes: 1, opening: 1, at: .seconds(70)) }
    #expect(plan.due(at: .seconds(70)) != nil)
    #expect(plan.nextLook(after: .seconds(70)) == .seconds(70))
  }

  @Test func `events go out by the rule alone`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.flush = FlushPolicy([])
      options.flushRule = Threes()
      try stage.capture(7)
      try stage.dispatcher.add(provider, options: options)
      #expect(await stage.run { stage.entry().offset == 7 })
      #expect(stage.clock.now.sinceStart >= .zero)
      #expect(provider.numbers == [0, 1, 2, 3, 4, 5, 6])
      try stage.capture(1, from: 7)
      let before = stage.clock.now.sinceStart
      #expect(await stage.run { stage.entry().offset == 8 })
      #expect(stage.clock.now.sinceStart - before >= .seconds(59))
      try await stage.close()
    }
  }

  @Test(arguments: [FlushPolicy.Triggers.suspend, .resume])
  func `a life cycle's suspension and resumption make events go out`(_ trigger: FlushPolicy.Triggers) async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.flush = FlushPolicy([trigger])
      try stage.capture(2)
      try stage.dispatcher.add(provider, options: options)
      if trigger == .suspend { stage.tracker.companions.tellOfResumption() }
      if trigger == .resume { stage.tracker.companions.tellOfSuspension() }
      #expect(await !stage.run(upTo: .seconds(100)) { stage.entry().offset > 0 })
      if trigger == .suspend { stage.tracker.companions.tellOfSuspension() }
      if trigger == .resume { stage.tracker.companions.tellOfResumption() }
      #expect(await stage.run { stage.entry().offset == 2 })
      try await stage.close()
    }
  }

  @Test func `calls and bytes keep to their budget`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.flush.maximumEvents = 10
      options.budget.callsPerSecond = 0.5
      try stage.capture(100)
      try stage.dispatcher.add(provider, options: options)
      #expect(await stage.run { stage.entry().offset == 100 })
      #expect(provider.callSizes == Array(repeating: 10, count: 10))
      // Nine pauses of two seconds.
      #expect(stage.clock.now.sinceStart >= .seconds(18))
      try await stage.close()
    }
  }

  @Test func `calls that fail keep to their budget too`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.fail("no"), .fail("no"), .retry(after: .zero)])
      var options = DeliveryOptions()
      options.budget.callsPerSecond = 0.1
      try stage.capture(5)
      try stage.dispatcher.add(provider, options: options)
      #expect(await stage.run { stage.entry().offset == 5 })
      #expect(provider.callSizes.count == 4)
      #expect(stage.clock.now.sinceStart >= .seconds(30))
      try await stage.close()
    }
  }

  @Test func `the pause after a call is that of the smaller budget`() {
    var budget = DeliveryOptions.Budget()
    #expect(budget.pause(after: 1_000_000) == .zero)
    budget.bytesPerSecond = 1_000
    #expect(budget.pause(after: 2_500) == .milliseconds(2_500))
    budget.callsPerSecond = 0.1
    #expect(budget.pause(after: 2_500) == .seconds(10))
    budget.processorTimePerSecond = .milliseconds(100)
    #expect(budget.pause(after: 2_500, processorTime: .milliseconds(900)) == .seconds(10))
    #expect(budget.pause(after: 2_500, processorTime: .milliseconds(1_100)) == .seconds(11))
  }

  /// A clock of processors on which each reading takes a quarter of a second, and a provider whose call has work of the
  /// same length.
  @Test(arguments: [false, true])
  func `processor time keeps to its budget`(_ isMeasured: Bool) async throws {
    try await withDirectoryAsync { directory in
      let readings = Mutex(0)
      let stage = try DeliveryStage(
        directory,
        dispatcher: { configuration in
          configuration.processorTime = {
            let count = readings.withLock { count in
              count += 1
              return count
            }
            return .milliseconds(250 * count)
          }
        })
      let sizes = Mutex<[Int]>([])
      let provider = ClosureProvider("measured") { events in
        sizes.withLock { $0.append(events.count) }
        if isMeasured { ProcessorMeter.measure {} }
        return events.map { _ in .accepted }
      }
      var options = DeliveryOptions()
      options.flush.maximumEvents = 10
      options.budget.processorTimePerSecond = .milliseconds(500)
      try stage.capture(50)
      try stage.dispatcher.add(provider, options: options)
      #expect(await stage.run { stage.entry("measured").offset == 50 })
      #expect(sizes.withLock { $0 } == Array(repeating: 10, count: 5))
      // Four pauses. A call is one reading; with work, three readings and the one that the work took.
      #expect(stage.clock.now.sinceStart >= .milliseconds(4 * (isMeasured ? 2_000 : 500)))
      try await stage.close()
    }
  }

  @Test func `the processor time of a thread is its own`() {
    let most = Duration.milliseconds(50)
    let before = threadProcessorTime()
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      let start = threadProcessorTime()
      while threadProcessorTime() - start < most {}
      isOver.signal()
    }
    isOver.wait()
    #expect(threadProcessorTime() - before < most)
  }
}
