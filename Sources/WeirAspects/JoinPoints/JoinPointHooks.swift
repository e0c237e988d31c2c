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
  /// attaching. Advice must not block, because ``Hook/detach()`` waits for running advice. Advice can't throw. If
  /// advice calls its own join point, that call does not run the same advice.
  ///
  /// **Threads.** A hook may be attached from any thread at any time. The hook hears calls that begin after this method
  /// returned.
  ///
  /// **Cost.** Attaching takes a lock and a few microseconds. Each observed call costs about ten nanoseconds plus the
  /// advice.
  ///
  /// - Parameters:
  ///   - target: The objects whose calls the hook hears.
  ///   - file: The file in which the hook is attached, for ``JoinPointListing``.
  ///   - line: The line in the file.
  ///   - advice: The function to call.
  /// - Returns: A hook that must be kept: releasing the hook detaches the advice.
  public func before<Subject>(
    _ target: Hook.Target<Owner, Subject>, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Subject, Parameters) -> Void
  ) -> Hook {
    attach(target, "before", file, line, before: target.ownerAdvice(advice))
  }

  /// Calls `advice` after each call of the target, however the call ended, with `self`, the parameters as they were
  /// when the call began, and the outcome. In a mutating method, `self` is the value that the method left.
  ///
  /// ```swift
  /// let hook = ItemPage.JoinPoints.like.after(.instance(page)) { page, call, outcome in
  ///   if outcome.returned == true { tracker.track(PageEvent.liked(item: call.item.id)) }
  /// }
  /// ```
  ///
  /// The rules for advice and threads are those of ``before(_:file:line:_:)``. A hook that is attached during a call
  /// first hears the next call. A hook that is detached during a call does not hear the end of that call.
  ///
  /// - Parameters:
  ///   - target: The objects whose calls the hook hears.
  ///   - timed: Whether the outcome has ``Hook/Outcome/elapsed``. A timed hook reads the monotonic clock twice a call,
  ///     which costs about fifty nanoseconds. A hook that is not timed reads no clock.
  ///   - file: The file in which the hook is attached, for ``JoinPointListing``.
  ///   - line: The line in the file.
  ///   - advice: The function to call.
  /// - Returns: A hook that must be kept: releasing the hook detaches the advice.
  public func after<Subject>(
    _ target: Hook.Target<Owner, Subject>, timed: Bool = false, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Subject, Parameters, Hook.Outcome<Returned>) -> Void
  ) -> Hook {
    attach(target, "after", file, line, isTimed: timed, after: target.ownerAdvice(advice))
  }

  private func attach<Subject>(
    _ target: Hook.Target<Owner, Subject>, _ time: String, _ file: StaticString, _ line: UInt32, isTimed: Bool = false,
    before: Advice<Owner, Parameters, Returned>.Before? = nil, after: Advice<Owner, Parameters, Returned>.After? = nil
  ) -> Hook {
    let place = (HookScope.current == nil ? "" : ", in one task") + "   \(file):\(line)"
    let hook = TypedHook(
      target.whom, target.object, before: before, after: after, isTimed: isTimed, "\(time), \(target.words)\(place)")
    return Hook(hook, at: word, listed)
  }
}
