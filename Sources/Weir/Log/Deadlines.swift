// Deadlines: ends waits whose timeout has passed.

/// The waits of the process that have a timeout. Waits with nearly the same deadline share one sleeping task: a sleeping
/// task keeps its memory until its time, even if it is cancelled, and a server may begin many thousand waits a second.
final class Deadlines: Sendable {
  static let shared = Deadlines()

  /// The time at which a wait ends, in nanoseconds since the first wait.
  struct Deadline {
    fileprivate let time: Int64
  }

  private typealias Waits = [ObjectIdentifier: (wait: Waiting, error: @Sendable () -> WeirError)]

  /// 34 years. The system's clocks end the process for times that they can't represent.
  private static let longestTimeout = Duration.seconds(1 << 30)

  private let start = ContinuousClock.now
  /// The waits that are not over, by deadline.
  private let waits = Lock<[Int64: Waits]>([:])

  /// Ends `wait` with `error` once `timeout` has passed, or up to a 64th of the timeout later. So all waits of one
  /// timeout have 65 deadlines at most, however many and long they are.
  func end(
    _ wait: Waiting, after timeout: Duration, with error: @escaping @Sendable () -> WeirError
  ) -> Deadline {
    let rest = max(.zero, min(timeout, Self.longestTimeout))
    let step = max((rest / 64).nanoseconds, 1)
    let time = ((ContinuousClock.now - start + rest).nanoseconds / step + 1) * step
    let isFirst = waits.withLock { waits in
      let isFirst = waits[time] == nil
      waits[time, default: [:]][ObjectIdentifier(wait)] = (wait, error)
      return isFirst
    }
    if isFirst { endAll(at: time) }
    return Deadline(time: time)
  }

  /// Forgets a wait that is over.
  func remove(_ wait: Waiting, _ deadline: Deadline) {
    waits.withLock { waits in _ = waits[deadline.time]?.removeValue(forKey: ObjectIdentifier(wait)) }
  }

  /// The sleeping task is no child of its caller's, whose cancellation must not end the task.
  private func endAll(at time: Int64) {
    let end = start + .nanoseconds(time)
    Task.detached { [self] in
      try? await Task.sleep(until: end, clock: .continuous)
      for (wait, error) in take(time).values { wait.end(error()) }
    }
  }

  private func take(_ time: Int64) -> Waits { waits.withLock { $0.removeValue(forKey: time) ?? [:] } }
}

extension Duration {
  /// For durations below 292 years.
  fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
