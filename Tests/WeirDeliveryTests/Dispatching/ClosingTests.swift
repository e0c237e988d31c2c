// The end of a provider's delivery: it takes no longer than is said, and what was cut short says why.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct ClosingTests {
  /// A provider whose calls return when the test says so, whether they are cancelled or not.
  private final class Lingering: WaitingProvider {
    enum Call { case deliver, shutdown }

    private struct State {
      var call: Call?
      var isCancelled = false
      var waiting: CheckedContinuation<Void, Never>?
    }

    let name = "lingering"
    private let state = Mutex(State())

    var waiting: Int { state.withLock { $0.waiting == nil ? 0 : 1 } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }
    func isIn(_ call: Call) -> Bool { state.withLock { $0.call == call && $0.waiting != nil } }

    func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
      await linger(.deliver)
      return events.map { _ in .accepted }
    }

    func shutdown() async {
      await linger(.shutdown)
    }

    private func linger(_ call: Call) async {
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          state.withLock { state in
            state.call = call
            state.waiting = continuation
          }
        }
      } onCancel: {
        state.withLock { $0.isCancelled = true }
      }
    }

    func release() {
      let waiting = state.withLock { state in
        defer { state.waiting = nil }
        return state.waiting
      }
      waiting?.resume()
    }
  }

  /// The answers of providers in the log of attempts.
  private func answers(_ directory: String) throws -> [String] {
    let reader = try EventReader(directory: AttemptLog.path(in: directory, provider: "lingering"))
    var answers: [String] = []
    while let stored = try reader.next() {
      if case .attempt(let attempt)? = try LoggedAttempt(stored) { answers.append(attempt.answer) }
    }
    return answers
  }

  /// Ends delivery to a provider that returns from each of its calls as late as it is waited for; answers how long it
  /// took by the clock.
  private func end(
    _ stage: DeliveryStage, _ provider: Lingering, _ call: @escaping @Sendable () async -> Void
  ) async throws -> Duration {
    try stage.capture(2)
    try stage.dispatcher.add(provider)
    #expect(await stage.run(stubborn: [provider]) { provider.isIn(.deliver) })
    let begin = stage.clock.now
    let isOver = Mutex(false)
    Task {
      await call()
      isOver.withLock { $0 = true }
    }
    let mover = stage.mover.onceWatched
    #expect(await mover.run(stubborn: [provider]) { provider.isCancelled })
    #expect(await stage.rest(stubborn: [provider]))
    // A second before it is not waited for any more.
    stage.clock.advance(by: .seconds(4))
    #expect(await stage.rest(stubborn: [provider]))
    provider.release()
    #expect(await eventually { provider.isIn(.shutdown) })
    #expect(await mover.run(stubborn: [provider]) { isOver.withLock { $0 } })
    provider.release()
    return begin.duration(to: stage.clock.now)
  }

  @Test func `a shutdown takes its budget and the closing time, and no more`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let report = Mutex<DeliveryReport?>(nil)
      let time = try await end(stage, Lingering()) {
        let answer = await stage.dispatcher.shutdown(budget: .seconds(1))
        report.withLock { $0 = answer }
      }
      #expect(time == .seconds(6))
      let entry = try #require(report.withLock { $0 }?.entries.first)
      #expect(entry.pending == 2)
      #expect(entry.acknowledged == 0)
      #expect(try answers(directory) == ["deliver(_:) was cancelled because the dispatcher is shutting down"])
    }
  }

  @Test func `a removal takes the closing time twice, and no more`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let time = try await end(stage, Lingering()) { try? await stage.dispatcher.remove("lingering") }
      #expect(time == .seconds(10))
      #expect(stage.dispatcher.providers.isEmpty)
      #expect(try answers(directory) == ["deliver(_:) was cancelled because delivery to the provider ends"])
    }
  }

  @Test func `a call that the shutdown cuts short is no failure of the provider`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .hang)
      var options = DeliveryOptions()
      options.backoff.failures = 1
      try stage.dispatcher.add(provider, options: options)
      try stage.capture(2)
      #expect(await stage.run([provider]) { provider.waiting == 1 })
      let report = try await stage.running([provider]) { await stage.dispatcher.shutdown(budget: .seconds(1)) }
      let entry = try #require(report.entries.first)
      #expect(entry.error == "deliver(_:) was cancelled because the dispatcher is shutting down")
      #expect(entry.state == .idle)
      #expect(entry.pending == 2)
      #expect(provider.calls.last == .shutdown)
    }
  }

  @Test func `a call whose own time is over says so, in the shutdown too`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .hang)
      var options = DeliveryOptions()
      options.attemptTimeout = .seconds(2)
      options.backoff.least = .seconds(200)
      try stage.dispatcher.add(provider, options: options)
      try stage.capture(2)
      #expect(await stage.run([provider]) { provider.waiting == 1 })
      let report = try await stage.running([provider]) { await stage.dispatcher.shutdown(budget: .seconds(20)) }
      #expect(report.entries.first?.error?.contains("did not return within 2 seconds") == true, "\(report)")
      #expect(report.entries.first?.state == .backingOff)
    }
  }
}
