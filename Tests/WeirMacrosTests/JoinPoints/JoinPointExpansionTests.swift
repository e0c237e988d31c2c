// The text of what the macros for join points write.

#if Macros
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
