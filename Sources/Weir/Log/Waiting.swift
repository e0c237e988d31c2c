// Waiting: a task that waits for something which ends once, by whoever comes first.

/// A task's continuation between the disk, which resumes it, and the task's cancellation, which may come before, after
/// or at the same time.
final class Waiting: Sendable {
  private enum State {
    case new
    case waits(CheckedContinuation<Void, any Error>)
    case over
  }

  private let state = Lock(State.new)

  /// Takes the continuation. False if the wait was over before it began: then it is resumed as cancelled.
  func begin(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
    let isOver = state.withLock { state in
      if case .over = state { return true }
      state = .waits(continuation)
      return false
    }
    if isOver { continuation.resume(throwing: CancellationError()) }
    return !isOver
  }

  /// Resumes the task, with an error or without; not a second time.
  func end(_ error: (any Error)?) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      defer { state = .over }
      guard case .waits(let continuation) = state else { return nil }
      return continuation
    }
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }
}
