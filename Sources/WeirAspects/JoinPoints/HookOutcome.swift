// Hook.Outcome: how a call ended.

import Weir

extension Hook {
  /// How a call ended: what the call returned or threw, and how long the call took.
  ///
  /// ```swift
  /// ItemPage.JoinPoints.like.after(.everything, timed: true) { page, call, outcome in
  ///   if outcome.returned == true { tracker.track(PageEvent.liked(item: call.item.id)) }
  ///   if let error = outcome.threw, !outcome.isCancelled { report(error, after: outcome.elapsed) }
  /// }
  /// ```
  ///
  /// **Threads.** Advice may keep an outcome. An outcome is `Sendable` if `Returned` is.
  public struct Outcome<Returned> {
    /// `nil` if the returned value could not be kept.
    @usableFromInline let result: Result<Returned, any Error>?

    /// How long the call took; ``unmeasured`` if the hook is not timed.
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

    /// What the call returned; `nil` if the call threw. Also `nil` if the result is not of the join point's type,
    /// because such a result can't be passed on.
    @inlinable
    public var returned: Returned? {
      if case .success(let value) = result { value } else { nil }
    }

    /// What the call threw; `nil` if the call returned.
    @inlinable
    public var threw: (any Error)? {
      if case .failure(let error) = result { error } else { nil }
    }

    /// Whether the call threw a `CancellationError`, as work in a cancelled task does.
    public var isCancelled: Bool { threw is CancellationError }

    /// How long the call took by the monotonic clock, including advice that ran before and during the call; `nil`
    /// unless the hook was attached with `timed`.
    @inlinable
    public var elapsed: Duration? {
      nanoseconds == Self.unmeasured ? nil : .nanoseconds(Int64(bitPattern: nanoseconds))
    }
  }
}

extension Hook.Outcome: Sendable where Returned: Sendable {}
