// ProcessLock: a value behind a lock that forked children don't use.

#if canImport(Glibc)
  public import Glibc
#else
  public import Musl
#endif

/// A value that threads share.
///
/// A forked child can't access the value. The thread that held the lock at the fork does not exist in the child, so the
/// lock would never be released, and the value may be half changed.
@usableFromInline
package struct ProcessLock<Value: Sendable>: ~Copyable, Sendable {
  @usableFromInline let process = getpid()
  @usableFromInline let value: Lock<Value>

  @inlinable
  package init(_ value: Value) {
    self.value = Lock(value)
  }

  /// Returns the result of `body`. In a forked child, returns `nil` without calling `body`.
  @inlinable
  package borrowing func withLock<Answer: Sendable>(_ body: (inout Value) -> Answer) -> Answer? {
    guard getpid() == process else { return nil }
    return value.withLock { body(&$0) }
  }
}
