// Settlements: what becomes of events, told as it happens.

import Synchronization
public import Weir

/// An event that was settled at a provider: the provider has it, will never take it, or is not meant to get it.
public struct SettledEvent: Hashable, Sendable {
  /// The event's id, as in the receipt of the capture.
  public var id: EventID

  /// The provider's name.
  public var provider: String

  /// What became of the event: ``Journey/Fate/acknowledged``, ``Journey/Fate/rejected(reason:)`` or
  /// ``Journey/Fate/withheld``.
  public var fate: Journey.Fate
}

/// The settlements of a dispatcher, from the call of ``Dispatcher/settlements(limit:)`` on, until the dispatcher ends.
/// One task reads them.
///
/// **Crash.** A settlement is told when the provider has answered, and a rejection when its dead letter is on disk. The
/// cursor moves some time later. After a kill in between, the event is delivered again, and told again.
public struct Settlements: AsyncSequence, Sendable {
  private let stream: AsyncStream<SettledEvent>
  private let missedCount: Missed

  fileprivate final class Missed: Sendable {
    let count = Atomic<UInt64>(0)
  }

  fileprivate init(_ feed: SettlementFeed, limit: Int) {
    let missed = Missed()
    missedCount = missed
    stream = AsyncStream(bufferingPolicy: .bufferingNewest(Swift.max(limit, 1))) { continuation in
      let number = feed.observe { events in
        for event in events {
          if case .dropped = continuation.yield(event) { missed.count.add(1, ordering: .relaxed) }
        }
        if events.isEmpty { continuation.finish() }
      }
      continuation.onTermination = { _ in feed.unobserve(number) }
    }
  }

  /// The number of settlements that were dropped because nobody read them: the oldest are dropped.
  public var missed: UInt64 { missedCount.count.load(ordering: .relaxed) }

  public func makeAsyncIterator() -> AsyncStream<SettledEvent>.Iterator { stream.makeAsyncIterator() }
}

extension Dispatcher {
  /// Tells what becomes of events at each provider, from now on.
  ///
  /// ```swift
  /// for await settled in dispatcher.settlements() {
  ///   if case .rejected(let reason) = settled.fate { alarm("\(settled.provider) refuses \(settled.id): \(reason)") }
  /// }
  /// ```
  ///
  /// At most `limit` settlements wait for the reader. Then the oldest are dropped, and ``Settlements/missed`` counts
  /// them. The events of a batch are told in the order of the log; a retried event is told later. Events that a loss
  /// took from the log have no id, and are only in the ledger. ``Configuration/onSettled`` is the same as a callback.
  ///
  /// **Cost.** Nothing while nobody reads. About a tenth of a microsecond an event and reader, on the provider's
  /// thread.
  public func settlements(limit: Int = 10_000) -> Settlements { Settlements(feed, limit: limit) }
}

extension Tracker {
  /// Returns what became of an event at each provider, once it is settled at all of them, or after the timeout; then an
  /// unsettled event is `Journey.Fate.pending`. Ordered by the providers' names; empty without a dispatcher.
  ///
  /// ```swift
  /// let receipt = tracker.track(Payment.booked(order: order))
  /// if let id = receipt.id { print(try await tracker.outcome(of: id, timeout: .seconds(5))) }
  /// ```
  ///
  /// Finds the event in the log first, which takes milliseconds, and more in a large log: for a payment, not for each
  /// event. Does not make the event go out: see ``flush(timeout:)``.
  ///
  /// Throws `missing` if the log has no such event, and the errors of reading.
  public func outcome(of event: EventID, timeout: Duration) async throws(WeirError) -> [Journey.Outcome] {
    guard let dispatcher else { return [] }
    return try await dispatcher.outcome(of: event, timeout: timeout)
  }
}

extension Dispatcher {
  fileprivate func outcome(of event: EventID, timeout: Duration) async throws(WeirError) -> [Journey.Outcome] {
    let found = Lock<[String: Journey.Fate]>([:])
    let number = feed.observe { events in
      for settled in events where settled.id == event {
        found.withLock { $0[settled.provider] = settled.fate }
      }
    }
    defer { feed.unobserve(number) }
    let deadline = clock.now + timeout
    // The event may still be in a lane.
    _ = try? tracker?.drain(timeout: min(timeout, .seconds(10)))
    let log = LogDirectory(directory)
    let stored = try log.event(with: event)
    var read = try log.outcomes(of: stored)
    let pending = read.filter { $0.fate == .pending }.map(\.provider)
    let workers = self.workers
    let isPassed = { (provider: String) in
      workers.contains { $0.orders.name == provider && $0.shared.read { $0.report.durable } > stored.offset }
    }
    await clock.waiting(for: workers, until: deadline) {
      Task.isCancelled || pending.allSatisfy { name in found.withLock { $0[name] != nil } || isPassed(name) }
    }
    let live = found.withLock { $0 }
    // What was settled before this call is told to nobody, and may have been in no file at first: what was withheld is
    // noted when the cursor moves.
    if !pending.allSatisfy({ live[$0] != nil }) { read = try log.outcomes(of: stored) }
    return read.map { outcome in
      var outcome = outcome
      outcome.fate = live[outcome.provider] ?? outcome.fate
      return outcome
    }
  }
}

/// Passes settlements from the providers' threads on to observers.
final class SettlementFeed: Sendable {
  private struct State {
    var last: UInt64 = 0
    var observers: [UInt64: @Sendable ([SettledEvent]) -> Void] = [:]
    var isEnded = false
  }

  private let state: Lock<State>
  private let isHeardNow: Atomic<Bool>

  init(_ observer: (@Sendable ([SettledEvent]) -> Void)? = nil) {
    var first = State()
    if let observer { first.observers[0] = { if !$0.isEmpty { observer($0) } } }
    state = Lock(first)
    isHeardNow = Atomic(observer != nil)
  }

  /// Whether anybody observes.
  var isHeard: Bool { isHeardNow.load(ordering: .relaxed) }

  /// Adds an observer. After the end, the observer is told of the end at once.
  func observe(_ body: @escaping @Sendable ([SettledEvent]) -> Void) -> UInt64 {
    let (number, isEnded) = state.withLock { state in
      state.last += 1
      if !state.isEnded {
        state.observers[state.last] = body
        isHeardNow.store(true, ordering: .relaxed)
      }
      return (state.last, state.isEnded)
    }
    if isEnded { body([]) }
    return number
  }

  func unobserve(_ number: UInt64) {
    // Released outside of the lock, because objects that the observer holds may end with it.
    let gone = state.withLock { state in
      defer { isHeardNow.store(!state.observers.isEmpty, ordering: .relaxed) }
      return state.observers.removeValue(forKey: number)
    }
    withExtendedLifetime(gone) {}
  }

  /// Tells observers of events.
  func tell(_ events: [SettledEvent]) {
    for observer in state.withLock({ Array($0.observers.values) }) { observer(events) }
  }

  /// Tells observers, with no events, that there will be no more.
  func end() {
    let observers = state.withLock { state in
      state.isEnded = true
      return Array(state.observers.values)
    }
    for observer in observers { observer([]) }
  }
}
