// The text of what the macros for join points write.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import Testing

  @Suite struct JoinPointExpansionTests {
    @Test func `a method has a descriptor and tells of its calls`() {
      expectExpansion(
        """
        class Page {
          @JoinPoint
          public func like(_ item: Item, at place: Int) throws -> Bool {
            // Why.
            guard place > 0 else { return false } // Early.
            return items.insert(item)
            // The end.
          }
        }
        """,
        """
        class Page {
          public func like(_ item: Item, at place: Int) throws -> Bool {
          var weirCall = Self.weirJoinPoint_like___at.call()
          if weirCall.isObserved { weirCall.begin(self, (item: item, place: place), in: Page.self) }
          defer { if weirCall.isObserved { weirCall.end(self) } }
          do {
          try weirCall.mayThrow()
          #sourceLocation(file: "test.swift", line: 4)
              // Why.
              guard place > 0 else { return weirCall.returned(false) } // Early.
              return weirCall.returned(items.insert(item))
              // The end.
          #sourceLocation()
          } catch {
          weirCall.threw(error)
          throw error
          }
          }

          public nonisolated static let weirJoinPoint_like___at = WeirAspects.JoinPoint<Page, (item: Item, place: Int), Bool>\
        ("Page.like(_:at:)", file: "TestModule/test.swift", line: 3)

          #if compiler(>=6.3)
          @section("weir_join_points") @used
          #endif
          private nonisolated static let weirRecord_like___at: \
        @convention(c) (UnsafeMutableRawPointer?) -> Void = { list in Page.weirJoinPoint_like___at.add(to: list) }

          public nonisolated static var likeJoinPoint: WeirAspects.JoinPoint<Page, (item: Item, place: Int), Bool> {
            _read { yield Page.weirJoinPoint_like___at }
          }
        }
        """)
    }

    /// It finds the descriptor by its name, and its parameters may be called something else.
    @Test func `an override finds the descriptor of the method above`() {
      let text = expand(
        "class Child: Page { @JoinPoint override func like(_ it: Item, at: Int) -> Bool { super.like(it, at: at) } }")
      #expect(text.contains("Self.weirJoinPoint_like___at.call()"))
      #expect(text.contains("weirCall.begin(self, (it, at), in: Child.self)"))
      #expect(!text.contains("static let"))
      #expect(!text.contains("likeJoinPoint:"))
      let root = expand("class Child: Page { @JoinPoint(root: true) override func like(_ it: Item) {} }")
      #expect(root.contains("static let weirJoinPoint_like__ = WeirAspects.JoinPoint<Child, (it: Item, ()), Void>"))
    }

    @Test func `a function at file scope has its descriptor beside it`() {
      let text = expand("@FunctionJoinPoint private func charge(order: Int) async -> Bool { true }")
      #expect(
        text.contains(
          "fileprivate nonisolated let chargeJoinPoint = WeirAspects.JoinPoint<Void, (order: Int, ()), Bool>"))
      #expect(text.contains("private nonisolated let chargeJoinPointRecord: @convention(c)"))
      #expect(text.contains("weirCall.beginAsync((), (order: order, ()), in: Void.self)"))
      #expect(text.contains("return weirCall.returned(true)"))
    }

    @Test func `a type lists its methods`() {
      let text = expand(
        """
        @Instrumented(except: ["left"])
        public final class Page {
          public func like(_ item: Item) {}
          func like(_ item: Item, at: Int) {}
          func left() {}
          private func hidden() {}
          init() {}
        }
        """)
      #expect(text.contains("  /// The join points of ``Page``.\n  public nonisolated enum JoinPoints {"))
      #expect(
        text.contains("public nonisolated static var like: WeirAspects.JoinPoint<Page, (item: Item, ()), Void> {"))
      #expect(
        text.contains(
          "\n    nonisolated static var likeAt: WeirAspects.JoinPoint<Page, (item: Item, at: Int), Void> {"))
      #expect(!text.contains("left:"))
      #expect(!text.contains("hidden:"))
      #expect(!text.contains("likeJoinPoint"))
      // What the attribute then writes, the other tests show.
      #expect(text.split(separator: "@WeirAspects.JoinPoint").count == 3)
    }

    @Test func `a type of overrides lists nothing`() {
      #expect(!expand("@Instrumented class A: B { override func f() {} }").contains("JoinPoints"))
      #expect(!expand("@Instrumented class A {}").contains("JoinPoints"))
    }

    /// The class is read at once, because after an error there may be no object to ask.
    @Test func `an initialiser tells of the object`() {
      let text = expand(
        """
        class Page {
          @JoinPoint public init?(title: String) throws {
            guard title != "" else { return nil }
            self.title = title
            if title == "a" { return }
            load()
          }
        }
        """)
      let body = """
        var weirCall = Page.weirJoinPoint_Page_init_title.call()
          var weirCallType: Page.Type = Page.self
          if weirCall.isObserved { weirCallType = Self.self; weirCall.begin(weirCallType, (title: title, ()), \
        in: Page.self); _ = weirCall.returned(nil as Page?) }
          defer { if weirCall.isObserved { weirCall.end(weirCallType) } }
          do {
          try weirCall.mayThrow()
        """
      #expect(text.contains(body), "\(text)")
      #expect(text.contains("else { do { _ = weirCall.returned(nil as Page?); return nil } }"), "\(text)")
      #expect(text.contains("if title == \"a\" { do { _ = weirCall.returned(self as Page?); return } }"), "\(text)")
      #expect(text.contains("defer { _ = weirCall.returned(self as Page?) }\n  _ = ()\n  } catch {"), "\(text)")
      #expect(
        text.contains(
          "public nonisolated static let weirJoinPoint_Page_init_title = WeirAspects.JoinPoint<Page.Type, (title: "
            + "String, ()), Page?>(\"Page.init(title:)\""), "\(text)")
      #expect(text.contains("public nonisolated static var initTitleJoinPoint: "), "\(text)")
    }

    @Test func `a type lists its initialisers if it is asked to`() {
      let source = "class A { init() {}; init(_ x: Int, at y: Int) {}; @JoinPoint init(z: Int) {}; func f() {} }"
      let asked = expand("@Instrumented(only: [\"init\"]) " + source)
      for name in ["initializer", "initAt", "initZ"] { #expect(asked.contains("static var \(name): "), "\(asked)") }
      #expect(!asked.contains("static var f: "))
      let unasked = expand("@Instrumented " + source)
      for name in ["initZ", "f"] { #expect(unasked.contains("static var \(name): "), "\(unasked)") }
      #expect(!unasked.contains("static var initializer: "))
    }

    @Test(arguments: [
      "{ stop() }", "{ x = 1 }", "{ if a { return } }", "{ do { try f() } catch { return } }",
      "{ if a { return } else {} }",
    ])
    func `an initialiser that comes to its end tells of the object there`(body: String) {
      #expect(expand("struct A { @JoinPoint init() \(body) }").contains("defer { _ = weirCall.returned(self) }"))
    }

    @Test(arguments: [
      "{ fatalError() }", "{ throw A() }", "{ return }", "{ if a { return } else { fatalError() } }",
      "{ switch a { case 1: return; default: throw A() } }", "{ do { return } catch { throw A() } }",
    ])
    func `an initialiser that never comes to its end does not`(body: String) {
      #expect(!expand("struct A { @JoinPoint init() throws \(body) }").contains("defer { _ = "))
    }

    @Test func `an accessor has a descriptor in its type`() {
      let text = expand(
        """
        @Instrumented public class Page {
          public var title: String? {
            @JoinPoint("title") get {
              text
            }
            @JoinPoint("setTitle") set(new) { text = new }
          }
          subscript(row: Int) -> Int { @JoinPoint("cell") get { row } }
          override var size: Int { @JoinPoint("size") didSet {} }
        }
        """)
      #expect(
        text.contains(
          "public nonisolated static let weirJoinPoint_title = WeirAspects.JoinPoint<Page, (), String?>"
            + "(\"Page.title.get\""), "\(text)")
      #expect(
        text.contains("weirJoinPoint_setTitle = WeirAspects.JoinPoint<Page, (newValue: String?, ()), Void>("), "\(text)"
      )
      #expect(text.contains("weirJoinPoint_cell = WeirAspects.JoinPoint<Page, (row: Int, ()), Int>("), "\(text)")
      #expect(text.contains("var weirCall = Self.weirJoinPoint_title.call()"), "\(text)")
      #expect(text.contains("return weirCall.returned(as: text)"), "\(text)")
      #expect(text.contains("weirCall.begin(self, (weirCall.passed(new), ()), in: Page.self) }"), "\(text)")
      #expect(text.contains("return weirCall.returned(row)"), "\(text)")
      #expect(text.contains("var weirCall = Self.weirJoinPoint_size.call()"), "\(text)")
      #expect(!text.contains("weirJoinPoint_size = "), "\(text)")
    }

    /// As Swift 6.3 hands an accessor over: as a declaration that its parser does not know.
    @Test(arguments: [
      "@JoinPoint(\"x\") get { 1 }", "@JoinPoint(\"x\") get async throws { 1 }",
      "@JoinPoint(\"x\") set { print(newValue) }",
      "@JoinPoint(\"x\") set(new) { print(new) }", "@JoinPoint(\"x\") mutating get { 1 }",
      "@JoinPoint(\"x\") didSet {}",
    ])
    func `an accessor is read from the text of a declaration`(text: String) throws {
      let declaration: DeclSyntax = "\(raw: text)"
      let accessor = try #require(readAccessor(declaration))
      #expect(accessor.description == text)
    }

    @Test(arguments: ["var x: Int { 1 }", "func get() {}", "init() {}", "get", "func set(x: Int) {}"])
    func `no other declaration is read as an accessor`(text: String) {
      let declaration: DeclSyntax = "\(raw: text)"
      #expect(readAccessor(declaration) == nil)
    }

    @Test func `a generic type has its descriptors beside it`() {
      let text = expand(
        """
        @Instrumented public class Box<Element> {
          @JoinPoint public func put(_ item: Element, _ other: Box, at place: Int) -> [Element] { [item] }
          @JoinPoint static func make() -> Self? { nil }
          @JoinPoint override func lost() {}
        }
        """)
      #expect(text.contains("}\n\n/// The join points of ``Box``.\npublic nonisolated enum BoxJoinPoints {"), "\(text)")
      #expect(
        text.contains(
          "public nonisolated static let weirJoinPoint_put_____at = WeirAspects.JoinPoint<AnyObject, (item: Any, "
            + "other: Any, place: Int), Any>(\"Box.put(_:_:at:)\""), "\(text)")
      #expect(text.contains("list in BoxJoinPoints.weirJoinPoint_put_____at.add(to: list) }"), "\(text)")
      #expect(text.contains("var weirCall = BoxJoinPoints.weirJoinPoint_put_____at.call()"), "\(text)")
      #expect(
        text.contains(
          "weirCall.begin(self, (item: item as Any, other: other as Any, place: place), in: AnyObject.self)"), "\(text)"
      )
      #expect(text.contains("weirJoinPoint_make = WeirAspects.JoinPoint<Any.Type, (), Any>("), "\(text)")
      #expect(text.contains("weirCall.begin(self, (), in: Any.Type.self)"), "\(text)")
      #expect(text.contains("var weirCall = Self.weirJoinPoint_lost.call()"), "\(text)")
      #expect(!text.contains("enum JoinPoints"), "\(text)")
      #expect(expand("@Instrumented struct P<T> { func f() {} }").contains("JoinPoint<Any, (), Void>(\"P.f()\""))
    }

    @Test(arguments: [
      ("public struct", "public func", "public "), ("open class", "func", ""), ("struct", "public func", ""),
      ("package struct", "public func", "package "), ("public struct", "package func", "package "),
      ("private struct", "public func", "fileprivate "), ("public actor", "private func", ""),
    ])
    func `the enum beside a generic type is seen as far as type and methods`(
      type: String, method: String, access: String
    ) {
      let text = expand("@Instrumented \(type) P<T> { @JoinPoint \(method) f() {} }")
      #expect(text.contains("\n\(access)nonisolated enum PJoinPoints"), "\(text)")
    }

    /// What the compiler refuses in a body that a macro wrote.
    @Test func `a capture list needs a local function`() {
      let text = expand("class A { @JoinPoint func f(x: Int) throws -> Int { let g = { [x] in x }; return g() } }")
      #expect(text.contains("func weirCallBody() throws -> Int {"))
      #expect(text.contains("return weirCall.returned(try weirCallBody())"))
      let inner = expand("class A { @JoinPoint func f(x: Int) -> Int { func g() { h { [x] in x } }; return 1 } }")
      #expect(!inner.contains("weirCallBody"))
    }

    @Test(arguments: [
      ("{ 1 }", "return weirCall.returned(1)"),
      ("{ .init(1) }", "return weirCall.returned(.init(1))"),
      ("{ Int(x) }", "return weirCall.returned(Int(x))"),
      ("{ stop() }", "do { let weirCallResult: Int = switch () { case (): stop() }; return weirCall.returned("),
      ("{ fatalError() }", "\nfatalError()"),
      ("{ { return 1 }() }", "return weirCall.returned({ return 1 }())"),
      ("{ if a { 1 } else { fatalError() } }", "if a { return weirCall.returned(1) } else { fatalError() }"),
      ("{ return if a { 1 } else { throw b } }", "if a { return weirCall.returned(1) } else { throw b }"),
      ("{ if a { return 1 } else { return 2 } }", "if a { return weirCall.returned(1) } else { return weirCall."),
      ("{ switch a { case 1: 1; default: 2 } }", "case 1: return weirCall.returned(1);"),
      ("{ func g() -> Int { return 1 }; return g() }", "func g() -> Int { return 1 }; "),
      ("{ print(weirCall); return 1 }", "var weirCall2 = Self"),
    ])
    func `each form of result is told`(body: String, expected: String) {
      let text = expand("class A { @JoinPoint func f() -> Int \(body) }")
      #expect(text.contains(expected) || text.replacing("    ", with: "").contains(expected), "\(text)")
    }
  }
#endif
