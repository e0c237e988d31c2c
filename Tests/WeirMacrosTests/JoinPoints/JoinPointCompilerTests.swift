// What the compiler makes of the macros for join points: that what they write gives no warning wherever it stands, and
// that what is wrong with a source is said where it stands in the source.

#if Macros
  import Testing

  @Suite struct JoinPointCompilerTests {
    /// Every place that a method may be declared in, and bodies with all that a macro could get wrong.
    private static let accepted = """
      public import Weir
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
      ), ("@JoinPoint func f() {}", "'peer' macros are not allowed to introduce arbitrary names at global scope"),
    ])
    func `the compiler refuses what the macro does not see`(source: String, message: String) throws {
      let answer = try compile("import Weir\nimport WeirAspects\n" + source)
      #expect(answer.contains(message), "\(answer)")
    }
  }
#endif
