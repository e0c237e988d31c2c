// Hook: advice that is attached to a join point, as whoever attached it holds it.

import Synchronization

/// Advice attached to a join point. Detached with ``detach()``, or when the last reference to it goes.
///
/// ```swift
/// final class LikesCounter {
///   private var hook: Hook?
///
///   init(_ counter: Counter) {
///     hook = ItemPage.JoinPoints.like.before { _, _ in counter.increment() }
///   }  // with the counter goes the hook
/// }
/// ```
///
/// **Threads.** Every call may be made from any thread.
public final class Hook: Sendable {
  /// Nil once it is detached: what the advice held goes then.
  private let attached: Mutex<AttachedHook?>
  /// The address of the join point's word, which lives as long as the descriptor.
  private let word: UInt

  init(_ attached: AttachedHook, at word: UnsafeRawPointer, _ listed: JoinPointListing.JoinPoint) {
    self.attached = Mutex(attached)
    self.word = UInt(bitPattern: word)
    HookRegistry.attach(attached, at: word, listed)
  }

  deinit {
    detachNow()
  }

  /// Whether it listens. False from the beginning in a child of a fork.
  public var isAttached: Bool { attached.withLock { $0.map { !$0.isDetached } ?? false } }

  /// Ends it. When this returns the advice runs nowhere, never runs again, and what it held is released.
  ///
  /// Waits for the threads that run advice at this moment, which is not long, as advice must not block: do not call it
  /// while holding a lock that advice takes. Called by advice it does not wait: the hook fires no more for calls that
  /// begin from then on, but another thread may be in its advice just then, and what it held is released a little
  /// later. A second call does nothing but wait.
  public func detach() {
    detachNow()
    HookRegistry.letGo(self)
  }

  /// Lets it listen for the life of the process, or until ``detach()``, also when nobody holds it.
  @discardableResult
  public func keep() -> Hook {
    if isAttached { HookRegistry.keep(self) }
    return self
  }

  private func detachNow() {
    HookRegistry.detach(attached.withLock { $0 }, at: word)
    // Released outside of the lock: what the advice held may ask for this hook as it ends.
    let last = attached.withLock { attached in
      defer { attached = nil }
      return attached
    }
    withExtendedLifetime(last) {}
  }
}
