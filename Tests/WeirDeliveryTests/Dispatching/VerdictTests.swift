// What providers answer, and what delivery makes of it: every verdict, what is thrown, late and foreign answers.

import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

struct VerdictTests {
  private func withStage(
    _ provider: ScriptedProvider, _ count: Int, options: DeliveryOptions = DeliveryOptions(),
    _ body: (DeliveryStage) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(count)
      try stage.dispatcher.add(provider, options: options)
      try await body(stage)
      let entry = stage.entry()
      #expect(entry.isBalanced, "\(entry)")
      #expect(provider.overlaps == 0)
    }
  }

  @Test func `each verdict in one batch counts for its own event`() async throws {
    let provider = ScriptedProvider(answers: [
      .each { event in
        switch event.fields["n"] {
        case .int(1): .rejected("no such event")
        case .int(2): .retry(after: .seconds(7))
        default: .accepted
        }
      }
    ])
    try await withStage(provider, 4) { stage in
      #expect(await stage.run { provider.callSizes == [4] })
      #expect(await stage.run { stage.entry().rejected == 1 })
      var entry = stage.entry()
      #expect(entry.acknowledged == 2)
      #expect(entry.rejected == 1)
      #expect(entry.pending == 1)
      #expect(entry.state == .running)
      let asked = stage.clock.now
      #expect(await stage.run { provider.delivered.count == 3 })
      #expect(asked.duration(to: stage.clock.now) >= .seconds(6.9))
      #expect(provider.numbers == [0, 3, 2])
      #expect(await stage.run { stage.entry().offset == 4 })
      entry = stage.entry()
      #expect(entry.acknowledged == 3)
      #expect(entry.pending == 0)
      let letters = try LogDirectory(stage.directory).deadLetters(of: "scripted")
      #expect(letters.map(\.reason) == ["no such event"])
      #expect(letters.map(\.event.offset) == [1])
      #expect(letters.first?.attempts == 1)
    }
  }

  @Test func `one bad event among a thousand is found in twice log2 calls, and alone rejected`() async throws {
    for bad in [0, 617, 999] as [Int64] {
      let provider = ScriptedProvider(finally: .refuseBatch("schema") { $0.fields["n"] == .int(bad) })
      try await withStage(provider, 1000) { stage in
        #expect(await stage.run { stage.entry().offset == 1000 })
        let entry = stage.entry()
        #expect(entry.acknowledged == 999)
        #expect(entry.rejected == 1)
        #expect(Set(provider.numbers) == Set(0..<1000).subtracting([bad]))
        #expect(provider.numbers.count == 999)
        #expect(provider.callSizes.count <= 21, "\(provider.callSizes)")
        // A refusal is an answer: nothing was waited for.
        #expect(stage.clock.now.sinceStart < .seconds(1))
        let letters = try LogDirectory(stage.directory).deadLetters(of: "scripted")
        #expect(letters.map(\.reason) == ["schema"])
      }
    }
  }

  @Test func `a wrong number of verdicts settles nothing and is said`() async throws {
    let provider = ScriptedProvider(answers: [
      .verdicts([.accepted]), .verdicts([.accepted, .accepted, .accepted, .rejected("x")]), .verdicts([]),
    ])
    try await withStage(provider, 3) { stage in
      #expect(await stage.run { provider.callSizes.count == 1 })
      #expect(await stage.run { stage.entry().error?.contains("1 verdicts for 3 events") == true })
      #expect(stage.entry().pending == 3)
      #expect(stage.entry().state == .backingOff)
      #expect(await stage.run { stage.entry().acknowledged == 3 })
      #expect(provider.callSizes == [3, 3, 3, 3])
      #expect(stage.entry().error == nil)
      #expect(stage.entry().rejected == 0)
    }
  }

  @Test func `a failure is tried again after the back-off, with the same events`() async throws {
    let provider = ScriptedProvider(answers: [.fail("503"), .fail("503")])
    try await withStage(provider, 5) { stage in
      #expect(await stage.run { provider.callSizes.count == 1 })
      let begin = stage.clock.now
      #expect(await stage.run { provider.delivered.count == 5 })
      // Half of 500 ms and of a second, as the random source here draws.
      #expect(begin.duration(to: stage.clock.now) == .milliseconds(750))
      #expect(Set(provider.calls.dropFirst()).count == 1)
    }
  }

  @Test func `a wait that is asked for is kept, and no longer than the most`() async throws {
    var options = DeliveryOptions()
    options.backoff.most = .seconds(60)
    let provider = ScriptedProvider(answers: [.retry(after: .seconds(20)), .retry(after: .seconds(86_400))])
    try await withStage(provider, 2, options: options) { stage in
      #expect(await stage.run { provider.callSizes.count == 1 })
      let begin = stage.clock.now
      #expect(await stage.run { provider.callSizes.count == 2 })
      #expect(begin.duration(to: stage.clock.now) == .seconds(20))
      #expect(await stage.run { provider.delivered.count == 2 })
      #expect(begin.duration(to: stage.clock.now) == .seconds(80))
    }
  }

  @Test func `a provider is left alone after failures in a row, and tried with a few events`() async throws {
    var options = DeliveryOptions()
    options.backoff.failures = 3
    options.backoff.openFor = .seconds(100)
    options.backoff.probeEvents = 2
    let provider = ScriptedProvider(answers: [.fail("a"), .fail("b"), .fail("c"), .fail("d")])
    try await withStage(provider, 9, options: options) { stage in
      #expect(await stage.run { stage.entry().state == .open })
      #expect(provider.callSizes == [9, 9, 9])
      let opened = stage.clock.now
      #expect(await stage.run { provider.callSizes.count == 4 })
      #expect(opened.duration(to: stage.clock.now) == .seconds(100))
      #expect(await stage.run { provider.delivered.count == 9 })
      #expect(opened.duration(to: stage.clock.now) == .seconds(300))
      #expect(provider.callSizes == [9, 9, 9, 2, 2, 7])
      #expect(provider.numbers == Array(0..<9))
      #expect(await stage.run { stage.entry().state == .running })
    }
  }

  @Test func `a stop keeps the events, and a resumption does not wait for the next try`() async throws {
    let provider = ScriptedProvider(answers: [.stop("401: the key is wrong")])
    try await withStage(provider, 3) { stage in
      #expect(await stage.run { stage.entry().state == .stopped(reason: "401: the key is wrong") })
      stage.clock.advance(by: .seconds(7))
      #expect(await stage.rest())
      #expect(provider.callSizes == [3])
      #expect(stage.entry().pending == 3)
      stage.dispatcher.resume("scripted")
      #expect(await stage.run { stage.entry().acknowledged == 3 })
      #expect(stage.entry().state == .running)
      #expect(stage.entry().error == nil)
    }
  }

  @Test func `trouble is logged once, and that it is over`() async throws {
    try await withDirectoryAsync { directory in
      let lines = LoggedLines()
      let stage = try DeliveryStage(directory, dispatcher: { $0.logger = lines.logger })
      let provider = ScriptedProvider(answers: [.fail("503"), .fail("503"), .accept, .stop("401")])
      // A worker that looks while events are captured would take some of them alone.
      try stage.capture(2)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().acknowledged == 2 })
      #expect(await stage.rest())
      try stage.capture(2, from: 2)
      #expect(await stage.run { stage.entry().state == .stopped(reason: "401") })
      stage.dispatcher.resume("scripted")
      #expect(await stage.run { stage.entry().acknowledged == 4 })
      let place = "delivery to scripted from \(directory): "
      #expect(lines.levels == [.warning, .info, .warning, .info])
      let said = ["503", "provider works again", "delivery is stopped: 401", "provider works again"]
      #expect(lines.lines.withLock { $0.map(\.text) } == said.map { place + $0 })
    }
  }

  @Test func `the setup is tried until it succeeds`() async throws {
    let provider = ScriptedProvider(setupFailures: ["not yet", "nor now"])
    try await withStage(provider, 2) { stage in
      #expect(await stage.run { stage.entry().error != nil })
      #expect(stage.entry().state == .starting)
      #expect(stage.entry().error?.contains("not yet") == true)
      #expect(await stage.run { stage.entry().acknowledged == 2 })
      #expect(provider.calls.filter { $0 == .setup }.count == 3)
      #expect(provider.calls.prefix(3) == [.setup, .setup, .setup])
    }
  }

  @Test func `a call that takes too long is cancelled, and its events come again`() async throws {
    let provider = ScriptedProvider(answers: [.hang])
    try await withStage(provider, 2) { stage in
      #expect(await stage.run([provider]) { provider.delivered.count == 2 })
      #expect(stage.clock.now.sinceStart >= .seconds(30))
      #expect(provider.callSizes == [2, 1, 1])
    }
  }

  @Test func `a provider that does not return is not called again, and its late verdicts do not count`() async throws {
    let provider = ScriptedProvider(answers: [.stubborn(then: .reject("late"))])
    try await withStage(provider, 2) { stage in
      #expect(await stage.run(stubborn: [provider]) { provider.waiting == 1 })
      #expect(await stage.run(stubborn: [provider]) { stage.entry().state == .backingOff })
      #expect(stage.entry().error?.contains("did not return within 30 seconds") == true)
      stage.clock.advance(by: .seconds(10_000))
      #expect(await stage.rest(stubborn: [provider]))
      #expect(provider.callSizes == [2])
      provider.release()
      #expect(await stage.run { provider.delivered.count == 2 })
      #expect(await stage.run { stage.entry().acknowledged == 2 })
      #expect(stage.entry().rejected == 0)
    }
  }

  @Test func `events that arrived though the answer was lost come again with the same ids`() async throws {
    let provider = ScriptedProvider(answers: [.acceptAndFail("reset by peer")])
    try await withStage(provider, 3) { stage in
      #expect(await stage.run { stage.entry().acknowledged == 3 })
      #expect(provider.numbers == [0, 1, 2, 0, 1, 2])
      #expect(Set(provider.delivered.map(\.stored.id)).count == 3)
    }
  }

  @Test func `an event that is to be given again for ever holds up no other`() async throws {
    let provider = ScriptedProvider(
      finally: .each { $0.fields["n"] == .int(0) ? .retry(after: .seconds(5)) : .accepted })
    try await withStage(provider, 1) { stage in
      // Alone in its call: so all of the call is to be given again, which leaves the provider alone for a while too.
      #expect(await stage.run { provider.callSizes == [1] })
      for round in 0..<5 {
        try stage.capture(400, from: 1 + round * 400)
        #expect(await stage.run { stage.entry().acknowledged == UInt64(400 * (round + 1)) })
      }
      let entry = stage.entry()
      #expect(entry.offset == 0)
      #expect(entry.pending == 1)
      #expect(entry.acknowledged == 2000)
      // By the files nothing is settled: it lies before all others.
      let files = try #require(try LogDirectory(stage.directory).ledger()["scripted"])
      #expect(files.pending == 2001)
      #expect(files.isBalanced)
    }
  }

  @Test func `an event that is to be given again by itself waits as long as is drawn, longer each time`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory, dispatcher: { $0.random = { 0.25 } })
      // The second of three is asked for twice, and rejected the third time.
      let again = ScriptedProvider.Answer.each { $0.fields["n"] == .int(1) ? .retry(after: nil) : .accepted }
      let both = ScriptedProvider.Answer.each { $0.fields["n"] == .int(2) ? .accepted : .retry(after: nil) }
      let provider = ScriptedProvider(answers: [both, again], finally: .reject("no"))
      try stage.capture(3)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { provider.callSizes == [3] })
      let begin = stage.clock.now
      #expect(await stage.run { provider.callSizes == [3, 2] })
      // A quarter of 500 ms, and then of a second.
      #expect(begin.duration(to: stage.clock.now) == .milliseconds(125))
      #expect(await stage.run { provider.callSizes == [3, 2, 1] })
      #expect(begin.duration(to: stage.clock.now) == .milliseconds(375))
      #expect(await stage.run { stage.entry().rejected == 1 })
      #expect(provider.numbers == [2, 0])
      #expect(stage.entry().isBalanced)
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").map(\.attempts) == [3])
    }
  }

  @Test func `events that are to be given again by themselves are few`() async throws {
    var options = DeliveryOptions()
    options.flush.maximumEvents = 10
    let provider = ScriptedProvider(
      answers: Array(
        repeating: .each { event in
          guard case .int(let number)? = event.fields["n"], number % 10 > 0 else { return .accepted }
          return .retry(after: .seconds(60))
        }, count: 2))
    try await withStage(provider, 200, options: options) { stage in
      // Eighteen wait after two calls, and nothing new is given before they were.
      #expect(!(await stage.run(upTo: .seconds(50)) { provider.callSizes.count > 2 }))
      #expect(provider.callSizes == [10, 10])
      #expect(stage.entry().acknowledged == 2)
      #expect(stage.entry().pending == 198)
      #expect(await stage.run { stage.entry().acknowledged == 200 })
      #expect(Set(provider.numbers) == Set(0..<200))
      #expect(provider.numbers.count == 200)
    }
  }

  @Test func `events that are to be given again by themselves have few bytes`() async throws {
    var options = DeliveryOptions()
    options.flush.maximumBytes = 2000
    let provider = ScriptedProvider(
      answers: Array(
        repeating: .each { event in
          guard case .int(let number)? = event.fields["n"], number % 2 > 0 else { return .accepted }
          return .retry(after: .seconds(60))
        }, count: 4))
    try await withStage(provider, 0, options: options) { stage in
      #expect(await stage.rest())
      let text = FieldValue.string(String(repeating: "x", count: 700))
      for number in 0..<20 {
        #expect(stage.tracker.track("e", fields: ["n": .int(Int64(number)), "text": text]).isAccepted)
      }
      try stage.tracker.drain()
      // Two events a call; three that wait have more bytes than a call may.
      #expect(!(await stage.run(upTo: .seconds(50)) { provider.callSizes.count > 3 }))
      #expect(provider.callSizes.allSatisfy { $0 <= 2 })
      #expect(stage.entry().acknowledged == 3)
      #expect(await stage.run { stage.entry().acknowledged == 20 })
      #expect(Set(provider.numbers) == Set(0..<20))
      #expect(provider.numbers.count == 20)
    }
  }

  @Test func `one dead provider does not make another slower`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let dead = ScriptedProvider(name: "dead", finally: .fail("down"))
      let alive = ScriptedProvider(name: "alive")
      let stubborn = ScriptedProvider(name: "stubborn", finally: .stubborn(then: .accept))
      for provider in [dead, alive, stubborn] { try stage.dispatcher.add(provider) }
      for round in 0..<6 {
        try stage.capture(100, from: round * 100)
        let begin = stage.clock.now
        #expect(await stage.run(stubborn: [stubborn]) { alive.delivered.count == 100 * (round + 1) })
        // The interval of the policy and a look at the log.
        #expect(begin.duration(to: stage.clock.now) <= .milliseconds(1050))
      }
      #expect(dead.delivered.isEmpty)
      #expect(stubborn.delivered.isEmpty)
      #expect(alive.overlaps == 0)
      #expect(stage.dispatcher.ledger.isBalanced)
      #expect(stage.entry("dead").pending == 600)
      #expect(stage.entry("stubborn").pending == 600)
      stubborn.release()
      #expect(await stage.run { stubborn.delivered.count == 600 })
    }
  }
}
