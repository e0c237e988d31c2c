// Waiting: a task that waits for an end which may come from several sides, and happens once.

/// A task's continuation, which either the disk or the task's cancellation resumes. The cancellation may come at any
/// time.
final class Waiting: Sendable {
  private enum State {
    case new
    case waits(CheckedContinuation<Void, any Error>)
    case over
  }

  private let state = Lock(State.new)

  /// Stores the continuation. Returns `false`, after resuming it as cancelled, if the wait is already over.
  func begin(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
    let isOver = state.withLock { state in
      if case .over = state { return true }
      state = .waits(continuation)
      return false
    }
    if isOver { continuation.resume(throwing: CancellationError()) }
    return !isOver
  }

  /// Resumes the task, with or without an error. Further calls do nothing.
  func end(_ error: (any Error)?) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      defer { state = .over }
      guard case .waits(let continuation) = state else { return nil }
      return continuation
    }
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }
}
