// Lock: a Mutex whose order ThreadSanitizer sees.

public import Synchronization

/// A value that threads share: the standard library's `Mutex`, in a program that is built with `--sanitize=thread`, too.
///
/// ThreadSanitizer does not see on Linux that a `Mutex` orders what is done under it, and would report a race at every
/// one of Weir's. The word beside it, which is read first and written last under the lock, says so in a way that
/// ThreadSanitizer does see. Elsewhere it costs a plain load and a plain store, of a line that the lock has in the cache.
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

// As a Mutex is: the value is touched under the lock alone.
extension Lock: @unchecked Sendable where Value: ~Copyable {}
