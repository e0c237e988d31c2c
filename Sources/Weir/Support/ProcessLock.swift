// ProcessLock: a value behind a lock that children of a fork leave alone.

#if canImport(Glibc)
  public import Glibc
#else
  public import Musl
#endif

/// A value that threads share.
///
/// In a child of a fork nobody gets at it: the thread that held the lock at the fork is not there to let it go, and the
/// value may be half changed.
@usableFromInline
package struct ProcessLock<Value: Sendable>: ~Copyable, Sendable {
  @usableFromInline let process = getpid()
  @usableFromInline let value: Lock<Value>

  @inlinable
  package init(_ value: Value) {
    self.value = Lock(value)
  }

  /// What `body` answers; nil in a child of a fork, where it is not called.
  @inlinable
  package borrowing func withLock<Answer: Sendable>(_ body: (inout Value) -> Answer) -> Answer? {
    guard getpid() == process else { return nil }
    return value.withLock { body(&$0) }
  }
}
