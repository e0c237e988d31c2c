// ProcessorMeter: the processor time that the delivery to one provider takes, for `DeliveryOptions.Budget`.

import Weir

/// The processor time of the work for one provider: that of the provider's delivery thread, and that of the parts of a
/// call of the provider that are measured, which run on threads that tasks share.
///
/// A clock counts the processor time of the thread that reads it. So only work without a suspension can be measured.
package final class ProcessorMeter: Sendable {
  /// The meter of the delivery whose call of the provider this task is; `nil` if nothing is measured.
  @TaskLocal package static var current: ProcessorMeter?

  private struct State {
    /// What was measured in calls, and not taken yet.
    var measured = Duration.zero
    /// The reading of the delivery thread's clock that was taken last.
    var taken = Duration.zero
  }

  private let clock: @Sendable () -> Duration
  private let state = Lock(State())

  /// `clock` returns the processor time of the thread that calls it.
  init(_ clock: @escaping @Sendable () -> Duration) {
    self.clock = clock
  }

  /// Does work that counts for the delivery, in a call of a provider.
  package static func measure<Answer, Failure: Error>(
    _ work: () throws(Failure) -> Answer
  ) throws(Failure) -> Answer {
    guard let meter = current else { return try work() }
    let start = meter.clock()
    defer {
      let took = meter.clock() - start
      meter.state.withLock { $0.measured += took }
    }
    return try work()
  }

  /// For the delivery thread: returns the time of the thread and of its provider's calls since the last call of this
  /// function. The first call is the beginning, and returns nothing of use.
  @discardableResult
  func take() -> Duration {
    let now = clock()
    return state.withLock { state in
      defer { state = State(taken: now) }
      return now - state.taken + state.measured
    }
  }
}
