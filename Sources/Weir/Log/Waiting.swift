// Waiting: a task that waits for an end which may come from several sides, and happens once.

/// A task's continuation, which the disk, a deadline or the task's cancellation resumes, whichever comes first. The
/// deadline and the cancellation may come before the wait begins.
final class Waiting: Sendable {
  private enum State {
    case new
    case waits(CheckedContinuation<Void, any Error>)
    case over((any Error)?)
  }

  private let state = Lock(State.new)

  /// Stores the continuation. Returns `false`, after resuming it as the wait ended, if the wait is already over.
  func begin(_ continuation: CheckedContinuation<Void, any Error>) -> Bool {
    let end = state.withLock { state -> (any Error)?? in
      if case .over(let error) = state { return .some(error) }
      state = .waits(continuation)
      return nil
    }
    guard let end else { return true }
    if let error = end { continuation.resume(throwing: error) } else { continuation.resume() }
    return false
  }

  /// Resumes the task, with or without an error. Further calls do nothing.
  func end(_ error: (any Error)?) {
    let continuation = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      if case .over = state { return nil }
      defer { state = .over(error) }
      guard case .waits(let continuation) = state else { return nil }
      return continuation
    }
    if let error { continuation?.resume(throwing: error) } else { continuation?.resume() }
  }
}
