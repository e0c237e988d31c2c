// What of a function's parameters reaches the advice, and what of functions that are generic, opaque or wait.

#if Macros
  import Testing
  import Weir
  import WeirAspects

  private struct Failed: Error {}
  private typealias Work = () -> Int

  @Instrumented(except: ["left"])
  private struct Counter {
    var count = 0

    mutating func add(_ amount: Int) -> Int {
      count += amount
      return count
    }
    func change(_ value: inout Int) { value += 1 }
    func defaults(a: Int = 3, in place: String = "x") -> Int { a }
    func keywords(in: Int, `inout`: Int, `class`: Int) -> Int { `in` + `inout` + `class` }
    func many(_ values: Int..., rest: String?...) -> Int { values.count }
    func unnamed(_: Int, b _: Int, _ c: Int) -> Int { c }
    func generic<T: Equatable>(_ one: T, _ maybe: T?, list: [T], all: T...) -> T { one }
    func opaque(_ p: some CustomStringConvertible, q: any CustomStringConvertible) -> some Equatable { p.description }
    func twoOpaque(_ x: Bool) -> [some Equatable] {
      if x { return [1] }
      return [2]
    }
    func copied(_ other: Self) -> Self { other }
    func kept(_ f: @escaping () -> Int, _ g: (() -> Int)?, _ h: @escaping @Sendable (Int) -> Int) -> Int { f() + h(1) }
    func notKept(
      _ f: () -> Int, _ g: (Int) -> Int, _ h: @autoclosure () -> Int, _ i: borrowing String, _ j: consuming String,
      _ k: Int, _ l: @Sendable () -> Int
    ) -> Int { f() + g(1) + h() + k + l() }
    @JoinPoint(omit: ["work", "other"]) func omitting(_ work: Work, _ number: Int, also other: Int) -> Int { work() }
    func again(_ f: (Int) throws -> Int) rethrows -> Int {
      return try f(1)
    }
    func againInside(_ f: (Int) throws -> Int) rethrows -> Int {
      do { return try f(1) } catch { return -1 }
    }
    func failing<E: Error>(_ f: () throws(E) -> Int) throws(E) -> Int { try f() }
    func hidden(weirCall: Int) -> Int {
      let weirCall2 = weirCall
      return weirCall2
    }
    func shadowed(_ value: Int) -> Int {
      let value = value + 1
      let `self` = Counter(count: value)
      return self.count
    }
    func pack<each T>(_ values: repeat each T, last: Int) -> Int { last }
    func left() -> Int { 3 }
    static func make(_ x: Int) -> Self { Counter(count: x) }
  }

  private actor Teller {
    var sum = 0

    @JoinPoint func add(_ amount: Int) -> Int {
      sum += amount
      return sum
    }
    @JoinPoint func wait(_ amount: Int) async throws -> Int {
      await Task.yield()
      if amount < 0 { throw Failed() }
      async let more = sum
      return await more + amount
    }
    @JoinPoint nonisolated func label() async -> String { "teller" }
    @JoinPoint func into(_ other: isolated Teller) async -> Int { other.sum }
    @JoinPoint func later(_ x: Int) async -> Int {
      let task = Task { [x] in x + 1 }
      return await task.value
    }
  }

  @MainActor @Instrumented private final class Screen {
    var title = "a"

    func show(_ text: String) -> String {
      title = text
      return title
    }
    func load() async -> Int { title.count }
    class func kind(_ x: Int) -> String { "screen\(x)" }
  }

  @FunctionJoinPoint private func charge(order: Int) throws -> String {
    if order < 0 { throw Failed() }
    return "paid \(order)"
  }
  @FunctionJoinPoint private func settle<T>(_ x: T) async -> T { x }

  /// One at a time: hooks on every call hear those of other tests, too.
  @Suite(.serialized) struct JoinPointParameterTests {
    private var counter = Counter()

    private func check<Parameters, Returned>(
      _ joinPoint: borrowing JoinPoint<Counter, Parameters, Returned>, _ expected: String,
      _ call: (inout Counter) throws -> Void, at place: SourceLocation = #_sourceLocation
    ) rethrows {
      var counter = counter
      let heard = try heard(of: joinPoint) { try call(&counter) }
      #expect(heard.count == 2, sourceLocation: place)
      #expect(heard.last == expected, sourceLocation: place)
    }

    @Test func `parameters arrive by name`() {
      check(Counter.JoinPoints.add, "(amount: 2, ()) -> 2") { #expect($0.add(2) == 2) }
      check(Counter.JoinPoints.defaults, "(a: 3, place: \"x\") -> 3") { #expect($0.defaults() == 3) }
      check(Counter.JoinPoints.keywords, "(in: 1, inout: 2, class: 3) -> 6") {
        #expect($0.keywords(in: 1, `inout`: 2, class: 3) == 6)
      }
      check(Counter.JoinPoints.many, "(values: [1, 2], rest: [nil]) -> 2") { #expect($0.many(1, 2, rest: nil) == 2) }
      check(Counter.JoinPoints.unnamed, "(c: 3, ()) -> 3") { #expect($0.unnamed(1, b: 2, 3) == 3) }
    }

    @Test func `types arrive as they are`() throws {
      let hook = Counter.JoinPoints.add.after(.everything) { counter, call, outcome in
        let amount: Int = call.amount
        #expect(counter.count == 5)
        #expect(amount == 5)
        #expect(outcome.returned == 5)
      }
      var counter = counter
      #expect(counter.add(5) == 5)
      hook.detach()
    }

    @Test func `an inout parameter arrives as it was`() {
      var value = 1
      check(Counter.JoinPoints.change, "(value: 1, ()) -> ()") { $0.change(&value) }
      #expect(value == 2)
    }

    @Test func `a parameter of a type that the function alone knows is of type Any`() {
      check(Counter.JoinPoints.generic, "(one: 1, maybe: Optional(2), list: [3], all: [4, 5]) -> 1") {
        #expect($0.generic(1, 2, list: [3], all: 4, 5) == 1)
      }
      check(Counter.JoinPoints.opaque, "(p: 1, q: 2) -> 1") { _ = $0.opaque(1, q: 2) }
      check(Counter.JoinPoints.twoOpaque, "(x: true, ()) -> [1]") { #expect($0.twoOpaque(true).count == 1) }
      check(Counter.JoinPoints.pack, "(last: 3, ()) -> 3") { #expect($0.pack(1, "a", last: 3) == 3) }
      let other = Counter(count: 4)
      check(Counter.JoinPoints.copied, "(other: \(String(reflecting: other)), ()) -> \(other)") {
        #expect($0.copied(other).count == 4)
      }
    }

    @Test func `a parameter that cannot be kept is left out`() {
      check(Counter.JoinPoints.kept, "(f: (Function), g: nil, h: (Function)) -> 3") {
        #expect($0.kept({ 1 }, nil, { $0 + 1 }) == 3)
      }
      check(Counter.JoinPoints.notKept, "(k: 4, ()) -> 11") {
        #expect($0.notKept({ 1 }, { $0 + 1 }, 3, "a", "b", 4, { 1 }) == 11)
      }
      check(Counter.JoinPoints.omitting, "(number: 2, ()) -> 1") { #expect($0.omitting({ 1 }, 2, also: 3) == 1) }
    }

    @Test func `an error that is rethrown is told`() {
      check(Counter.JoinPoints.again, "() -> 2") { #expect($0.again { $0 + 1 } == 2) }
      check(Counter.JoinPoints.again, "() !! Failed()") { counter in
        #expect(throws: Failed.self) { try counter.again { _ in throw Failed() } }
      }
      check(Counter.JoinPoints.againInside, "() -> -1") { _ = try? $0.againInside { _ in throw Failed() } }
      check(Counter.JoinPoints.failing, "() -> 3") { #expect($0.failing { 3 } == 3) }
      check(Counter.JoinPoints.failing, "() !! Failed()") { counter in
        #expect(throws: Failed.self) { try counter.failing { () throws(Failed) in throw Failed() } }
      }
    }

    @Test func `a parameter may have the macro's own names`() {
      check(Counter.JoinPoints.hidden, "(weirCall: 2, ()) -> 2") { #expect($0.hidden(weirCall: 2) == 2) }
      check(Counter.JoinPoints.shadowed, "(value: 2, ()) -> 3") { #expect($0.shadowed(2) == 3) }
    }

    @Test func `a static method has the type for its owner`() {
      let heard = Heard()
      let hook = Counter.JoinPoints.make.before(.everything) { type, call in
        heard.note("\(type == Counter.self) \(call.x)")
      }
      #expect(Counter.make(3).count == 3)
      hook.detach()
      #expect(heard.all == ["true 3"])
    }

    @Test func `an actor may wait in a call`() async throws {
      let teller = Teller()
      #expect(await heard(of: Teller.addJoinPoint) { _ = await teller.add(2) }.last == "(amount: 2, ()) -> 2")
      #expect(try await heard(of: Teller.waitJoinPoint) { _ = try await teller.wait(1) }.last == "(amount: 1, ()) -> 3")
      #expect(
        await heard(of: Teller.waitJoinPoint) { _ = try? await teller.wait(-1) }.last == "(amount: -1, ()) !! Failed()")
      #expect(await heard(of: Teller.labelJoinPoint) { _ = await teller.label() }.last == "() -> teller")
      #expect(await heard(of: Teller.intoJoinPoint) { _ = await teller.into(teller) }.last == "() -> 2")
      #expect(await heard(of: Teller.laterJoinPoint) { _ = await teller.later(1) }.last == "(x: 1, ()) -> 2")
    }

    @MainActor @Test func `a method of an isolated class tells of its calls`() async {
      let screen = Screen()
      #expect(heard(of: Screen.JoinPoints.show) { _ = screen.show("b") }.last == "(text: \"b\", ()) -> b")
      #expect(await heard(of: Screen.JoinPoints.load) { _ = await screen.load() }.last == "() -> 1")
      #expect(heard(of: Screen.JoinPoints.kind) { _ = Screen.kind(1) }.last == "(x: 1, ()) -> screen1")
    }

    @Test func `a function at file scope tells of its calls`() async throws {
      #expect(try heard(of: chargeJoinPoint) { _ = try charge(order: 1) }.last == "(order: 1, ()) -> paid 1")
      #expect(heard(of: chargeJoinPoint) { _ = try? charge(order: -1) }.last == "(order: -1, ()) !! Failed()")
      #expect(await heard(of: settleJoinPoint) { _ = await settle(4) }.last == "(x: 4, ()) -> 4")
    }
  }
#endif
