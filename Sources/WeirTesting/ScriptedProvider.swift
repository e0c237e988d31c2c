// ScriptedProvider: a provider that answers as a test says, and remembers what it was asked.

public import Weir
public import WeirDelivery

/// A provider for tests of delivery: it answers as the test says, and remembers what it was asked.
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
/// Every call may be made from any thread or task.
public final class ScriptedProvider: Provider, Sendable {
  /// How a call of ``deliver(_:)`` is answered.
  public indirect enum Answer: Sendable {
    /// All events are accepted.
    case accept
    /// All events are rejected, for this reason.
    case reject(String)
    /// All events are to be given again.
    case retry(after: Duration?)
    /// What this says of each event.
    case each(@Sendable (PreparedEvent) -> Verdict)
    /// Just these verdicts, whatever the number of events. Only ``Verdict/accepted`` ones at an event's place keep it.
    case verdicts([Verdict])
    /// The call throws, and nothing is kept: the batch never arrived.
    case fail(String)
    /// All events are kept, and the call throws: the batch arrived and the answer got lost.
    case acceptAndFail(String)
    /// After so long by the provider's clock, the answer inside.
    case slow(Duration, then: Answer)
    /// No answer until the task is cancelled; then the call throws.
    case hang
    /// No answer until ``ScriptedProvider/release()``, whether the task is cancelled or not; then the answer inside.
    case stubborn(then: Answer)
    /// The call throws ``BatchRefused`` if one of the events is as this says, and otherwise all are accepted.
    case refuseBatch(String, with: @Sendable (PreparedEvent) -> Bool)
    /// The call throws ``DeliveryStopped``.
    case stop(String)
  }

  /// A call that was made.
  public enum Call: Hashable, Sendable {
    case setup
    case associate(EventUser)
    case disassociate
    /// With the events' ids, in the order given.
    case deliver([EventID])
    case shutdown
  }

  /// What a call throws if the script says so.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible {
    /// As the script has it.
    public let description: String

    /// A failure.
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
    var waiting = 0
    var isReleased = false
    var stubborn: [CheckedContinuation<Void, Never>] = []
  }

  /// The provider's name.
  public let name: String

  private let finally: Answer
  private let clock: any Clock<Duration>
  private let state: Lock<State>

  /// A provider that gives `answers`, one a call of ``deliver(_:)``, and after them `finally` for ever. The first calls
  /// of ``setup()`` fail as `setupFailures` has it.
  public init(
    name: String = "scripted", answers: [Answer] = [], finally: Answer = .accept, setupFailures: [String] = [],
    clock: any Clock<Duration> = ContinuousClock()
  ) {
    self.name = name
    self.finally = finally
    self.clock = clock
    state = Lock(State(answers: answers, setupFailures: setupFailures))
  }

  /// Adds answers to the end of the script.
  public func then(_ answers: Answer...) {
    state.withLock { $0.answers += answers }
  }

  /// The calls so far, in the order in which they were made.
  public var calls: [Call] { state.withLock { $0.calls } }

  /// The events that this provider has kept, in order, as often as it did: those that it answered ``Verdict/accepted``
  /// for, and those whose answer was lost.
  public var delivered: [PreparedEvent] { state.withLock { $0.delivered } }

  /// How many calls of ``deliver(_:)`` came while another had not returned. A dispatcher never makes one.
  public var overlaps: Int { state.withLock { $0.overlaps } }

  /// How many calls wait, as the script has it: for the time of ``Answer/slow(_:then:)``, or for ever.
  public var waiting: Int { state.withLock { $0.waiting } }

  /// Answers that no call has used yet.
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
      try await whileWaiting { try await clock.sleep(for: time) }
      return try await verdicts(for: events, by: answer)
    case .stubborn(let answer):
      await whileWaiting { await waitForRelease() }
      return try await verdicts(for: events, by: answer)
    case .refuseBatch(let reason, let isBad):
      if events.contains(where: isBad) { throw BatchRefused(reason) }
      return keep(events, events.map { _ in .accepted })
    case .stop(let reason): throw DeliveryStopped(reason)
    case .hang:
      // Sleeping ends by cancellation alone: nobody waits for the centuries.
      while true { try await whileWaiting { try await Task.sleep(for: .seconds(3600)) } }
    }
  }

  /// Lets the calls answered ``Answer/stubborn(then:)`` go on, those of now and those to come.
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

  private func whileWaiting(_ body: () async throws -> Void) async rethrows {
    state.withLock { $0.waiting += 1 }
    defer { state.withLock { $0.waiting -= 1 } }
    try await body()
  }

  /// Keeps the events that are accepted; answers the verdicts.
  private func keep(_ events: [PreparedEvent], _ verdicts: [Verdict]) -> [Verdict] {
    let accepted = zip(events, verdicts).filter { $0.1 == .accepted }.map(\.0)
    state.withLock { $0.delivered += accepted }
    return verdicts
  }
}
