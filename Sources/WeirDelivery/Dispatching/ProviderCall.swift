// ProviderCall: a call of a provider, which may take longer than the worker waits.

import Weir

/// A call that runs in a separate task, which is not a child of another task. The call may continue after the end of
/// delivery was ordered, and nobody waits for a call that does not return.
final class ProviderCall: Sendable {
  private struct State {
    var answer: DeliveryAnswer?
    var task: Task<Void, Never>?
  }

  private let state = Lock(State())

  /// Starts the call. The alarm rings when the call has returned.
  init(_ alarm: Alarm, _ body: @escaping @Sendable () async -> DeliveryAnswer) {
    let task = Task { [self] in
      let answer = await body()
      state.withLock { state in
        state.answer = answer
        // Ends the reference cycle between the task and this object.
        state.task = nil
      }
      alarm.ring()
    }
    state.withLock { state in
      if state.answer == nil { state.task = task }
    }
  }

  /// The answer, or `nil` while the call has not returned.
  var answer: DeliveryAnswer? { state.withLock { $0.answer } }

  /// Cancels the call.
  func cancel() {
    state.withLock { $0.task }?.cancel()
  }
}
