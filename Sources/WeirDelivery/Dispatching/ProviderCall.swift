// ProviderCall: one call of a provider, which may take longer than anybody waits for it.

import Weir

/// A call that runs in a task of its own. It is no child of another task: a call may go on for a while after delivery
/// was told to end, and nobody waits for a call that does not return.
final class ProviderCall: Sendable {
  private struct State {
    var answer: DeliveryAnswer?
    var task: Task<Void, Never>?
  }

  private let state = Lock(State())

  /// Begins the call. When it has returned, the alarm rings.
  init(_ alarm: Alarm, _ body: @escaping @Sendable () async -> DeliveryAnswer) {
    let task = Task { [self] in
      let answer = await body()
      state.withLock { state in
        state.answer = answer
        // Neither keeps the other any longer.
        state.task = nil
      }
      alarm.ring()
    }
    state.withLock { state in
      if state.answer == nil { state.task = task }
    }
  }

  /// What it came to; nil while it has not returned.
  var answer: DeliveryAnswer? { state.withLock { $0.answer } }

  /// Asks it to end.
  func cancel() {
    state.withLock { $0.task }?.cancel()
  }
}
