// What the compiler makes of the macros for join points: that what they write gives no warning wherever it stands, and
// that what is wrong with a source is said where it stands in the source.

#if Macros
  import Testing

  @Suite struct JoinPointCompilerTests {
    /// Every place that a method may be declared in, and bodies with all that a macro could get wrong.
    private static let accepted = """
      public import WeirAspects

      public struct Item: Sendable { public init() {} }
      public struct Failed: Error {}
      func stop() -> Never { fatalError() }
      func later(_ work: @escaping () -> Void) {}

      @Instrumented open class Open {
        open func opened(_ item: Item) -> Item { item }
        public func shown(_ item: Item?) throws -> Item { guard let item else { throw Failed() }; return item }
        package func packaged() {}
        func hidden(_ x: Int) -> some Equatable { x }
        fileprivate func filed() async throws(Failed) -> Int { 1 }
        @JoinPoint private func secret() { print("x") }
        public static func made() -> Open { Open() }
        open class func named() -> String { "open" }
        public init() {}
        deinit { print("gone") }
        subscript(x: Int) -> Int { x }
        var computed: Int { get { 1 } set { print(newValue) } }
        @available(*, deprecated) public func old() -> Int { 3 }
        @available(*, unavailable) public func gone() -> Int { 3 }
      }
      @Instrumented final class Below: Open {
        override func opened(_ other: Item) -> Item { super.opened(other) }
        override class func named() -> String { super.named() + "!" }
      }
      @Instrumented public class Between: Open {}
      @Instrumented public final class Deeper: Between {
        public override func opened(_ item: Item) -> Item { item }
        func same() -> Self { self }
      }
      @available(*, deprecated) @Instrumented struct Retired { func run(_ other: Retired) {} }
      public enum Outer {
        @Instrumented public struct Inner {
          public func shown() -> Int { 3 }
          func part() -> Part { Part() }
          struct Part { @JoinPoint func use(_ other: Inner) -> Inner? { other } }
        }
      }
      public extension Outer.Inner { @JoinPoint func inPublicExtension() -> Self { self } }
      extension Outer { @Instrumented class InExtension { func run() {} } }
      private extension Outer { @JoinPoint private static func inPrivateExtension() {} }
      private enum Private { @Instrumented struct Nested { func run() -> Nested { self } } }
      @Instrumented enum Choice { case a; mutating func turn() -> Self { self = .a; return .a } }
      @Instrumented public actor Teller {
        var sum = 0
        public func add(_ x: Int) -> Int { sum += x; return sum }
        public func wait() async -> Int { await Task.yield(); return await other() }
        nonisolated func other() async -> Int { 2 }
        func send(_ list: sending [Open]) async -> [Open] { list }
      }
      @MainActor @Instrumented public class Screen {
        public func show() -> Int { 3 }
        public func load() async throws -> Int { try await Task.sleep(nanoseconds: 1); return 1 }
        nonisolated func free() -> Int { 2 }
        func closure() -> Int { let f = { [self] in show() }; return f() }
      }
      @Instrumented(only: ["init"]) open class Made: Open {
        public let x: Int
        public init(a: Int) throws { x = a; super.init(); if a > 3 { throw Failed() } }
        package init(b: Int) throws(Failed) { if b > 3 { throw Failed() }; x = b; super.init() }
        init(c: Int) { x = c; super.init(); stop() }
        init(d: Int) throws { x = d; super.init(); stop() }
        init(e: Int) { fatalError() }
        init?(f: Int) { if f > 3 { return nil } else { x = f; super.init(); return } }
        convenience init!(g: Int) throws { if g > 3 { try self.init(a: g) } else { self.init(f: g) } }
        public required init(h: Int) async { x = h; super.init(); await Task.yield() }
        init(i: Int) { x = i; super.init(); while true { if i > 3 { return } } }
        init(j: Int) { x = j; super.init(); switch j { case 1: return; default: stop() } }
        init<T: Equatable>(k: T, _ l: T?, m: () -> Void) { x = 1; super.init() }
        private override init() { x = 0; super.init() }
        @available(*, deprecated) public init(old: Int) { x = old; super.init() }
      }
      @Instrumented(only: ["init"]) public class Remade: Made {
        public override init(a: Int) throws { try super.init(a: a) }
        public required init(h: Int) async { await super.init(h: h) }
      }
      extension Made { @JoinPoint convenience init(n: Int) { self.init(c: n) } }
      @Instrumented(only: ["init"]) public struct Value: Equatable {
        let x: Int
        var y = 1
        public init(x: Int) { self.x = x }
        init() { self.init(x: 1) }
        init?(text: String) { guard let x = Int(text) else { return nil }; self = Value(x: x) }
      }
      extension Value { @JoinPoint public init(z: Int) { self.init(x: z); y = 2 } }
      @MainActor @Instrumented(only: ["init"]) final class Shown {
        var x: Int
        init(x: Int) { self.x = x; show() }
        nonisolated init(free: Int) { x = free }
        func show() {}
      }
      @Instrumented(only: ["init"]) actor Kept {
        var x: Int
        init(x: Int) { self.x = x; if x > 3 { return }; self.x += 1 }
        init(y: Int) async { x = y; await Task.yield(); x += 1 }
      }
      @Instrumented open class Accessed {
        private var stored: [Int] = []
        public init() {}
        open var a: [Int] { @JoinPoint("a") get { stored } @JoinPoint("setA") set { stored = newValue } }
        public var b: (Int, Double)? { @JoinPoint("b") get { (1, 2) } }
        package var c: @Sendable (Int) -> Int { @JoinPoint("c") get { { $0 } } @JoinPoint("setC") set(f) { _ = f(1) } }
        var d: some Equatable { @JoinPoint("d") get { 3 } }
        private var e: Int { @JoinPoint("e") get async throws(Failed) { throw Failed() } }
        public private(set) var f: Int = 0 { @JoinPoint("willF") willSet {} @JoinPoint("didF") didSet {} }
        var g: [Int] = [] { @JoinPoint("g") didSet { if g == oldValue { return } } }
        class var h: Int { @JoinPoint("h") get { 3 } }
        subscript(x: Int, at y: String) -> String? { @JoinPoint("i") get { nil } @JoinPoint("setI") set {} }
        var j: Int! { @JoinPoint("j") get { 1 } }
        @available(*, deprecated) public var k: Int { @JoinPoint("k") get { 1 } }
        var l: Int { @JoinPoint("l") get { if stored.isEmpty { 1 } else { 2 } } }
        #if DEBUG
        var m: Int { @JoinPoint("m") get { 1 } }
        #endif
      }
      @Instrumented final class Overriding: Accessed {
        override var a: [Int] { @JoinPoint("a") get { super.a } @JoinPoint("setA") set { super.a = newValue } }
        override class var h: Int { @JoinPoint("h") get { super.h } }
      }
      @Instrumented struct Mutated {
        var x = 1
        var y: Int { @JoinPoint("y") mutating get { x += 1; return x } @JoinPoint("setY") set { x = newValue } }
        var z: Int { @JoinPoint("z") get { 1 } @JoinPoint("setZ") nonmutating set {} }
      }
      @MainActor @Instrumented class Lit { var x: Int { @JoinPoint("x") get { 1 } } }
      @Instrumented open class Box<Element: Sendable> {
        var items: [Element] = []
        public init() {}
        @JoinPoint public init(first: Element) { items = [first] }
        open func put(_ item: Element, at place: Int = 0) -> Element? { items.append(item); return item }
        func put(all: [Element], _ more: Element...) throws -> Box? { self }
        func same() -> Self { self }
        func convert<T>(_ x: T, _ y: Element?) -> [T] { [x] }
        public func wait() async -> Int { await Task.yield(); return 1 }
        class func kind() -> String { "box" }
        static func make(_ x: Element) -> Self? { nil }
        var first: Element? { @JoinPoint("first") get { items.first } @JoinPoint("setFirst") set {} }
        var count: Int = 0 { @JoinPoint("counted") didSet {} }
        subscript(x: Int) -> Element { @JoinPoint("at") get { items[x] } @JoinPoint("setAt") set { items[x] = newValue } }
        #if DEBUG
        func debug() -> Element? { nil }
        #endif
      }
      @Instrumented public final class IntBox: Box<Int> {
        public override func put(_ item: Int, at place: Int) -> Int? { super.put(item, at: place) }
        public override func wait() async -> Int { await super.wait() }
        override class func kind() -> String { "ints" }
        override var first: Int? { @JoinPoint("first") get { super.first } set {} }
      }
      @Instrumented class MaybeBox<Element> {
        init() {}
        func put(_ item: Element?, _ other: Element) {}
        subscript(x: Element?) -> Element? { @JoinPoint("at") get { nil } @JoinPoint("setAt") set {} }
        var first: Element? { @JoinPoint("first") get { nil } @JoinPoint("setFirst") set {} }
      }
      @Instrumented final class MaybeInts: MaybeBox<Int> {
        override func put(_ item: Int?, _ other: Int) {}
        override subscript(x: Int?) -> Int? { @JoinPoint("at") get { nil } @JoinPoint("setAt") set {} }
        override var first: Int? { @JoinPoint("first") get { nil } @JoinPoint("setFirst") set {} }
      }
      @Instrumented class SubBox<T: Sendable>: Box<T> { override func put(_ item: T, at: Int) -> T? { nil } }
      @Instrumented public struct Pair<A, B> {
        var a: A, b: B
        mutating func turn(_ a: A) -> (A, B) { self.a = a; return (a, b) }
        @JoinPoint init?(maybe a: A?, _ b: B) { guard let a else { return nil }; self.init(a: a, b: b) }
        init(a: A, b: B) { self.a = a; self.b = b }
      }
      @Instrumented enum Tree<T> { case leaf(T), none; func merged(_ other: Tree<T>) -> Tree { other } }
      @Instrumented package actor Store<K: Hashable & Sendable, V: Sendable> {
        package func load(_ key: K) async throws -> V { throw Failed() }
      }
      @MainActor @Instrumented final class Page<Content> { func show(_ content: Content) -> Content { content } }
      extension Outer { @Instrumented struct Generic<T> { func run(_ x: T) {} } }
      private enum Concealed { @Instrumented struct Generic<T> { func run(_ x: T) {} } }
      @Instrumented private struct Unseen<T> { func run(_ x: T) {} }
      @FunctionJoinPoint public func charge(order: Int) throws -> Int { order }
      @FunctionJoinPoint private func settle() async { later { } }
      @FunctionJoinPoint @MainActor func onMain(_ screen: Screen) -> Int { screen.show() }
      @MainActor func local() {
        @Instrumented struct Local { func run() -> Int { 1 } }
        _ = Local().run()
      }

      @Instrumented struct Bodies {
        var count = 0
        func stops() -> Int { stop() }
        func stopsToo() throws -> Int { fatalError("x") }
        func stopsAlways() -> Never { stop() }
        func stopsInBranch(_ x: Int) -> Int { if x > 1 { stop() } else { fatalError() } }
        func loops() -> Int { while true { if count > 3 { return 1 } } }
        func result(_ x: Int) -> Result<Int, any Error> { x > 1 ? .success(x) : .failure(Failed()) }
        func list() -> [String: any Sendable] { ["a": 1, "b": "c"] }
        func work() -> @Sendable (Int) -> Int { { x in let y = x; return y } }
        func workOptional() -> ((Int) -> Int)? { { $0 } }
        func pair() -> (left: Int, right: Double?) { return (1, 2) }
        func existential() -> any Equatable { 3 }
        func nothing() -> Int?? { nil }
        func key() -> KeyPath<Bodies, Int> { \\.count }
        func metatype() -> any Any.Type { Int.self }
        func empty() {}
        func throwsNothing() throws { print("x") }
        func rethrowsNothing(_ f: () throws -> Void) rethrows {}
        func rethrowsAll(_ f: () throws -> Void) rethrows { do { try f() } catch { print("x") } }
        func typedNothing() throws(Failed) {}
        func typedAny() throws(any Error) -> Int { 1 }
        func typedNever() throws(Never) -> Int { 1 }
        func generic<T: Error>(_ f: () throws(T) -> Int) throws(T) -> Int { try f() }
        func optional<T>(_ x: T?, _ y: some Equatable) -> T? { x }
        func span(_ x: Span<Int>, _ y: inout MutableSpan<UInt8>) -> Int { x.count }
        func uncopyable<T: ~Copyable>(_ x: borrowing T, y: inout T) {}
        func actorParameter(_ x: isolated Teller) -> Int { x.sum }
        func isolation(_ x: isolated (any Actor)? = #isolation) async {}
        mutating func captured() -> Int { let x = count; let f = { [x] in x + 1 }; count = f(); return count }
        func capturedOpaque(_ x: Int) -> some Equatable { let f = { [x] in x }; return f() }
        func capturedAsync(_ x: Int) async throws -> Int { try await Task { [x] in try Task.checkCancellation(); return x }.value }
        func capturedTyped(_ x: Int) throws(Failed) -> Int { let f = { [x] in x }; if f() > 3 { throw Failed() }; return 1 }
        func capturedNever(_ x: Int) -> Never { let f = { [x] in x }; print(f()); stop() }
        func capturedVoid<T>(_ x: T) { later { [count] in print(count) } }
        func capturedSending(_ x: Int) -> sending [Open] { let f = { [x] in print(x) }; f(); return [] }
        func sent() -> sending [Open] { [] }
        func sentTwice(_ x: Bool) -> sending [Open] { if x { return [Open()] }; return [] }
        func labels() -> Int { outer: for x in 0..<3 { for y in 0..<3 where y == x { continue outer } }; return 1 }
        func asyncLet() async -> Int { async let a = Teller().other(); return await a }
        func types() -> Int { struct Local { func f() -> Int { return 1 } }; return Local().f() }
        func property() -> Int { var x: Int { return 3 }; return x }
        func deferred() -> Int { defer { print("x") }; return 1 }
        func semicolons() -> Int { let a = 1; let b = 2; return a + b }
        func conditional() -> Int {
          #if DEBUG
          if count > 1 { return 1 }
          #endif
          return 2
        }
        func text() -> String {
          \"\"\"
          a \\(count)
            b
          \"\"\"
        }
      }
      """

    private static let upcoming = [
      "-enable-upcoming-feature", "InternalImportsByDefault", "-enable-upcoming-feature", "ExistentialAny",
    ]

    /// Compiled to the end: some warnings are given only when code is lowered.
    @Test(arguments: [upcoming, upcoming + ["-default-isolation", "MainActor"], upcoming + ["-O"]])
    func `the code that the macro writes gives no warning`(options: [String]) throws {
      #expect(try compile(Self.accepted, options, mode: "-c") == "")
    }

    @Test func `a message stands where the source is wrong`() throws {
      let answer = try compile(
        """
        import Weir
        import WeirAspects
        @Instrumented class Page {
          func like(_ item: Int) throws -> String {
            // Why.
            if item > 1 { return "a" }
            return item
          }
          func open() -> Int { let x: Int = ""; return x }
        }
        """)
      #expect(answer.contains("source.swift:7:"), "\(answer)")
      #expect(answer.contains("source.swift:9:"), "\(answer)")
      #expect(answer.contains("cannot convert return expression of type 'Int' to return type 'String'"), "\(answer)")
    }

    @Test(arguments: [
      ("extension Array { @JoinPoint func f() {} }", "static stored properties not supported in generic types"),
      (
        "class A { func f() {} }\n@Instrumented class B: A { override func f() {} }",
        "type 'Self' has no member 'weirJoinPoint_f'"
      ),
      ("@FunctionJoinPoint func f() {}\n@FunctionJoinPoint func f(x: Int) {}", "invalid redeclaration of 'fJoinPoint'"),
      (
        "class A { @JoinPoint func f(_ x: Int) {} }\nclass B: A { @JoinPoint func f(_ x: String) {} }",
        "property 'weirJoinPoint_f__' with type 'JoinPoint<B, (x: String, ()), Void>' cannot override"
      ),
      (
        "class A { init() {} }\n@Instrumented(only: [\"init\"]) class B: A { let x: Int; init(x: Int) { self.x = x } }",
        "before 'super.init' call"
      ),
      ("class A { @JoinPoint var x: Int { 3 } }", "'body' macro cannot be attached to property ('x')"),
      ("@Instrumented struct A<T> { struct B {}; func f(_ b: B) {} }", "cannot find type 'B' in scope"),
      ("@JoinPoint func f() {}", "'peer' macros are not allowed to introduce arbitrary names at global scope"),
    ])
    func `the compiler refuses what the macro does not see`(source: String, message: String) throws {
      // To the end: whether an object is whole is known only when code is lowered.
      let answer = try compile("import Weir\nimport WeirAspects\n" + source, mode: "-c")
      #expect(answer.contains(message), "\(answer)")
    }
  }
#endif
