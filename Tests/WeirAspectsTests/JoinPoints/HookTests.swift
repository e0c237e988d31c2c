// What advice hears, in which order, and what attaching and detaching in the midst of calls do.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirAspects
@testable import WeirScopes

struct Refused: Error, Equatable, CustomStringConvertible {
  let item: Int

  var description: String { "Refused(item: \(item))" }
}

private let cancelledPoint = JoinPoint<Void, (), Void>("cancelled()")

/// Everything that a method can be, by hand.
private final class Shop: Sendable {
  static let buyPoint = JoinPoint<Shop, (item: Int, count: Int), Int?>("Shop.buy(_:count:)")
  static let askPoint = JoinPoint<Shop, (), Void>("Shop.ask()")

  static var isAsked: Bool { askPoint.isObserved }

  func buy(_ item: Int, count: Int) throws(Refused) -> Int? {
    try withJoinPoint(Self.buyPoint, self, (item: item, count: count)) { () throws(Refused) -> Int? in
      if count < 0 { throw Refused(item: item) }
      return count == 0 ? nil : item * count
    }
  }

  func ask(_ body: () -> Void = {}) {
    var weirCall = Self.askPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (), in: Shop.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    body()
  }
}

extension AspectTests {
  @Suite struct Hooks {
    @Test func `advice hears what happened`() throws {
      let heard = Heard()
      let shop = Shop()
      let hooks = [
        Shop.buyPoint.before(.everything) { owner, call in
          #expect(owner === shop)
          heard.say("before \(call.item) \(call.count)")
        },
        Shop.buyPoint.after(.everything) { owner, call, outcome in
          #expect(owner === shop)
          #expect(outcome.elapsed == nil)
          #expect((outcome.returned == nil) != (outcome.threw == nil))
          heard.say("after \(call.item) \(call.count) \(outcome.words)")
        },
        Shop.buyPoint.after(.everything, timed: true) { _, _, outcome in
          #expect(outcome.elapsed ?? .zero > .zero)
          #expect(outcome.elapsed ?? .seconds(600) < .seconds(600))
          heard.say("timed")
        },
      ]
      #expect(try shop.buy(3, count: 2) == 6)
      #expect(heard.take() == ["before 3 2", "after 3 2 Optional(6)", "timed"])
      #expect(try shop.buy(3, count: 0) == nil)
      #expect(heard.take() == ["before 3 0", "after 3 0 nil", "timed"])
      #expect(throws: Refused(item: 4)) { try shop.buy(4, count: -1) }
      #expect(heard.take() == ["before 4 -1", "after 4 -1 Refused(item: 4)", "timed"])
      for hook in hooks { hook.detach() }
      #expect(try shop.buy(3, count: 2) == 6)
      #expect(heard.take() == [])
    }

    @Test func `the duration is that of the call`() {
      let took = Heard()
      let hook = Shop.askPoint.after(.everything, timed: true) { _, _, outcome in
        took.say("\(outcome.elapsed ?? .zero >= .milliseconds(20))")
      }
      Shop().ask { usleep(21_000) }
      #expect(took.all == ["true"])
      hook.detach()
    }

    @Test func `a hook that asks for no time gets none beside one that does`() {
      let heard = Heard()
      let hooks = [true, false].map { isTimed in
        Shop.askPoint.after(.everything, timed: isTimed) { _, _, outcome in heard.say("\(outcome.elapsed != nil)") }
      }
      Shop().ask()
      #expect(heard.all == ["true", "false"])
      for hook in hooks { hook.detach() }
    }

    @Test func `a call whose task is cancelled says so`() throws {
      let heard = Heard()
      let hook = cancelledPoint.after(.everything) { _, _, outcome in
        heard.say("\(outcome.words) \(outcome.isCancelled)")
      }
      #expect(throws: CancellationError.self) {
        try withJoinPoint(cancelledPoint, (), ()) { throw CancellationError() }
      }
      #expect(throws: Refused.self) { try withJoinPoint(cancelledPoint, (), ()) { throw Refused(item: 1) } }
      withJoinPoint(cancelledPoint, (), ()) {}
      #expect(
        heard.all == [
          "CancellationError() true", "Refused(item: 1) false", "() false",
        ])
      hook.detach()
    }

    @Test func `a call that says no result has returned nothing`() {
      let heard = Heard()
      let hook = Shop.askPoint.after(.everything) { _, _, outcome in heard.say(outcome.words) }
      Shop().ask()
      #expect(heard.all == ["()"])
      hook.detach()
    }

    @Test func `a result of another type is neither returned nor thrown`() {
      let heard = Heard()
      let hook = Shop.buyPoint.after(.everything) { _, _, outcome in heard.say(outcome.words) }
      var call = Shop.buyPoint.call()
      call.begin(Shop(), (item: 1, count: 1), in: Shop.self)
      _ = call.returned("one")
      call.end(Shop())
      #expect(heard.all == ["unknown"])
      hook.detach()
    }

    @Test func `hooks fire in the order of attaching`() {
      let heard = Heard()
      let shop = Shop()
      let hooks = [
        Shop.askPoint.after(.everything) { _, _, _ in heard.say("after 1") },
        Shop.askPoint.before(.everything) { _, _ in heard.say("before 1") },
        Shop.askPoint.before(.instance(shop)) { _, _ in heard.say("before 2") },
        Shop.askPoint.after(.kind(of: Shop.self)) { _, _, _ in heard.say("after 2") },
        Shop.askPoint.before(.exactly(Shop.self)) { _, _ in heard.say("before 3") },
      ]
      shop.ask { heard.say("body") }
      #expect(heard.take() == ["before 1", "before 2", "before 3", "body", "after 1", "after 2"])
      hooks[1].detach()
      hooks[0].detach()
      shop.ask { heard.say("body") }
      #expect(heard.take() == ["before 2", "before 3", "body", "after 2"])
      for hook in hooks { hook.detach() }
    }

    @Test func `detaching twice is detaching once`() {
      let count = Count()
      let other = Count()
      let hook = Shop.askPoint.before(.everything) { _, _ in count.up() }
      let stays = Shop.askPoint.before(.everything) { _, _ in other.up() }
      Shop().ask()
      hook.detach()
      hook.detach()
      #expect(!hook.isAttached)
      #expect(stays.isAttached)
      Shop().ask()
      #expect(count.value == 1)
      #expect(other.value == 2)
      stays.detach()
      #expect(!Shop.isAsked)
    }

    @Test func `a released hook is detached`() {
      let count = Count()
      let gone = Count()
      var hook: Hook? = { [held = Held(gone)] in
        Shop.askPoint.before(.everything) { _, _ in
          held.use()
          count.up()
        }
      }()
      Shop().ask()
      withExtendedLifetime(hook) {}
      hook = nil
      #expect(!Shop.isAsked)
      #expect(gone.value == 1)
      Shop().ask()
      #expect(count.value == 1)
    }

    @Test func `a hook that is kept stays until detached`() throws {
      let count = Count()
      weak var kept: Hook?
      do {
        kept = Shop.askPoint.before(.everything) { _, _ in count.up() }.keep().keep()
      }
      Shop().ask()
      #expect(count.value == 1)
      try #require(kept).detach()
      #expect(kept == nil)
      #expect(!Shop.isAsked)
      // Nor is one kept that is detached already.
      do {
        let late = Shop.askPoint.before(.everything) { _, _ in count.up() }
        late.detach()
        late.keep()
        kept = late
      }
      #expect(kept == nil)
    }

    @Test func `the objects that advice held are released when detach returns`() {
      let gone = Count()
      let hook = { [held = Held(gone)] in Shop.askPoint.after(.everything) { _, _, _ in held.use() } }()
      Shop().ask()
      // Whoever looks on meanwhile holds nothing up.
      let listing = JoinPointListing()
      hook.detach()
      #expect(gone.value == 1)
      withExtendedLifetime((hook, listing)) {}
    }

    // MARK: In the midst of a call

    @Test func `a hook attached during a call hears the next`() {
      let heard = Heard()
      let before = Shop.askPoint.after(.everything) { _, _, _ in heard.say("first") }
      var late: Hook?
      Shop().ask { late = Shop.askPoint.after(.everything) { _, _, _ in heard.say("late") } }
      #expect(heard.take() == ["first"])
      Shop().ask()
      #expect(heard.take() == ["first", "late"])
      late?.detach()
      before.detach()
      // And where nobody listened when the call began.
      Shop().ask { late = Shop.askPoint.after(.everything) { _, _, _ in heard.say("late") } }
      #expect(heard.take() == [])
      late?.detach()
    }

    @Test func `a hook detached during a call does not hear its end`() {
      let heard = Heard()
      let hook = Shop.askPoint.after(.everything) { _, _, _ in heard.say("gone") }
      let stays = Shop.askPoint.after(.everything) { _, _, _ in heard.say("stays") }
      Shop().ask { hook.detach() }
      #expect(heard.take() == ["stays"])
      Shop().ask { stays.detach() }
      #expect(heard.take() == [])
    }

    @Test func `advice may detach itself`() {
      let count = Count()
      let gone = Count()
      let slot = Mutex<Hook?>(nil)
      let hook = { [held = Held(gone)] in
        Shop.askPoint.before(.everything) { _, _ in
          held.use()
          count.up()
          slot.withLock { $0 }?.detach()
          // It still has what it holds.
          #expect(gone.value == 0)
          held.use()
        }
      }()
      slot.withLock { $0 = hook }
      Shop().ask()
      #expect(gone.value == 1)
      #expect(!hook.isAttached)
      Shop().ask()
      #expect(count.value == 1)
      slot.withLock { $0 = nil }
    }

    @Test func `advice may detach another hook`() {
      let count = Count()
      let gone = Count()
      let shop = Shop()
      let slot = Mutex<Hook?>(nil)
      let first = Shop.askPoint.before(.everything) { _, _ in slot.withLock { $0 }?.detach() }
      let second = { [held = Held(gone)] in
        Shop.askPoint.before(.everything) { _, _ in
          held.use()
          count.up()
        }
      }()
      slot.withLock { $0 = second }
      shop.ask()
      // It comes later in the same call, and is detached by then.
      #expect(count.value == 0)
      #expect(gone.value == 1)
      first.detach()
      slot.withLock { $0 = nil }
    }

    @Test func `advice may attach another hook`() {
      let heard = Heard()
      let slot = Mutex<Hook?>(nil)
      let hook = Shop.askPoint.before(.everything) { _, _ in
        slot.withLock { slot in
          if slot == nil { slot = Shop.askPoint.before(.everything) { _, _ in heard.say("attached") } }
        }
      }
      Shop().ask()
      #expect(heard.take() == [])
      Shop().ask()
      #expect(heard.take() == ["attached"])
      hook.detach()
      slot.withLock { $0 }?.detach()
    }

    @Test func `advice is not called for calls of its own`() throws {
      let heard = Heard()
      let shop = Shop()
      let asking = Shop.askPoint.before(.everything) { owner, _ in
        heard.say("ask")
        owner.ask()
        _ = try? owner.buy(1, count: 1)
      }
      let other = Shop.askPoint.before(.everything) { _, _ in heard.say("other") }
      let buying = Shop.buyPoint.before(.everything) { owner, _ in
        heard.say("buy")
        owner.ask()
      }
      shop.ask()
      // ask → (ask: other), buy → (ask: other); then the call's own other.
      #expect(heard.take() == ["ask", "other", "buy", "other", "other"])
      for hook in [asking, other, buying] { hook.detach() }
    }

    // MARK: Objects

    @Test func `no other object is taken for one that ended`() {
      let count = Count()
      var hooks: [Hook] = []
      var addresses: Set<UInt> = []
      for _ in 0..<2000 {
        let shop = Shop()
        hooks.append(Shop.askPoint.before(.instance(shop)) { _, _ in count.up() })
        addresses.insert(UInt(bitPattern: Unmanaged.passUnretained(shop).toOpaque()))
      }
      // The hooks keep their objects' memory: it becomes no other's.
      for _ in 0..<5000 {
        let shop = Shop()
        #expect(!addresses.contains(UInt(bitPattern: Unmanaged.passUnretained(shop).toOpaque())))
        shop.ask()
      }
      #expect(count.value == 0)
      hooks = []
    }

    @Test func `a hook keeps no object alive`() {
      weak var seen: Shop?
      var hook: Hook?
      do {
        let shop = Shop()
        seen = shop
        hook = Shop.askPoint.before(.instance(shop)) { _, _ in }
        shop.ask()
      }
      #expect(seen == nil)
      hook?.detach()
    }

    @Test func `a type that is not of the join point traps`() async {
      await #expect(processExitsWith: .failure) { _ = Parent.lookPoint.before(.exactly(Held.self)) { _, _ in } }
      await #expect(processExitsWith: .failure) { _ = Parent.lookPoint.after(.kind(of: Held.self)) { _, _, _ in } }
      await #expect(processExitsWith: .failure) { _ = Parent.lookPoint.before(.instance(Count())) { _, _ in } }
      await #expect(processExitsWith: .failure) { _ = Parent.makePoint.before(.kind(of: Held.self)) { _, _ in } }
      await #expect(processExitsWith: .success) { _ = Parent.lookPoint.before(.exactly(Calling.self)) { _, _ in } }
    }

    // MARK: Descriptors and the listing

    @Test func `a descriptor that ends lets its hooks go`() {
      final class Owner: Sendable {
        let point = JoinPoint<Void, (), Void>("Owner.point")
      }
      let gone = Count()
      var hooks: [Hook] = []
      for _ in 0..<50 {
        let owner = Owner()
        let before = { [held = Held(gone)] in owner.point.before(.everything) { _, _ in held.use() } }()
        hooks += [before, owner.point.after(.everything) { _, _, _ in }]
        withJoinPoint(owner.point, (), ()) {}
      }
      #expect(gone.value == 50)
      #expect(hooks.allSatisfy { !$0.isAttached })
      #expect(!JoinPointListing().joinPoints.contains { $0.name == "Owner.point" })
      for hook in hooks { hook.detach() }
    }

    @Test func `the listing says who listens`() throws {
      let hooks = [
        Parent.lookPoint.before(.exactly(Calling.self), file: "Shop/Tracking.swift", line: 9) { _, _ in },
        Parent.lookPoint.after(.kind(of: Calling.self), file: "Shop/Tracking.swift", line: 10) { _, _, _ in },
        Parent.lookPoint.after(.instance(Parent()), file: "Shop/Tracking.swift", line: 11) { _, _, _ in },
        Parent.lookPoint.before(.everything, file: "Shop/Tracking.swift", line: 12) { _, _ in },
      ]
      let listed = try #require(JoinPointListing().joinPoints.first { $0.name == "Parent.look(_:)" })
      #expect(listed.file == "WeirAspectsTests/Families.swift")
      #expect(
        listed.hooks == [
          "before, exactly Calling   Shop/Tracking.swift:9",
          "after, Calling and its subclasses   Shop/Tracking.swift:10",
          "after, one Parent   Shop/Tracking.swift:11", "before, every call   Shop/Tracking.swift:12",
        ])
      #expect(JoinPointListing().description.contains("  before, exactly Calling   Shop/Tracking.swift:9"))
      for hook in hooks { hook.detach() }
      #expect(JoinPointListing().joinPoints.first { $0.name == "Parent.look(_:)" }?.hooks == [])
    }
  }
}
