// Hook.Outcome: how a call ended.

import Weir

extension Hook {
  /// How a call ended: what it returned or threw, and how long it took.
  ///
  /// ```swift
  /// ItemPage.JoinPoints.like.after(.everything, timed: true) { page, call, outcome in
  ///   if outcome.returned == true { tracker.track(PageEvent.liked(item: call.item.id)) }
  ///   if let error = outcome.threw, !outcome.isCancelled { report(error, after: outcome.elapsed) }
  /// }
  /// ```
  ///
  /// **Threads.** A value that advice may keep and hand on as far as what was returned may be.
  public struct Outcome<Returned> {
    /// Nil if what was returned could not be kept.
    @usableFromInline let result: Result<Returned, any Error>?

    /// How long the call took; ``unmeasured`` if the hook did not ask.
    @usableFromInline var nanoseconds: UInt64

    @inlinable
    static var unmeasured: UInt64 {
      @inline(__always) get { .max }
    }

    @inlinable
    @inline(__always)
    init(_ result: Result<Returned, any Error>?) {
      self.result = result
      nanoseconds = Self.unmeasured
    }

    /// What the call returned; nil if it threw. Nil also for a result of another type than the join point names, which
    /// can't be handed on.
    @inlinable
    public var returned: Returned? {
      if case .success(let value) = result { value } else { nil }
    }

    /// What the call threw; nil if it returned.
    @inlinable
    public var threw: (any Error)? {
      if case .failure(let error) = result { error } else { nil }
    }

    /// Whether the call threw a `CancellationError`, as work does whose task is cancelled.
    public var isCancelled: Bool { threw is CancellationError }

    /// How long the call took by the monotonic clock, with the advice that ran before it and in its midst; nil unless
    /// the hook was attached with `timed`.
    @inlinable
    public var elapsed: Duration? {
      nanoseconds == Self.unmeasured ? nil : .nanoseconds(Int64(bitPattern: nanoseconds))
    }
  }
}

extension Hook.Outcome: Sendable where Returned: Sendable {}
