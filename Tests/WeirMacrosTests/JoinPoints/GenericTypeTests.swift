// Join points of generic types, whose descriptors are in an enum beside the type.

#if Macros
  import Testing
  import Weir
  import WeirAspects
  import WeirTesting

  private struct Refused: Error {}

  @Instrumented
  private class Box<Element: Sendable> {
    private(set) var items: [Element] = []

    init() {}
    @JoinPoint init(first: Element) { items = [first] }
    func put(_ item: Element, at place: Int = 0) -> Element? {
      items.insert(item, at: place)
      return item
    }
    func put(all: [Element]) { items += all }
    func merged(_ other: Box?, _ limit: Int?) throws -> Box<Element> {
      if other == nil { throw Refused() }
      return self
    }
    func wait() async -> Int {
      await Task.yield()
      return items.count
    }
    func same() -> Self { self }
    func last() -> Element? { items.last }
    func again(_ times: Int) { if times > 0 { again(times - 1) } }
    class func kind(_ x: Int) -> String { "box" }
    var first: Element? {
      @JoinPoint("first") get { items.first }
      @JoinPoint("setFirst") set { if let newValue { items[0] = newValue } }
    }
    var count: Int { @JoinPoint("count") get { items.count } }
    subscript(place: Int) -> Element { @JoinPoint("at") get { items[place] } }
    #if WEIR_NEVER
      func conditional() -> Never { fatalError() }
    #else
      func conditional() -> Int { 3 }
    #endif
  }

  @Instrumented
  private class IntBox: Box<Int> {
    override func put(_ item: Int, at place: Int) -> Int? { super.put(item + 1, at: place) }
    override func wait() async -> Int { await super.wait() + 10 }
    override func again(_ times: Int) { super.again(times) }
    override class func kind(_ x: Int) -> String { "ints in a " + super.kind(x) }
    override var count: Int { @JoinPoint("count") get { super.count + 10 } }
    func sum() -> Int { items.reduce(0, +) }
  }

  @Instrumented
  private final class PairBox<Left: Sendable, Right: Sendable>: Box<(Left, Right)> {
    override func put(_ item: (Left, Right), at place: Int) -> (Left, Right)? { super.put(item, at: place) }
  }

  @Instrumented
  private struct Either<Left, Right> {
    var left: Left
    var right: Right

    mutating func turn(_ left: Left) -> (Left, Right) {
      self.left = left
      return (left, right)
    }
    func plain(_ x: Int) -> String { "plain" }
    @JoinPoint init?(left: Left?, right: Right) {
      guard let left else { return nil }
      self.left = left
      self.right = right
    }
  }

  @Instrumented
  private actor Store<Key: Hashable & Sendable, Value: Sendable> {
    private var values: [Key: Value] = [:]

    func set(_ key: Key, _ value: Value) { values[key] = value }
    func load(_ key: Key) async throws -> Value {
      guard let value = values[key] else { throw Refused() }
      return value
    }
  }

  private enum Outer {
    @Instrumented struct Inner<Value> { func get(_ value: Value) -> Value { value } }
  }

  /// One at a time: hooks on every call hear those of other tests, too.
  @Suite(.serialized) struct GenericTypeTests {
    @Test func `one descriptor hears the calls of all types`() throws {
      let strings = Box<String>()
      let numbers = Box<Double>()
      let heard = heard(of: BoxJoinPoints.putAt) {
        _ = strings.put("a")
        _ = numbers.put(2.5, at: 0)
      }
      #expect(
        heard == [
          "(item: \"a\", place: 0)", "(item: \"a\", place: 0) -> a", "(item: 2.5, place: 0)",
          "(item: 2.5, place: 0) -> 2.5",
        ])
    }

    @Test func `advice gets the object as the type that it asks for`() {
      let heard = Heard()
      let box = Box<String>()
      let hooks = [
        BoxJoinPoints.putAt.before(.exactly(Box<Int>.self)) { box, call in
          heard.note("exactly Box<Int> \(box.items) \(call.item)")
        },
        BoxJoinPoints.putAt.before(.exactly(IntBox.self)) { box, _ in heard.note("exactly IntBox \(box.sum())") },
        BoxJoinPoints.putAt.before(.kind(of: Box<Int>.self)) { box, _ in heard.note("kind \(box.items)") },
        BoxJoinPoints.putAt.after(.instance(box)) { box, _, _ in heard.note("one \(box.items)") },
      ]
      _ = Box<Int>().put(1)
      _ = IntBox().put(2, at: 0)
      _ = Box<String>().put("a")
      _ = box.put("b")
      for hook in hooks { hook.detach() }
      #expect(heard.all == ["exactly Box<Int> [] 1", "kind []", "exactly IntBox 0", "kind []", "one [\"b\"]"])
    }

    @Test func `what mentions a generic parameter arrives as Any`() throws {
      let box = Box<Int>()
      let hook = BoxJoinPoints.putAt.after(.everything) { _, call, outcome in
        let place: Int = call.place
        #expect(call.item as? Int == 4)
        #expect(outcome.returned as? Int == 4)
        #expect(place == 0)
      }
      _ = box.put(4)
      hook.detach()
      #expect(heard(of: BoxJoinPoints.putAll) { box.put(all: [5]) }.last == "(all: [5], ()) -> ()")
      #expect(heard(of: BoxJoinPoints.merged) { _ = try? box.merged(nil, 1) }.last?.hasSuffix("!! Refused()") == true)
      #expect(try heard(of: BoxJoinPoints.merged) { _ = try box.merged(box, nil) }.count == 2)
      #expect(heard(of: BoxJoinPoints.last) { _ = Box<Int>().last() }.last == "() -> nil")
      #expect(heard(of: BoxJoinPoints.same) { _ = box.same() }.count == 2)
      #expect(heard(of: BoxJoinPoints.conditional) { _ = box.conditional() }.last == "() -> 3")
    }

    @Test func `an override belongs to the method above`() async {
      let box = IntBox()
      #expect(
        heard(of: BoxJoinPoints.putAt) { _ = box.put(1, at: 0) }
          == ["(item: 1, place: 0)", "(item: 1, place: 0) -> Optional(2)"])
      #expect(await heard(of: BoxJoinPoints.wait) { _ = await box.wait() } == ["()", "() -> 11"])
      #expect(heard(of: BoxJoinPoints.kind) { _ = IntBox.kind(1) }.last == "(x: 1, ()) -> ints in a box")
      #expect(heard(of: BoxJoinPoints.count) { _ = box.count } == ["()", "() -> 11"])
      let pairs = PairBox<Int, String>()
      #expect(heard(of: BoxJoinPoints.putAt) { _ = pairs.put((1, "a"), at: 0) }.count == 2)
      #expect(heard(of: IntBox.JoinPoints.sum) { _ = box.sum() }.last == "() -> 2")
    }

    @Test func `a recursive call is a call`() {
      #expect(heard(of: BoxJoinPoints.again) { Box<Int>().again(1) }.count == 4)
      #expect(heard(of: BoxJoinPoints.again) { IntBox().again(1) }.count == 4)
    }

    @Test func `initialisers and accessors have descriptors too`() {
      let box = Box<String>()
      #expect(heard(of: BoxJoinPoints.initFirst) { box.put(all: Box(first: "a").items) }.first == "(first: \"a\", ())")
      #expect(heard(of: BoxJoinPoints.first) { _ = box.first }.last == "() -> Optional(\"a\")")
      #expect(heard(of: BoxJoinPoints.setFirst) { box.first = "b" }.first == "(newValue: Optional(\"b\"), ())")
      #expect(heard(of: BoxJoinPoints.at) { _ = box[0] }.last == "(place: 0, ()) -> b")
    }

    @Test func `a generic value has join points`() {
      #expect(
        heard(of: EitherJoinPoints.initLeftRight) { _ = Either<Int, Int>(left: nil, right: 1) }.last?
          .hasSuffix("-> nil") == true)
      var either = Either(left: 1, right: "b")
      let heard = Heard()
      let hook = EitherJoinPoints.turn.after(.everything) { either, call, outcome in
        heard.note("\((either as? Either<Int, String>)?.left ?? 0) \(call.left) \(outcome.returned ?? "none")")
      }
      _ = either?.turn(2)
      hook.detach()
      #expect(heard.all == ["2 2 (2, \"b\")"])
    }

    @Test func `a generic actor and a generic type in a type have join points`() async throws {
      let store = Store<String, Int>()
      #expect(
        await heard(of: StoreJoinPoints.load) { _ = try? await store.load("a") }.last == "(key: \"a\", ()) !! Refused()"
      )
      await store.set("a", 1)
      #expect(
        try await heard(of: StoreJoinPoints.load) { _ = try await store.load("a") }.last == "(key: \"a\", ()) -> 1")
      #expect(heard(of: Outer.InnerJoinPoints.get) { _ = Outer.Inner<Int>().get(3) }.last == "(value: 3, ()) -> 3")
    }

    @Test func `a generic page is tracked`() throws {
      let spy = try SpyTracker()
      let tracking = PageTracking("ints", of: .kind(of: Box<Int>.self), tracker: spy.tracker)
      tracking.enters(on: BoxJoinPoints.putAt)
      tracking.exits(on: BoxJoinPoints.wait)
      _ = IntBox().put(1, at: 0)
      _ = Box<String>().put("a")
      #expect(spy.names == ["scope.entered"])
      withExtendedLifetime(tracking) {}
    }

    /// Of types of these names no other test has any.
    @Test func `a generic type is listed once`() {
      let names = JoinPointListing().joinPoints.map(\.name)
      #expect(
        names.filter { $0.hasPrefix("Either.") } == ["Either.init(left:right:)", "Either.plain(_:)", "Either.turn(_:)"])
      #expect(names.filter { $0.hasPrefix("IntBox.") } == ["IntBox.sum()"])
    }
  }
#endif
