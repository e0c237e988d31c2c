// ConditionLock: a value behind a lock, with threads that wait for it to change.

import CClocks

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// A value that threads share and wait for. While its lock is held, the value is read or changed, and nothing else is
/// done.
///
/// Sendable, although the compiler can't see it: the value is accessed only with the lock held.
package final class ConditionLock<State: Sendable>: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var state: State

  package init(_ state: State) {
    self.state = state
    pthread_mutex_init(lock, nil)
    var attributes = pthread_condattr_t()
    pthread_condattr_init(&attributes)
    // Waits use a clock that can't be set.
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    pthread_cond_init(changed, &attributes)
    pthread_condattr_destroy(&attributes)
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(lock)
    changed.deallocate()
    lock.deallocate()
  }

  /// Reads the value.
  package func read<Result>(_ body: (borrowing State) -> Result) -> Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return body(state)
  }

  /// Changes the value. Wakes the waiting threads if `wakes` is `true`.
  package func change<Result>(wakes: Bool = true, _ body: (inout State) -> Result) -> Result {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    let result = body(&state)
    if wakes { pthread_cond_broadcast(changed) }
    return result
  }

  /// Waits until `condition` is true for the value. Returns `false` if the deadline passed first.
  package func wait(until deadline: MonotonicTime, for condition: (borrowing State) -> Bool) -> Bool {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while !condition(state) {
      if weir_cond_wait_until(changed, lock, deadline.nanoseconds) == ETIMEDOUT { return condition(state) }
    }
    return true
  }
}

/// A time on the machine's monotonic clock, in nanoseconds.
package struct MonotonicTime: Comparable, Sendable {
  package var nanoseconds: UInt64

  package init(nanoseconds: UInt64) {
    self.nanoseconds = nanoseconds
  }

  package static var now: MonotonicTime {
    MonotonicTime(nanoseconds: UInt64(weir_clock_read(CLOCK_MONOTONIC)))
  }

  /// Returns the time that is `duration` later, or the end of time if that is out of range.
  package func after(_ duration: Duration) -> MonotonicTime {
    let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return MonotonicTime(nanoseconds: overflow ? .max : sum)
  }

  package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }
}
