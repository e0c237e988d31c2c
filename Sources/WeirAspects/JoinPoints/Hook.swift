// Hook: advice that is attached to a join point.

import Weir

/// Advice that is attached to a join point. The hook is detached by ``detach()``, or when the last reference to the
/// hook is released.
///
/// ```swift
/// final class LikesCounter {
///   private var hook: Hook?
///
///   init(_ counter: Counter) {
///     hook = ItemPage.JoinPoints.like.before(.everything) { _, _ in counter.increment() }
///   }  // the end of the counter detaches the hook
/// }
/// ```
///
/// **Threads.** Every method may be called from any thread.
public final class Hook: Sendable {
  /// The attached hook, which has no advice once the hook is detached.
  private let attached: AttachedHook
  /// The address of the join point's word, which lives as long as the descriptor.
  private let word: UInt

  init(_ attached: AttachedHook, at word: UnsafeRawPointer, _ listed: JoinPointListing.Entry) {
    self.attached = attached
    self.word = UInt(bitPattern: word)
    HookRegistry.attach(attached, at: word, listed)
  }

  deinit {
    // The last reference may be released under any lock, so this must not wait.
    HookRegistry.detach(attached, at: word, waits: false)
  }

  /// Whether the hook listens. In a forked child, the hooks that the parent attached still listen, on the child's one
  /// thread, and can be detached. Hooks that the child attaches never listen.
  public var isAttached: Bool { !attached.isDetached }

  /// Detaches the hook. When this method returns, the advice runs nowhere and will never run again, and the objects
  /// that the advice held are released.
  ///
  /// The method waits for all threads that are running advice, of any hook. The wait is short, because advice must not
  /// block. Don't call this method while holding a lock that any advice takes.
  ///
  /// If advice calls this method, the method does not wait. Calls that begin afterwards don't fire the hook, but
  /// another thread may still be running its advice. The objects that the advice held are released when the last call
  /// that is firing now has ended. A second call of this method only waits until the advice runs nowhere.
  ///
  /// Releasing the last reference to the hook never waits, so the reference may be released anywhere and under any
  /// lock. The hook is then detached as if advice had called this method.
  public func detach() {
    HookRegistry.detach(attached, at: word, waits: true)
    HookRegistry.letGo(self)
  }

  /// Keeps the hook attached for the life of the process or until ``detach()``, even if the program holds no reference
  /// to the hook.
  @discardableResult
  public func keep() -> Hook {
    if isAttached { HookRegistry.keep(self) }
    // Another thread may have detached the hook meanwhile, without finding the hook among the kept hooks.
    if !isAttached { HookRegistry.letGo(self) }
    return self
  }
}
