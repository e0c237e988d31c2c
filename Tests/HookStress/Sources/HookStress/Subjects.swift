// The classes whose calls are listened to, with what the macros write by hand, and threads.

import Synchronization
import Weir
import WeirAspects

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// The parent.
class Page: @unchecked Sendable {
  static let joinPoint = JoinPoint<Page, (item: UInt64, ()), UInt64>("Page.like(_:)")

  /// Without a join point, so that the calls go on to something.
  @inline(never)
  func like(_ item: UInt64) -> UInt64 {
    var weirCall = Self.joinPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (item: item, ()), in: Page.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    return weirCall.returned(item &* 3)
  }
}

/// With an override that calls `super`: that is one call.
class Child: Page, @unchecked Sendable {
  override func like(_ item: UInt64) -> UInt64 {
    var weirCall = Self.joinPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (item: item, ()), in: Child.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    return weirCall.returned(super.like(item))
  }
}

/// Without an override.
final class Grandchild: Child, @unchecked Sendable {}

/// Without an override.
final class Sibling: Page, @unchecked Sendable {}

/// Runs `body` on so many threads, and waits for all of them. Threads of their own and not tasks, for they come and go.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let threads = (0..<count).map { Thread($0, body) }
  for thread in threads { thread.join() }
}

/// A thread.
struct Thread {
  private final class Work: Sendable {
    let index: Int
    let body: @Sendable (Int) -> Void

    init(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
      self.index = index
      self.body = body
    }
  }

  private let thread: pthread_t

  init(_ index: Int, _ body: @escaping @Sendable (Int) -> Void) {
    var thread = pthread_t()
    let status = pthread_create(
      &thread, nil,
      { context in
        let work = Unmanaged<Work>.fromOpaque(context!).takeRetainedValue()
        work.body(work.index)
        return nil
      }, Unmanaged.passRetained(Work(index, body)).toOpaque())
    precondition(status == 0, "no thread")
    self.thread = thread
  }

  func join() { pthread_join(thread, nil) }
}

/// A value behind a lock. Not a Mutex, for ThreadSanitizer does not see that one orders anything.
final class Locked<Value>: @unchecked Sendable {
  private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  init(_ value: Value) {
    self.value = value
    pthread_mutex_init(lock, nil)
  }

  deinit {
    pthread_mutex_destroy(lock)
    lock.deallocate()
  }

  func withLock<Answer>(_ body: (inout Value) -> Answer) -> Answer {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    return body(&value)
  }
}

/// Random numbers from a seed: SplitMix64.
struct Randomness: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64, _ stream: Int) { state = seed &+ UInt64(stream) &* 0x9e37_79b9_7f4a_7c15 }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }
}
