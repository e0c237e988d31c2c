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

  func hear(_ item: UInt64, _ outcome: Result<UInt64, any Error>) {
    hear()
    if case .success(item &* 3) = outcome { return }
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
    case .every:
      attach(
        listener, more, { _ in true }, { Page.joinPoint.before(file: $0, line: $1, $2) },
        { Page.joinPoint.after(file: $0, line: $1, $2) }, { Page.joinPoint.after(file: $0, line: $1, $2) })
    case .exactlyPage:
      attach(
        listener, more, { type(of: $0) == Page.self },
        { Page.joinPoint.before(exactly: Page.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(exactly: Page.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(exactly: Page.self, file: $0, line: $1, $2) })
    case .exactlyChild:
      attach(
        listener, more, { type(of: $0) == Child.self },
        { Page.joinPoint.before(exactly: Child.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(exactly: Child.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(exactly: Child.self, file: $0, line: $1, $2) })
    case .inChild:
      attach(
        listener, more, { type(of: $0) == Child.self || type(of: $0) == Grandchild.self },
        { Page.joinPoint.before(in: Child.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(in: Child.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(in: Child.self, file: $0, line: $1, $2) })
    case .inPage:
      attach(
        listener, more, { _ in true },
        { Page.joinPoint.before(in: Page.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(in: Page.self, file: $0, line: $1, $2) },
        { Page.joinPoint.after(in: Page.self, file: $0, line: $1, $2) })
    case .onObject:
      attach(
        listener, more, { [address = ObjectIdentifier(object)] in ObjectIdentifier($0) == address },
        { Page.joinPoint.before(on: object, file: $0, line: $1, $2) },
        { Page.joinPoint.after(on: object, file: $0, line: $1, $2) },
        { Page.joinPoint.after(on: object, file: $0, line: $1, $2) })
    }
  }

  private typealias Parameters = (item: UInt64, ())
  private typealias Outcome = Result<UInt64, any Error>

  private func attach<Concrete: Page>(
    _ listener: Listener, _ more: @escaping @Sendable () -> Void, _ isFor: @escaping @Sendable (Page) -> Bool,
    _ before: (StaticString, UInt32, @escaping @Sendable (Concrete, Parameters) -> Void) -> Hook,
    _ after: (StaticString, UInt32, @escaping @Sendable (Concrete, Parameters, Outcome) -> Void) -> Hook,
    _ timedAfter: (StaticString, UInt32, @escaping @Sendable (Concrete, Parameters, Outcome, Duration) -> Void) -> Hook
  ) -> Hook {
    let check: @Sendable (Page) -> Void = { page in
      if !isFor(page) { Listener.faults.wrong.wrappingAdd(1, ordering: .relaxed) }
    }
    switch time {
    case .before:
      return before(#fileID, #line) { page, _ in
        check(page)
        listener.hear()
        more()
        listener.check()
      }
    case .after:
      return after(#fileID, #line) { page, call, outcome in
        check(page)
        listener.hear(call.item, outcome)
        more()
        listener.check()
      }
    case .timedAfter:
      return timedAfter(#fileID, #line) { page, call, outcome, duration in
        check(page)
        if duration < .zero || duration > .seconds(3600) { Listener.faults.wrong.wrappingAdd(1, ordering: .relaxed) }
        listener.hear(call.item, outcome)
        more()
        listener.check()
      }
    }
  }
}
