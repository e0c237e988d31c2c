// TimeTracker: how long something ran, without the time in which it did not. A pure value: whoever has it has the clock.

import Weir

/// How long something ran, without the time that it was suspended.
///
/// ```swift
/// var time = TimeTracker(at: .seconds(10))
/// time.suspend(at: .seconds(12))
/// time.resume(at: .seconds(20))
/// time.elapsed(at: .seconds(21))     // 3 seconds
/// time.suspended(at: .seconds(21))   // 8 seconds
/// ```
///
/// Times are those of one clock, from whatever beginning; a ``Scope`` has one with the monotonic clock. A time before
/// the last one that the tracker was told counts as that one: no clock makes what elapsed go back.
public struct TimeTracker: Hashable, Sendable {
  /// What elapsed, and what did not, before ``since``.
  private var elapsedBefore = Duration.zero
  private var suspendedBefore = Duration.zero
  /// When the stretch began in which it runs, or is suspended; or when it ended.
  private var since: Duration
  /// Of the stretch in which it runs: what is left out.
  private var leftOut = Duration.zero

  /// Whether it is suspended.
  public private(set) var isSuspended = false

  /// Whether it ended: nothing changes from then on.
  public private(set) var isEnded = false

  /// Begins to run.
  public init(at time: Duration) {
    since = time
  }

  /// Time stands still from here on. False if it did already, or has ended.
  @discardableResult
  public mutating func suspend(at time: Duration) -> Bool {
    guard !isSuspended, !isEnded else { return false }
    close(at: time)
    isSuspended = true
    return true
  }

  /// Time goes on. False if it was not suspended, or has ended.
  @discardableResult
  public mutating func resume(at time: Duration) -> Bool {
    guard isSuspended, !isEnded else { return false }
    close(at: time)
    isSuspended = false
    return true
  }

  /// Ends. False if it did already.
  @discardableResult
  public mutating func end(at time: Duration) -> Bool {
    guard !isEnded else { return false }
    close(at: time)
    isEnded = true
    return true
  }

  /// Leaves out a time that ended at `end`, as if it had been suspended then: no more of it than since it began to run,
  /// for what was before that was never counted. Does nothing while suspended, when no time is counted, and after the
  /// end.
  public mutating func leaveOut(_ duration: Duration, before end: Duration) {
    guard !isSuspended, !isEnded, duration > .zero, end > since else { return }
    leftOut = min(leftOut + duration, end - since)
  }

  /// How long it ran by then.
  public func elapsed(at time: Duration) -> Duration {
    isSuspended || isEnded ? elapsedBefore : elapsedBefore + max(stretch(to: time) - leftOut, .zero)
  }

  /// How long it was suspended by then, with what was left out.
  public func suspended(at time: Duration) -> Duration {
    if isEnded { return suspendedBefore }
    return suspendedBefore + (isSuspended ? stretch(to: time) : min(leftOut, stretch(to: time)))
  }

  private func stretch(to time: Duration) -> Duration { max(time - since, .zero) }

  /// Counts the stretch that ends now.
  private mutating func close(at time: Duration) {
    let now = max(time, since)
    (elapsedBefore, suspendedBefore) = (elapsed(at: now), suspended(at: now))
    since = now
    leftOut = .zero
  }
}
