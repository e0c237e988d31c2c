// Hook: advice that is attached to a join point, as whoever attached it holds it.

import Weir

/// Advice attached to a join point. Detached with ``detach()``, or when the last reference to it goes.
///
/// ```swift
/// final class LikesCounter {
///   private var hook: Hook?
///
///   init(_ counter: Counter) {
///     hook = ItemPage.JoinPoints.like.before(.everything) { _, _ in counter.increment() }
///   }  // with the counter goes the hook
/// }
/// ```
///
/// **Threads.** Every call may be made from any thread.
public final class Hook: Sendable {
  /// Without its advice once it is detached.
  private let attached: AttachedHook
  /// The address of the join point's word, which lives as long as the descriptor.
  private let word: UInt

  init(_ attached: AttachedHook, at word: UnsafeRawPointer, _ listed: JoinPointListing.Entry) {
    self.attached = attached
    self.word = UInt(bitPattern: word)
    HookRegistry.attach(attached, at: word, listed)
  }

  deinit {
    // Nobody knows where the last reference goes: to wait here would be to wait under whatever lock is held there.
    HookRegistry.detach(attached, at: word, waits: false)
  }

  /// Whether it listens. In a child of a fork what the parent attached still does, on the one thread that is there, and
  /// can be detached; what is attached there never listens.
  public var isAttached: Bool { !attached.isDetached }

  /// Ends it. When this returns the advice runs nowhere, never runs again, and what it held is released.
  ///
  /// Waits for the threads that run advice at this moment, of whatever hook, which is not long, as advice must not
  /// block: do not call it while holding a lock that any advice takes.
  ///
  /// Called by advice it does not wait: the hook fires no more for calls that begin from then on, but another thread
  /// may be in its advice just then, and what it held is released when the last of those that fire now has ended. A
  /// second call does nothing but wait until the advice runs nowhere.
  ///
  /// To let the last reference go never waits, so that it may be done anywhere, under any lock: otherwise it is as if
  /// called by advice.
  public func detach() {
    HookRegistry.detach(attached, at: word, waits: true)
    HookRegistry.letGo(self)
  }

  /// Lets it listen for the life of the process, or until ``detach()``, also when nobody holds it.
  @discardableResult
  public func keep() -> Hook {
    if isAttached { HookRegistry.keep(self) }
    // Another thread may have detached it meanwhile, and would not have found it among those that are kept.
    if !isAttached { HookRegistry.letGo(self) }
    return self
  }
}
