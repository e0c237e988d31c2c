// ScriptedProvider: a provider that answers by a test's script, and records its calls.

public import Weir
public import WeirDelivery

/// A provider for tests of delivery. It answers by the test's script, and records its calls.
///
/// ```swift
/// let provider = ScriptedProvider(answers: [
///   .retry(after: .seconds(30)),         // the first batch is to come again
///   .fail("503"),                        // the second call throws
///   .each { $0.name == "bad" ? .rejected("unknown event") : .accepted },
/// ])                                     // after that, everything is accepted
/// …
/// #expect(provider.delivered.map(\.name) == ["checkout.started", "checkout.completed"])
/// #expect(provider.calls.first == .setup)
/// ```
///
/// **Threads.** Any thread or task may call any member.
public final class ScriptedProvider: Provider, Sendable {
  /// The answer to a call of ``deliver(_:)``.
  public indirect enum Answer: Sendable {
    /// All events are accepted.
    case accept
    /// All events are rejected, with this reason.
    case reject(String)
    /// All events get a retry.
    case retry(after: Duration?)
    /// Each event gets the verdict that the closure returns.
    case each(@Sendable (PreparedEvent) -> Verdict)
    /// These verdicts are returned, whatever the number of events. An event is recorded as delivered only if the
    /// verdict in its place is `Verdict.accepted`.
    case verdicts([Verdict])
    /// The call throws, and no event is recorded as delivered: the batch did not arrive.
    case fail(String)
    /// The call throws, and all events are recorded as delivered: the batch arrived and the answer was lost.
    case acceptAndFail(String)
    /// The inner answer, after this time on the provider's clock.
    case slow(Duration, then: Answer)
    /// No answer until the task is cancelled; then the call throws.
    case hang
    /// No answer until ``ScriptedProvider/release()``, even if the task is cancelled; then the inner answer.
    case stubborn(then: Answer)
    /// The call throws `BatchRefused` if the closure returns `true` for one of the events. Otherwise all events are
    /// accepted.
    case refuseBatch(String, with: @Sendable (PreparedEvent) -> Bool)
    /// The call throws `DeliveryStopped`.
    case stop(String)
  }

  /// A recorded call.
  public enum Call: Hashable, Sendable {
    case setup
    case associate(EventUser)
    case disassociate
    case identify(EventUser)
    /// The ids of the events, in the given order.
    case deliver([EventID])
    case shutdown
  }

  /// The error of a call that the script lets fail.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The text of the script.
    public let description: String

    /// Creates a failure.
    public init(_ description: String) {
      self.description = description
    }
  }

  private struct State {
    var answers: [Answer]
    var setupFailures: [String]
    var calls: [Call] = []
    var delivered: [PreparedEvent] = []
    var inProgress = 0
    var overlaps = 0
    /// The calls that sleep by the script, and what is left of their sleep; `nil` for calls that hang.
    var sleeping: [Int: (@Sendable () -> Duration)?] = [:]
    var lastSleep = 0
    var isReleased = false
    var stubborn: [CheckedContinuation<Void, Never>] = []
  }

  /// The provider's name.
  public let name: String

  private let finally: Answer
  private let clock: any Clock<Duration>
  private let state: Lock<State>

  /// Creates a provider that gives one of `answers` for each call of ``deliver(_:)``, and then always `finally`. The
  /// first calls of ``setup()`` fail with `setupFailures`.
  public init(
    name: String = "scripted", answers: [Answer] = [], finally: Answer = .accept, setupFailures: [String] = [],
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.name = name
    self.finally = finally
    self.clock = clock
    state = Lock(State(answers: answers, setupFailures: setupFailures))
  }

  /// Appends answers to the script.
  public func then(_ answers: Answer...) {
    state.withLock { $0.answers += answers }
  }

  /// The calls so far, in order.
  public var calls: [Call] { state.withLock { $0.calls } }

  /// The delivered events, in order, including repetitions: those with the verdict `Verdict.accepted`, and those
  /// whose answer was lost.
  public var delivered: [PreparedEvent] { state.withLock { $0.delivered } }

  /// The number of calls of ``deliver(_:)`` that began before another had returned. A dispatcher never makes such a
  /// call.
  public var overlaps: Int { state.withLock { $0.overlaps } }

  /// The number of calls that wait because of the script: for the time of ``Answer/slow(_:then:)``, or forever.
  public var waiting: Int { state.withLock { $0.sleeping.count + $0.stubborn.count } }

  /// The time, on the provider's clock, until the first of the calls that are ``Answer/slow(_:then:)`` goes on. Zero or
  /// less if the time has come and the call has yet to go on; `nil` if there is no such call.
  package var timeLeft: Duration? {
    state.withLock { $0.sleeping.values.compactMap { $0 } }.map { $0() }.min()
  }

  /// The number of answers that are not used yet.
  public var unusedAnswers: Int { state.withLock { $0.answers.count } }
}

extension ScriptedProvider {
  public func setup() async throws {
    let failure: String? = state.withLock { state in
      state.calls.append(.setup)
      return state.setupFailures.isEmpty ? nil : state.setupFailures.removeFirst()
    }
    if let failure { throw Failure(failure) }
  }

  public func associate(_ user: EventUser) async throws {
    state.withLock { $0.calls.append(.associate(user)) }
  }

  public func disassociate() async throws {
    state.withLock { $0.calls.append(.disassociate) }
  }

  public func identify(_ user: EventUser) async throws {
    state.withLock { $0.calls.append(.identify(user)) }
  }

  public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    let answer = state.withLock { state in
      state.calls.append(.deliver(events.map(\.stored.id)))
      if state.inProgress > 0 { state.overlaps += 1 }
      state.inProgress += 1
      return state.answers.isEmpty ? finally : state.answers.removeFirst()
    }
    defer { state.withLock { $0.inProgress -= 1 } }
    return try await verdicts(for: events, by: answer)
  }

  public func shutdown() async {
    state.withLock { $0.calls.append(.shutdown) }
  }

  private func verdicts(for events: [PreparedEvent], by answer: Answer) async throws -> [Verdict] {
    switch answer {
    case .accept: return keep(events, events.map { _ in .accepted })
    case .reject(let reason): return events.map { _ in .rejected(reason) }
    case .retry(let time): return events.map { _ in .retry(after: time) }
    case .each(let verdict): return keep(events, events.map(verdict))
    case .verdicts(let verdicts): return keep(events, verdicts)
    case .fail(let message): throw Failure(message)
    case .acceptAndFail(let message):
      _ = keep(events, events.map { _ in .accepted })
      throw Failure(message)
    case .slow(let time, let answer):
      try await sleep(for: time, on: clock)
      return try await verdicts(for: events, by: answer)
    case .stubborn(let answer):
      await waitForRelease()
      return try await verdicts(for: events, by: answer)
    case .refuseBatch(let reason, let isBad):
      if events.contains(where: isBad) { throw BatchRefused(reason) }
      return keep(events, events.map { _ in .accepted })
    case .stop(let reason): throw DeliveryStopped(reason)
    case .hang:
      // The sleep ends only by cancellation.
      while true { try await sleeping(nil) { try await Task.sleep(for: .seconds(3600)) } }
    }
  }

  /// Releases the calls answered with ``Answer/stubborn(then:)``, current and future ones.
  public func release() {
    let waiting = state.withLock { state in
      state.isReleased = true
      defer { state.stubborn = [] }
      return state.stubborn
    }
    for continuation in waiting { continuation.resume() }
  }

  private func waitForRelease() async {
    await withCheckedContinuation { continuation in
      let isReleased = state.withLock { state in
        if !state.isReleased { state.stubborn.append(continuation) }
        return state.isReleased
      }
      if isReleased { continuation.resume() }
    }
  }

  /// Sleeps until a time that is fixed before the call counts as waiting. So a test that sees the call waiting, and
  /// moves the clock by ``timeLeft``, never moves the clock past that time.
  private func sleep<Time: Clock<Duration>>(for time: Duration, on clock: Time) async throws {
    let deadline = clock.now.advanced(by: time)
    let left: @Sendable () -> Duration = { clock.now.duration(to: deadline) }
    try await sleeping(left) { try await clock.sleep(until: deadline, tolerance: nil) }
  }

  private func sleeping(_ left: (@Sendable () -> Duration)?, _ body: () async throws -> Void) async rethrows {
    let number = state.withLock { state in
      state.lastSleep += 1
      state.sleeping.updateValue(left, forKey: state.lastSleep)
      return state.lastSleep
    }
    defer { state.withLock { _ = $0.sleeping.removeValue(forKey: number) } }
    try await body()
  }

  /// Records the accepted events, and returns the verdicts.
  private func keep(_ events: [PreparedEvent], _ verdicts: [Verdict]) -> [Verdict] {
    let accepted = zip(events, verdicts).filter { $0.1 == .accepted }.map(\.0)
    state.withLock { $0.delivered += accepted }
    return verdicts
  }
}
