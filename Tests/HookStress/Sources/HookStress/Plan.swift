// Who calls, who attaches and detaches, and what must have been heard.

import Synchronization
import Weir
import WeirAspects

/// A hook that is attached all the time, and how often it must be heard.
struct Witness {
  let name: String
  let hook: Hook
  let listener: Listener
  /// Whether it is for the object with this index.
  let isFor: (Int) -> Bool
  /// Whether it is for the objects of attaching threads, too.
  let isForOthers: Bool
}

/// The objects that are called, and how often each was.
final class Plan: Sendable {
  let options: Options
  let legs = 8
  let pages: [Page]
  let slots: [Slot]
  let calls = Atomic<Int>(0)
  /// Those of the attaching threads.
  private let otherCalls = Atomic<Int>(0)
  private let counts = Locked<[Int]>([])

  init(_ options: Options) {
    self.options = options
    pages = [Page(), Child(), Grandchild(), Sibling(), Page(), Child(), Grandchild(), Sibling()]
    slots = (0..<options.attachers).map { _ in Slot() }
    counts.withLock { [count = pages.count] in $0 = Array(repeating: 0, count: count) }
  }

  // MARK: All the time

  func attachWitnesses() -> [Witness] {
    let targets: [(String, Manner.Target, (Int) -> Bool)] = [
      ("every", .every, { _ in true }),
      ("exactly Child", .exactlyChild, { $0 % 4 == 1 }),
      ("in Child", .inChild, { $0 % 4 == 1 || $0 % 4 == 2 }),
      ("on an object", .onObject, { $0 == 2 }),
    ]
    return targets.flatMap { name, target, isFor in
      [Manner.Time.before, .after].map { time in
        let listener = Listener()
        let hook = Manner(target, time).attach(listener, to: pages[2])
        return Witness(
          name: "\(name) \(time)", hook: hook, listener: listener, isFor: isFor, isForOthers: target == .every)
      }
    }
  }

  func judge(_ witnesses: [Witness]) -> Int {
    let counts = counts.withLock { $0 }
    var failures = 0
    for witness in witnesses {
      let own = witness.isForOthers ? otherCalls.load(ordering: .relaxed) : 0
      let expected = counts.indices.filter(witness.isFor).reduce(own) { $0 + counts[$1] }
      let heard = witness.listener.heard.load(ordering: .relaxed)
      guard heard != expected else { continue }
      print("FAILED: \(witness.name) heard \(heard) of \(expected) calls")
      failures += 1
    }
    return failures + judgeListing()
  }

  /// After the last detach nothing may be alive but the witnesses: what was put off has been released meanwhile.
  private func judgeListing() -> Int {
    for slot in slots { slot.detach() }
    let alive = Listener.alive.load(ordering: .relaxed)
    let attached = JoinPointListing().joinPoints.reduce(0) { $0 + $1.hooks.count }
    let missed = JoinPointListing().missedCalls
    guard alive != 8 || attached != 8 || missed != 0 else { return 0 }
    print("FAILED: \(alive) listeners alive and \(attached) hooks attached instead of 8; \(missed) calls missed")
    return 1
  }

  // MARK: Calling

  func call(_ stream: Int) {
    var random = Randomness(options.seed, stream)
    var own = Array(repeating: 0, count: pages.count)
    let count = options.firings / (options.callers * legs)
    for item in 0..<UInt64(count) {
      let index = Int(truncatingIfNeeded: random.next() & 7)
      guard pages[index].like(item) == item &* 3 else { fatalError("the call itself went wrong") }
      own[index] += 1
    }
    calls.wrappingAdd(count, ordering: .relaxed)
    counts.withLock { [own] in for index in own.indices { $0[index] += own[index] } }
  }

  // MARK: Attaching and detaching

  func attachAndDetach(_ index: Int) {
    var random = Randomness(options.seed, 1_000_000 + index)
    while !HookStress.isOver.load(ordering: .relaxed) {
      switch random.next() % 9 {
      case 0: letGo(&random)
      case 1: detachedByAdvice(slots[index], &random)
      case 2: detachedByOthers(slots[index], &random)
      case 3: attachedByAdvice(slots[index], &random)
      case 4: callingInAdvice(&random)
      default: detached(&random)
      }
    }
  }

  /// Detached by hand: nothing runs after that, and nothing is held.
  private func detached(_ random: inout Randomness) {
    var listener = Listener()
    let hook = Manner(using: &random).attach(listener, to: pages.randomElement(using: &random)!)
    pause(&random)
    hook.detach()
    listener.end()
    if !isKnownUniquelyReferenced(&listener) { Listener.faults.held.wrappingAdd(1, ordering: .relaxed) }
  }

  /// Detached by letting the token go, which waits for nobody: what is held is released a little later.
  private func letGo(_ random: inout Randomness) {
    let hook = Manner(using: &random).attach(Listener(), to: pages.randomElement(using: &random)!)
    pause(&random)
    withExtendedLifetime(hook) {}
  }

  /// Its advice calls, which fires other hooks inside of the firing; it does not hear of that call itself.
  private func callingInAdvice(_ random: inout Randomness) {
    var listener = Listener()
    let hook = Manner(using: &random).attach(listener, to: pages.randomElement(using: &random)!) { [self] in
      _ = Page().like(1)
      otherCalls.wrappingAdd(1, ordering: .relaxed)
    }
    pause(&random)
    hook.detach()
    listener.end()
    if !isKnownUniquelyReferenced(&listener) { Listener.faults.held.wrappingAdd(1, ordering: .relaxed) }
  }

  /// Its own advice detaches it, on whatever thread it runs first.
  private func detachedByAdvice(_ slot: Slot, _ random: inout Randomness) {
    let hook = Manner(using: &random).attach(Listener(), to: pages.randomElement(using: &random)!) { slot.detach() }
    slot.hook.withLock { $0 = hook }
    pause(&random)
    slot.detach()
  }

  /// Advice of another hook detaches it.
  private func detachedByOthers(_ slot: Slot, _ random: inout Randomness) {
    let object = pages.randomElement(using: &random)!
    let victim = Manner(using: &random).attach(Listener(), to: object)
    slot.hook.withLock { $0 = victim }
    let other = Manner(using: &random).attach(Listener(), to: object) { slot.detach() }
    pause(&random)
    other.detach()
    victim.detach()
  }

  /// Advice attaches another hook, which is let go by what comes next.
  private func attachedByAdvice(_ slot: Slot, _ random: inout Randomness) {
    let object = pages.randomElement(using: &random)!
    let manner = Manner(using: &random)
    let hook = Manner(using: &random).attach(Listener(), to: object) {
      let attached = manner.attach(Listener(), to: object)
      let before = slot.hook.withLock { hook in
        let before = hook
        hook = attached
        return before
      }
      before?.detach()
    }
    pause(&random)
    hook.detach()
    slot.detach()
  }

  private func pause(_ random: inout Randomness) {
    // A few calls of its own, so that it fires, too, and others come in between.
    let page = Page()
    let count = random.next() % 64
    for item in 0..<count { _ = page.like(item) }
    otherCalls.wrappingAdd(Int(count), ordering: .relaxed)
  }
}
