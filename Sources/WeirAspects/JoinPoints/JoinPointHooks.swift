// before and after: attaching advice to a join point.

import Weir

extension JoinPoint {
  /// Calls `advice` before each call of the target, with `self` and the parameters.
  ///
  /// ```swift
  /// let hook = ItemPage.JoinPoints.like.before(.exactly(WishlistPage.self)) { wishlist, call in
  ///   print(wishlist.title, call.item)
  /// }
  /// ```
  ///
  /// **Advice** runs on the calling thread, inside the call and in the isolation of the function, in the order of
  /// attaching. Advice must not block, because whoever detaches a hook waits for its advice. Advice can't throw. Calls
  /// of the join point that advice makes are not told to that advice.
  ///
  /// **Threads.** A hook may be attached from any thread at any time. Calls that begin after this returned are heard.
  ///
  /// **Cost.** Attaching takes a lock and a few microseconds; a call, about ten nanoseconds and the advice.
  ///
  /// - Parameters:
  ///   - target: Whose calls are heard.
  ///   - file: Where the hook is attached, for ``JoinPointListing``.
  ///   - line: The line in the file.
  ///   - advice: What is called.
  /// - Returns: A hook that must be kept: when the hook goes, the advice goes.
  @inlinable
  public func before<Subject>(
    _ target: Hook.Target<Owner, Subject>, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Subject, Parameters) -> Void
  ) -> Hook {
    // A subject is its owner by another type: the target has checked that.
    attach(
      target.whom, target.object, "before, \(target.words)", file, line,
      before: { advice(unsafeBitCast($0, to: Subject.self), $1) })
  }

  /// Calls `advice` after each call of the target, however the call ended, with `self`, the parameters as they were
  /// when the call began, and the outcome. Of a mutating method `self` is as the method left it.
  ///
  /// ```swift
  /// let hook = ItemPage.JoinPoints.like.after(.instance(page)) { page, call, outcome in
  ///   if outcome.returned == true { tracker.track(PageEvent.liked(item: call.item.id)) }
  /// }
  /// ```
  ///
  /// Advice, threads and limits are those of ``before(_:file:line:_:)``. A hook that is attached during a call hears of
  /// the next call; a hook that is detached meanwhile does not hear of this call's end.
  ///
  /// - Parameters:
  ///   - target: Whose calls are heard.
  ///   - timed: Whether the outcome has ``Hook/Outcome/elapsed``. The monotonic clock is read twice a call for that,
  ///     some fifty nanoseconds; without it no clock is read.
  ///   - file: Where the hook is attached, for ``JoinPointListing``.
  ///   - line: The line in the file.
  ///   - advice: What is called.
  /// - Returns: A hook that must be kept: when the hook goes, the advice goes.
  @inlinable
  public func after<Subject>(
    _ target: Hook.Target<Owner, Subject>, timed: Bool = false, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Subject, Parameters, Hook.Outcome<Returned>) -> Void
  ) -> Hook {
    attach(
      target.whom, target.object, "after, \(target.words)", file, line, isTimed: timed,
      after: { advice(unsafeBitCast($0, to: Subject.self), $1, $2) })
  }

  @usableFromInline
  func attach(
    _ whom: AttachedHook.Whom, _ object: AnyObject?, _ words: String, _ file: StaticString, _ line: UInt32,
    isTimed: Bool = false, before: Advice<Owner, Parameters, Returned>.Before? = nil,
    after: Advice<Owner, Parameters, Returned>.After? = nil
  ) -> Hook {
    let place = (HookScope.current == nil ? "" : ", in one task") + "   \(file):\(line)"
    let hook = TypedHook(whom, object, before: before, after: after, isTimed: isTimed, words + place)
    return Hook(hook, at: word, listed)
  }
}
