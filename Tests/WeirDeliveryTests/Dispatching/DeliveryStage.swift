// DeliveryStage: a log, a dispatcher and a clock that the test moves, for tests of delivery.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

/// A log in a directory of its own with a dispatcher, on a virtual clock.
final class DeliveryStage: Sendable {
  let directory: String
  let tracker: Tracker
  let clock = VirtualClock()
  let dispatcher: Dispatcher
  /// Workers that are no dispatcher's: those of redrives.
  private let others: Others

  private final class Others: Sendable {
    let workers = Mutex<[ProviderWorker]>([])
  }

  convenience init(
    _ directory: String, tracker configure: (inout Tracker.Configuration) -> Void = { _ in },
    dispatcher change: (inout Dispatcher.Configuration) -> Void = { _ in }
  ) throws {
    let tracker = try Tracker(
      directory: directory,
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
    others = Others()
    dispatcher = try Dispatcher(tracker, configuration: Self.configuration(clock, change))
    try dispatcher.start()
  }

  /// How a dispatcher is set up for a test.
  static func configuration(
    _ clock: VirtualClock, _ change: (inout Dispatcher.Configuration) -> Void = { _ in }
  ) -> Dispatcher.Configuration {
    var configuration = Dispatcher.Configuration()
    configuration.clock = clock
    configuration.logger = nil
    configuration.random = { 0.5 }
    // The log is looked at by the clock that is moved, and never on a ring, which comes when it comes.
    configuration.longestPause = .milliseconds(50)
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

  /// What moves the clock.
  var mover: ClockMover {
    ClockMover(clock) { [dispatcher, others] in dispatcher.workers + others.workers.withLock { $0 } }
  }

  /// Moves the clock from one deadline to the next until `condition` holds; false if it does not within that time of
  /// the clock's: see ``ClockMover/run``.
  func run(
    _ providers: [any WaitingProvider] = [], stubborn: [any WaitingProvider] = [],
    upTo limit: Duration = .seconds(3600), until condition: () throws -> Bool
  ) async rethrows -> Bool {
    try await mover.run(providers, stubborn: stubborn, upTo: limit, until: condition)
  }

  /// Waits until nothing happens before the clock is moved.
  func rest(_ providers: [any WaitingProvider] = [], stubborn: [any WaitingProvider] = []) async -> Bool {
    await mover.rest(providers, stubborn: stubborn)
  }

  /// Waits for a call of the dispatcher, or a redrive, while the clock moves. It stands until the call has come to
  /// where it waits for a worker.
  func running<Answer: Sendable>(
    _ providers: [any WaitingProvider] = [], stubborn: [any WaitingProvider] = [],
    _ call: @escaping @Sendable () async -> Answer
  ) async throws -> Answer {
    let answer = Mutex<Answer?>(nil)
    Task {
      let given = await call()
      answer.withLock { $0 = given }
    }
    var mover = mover
    mover.isBegun = { [mover] in mover.isWatched || self.isRedriving }
    #expect(await mover.run(providers, stubborn: stubborn) { answer.withLock { $0 != nil } })
    return try #require(answer.withLock { $0 })
  }

  /// How a redrive is set up whose worker is to be waited for.
  func redriveConfiguration() -> Dispatcher.Configuration {
    Self.configuration(clock) { configuration in
      configuration.madeWorker = { [others] worker in others.workers.withLock { $0.append(worker) } }
    }
  }

  private var isRedriving: Bool {
    others.workers.withLock { $0.contains { worker in !worker.shared.read { $0.isFinished } } }
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
