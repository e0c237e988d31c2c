// DeliveryStage: a log, a dispatcher and a clock that the test moves, for tests of delivery.

import Foundation
import Synchronization
import Testing
import WeirTesting

@testable import Weir

/// How long a test waits, by the machine's clock, for something that does not happen. Not for what does, however loaded
/// the machine is: other tests may have all of it for a minute.
private let deliveryPatience = Duration.seconds(300)

/// A log in a directory of its own with a dispatcher, on a virtual clock.
final class DeliveryStage: Sendable {
  let directory: String
  let tracker: Tracker
  let clock = VirtualClock()
  let dispatcher: Dispatcher

  convenience init(
    _ directory: String, tracker configure: (inout Tracker.Configuration) -> Void = { _ in },
    dispatcher change: (inout Dispatcher.Configuration) -> Void = { _ in }
  ) throws {
    let tracker = try reopen(
      directory,
      configuration: quiet {
        $0.whenFull = .block
        configure(&$0)
      })
    try self.init(on: tracker, dispatcher: change)
  }

  /// Another dispatcher for a log that is open.
  init(on tracker: Tracker, dispatcher change: (inout Dispatcher.Configuration) -> Void = { _ in }) throws {
    directory = tracker.directory
    self.tracker = tracker
    dispatcher = try Dispatcher(tracker, configuration: Self.configuration(clock, change))
  }

  /// How a dispatcher is set up for a test.
  static func configuration(
    _ clock: VirtualClock, _ change: (inout Dispatcher.Configuration) -> Void = { _ in }
  ) -> Dispatcher.Configuration {
    var configuration = Dispatcher.Configuration()
    configuration.clock = clock
    configuration.logger = nil
    configuration.random = { 0.5 }
    change(&configuration)
    return configuration
  }

  /// Captures so many events named `e`, with a field `n` that counts from `first`.
  @discardableResult
  func capture(_ count: Int, from first: Int = 0) throws -> [EventID] {
    let ids = (first..<first + count).compactMap { tracker.track("e", fields: ["n": .int(Int64($0))]).id }
    #expect(ids.count == count)
    try tracker.drain()
    return ids
  }

  /// Moves the clock from one deadline to the next until `condition` holds; false if it does not within that time of
  /// the clock's.
  ///
  /// The clock is moved only when everybody waits who could do something by himself: the workers, and of `providers`
  /// those who are called. A call of another provider is waited for.
  func run(
    _ providers: [ScriptedProvider] = [], upTo limit: Duration = .seconds(3600), until condition: () throws -> Bool
  ) async rethrows -> Bool {
    let end = clock.now.advanced(by: limit)
    let patience = ContinuousClock.now + deliveryPatience
    var pause = Duration.microseconds(100)
    while try !condition() {
      if ContinuousClock.now > patience { return false }
      guard areAtRest(providers) else {
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(4))
        continue
      }
      pause = .microseconds(100)
      if try condition() { return true }
      guard let next = clock.next, next <= end else { return false }
      clock.advance(to: next)
    }
    return true
  }

  /// Waits for a call of the dispatcher while the clock moves.
  func running<Answer: Sendable>(
    _ providers: [ScriptedProvider] = [], _ call: @escaping @Sendable () async -> Answer
  ) async throws -> Answer {
    let answer = Mutex<Answer?>(nil)
    Task {
      let given = await call()
      answer.withLock { $0 = given }
    }
    #expect(await run(providers) { answer.withLock { $0 != nil } })
    return try #require(answer.withLock { $0 })
  }

  /// Ends delivery as a kill does: nothing is written from now on.
  func kill() async {
    await dispatcher.finish(dispatcher.workers, .abandonment)
  }

  /// Ends delivery and capture in order, so that the directory can be opened again.
  func close() async throws {
    _ = try await running { [dispatcher] in await dispatcher.shutdown(budget: .zero) }
  }

  /// The ledger's entry of a provider.
  func entry(_ name: String = "scripted") -> Ledger.Entry { dispatcher.ledger[name] ?? Ledger.Entry(provider: "none") }

  /// Whether nothing happens before the clock is moved.
  private func areAtRest(_ providers: [ScriptedProvider]) -> Bool {
    let workers = dispatcher.workers.filter { worker in !worker.shared.read { $0.isFinished } }
    var sleepers = 0
    for worker in workers {
      guard let rest = worker.shared.read({ $0.rest }) else { return false }
      if rest.until != nil { sleepers += 1 }
      let waits = providers.contains { $0.name == worker.orders.name && $0.waiting > 0 }
      if rest.isCalling, !waits { return false }
    }
    return clock.sleepers >= max(sleepers, 1)
  }
}

/// Moves a clock on, for a dispatcher that is no stage's, until `condition` holds: a step at a time, with a moment of
/// the machine's between, so that no call in progress takes long by that clock.
func moving(_ clock: VirtualClock, until condition: () throws -> Bool) async rethrows -> Bool {
  let patience = ContinuousClock.now + deliveryPatience
  while try !condition() {
    if ContinuousClock.now > patience { return false }
    try? await Task.sleep(for: .milliseconds(1))
    clock.advance(by: .milliseconds(10))
  }
  return true
}

extension ScriptedProvider {
  /// The field `n` of each event that was kept, in order.
  var numbers: [Int64] {
    delivered.compactMap { event in
      guard case .int(let number)? = event.fields["n"] else { return nil }
      return number
    }
  }

  /// How many events each call was given.
  var callSizes: [Int] {
    calls.compactMap { call in
      guard case .deliver(let ids) = call else { return nil }
      return ids.count
    }
  }
}
