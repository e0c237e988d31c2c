// What @Instrumented marks, what the join points are called, and to which of them an override belongs.

#if Macros
  import Testing
  import Weir
  import WeirAspects

  @Instrumented
  private class Page {
    func like(_ item: Int, at place: Int) -> String { "page" }
    func like(_ item: Int) -> String { "liked" }
    func like(tag: String) -> String { tag }
    @JoinPoint("saveAll") func save(_ items: [Int]) -> Int { items.count }
    func save(_ item: Int) -> Int { item }
    func `repeat`() -> Self { self }
    class func open(_ x: Int) -> String { "page\(x)" }
    private func secret() -> Int { 1 }
    @JoinPoint private func told() -> Int { secret() + 1 }
    fileprivate func half() -> Int { told() }
    func wait() async -> String { "page" }

    init() {}
    subscript(index: Int) -> Int { index }
    var title: String { "t" }
    static func == (one: Page, other: Page) -> Bool { true }
    #if WEIR_NEVER
      func never() {}
    #else
      func always() -> Int { 4 }
    #endif
  }

  /// Only overrides: its JoinPoints are those of the class above.
  @Instrumented
  private class Child: Page {
    override func like(_ thing: Int, at somewhere: Int) -> String { "child of " + super.like(thing, at: somewhere) }
    override class func open(_ x: Int) -> String { "child of " + super.open(x) }
    @JoinPoint("saveAll") override func save(_ items: [Int]) -> Int { 0 }
    override func `repeat`() -> Self { super.repeat() }
    override func wait() async -> String { await "child of " + super.wait() }
  }

  @Instrumented
  private final class Grandchild: Child {
    override func like(_ item: Int, at place: Int) -> String { "grandchild of " + super.like(item, at: place) }
    func own(_ x: Int) -> Int { x }
  }

  /// The class above has no join points.
  private class Foreign { func run(_ x: Int) -> Int { x } }
  @Instrumented private final class Adopted: Foreign {
    @JoinPoint(root: true) override func run(_ x: Int) -> Int { super.run(x) + 1 }
  }

  @Instrumented(only: ["open(url:)", "close", "inner"])
  private enum Site {
    case one
    func open(url: String) -> Int { 1 }
    func open(path: String) -> Int { 2 }
    func close() -> Int { inner() }
    private func inner() -> Int { 3 }
    func other() -> Int { 4 }
  }
  extension Site {
    @JoinPoint func later() -> Int { 5 }
    struct Part {
      @JoinPoint func use() -> Int { 6 }
    }
  }

  /// One at a time: hooks on every call hear those of other tests, too.
  @Suite(.serialized) struct InstrumentedTypeTests {
    private func told<Parameters, Returned>(
      _ joinPoint: borrowing JoinPoint<Page, Parameters, Returned>, _ body: () -> Void
    ) -> [String] {
      Array(heard(of: joinPoint, body).dropFirst())
    }

    @Test func `names tell methods apart`() {
      let page = Page()
      #expect(told(Page.JoinPoints.like) { _ = page.like(1) } == ["(item: 1, ()) -> liked"])
      #expect(told(Page.JoinPoints.likeAt) { _ = page.like(1, at: 2) } == ["(item: 1, place: 2) -> page"])
      #expect(told(Page.JoinPoints.likeTag) { _ = page.like(tag: "a") } == ["(tag: \"a\", ()) -> a"])
      #expect(told(Page.JoinPoints.saveAll) { _ = page.save([1]) } == ["(items: [1], ()) -> 1"])
      #expect(told(Page.JoinPoints.save) { _ = page.save(1) } == ["(item: 1, ()) -> 1"])
      #expect(told(Page.JoinPoints.repeat) { _ = page.repeat() }.count == 1)
      #expect(told(Page.JoinPoints.always) { _ = page.always() } == ["() -> 4"])
    }

    @Test func `a private method tells if it is asked to`() {
      let page = Page()
      #expect(told(Page.JoinPoints.told) { _ = page.half() } == ["() -> 2"])
      #expect(heard(of: Site.JoinPoints.inner) { _ = Site.one.close() }.last == "() -> 3")
    }

    /// Of types of these names no other test has any.
    @Test func `a method that is marked is listed`() {
      let names = JoinPointListing().joinPoints.map(\.name)
      #expect(
        names.filter { $0.hasPrefix("Site.") }.sorted() == [
          "Site.Part.use()", "Site.close()", "Site.inner()", "Site.later()", "Site.open(url:)",
        ])
      #expect(
        names.filter { $0.hasPrefix("Page.") }.sorted() == [
          "Page.always()", "Page.half()", "Page.like(_:)", "Page.like(_:at:)", "Page.like(tag:)", "Page.open(_:)",
          "Page.repeat()", "Page.save(_:)", "Page.save(_:)", "Page.told()", "Page.wait()",
        ])
      #expect(!names.contains { $0.hasPrefix("Child.") })
      #expect(names.filter { $0.hasPrefix("Grandchild.") } == ["Grandchild.own(_:)"])
    }

    @Test func `an override belongs to the method above`() async {
      let child = Child()
      #expect(
        told(Child.JoinPoints.likeAt) { _ = child.like(1, at: 2) } == ["(item: 1, place: 2) -> child of page"])
      let grandchild = Grandchild()
      #expect(
        told(Page.JoinPoints.likeAt) { _ = grandchild.like(1, at: 2) }
          == ["(item: 1, place: 2) -> grandchild of child of page"])
      #expect(told(Page.JoinPoints.saveAll) { _ = child.save([1]) } == ["(items: [1], ()) -> 0"])
      #expect(told(Page.JoinPoints.repeat) { _ = child.repeat() }.count == 1)
      #expect(heard(of: Page.JoinPoints.open) { _ = Child.open(1) }.last == "(x: 1, ()) -> child of page1")
      #expect(await heard(of: Page.JoinPoints.wait) { _ = await child.wait() }.last == "() -> child of page")
      #expect(heard(of: Grandchild.JoinPoints.own) { _ = grandchild.own(1) }.last == "(x: 1, ()) -> 1")
    }

    @Test func `one class may be heard alone`() {
      let heard = Heard()
      let hook = Page.JoinPoints.likeAt.before(.exactly(Child.self)) { child, _ in heard.note("\(type(of: child))") }
      _ = Page().like(1, at: 2)
      _ = Child().like(1, at: 2)
      _ = Grandchild().like(1, at: 2)
      hook.detach()
      #expect(heard.all == ["Child"])
    }

    @Test func `an override may be a root`() {
      #expect(heard(of: Adopted.JoinPoints.run) { _ = Adopted().run(1) } == ["(x: 1, ())", "(x: 1, ()) -> 2"])
    }

    @Test func `extensions and nested types have join points of their own`() {
      #expect(heard(of: Site.laterJoinPoint) { _ = Site.one.later() }.last == "() -> 5")
      #expect(heard(of: Site.Part.useJoinPoint) { _ = Site.Part().use() }.last == "() -> 6")
    }
  }
#endif
