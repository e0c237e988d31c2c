// Join points in every kind of function: asynchronous, throwing, mutating, of actors, free, with any parameters.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirAspects
@testable import WeirScopes

private struct Large: Equatable {
  var a = (1, 2, 3, 4, 5, 6, 7, 8), b = (1, 2, 3, 4, 5, 6, 7, 8), c = (1, 2, 3, 4, 5, 6, 7, 8), d = (1, 2, 3, 4, 5, 6)
  var last: Int

  init(_ last: Int) { self.last = last }

  static func == (a: Large, b: Large) -> Bool { a.last == b.last && a.a.7 == b.a.7 && a.d.5 == b.d.5 }
}

private let freePoint = JoinPoint<Void, (name: String, ()), Int>("count(_:)")

private func count(_ name: String) -> Int { withJoinPoint(freePoint, (), (name: name, ())) { name.count } }

private let rethrowingPoint = JoinPoint<Void, (), Int>("rethrowing(_:)")

private func rethrowing(_ body: () throws -> Int) rethrows -> Int {
  var weirCall = rethrowingPoint.call()
  if weirCall.isObserved { weirCall.begin((), (), in: Void.self) }
  defer { if weirCall.isObserved { weirCall.end(()) } }
  do { return weirCall.returned(try body()) } catch {
    weirCall.threw(error)
    throw error
  }
}

private struct Basket {
  static let addPoint = JoinPoint<Basket, (item: Int, ()), Void>("Basket.add(_:)")
  static let emptyPoint = JoinPoint<Basket.Type, (), Basket>("Basket.empty()")
  var items: [Int] = []

  mutating func add(_ item: Int) {
    var weirCall = Self.addPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (item: item, ()), in: Basket.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    items.append(item)
  }

  static func empty() -> Basket {
    var weirCall = Self.emptyPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (), in: Basket.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    return weirCall.returned(Basket())
  }
}

private actor Account {
  static let payPoint = JoinPoint<Account, (amount: Int, ()), Int>("Account.pay(_:)")
  var balance = 10

  func pay(_ amount: Int) async throws -> Int {
    try await withJoinPoint(Self.payPoint, self, (amount: amount, ())) {
      await Task.yield()
      try Task.checkCancellation()
      balance -= amount
      return balance
    }
  }
}

@MainActor private final class Screen {
  nonisolated static let showPoint = JoinPoint<Screen, (), Bool>("Screen.show()")

  func show() -> Bool { withJoinPoint(Self.showPoint, self, ()) { true } }
}

/// A generic class has no static stored property, so its descriptor is outside, and the owner is any object.
private let stackPoint = JoinPoint<AnyObject, (item: Any, ()), Any>("Stack.push(_:)")

private class Stack<Item> {
  var items: [Item] = []

  func push(_ item: Item) -> Item? {
    withJoinPoint(stackPoint, self, (item: item, ())) {
      items.append(item)
      return items.dropLast().last as Any
    } as? Item
  }

  func above() -> Item? {
    var weirCall = stackPoint.call()
    if weirCall.isObserved { weirCall.begin(self, (item: (), ()), in: AnyObject.self) }
    defer { if weirCall.isObserved { weirCall.end(self) } }
    return weirCall.returned(items.last)
  }
}

private final class NumberStack: Stack<Int> {
  override func push(_ item: Int) -> Int? {
    withJoinPoint(stackPoint, self, (item: item, ()), in: NumberStack.self) { super.push(item + 1) as Any } as? Int
  }
}

private let largePoint = JoinPoint<Void, (large: Large, ()), Large>("large(_:)")
private let alignedPoint = JoinPoint<Void, (vector: SIMD8<Float>, wide: SIMD16<Double>), SIMD8<Float>>("aligned(_:_:)")
private let heldPoint = JoinPoint<Void, (held: Held, ()), Held>("held(_:)")
private let anyPoint = JoinPoint<Void, (), Any>("any()")

extension AspectTests {
  @Suite struct Forms {
    @Test func `a free function is heard`() {
      let heard = Heard()
      let hook = freePoint.after(.everything) { _, call, outcome in heard.say("\(call.name) \(outcome.words)") }
      #expect(count("three") == 5)
      #expect(heard.all == ["three 5"])
      hook.detach()
    }

    @Test func `a rethrowing function is heard, and its error`() {
      let heard = Heard()
      let hook = rethrowingPoint.after(.everything) { _, _, outcome in heard.say(outcome.words) }
      #expect(rethrowing { 1 } == 1)
      #expect(throws: Refused.self) { try rethrowing { throw Refused(item: 2) } }
      #expect(heard.all == ["1", "Refused(item: 2)"])
      hook.detach()
    }

    @Test func `mutating and static methods of structures are heard`() {
      let heard = Heard()
      let hooks = [
        Basket.addPoint.before(.everything) { basket, call in heard.say("\(basket.items) + \(call.item)") },
        Basket.addPoint.after(.everything) { basket, call, _ in heard.say("\(basket.items)") },
        Basket.emptyPoint.after(.everything) { type, _, outcome in
          heard.say("\(type) \(outcome.returned?.items ?? [9])")
        },
      ]
      var basket = Basket.empty()
      basket.add(1)
      basket.add(2)
      #expect(heard.all == ["Basket []", "[] + 1", "[1]", "[1] + 2", "[1, 2]"])
      for hook in hooks { hook.detach() }
    }

    @Test func `the owner may be any object`() {
      let heard = Heard()
      let stack = Stack<String>()
      let hooks = [
        stackPoint.before(.everything) { stack, call in heard.say("\(type(of: stack)) \(call.item)") },
        stackPoint.before(.exactly(NumberStack.self)) { _, _ in heard.say("exactly NumberStack") },
        stackPoint.before(.kind(of: Stack<Int>.self)) { stack, _ in heard.say("kind \(stack.items)") },
        stackPoint.before(.instance(stack)) { stack, _ in heard.say("one \(stack.items)") },
      ]
      _ = Stack<Int>().push(1)
      _ = NumberStack().push(2)
      _ = Stack<String>().push("a")
      _ = stack.push("b")
      for hook in hooks { hook.detach() }
      #expect(
        heard.all == [
          "Stack<Int> 1", "kind []", "NumberStack 2", "exactly NumberStack", "kind []", "Stack<String> a",
          "Stack<String> b", "one []",
        ])
    }

    @Test func `a result that is nil arrives where the descriptor has Any`() {
      let heard = Heard()
      let hook = stackPoint.after(.everything) { _, _, outcome in heard.say("\(outcome.returned ?? "nothing")") }
      let stack = Stack<Int>()
      _ = stack.above()
      stack.items = [1]
      _ = stack.above()
      hook.detach()
      #expect(heard.all == ["nil", "Optional(1)"])
    }

    @Test func `an actor's method is heard, and that its task was cancelled`() async {
      let heard = Heard()
      let account = Account()
      let hooks = [
        Account.payPoint.before(.instance(account)) { _, call in heard.say("pay \(call.amount)") },
        Account.payPoint.after(.exactly(Account.self)) { _, call, outcome in
          heard.say("\(call.amount) \(outcome.words)")
        },
      ]
      #expect(await (try? account.pay(3)) == 7)
      let task = Task {
        try? await Task.sleep(for: .seconds(600))
        return try await account.pay(2)
      }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(heard.all == ["pay 3", "3 7", "pay 2", "2 CancellationError()"])
      for hook in hooks { hook.detach() }
    }

    @Test func `a method of the main actor is heard on it`() async {
      let heard = Heard()
      let hook = Screen.showPoint.before(.everything) { screen, _ in
        MainActor.assumeIsolated { heard.say("\(type(of: screen))") }
      }
      #expect(await MainActor.run { Screen().show() })
      #expect(heard.all == ["Screen"])
      hook.detach()
    }

    /// Calls that begin on one thread and end on another, many at once.
    @Test func `an asynchronous call may change threads`() async {
      let before = Count()
      let after = Count()
      let gone = Count()
      let hooks = [
        Parent.loadPoint.before(.everything) { _, _ in before.up() },
        Parent.loadPoint.after(.everything) { _, call, outcome in if outcome.returned != nil { after.up() } },
      ]
      await withTaskGroup(of: Void.self) { group in
        for index in 0..<500 {
          group.addTask { _ = await [Parent(), Calling(), Replacing(), OfCalling()][index % 4].load(index % 3) }
        }
      }
      // Parent and Replacing recurse through self; of Calling the parent's body does, which calls the override again.
      let expected = (0..<500).reduce(0) { $0 + $1 % 3 + 1 }
      #expect(before.value == expected)
      #expect(after.value == expected)
      for hook in hooks { hook.detach() }
      #expect(gone.value == 0)
    }

    // MARK: Parameters

    @Test func `large parameters are heard whole`() {
      #expect(MemoryLayout<CallState<Void, (large: Large, ()), Large>>.size > 256)
      let heard = Heard()
      let hook = largePoint.after(.everything) { _, call, outcome in
        heard.say("\(call.large.last) \(outcome.returned!.last)")
      }
      for item in 0..<20 {
        #expect(withJoinPoint(largePoint, (), (large: Large(item), ())) { Large(item + 1) } == Large(item + 1))
      }
      #expect(heard.all == (0..<20).map { "\($0) \($0 + 1)" })
      hook.detach()
    }

    @Test func `parameters of large alignment are heard whole`() {
      let missed = JoinPointListing().missedCalls
      let heard = Heard()
      let hook = alignedPoint.after(.everything) { _, call, outcome in
        heard.say("\(call.vector.sum()) \(call.wide.sum()) \(outcome.returned!.sum())")
      }
      for item in 0..<20 {
        let vector = SIMD8<Float>(repeating: Float(item))
        let wide = SIMD16<Double>(repeating: Double(item))
        _ = withJoinPoint(alignedPoint, (), (vector: vector, wide: wide)) { vector + vector }
      }
      #expect(heard.all == (0..<20).map { "\(Float(8 * $0)) \(Double(16 * $0)) \(Float(16 * $0))" })
      #expect(JoinPointListing().missedCalls == missed)
      hook.detach()
    }

    /// What a call's state holds goes with the call, whether its end was heard or the hook was gone by then.
    @Test func `the objects that a call holds are released`() throws {
      let gone = Count()
      let hook = heldPoint.after(.everything) { _, call, _ in call.held.use() }
      for _ in 0..<10 {
        _ = withJoinPoint(heldPoint, (), (held: Held(gone), ())) { Held(gone) }
      }
      #expect(gone.value == 20)
      hook.detach()
      for _ in 0..<10 {
        let during = [
          heldPoint.after(.everything) { _, call, _ in call.held.use() }, heldPoint.after(.everything) { _, _, _ in },
        ]
        _ = withJoinPoint(heldPoint, (), (held: Held(gone), ())) {
          for hook in during { hook.detach() }
          return Held(gone)
        }
      }
      #expect(gone.value == 40)
      let failing = heldPoint.after(.everything) { _, _, _ in }
      #expect(throws: Refused.self) {
        _ = try withJoinPoint(heldPoint, (), (held: Held(gone), ())) { throw Refused(item: 1) }
      }
      #expect(gone.value == 41)
      failing.detach()
    }

    @Test func `parameters are not evaluated for nobody`() {
      let count = Count()
      func item() -> String {
        count.up()
        return "item"
      }
      #expect(withJoinPoint(freePoint, (), (name: item(), ())) { 1 } == 1)
      #expect(count.value == 0)
    }

    /// A result that is kept as Any, and one that is nil.
    @Test func `a result of type Any is heard, one that is nil, too`() {
      let heard = Heard()
      let hook = anyPoint.after(.everything) { _, _, outcome in heard.say(outcome.words) }
      var call = anyPoint.call()
      call.begin((), (), in: Void.self)
      _ = call.returned(7)
      call.end(())
      call = anyPoint.call()
      call.begin((), (), in: Void.self)
      _ = call.returned(Int?.none as Any)
      call.end(())
      #expect(heard.all == ["7", "nil"])
      hook.detach()
    }
  }
}
