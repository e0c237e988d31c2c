// What advice holds, which notices whatever it must not see.

import Synchronization
import Weir
import WeirAspects

/// What went wrong, by kind.
struct Faults: ~Copyable, Sendable {
  /// Advice that ran after its detach had returned.
  let late = Atomic<Int>(0)
  /// Advice that ran with what it holds released.
  let dead = Atomic<Int>(0)
  /// A detach that returned, outside of a firing, before what the advice held was released.
  let held = Atomic<Int>(0)
  /// Calls told to a hook that is not for them, or with something else than was passed or returned.
  let wrong = Atomic<Int>(0)
}

/// Held by advice and by the thread that attaches it.
final class Listener: @unchecked Sendable {
  static let alive = Atomic<Int>(0)
  static let made = Atomic<Int>(0)
  static let faults = Faults()

  /// Plain, so that ThreadSanitizer sees whether the advice's reading is ordered before the release.
  private var canary: UInt64 = 0xfeed_face
  private let isOver = Atomic<Bool>(false)
  let heard = Atomic<Int>(0)

  init() {
    Self.alive.wrappingAdd(1, ordering: .relaxed)
    Self.made.wrappingAdd(1, ordering: .relaxed)
  }

  deinit {
    canary = 0
    Self.alive.wrappingSubtract(1, ordering: .relaxed)
  }

  func hear() {
    check()
    heard.wrappingAdd(1, ordering: .relaxed)
  }

  /// At the beginning of advice, and at its end, for both lie in one firing.
  func check() {
    if canary != 0xfeed_face { Self.faults.dead.wrappingAdd(1, ordering: .relaxed) }
    if isOver.load(ordering: .relaxed) { Self.faults.late.wrappingAdd(1, ordering: .relaxed) }
  }

  func hear(_ item: UInt64, _ outcome: Hook.Outcome<UInt64>) {
    hear()
    if outcome.returned == item &* 3 { return }
    Self.faults.wrong.wrappingAdd(1, ordering: .relaxed)
  }

  /// Detach has returned: nothing may be heard any more.
  func end() { isOver.store(true, ordering: .relaxed) }
}

/// A hook that its own advice, or two threads, detach.
final class Slot: Sendable {
  let hook = Locked<Hook?>(nil)

  /// Whoever gets it detaches it.
  func detach() {
    let taken = hook.withLock { hook in
      defer { hook = nil }
      return hook
    }
    taken?.detach()
  }
}

/// Whom a hook listens to, and when.
struct Manner {
  enum Target: CaseIterable { case every, exactlyPage, exactlyChild, inChild, inPage, onObject }
  enum Time: CaseIterable { case before, after, timedAfter }

  let target: Target
  let time: Time

  init(using random: inout Randomness) {
    target = .allCases.randomElement(using: &random)!
    time = .allCases.randomElement(using: &random)!
  }

  init(_ target: Target, _ time: Time) {
    self.target = target
    self.time = time
  }

  /// Attaches advice that tells the listener, and then does `more`.
  func attach(_ listener: Listener, to object: Page, _ more: @escaping @Sendable () -> Void = {}) -> Hook {
    switch target {
    case .every: attach(listener, more, .everything) { _ in true }
    case .exactlyPage: attach(listener, more, .exactly(Page.self)) { type(of: $0) == Page.self }
    case .exactlyChild: attach(listener, more, .exactly(Child.self)) { type(of: $0) == Child.self }
    case .inChild:
      attach(listener, more, .kind(of: Child.self)) { type(of: $0) == Child.self || type(of: $0) == Grandchild.self }
    case .inPage: attach(listener, more, .kind(of: Page.self)) { _ in true }
    case .onObject:
      attach(listener, more, .instance(object)) { [address = ObjectIdentifier(object)] in
        ObjectIdentifier($0) == address
      }
    }
  }

  private func attach<Subject: Page>(
    _ listener: Listener, _ more: @escaping @Sendable () -> Void, _ target: Hook.Target<Page, Subject>,
    _ isFor: @escaping @Sendable (Page) -> Bool
  ) -> Hook {
    let check: @Sendable (Page) -> Void = { page in
      if !isFor(page) { Listener.faults.wrong.wrappingAdd(1, ordering: .relaxed) }
    }
    if time == .before {
      return Page.joinPoint.before(target) { page, _ in
        check(page)
        listener.hear()
        more()
        listener.check()
      }
    }
    let isTimed = time == .timedAfter
    return Page.joinPoint.after(target, timed: isTimed) { page, call, outcome in
      check(page)
      let isRight = outcome.elapsed.map { isTimed && $0 >= .zero && $0 < .seconds(3600) } ?? !isTimed
      if !isRight { Listener.faults.wrong.wrappingAdd(1, ordering: .relaxed) }
      listener.hear(call.item, outcome)
      more()
      listener.check()
    }
  }
}
