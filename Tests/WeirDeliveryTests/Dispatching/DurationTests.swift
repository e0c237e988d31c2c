// Durations at both ends: for ever, and none.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

struct DurationTests {
  @Test(.timeLimit(.minutes(15))) func `the longest duration there is means for ever`() async {
    // In a process of its own: one that is not taken ends the process.
    await #expect(processExitsWith: .success) {
      let forever = Duration.seconds(Int64.max)
      let spy = try SpyTracker()
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      configuration.closingTime = forever
      configuration.cursorInterval = forever
      let dispatcher = try Dispatcher(spy.tracker, configuration: configuration)
      try dispatcher.start()
      var options = DeliveryOptions()
      options.attemptTimeout = forever
      options.backoff.most = forever
      options.backoff.failures = 1
      options.backoff.openFor = forever
      options.flush.idleAfter = forever
      let failing = ScriptedProvider(name: "failing", finally: .fail("down"))
      let later = ScriptedProvider(name: "later", finally: .retry(after: forever))
      let some = ScriptedProvider(
        name: "some", finally: .each { $0.fields["n"] == .int(1) ? .retry(after: forever) : .accepted })
      let works = ScriptedProvider(name: "works")
      // All three are there when delivery begins: a call of which nothing is accepted is made again after the back-off.
      for number in 0..<3 { spy.tracker.track("e", fields: ["n": .int(Int64(number))]) }
      try spy.tracker.drain()
      for provider in [failing, some, later, works] { try dispatcher.add(provider, options: options) }
      // Those that fail are pending however long it takes; the others get what is theirs.
      while await dispatcher.flush(timeout: .milliseconds(100)).entries.map(\.pending) != [3, 3, 1, 0] {}
      for name in ["failing", "later", "some"] { try await dispatcher.remove(name) }
      spy.tracker.track("e")
      guard await dispatcher.flush(timeout: forever).isComplete else { exit(3) }
      guard await dispatcher.shutdown(budget: forever).isComplete else { exit(4) }
      let letters = ScriptedProvider(name: "letters", finally: .reject("no"))
      let beside = try Dispatcher(directory: spy.tracker.directory, configuration: configuration)
      try beside.start()
      try beside.add(letters)
      await beside.flush(timeout: forever)
      await beside.shutdown(budget: forever)
      let log = LogDirectory(spy.tracker.directory)
      let redriven = try await log.redrive(
        to: ScriptedProvider(name: "letters"), options: options, configuration: configuration, timeout: forever)
      exit(redriven.acknowledged == 4 ? 0 : 5)
    }
  }

  @Test(.timeLimit(.minutes(15))) func `a pause of no time is some time`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(
        directory,
        dispatcher: { configuration in
          configuration.shortestPause = .zero
          configuration.longestPause = .seconds(-1)
        })
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      // Whoever sleeps does not look all the time.
      await stage.clock.sleepers(atLeast: 1)
      try stage.capture(3)
      #expect(await stage.run { stage.entry().acknowledged == 3 })
      await stage.kill()
    }
  }
}
