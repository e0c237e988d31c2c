// Lock: a Mutex that ThreadSanitizer understands.

public import Synchronization

/// A value that threads share: the standard library's `Mutex`, which also works in programs built with
/// `--sanitize=thread`.
///
/// On Linux, ThreadSanitizer does not see that a `Mutex` orders the accesses under it, and would report a race at each
/// of Weir's. The word next to the mutex is read first and written last under the lock, in a way that ThreadSanitizer
/// sees. In other builds, the word costs a plain load and a plain store to a cache line that the lock has already
/// loaded.
@usableFromInline
package struct Lock<Value: ~Copyable>: ~Copyable {
  @usableFromInline let mutex: Mutex<Value>
  @usableFromInline let order = Atomic<UInt8>(0)

  @inlinable
  package init(_ value: consuming sending Value) {
    mutex = Mutex(value)
  }

  @inlinable
  package borrowing func withLock<Answer: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Answer
  ) throws(Failure) -> sending Answer {
    try mutex.withLock { value throws(Failure) -> sending Answer in
      _ = order.load(ordering: .acquiring)
      defer { order.store(0, ordering: .releasing) }
      return try body(&value)
    }
  }
}

// As with a Mutex, the value is accessed only with the lock held.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
