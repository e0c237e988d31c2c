// TimeTracker: measures a duration without suspensions. A pure value: the caller has the clock.

import Weir

/// Measures how long something ran, without the time in which it was suspended.
///
/// ```swift
/// var time = TimeTracker(at: .seconds(10))
/// time.suspend(at: .seconds(12))
/// time.resume(at: .seconds(20))
/// time.elapsed(at: .seconds(21))     // 3 seconds
/// time.suspended(at: .seconds(21))   // 8 seconds
/// ```
///
/// All times must come from the same clock, with any starting point. A ``Scope`` uses the monotonic clock. A time
/// before the last one that the tracker was given counts as the last one, so the elapsed time never decreases.
public struct TimeTracker: Hashable, Sendable {
  /// The elapsed and the suspended time before ``since``.
  private var elapsedBefore = Duration.zero
  private var suspendedBefore = Duration.zero
  /// The beginning of the current running or suspended stretch, or the time of the end.
  private var since: Duration
  /// The excluded time of the current running stretch.
  private var leftOut = Duration.zero

  /// Whether the time is suspended.
  public private(set) var isSuspended = false

  /// Whether the time has ended. Nothing changes after the end.
  public private(set) var isEnded = false

  /// Starts to run at `time`.
  public init(at time: Duration) {
    since = time
  }

  /// Suspends the time. Returns `false` if the time is already suspended or has ended.
  @discardableResult
  public mutating func suspend(at time: Duration) -> Bool {
    guard !isSuspended, !isEnded else { return false }
    close(at: time)
    isSuspended = true
    return true
  }

  /// Continues the time. Returns `false` if the time is not suspended or has ended.
  @discardableResult
  public mutating func resume(at time: Duration) -> Bool {
    guard isSuspended, !isEnded else { return false }
    close(at: time)
    isSuspended = false
    return true
  }

  /// Ends the time. Returns `false` if the time has already ended.
  @discardableResult
  public mutating func end(at time: Duration) -> Bool {
    guard !isEnded else { return false }
    close(at: time)
    isEnded = true
    return true
  }

  /// Excludes a stretch that ended at `end`, as if the time had been suspended. Excludes at most the time since the
  /// last start, because earlier time was not counted. Does nothing while suspended, when no time is counted, and after
  /// the end.
  public mutating func leaveOut(_ duration: Duration, before end: Duration) {
    guard !isSuspended, !isEnded, duration > .zero, end > since else { return }
    leftOut = min(leftOut + duration, end - since)
  }

  /// Returns the elapsed time at `time`.
  public func elapsed(at time: Duration) -> Duration {
    isSuspended || isEnded ? elapsedBefore : elapsedBefore + max(stretch(to: time) - leftOut, .zero)
  }

  /// Returns the suspended time at `time`, including excluded stretches.
  public func suspended(at time: Duration) -> Duration {
    if isEnded { return suspendedBefore }
    return suspendedBefore + (isSuspended ? stretch(to: time) : min(leftOut, stretch(to: time)))
  }

  private func stretch(to time: Duration) -> Duration { max(time - since, .zero) }

  /// Closes the current stretch.
  private mutating func close(at time: Duration) {
    let now = max(time, since)
    (elapsedBefore, suspendedBefore) = (elapsed(at: now), suspended(at: now))
    since = now
    leftOut = .zero
  }
}
