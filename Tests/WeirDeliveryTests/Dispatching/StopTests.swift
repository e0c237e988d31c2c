// Providers that stop delivery: when they are tried again, with what, and what is said of it.

import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct StopTests {
  private func options(openFor: Duration = .seconds(10), most: Duration = .seconds(60)) -> DeliveryOptions {
    var options = DeliveryOptions()
    options.backoff.openFor = openFor
    options.backoff.probeEvents = 3
    options.backoff.most = most
    return options
  }

  @Test func `pauses double up to the most, each drawn from its upper half`() {
    for (random, parts) in [(0.0, [5, 10, 20, 30, 30]), (0.5, [7.5, 15, 30, 45, 45]), (1.0, [10, 20, 40, 60, 60])] {
      var stop = StopState("404", options(), at: .seconds(100), random: random)
      var pauses = [stop.nextTry - .seconds(100)]
      for number in 1..<5 {
        stop.again("404", at: .seconds(number * 1000), random: random)
        pauses.append(stop.nextTry - .seconds(number * 1000))
      }
      #expect(pauses == parts.map { .seconds($0) }, "\(random)")
    }
  }

  @Test func `extreme pauses do not trap`() {
    // However short the breaker's time is, a stop is no failure that may be over at once.
    #expect(StopState("404", options(openFor: .zero, most: .zero), at: .zero, random: 0).nextTry == .milliseconds(500))
    var forever = StopState("404", options(openFor: .seconds(Int64.max), most: .zero), at: .zero, random: 7)
    forever.again("404", at: .zero, random: -1)
    #expect(forever.nextTry > .seconds(1 << 32))
    #expect(forever.reason == "404")
    var many = StopState("a", options(openFor: .seconds(1), most: .seconds(Int64.max)), at: .zero, random: 1)
    for _ in 0..<1000 { many.again("b", at: .zero, random: 1) }
    #expect(many.reason == "b")
  }

  @Test func `a provider that stopped is tried again with a few events, and goes on once it takes them`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.stop("404"), .stop("404"), .stop("403")])
      try stage.capture(9)
      try stage.dispatcher.add(provider, options: options())
      #expect(await stage.run { stage.entry().state == .stopped(reason: "404") })
      let stopped = stage.clock.now
      #expect(stage.entry().pending == 9)
      // Three quarters of 10, of 20 and of 40 seconds, as the random source here draws.
      #expect(await stage.run { provider.callSizes.count == 2 })
      #expect(stopped.duration(to: stage.clock.now) == .seconds(7.5))
      #expect(await stage.run { stage.entry().state == .stopped(reason: "403") })
      #expect(stopped.duration(to: stage.clock.now) == .seconds(22.5))
      #expect(await stage.run { provider.delivered.count == 9 })
      #expect(stopped.duration(to: stage.clock.now) == .seconds(52.5))
      #expect(provider.callSizes == [9, 3, 3, 3, 6])
      #expect(provider.numbers == Array(0..<9))
      #expect(await stage.run { stage.entry().state == .running })
      #expect(stage.entry().error == nil)
      #expect(stage.entry().isBalanced)
    }
  }

  @Test func `a provider whose setting up stops is set up again`() async throws {
    final class Late: Provider, WaitingProvider {
      let name = "late"
      let inner = ScriptedProvider(setupFailures: ["a"])
      var waiting: Int { 0 }
      func setup() async throws {
        do { try await inner.setup() } catch { throw DeliveryStopped("the key is missing") }
      }
      func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await inner.deliver(events) }
    }
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = Late()
      try stage.capture(2)
      try stage.dispatcher.add(provider, options: options())
      #expect(await stage.run { stage.entry("late").state == .stopped(reason: "the key is missing") })
      #expect(await stage.run { stage.entry("late").acknowledged == 2 })
      #expect(provider.inner.calls.filter { $0 == .setup }.count == 2)
    }
  }

  @Test func `a failure after a stop is tried as failures are, and a stop after a failure is said`() async throws {
    try await withDirectoryAsync { directory in
      let lines = LoggedLines()
      let stage = try DeliveryStage(directory, dispatcher: { $0.logger = lines.logger })
      let provider = ScriptedProvider(answers: [.fail("503"), .stop("404"), .fail("503")])
      try stage.capture(2)
      try stage.dispatcher.add(provider, options: options())
      #expect(await stage.run { stage.entry().state == .stopped(reason: "404") })
      #expect(await stage.run { stage.entry().state == .backingOff })
      #expect(await stage.run { stage.entry().acknowledged == 2 })
      let place = "delivery to scripted from \(directory): "
      let said = ["503", "delivery is stopped: 404", "provider works again"]
      #expect(lines.lines.withLock { $0.map(\.text) } == said.map { place + $0 })
    }
  }

  @Test func `the files tell that a provider stopped, until it takes events`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.stop("404: no such path")])
      try stage.capture(2)
      try stage.dispatcher.add(provider, options: options())
      func files() throws -> Ledger.ProviderState? { try LogDirectory(directory).ledger()["scripted"]?.state }
      #expect(await stage.run { stage.entry().state == .stopped(reason: "404: no such path") })
      // Its record of attempts is another log, which is drained when it is.
      #expect(try await eventuallyThrowing { try files() == .stopped(reason: "404: no such path") })
      #expect(await stage.run { stage.entry().acknowledged == 2 })
      #expect(try await eventuallyThrowing { try files() == .idle })
    }
  }

  // MARK: Refusals of everything

  @Test func `refusals for one reason stop delivery where nothing was ever accepted`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .refuseBatch("400 Bad Request") { _ in true })
      try stage.capture(1000)
      try stage.dispatcher.add(provider, options: options())
      let isStopped = await stage.run {
        if case .stopped(let reason) = stage.entry().state { return reason.contains("400 Bad Request") }
        return false
      }
      #expect(isStopped, "\(stage.entry())")
      #expect(stage.entry().rejected == 100)
      #expect(stage.entry().pending == 900)
      #expect(stage.entry().isBalanced)
      #expect(provider.callSizes.count < 250)
      // It is tried again: one more, and no hundred.
      #expect(await stage.run { stage.entry().rejected == 101 })
      #expect(provider.callSizes.count < 260)
      // Once it is mended all of the rest goes.
      provider.then(Array(repeating: .accept, count: 1000))
      #expect(await stage.run { stage.entry().pending == 0 })
      #expect(stage.entry().isBalanced)
      #expect(stage.entry().rejected == 101)
    }
  }

  @Test func `a provider that accepted an event may refuse any number after it`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .refuseBatch("400 Bad Request") { $0.fields["n"] != .int(0) })
      try stage.capture(300)
      try stage.dispatcher.add(provider, options: options())
      #expect(await stage.run { stage.entry().rejected == 299 })
      #expect(stage.entry().acknowledged == 1)
      #expect(stage.entry().state == .running)
    }
  }

  @Test func `refusals have one reason, whatever number or id stands in it`() {
    var watch = RefusalStreak(hasAccepted: false)
    for number in 1..<RefusalStreak.limit {
      let isStop = watch.refused(#"400: {"error":"bad form","request":"9f0c-\#(number)","row":\#(number)}"#)
      #expect(!isStop)
    }
    var other = watch
    let isOther = other.refused("400: too old")
    #expect(!isOther)
    #expect(other.count == 1)
    let isSame = watch.refused(#"400: {"error":"bad form","request":"77aa-0","row":5}"#)
    #expect(isSame)
    // The next one stops at once; after something was accepted none does.
    let isAgain = watch.refused(#"400: {"error":"bad form","request":"1","row":5}"#)
    #expect(isAgain)
    watch.accepted()
    let isAfter = watch.refused(#"400: {"error":"bad form","request":"1","row":5}"#)
    #expect(!isAfter)
    var known = RefusalStreak(hasAccepted: true)
    for _ in 0..<1000 {
      let isStop = known.refused("400")
      #expect(!isStop)
    }
  }
}

extension ScriptedProvider {
  fileprivate func then(_ answers: [Answer]) {
    for answer in answers { then(answer) }
  }
}

/// As ``eventually(_:)``, for a condition that reads files.
private func eventuallyThrowing(_ condition: () throws -> Bool) async throws -> Bool {
  let deadline = ContinuousClock.now + patience
  while try !condition() {
    if ContinuousClock.now > deadline { return false }
    try? await Task.sleep(for: .milliseconds(2))
  }
  return true
}
