// Calls of a function with a join point: with nothing attached, and with advice that counts.

import Counting
import Synchronization
import Weir
import WeirAspects

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

final class Page {
  // What the macros write.
  static let likePoint = JoinPoint<Page, (item: UInt64, ()), UInt64>("Page.like(_:)")

  private var liked: UInt64 = 0

  /// To be disassembled too: with nothing attached no more than a load and a branch, twice.
  @inline(never)
  func detachedLike(_ item: UInt64) -> UInt64 {
    var weirCall = Self.likePoint.call()
    if weirCall.isObserved { weirCall.begin(self, (item: item, ()), in: Page.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    liked &+= item
    return weirCall.returned(liked)
  }
}

private final class Counter: Sendable {
  let value = Atomic<UInt64>(0)

  func up() { value.wrappingAdd(1, ordering: .relaxed) }
}

/// Counts what a million calls do, in each way to listen.
func measureHooks() {
  let count = Counter()
  let calls: UInt64 = 1_000_000
  measure("swift-hook-detached", calls)
  let before = Page.likePoint.before(.everything) { _, _ in count.up() }
  measure("swift-hook-before", calls)
  before.detach()
  let after = Page.likePoint.after(.everything) { _, _, _ in count.up() }
  measure("swift-hook-after", calls)
  after.detach()
  let exactly = Page.likePoint.after(.exactly(Page.self)) { _, _, _ in count.up() }
  measure("swift-hook-exactly", calls)
  exactly.detach()
  guard count.value.load(ordering: .relaxed) == 3 * (calls + 10) else {
    print("swift-counts: advice was not called for each call")
    exit(1)
  }
}

@inline(never)
private func measure(_ name: StaticString, _ calls: UInt64) {
  let subject = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
  let page = Page()
  var sum = counting()
  // The first ones take the thread's record and the memory for states.
  for item in 0..<10 { _ = page.detachedLike(UInt64(item)) }
  counting_begin(subject)
  for item in 0..<calls { _ = page.detachedLike(item) }
  counting_end(subject, &sum)
  counting_report(subject, calls, &sum)
}
