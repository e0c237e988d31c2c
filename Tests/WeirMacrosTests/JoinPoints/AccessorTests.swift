// Join points of accessors: of properties, of observers and of subscripts.

#if Macros
  import Testing
  import Weir
  import WeirAspects

  private struct Refused: Error {}

  @Instrumented(only: ["read"])
  private class Sheet {
    private var text = "text"

    var title: String {
      @JoinPoint("title") get { text }
      @JoinPoint("setTitle") set { text = newValue }
    }
    var named: String {
      get { text }
      @JoinPoint("setNamed") set(name) {
        if name.isEmpty { return }
        text = name
      }
    }
    /// The compiler knows the types of these from the property alone.
    var pair: (left: Int, right: Double?) { @JoinPoint("pair") get { (1, 2) } }
    var work: @Sendable (Int) -> Int {
      @JoinPoint("work") get {
        if text.isEmpty { return { $0 } }
        return { $0 + 1 }
      }
    }
    var missing: Int? { @JoinPoint("missing") get { nil } }
    var opaque: some CustomStringConvertible { @JoinPoint("opaque") get { 3 } }
    var choice: String { @JoinPoint("choice") get { if text.isEmpty { "empty" } else { "full" } } }
    var failing: Int {
      @JoinPoint("failing") get throws(Refused) {
        guard text.isEmpty else { throw Refused() }
        return 1
      }
    }
    var slow: Int {
      @JoinPoint("slow") get async throws {
        await Task.yield()
        return try failing
      }
    }
    var lines: [Int] {
      @JoinPoint("lines") get {
        [
          #line,
          #line,
        ]
      }
    }

    var count: Int = 0 {
      @JoinPoint("countWillChange") willSet { if newValue < 0 { return } }
      @JoinPoint("countChanged") didSet {}
    }
    var total = 0 as Int
    var amount: Int = 0 {
      @JoinPoint("amountChanged") didSet {
        if oldValue > amount { amount = oldValue }
      }
    }
    var size: Int = 0 { @JoinPoint("sizeChanged") didSet(old) { total += old } }

    class var kind: String { @JoinPoint("kind") get { "sheet" } }

    subscript(row: Int, at column: String) -> String {
      @JoinPoint("cell") get { "\(row)\(column)" }
      @JoinPoint("setCell") set { text = newValue }
    }

    #if WEIR_NEVER
      var conditional: Never { @JoinPoint("conditional") get { fatalError() } }
    #else
      var conditional: String { @JoinPoint("conditional") get { "here" } }
    #endif

    func read() -> String { title }
  }

  @Instrumented
  private final class Cover: Sheet {
    override var title: String {
      @JoinPoint("title") get { "cover " + super.title }
      set { super.title = newValue }
    }
    override class var kind: String { @JoinPoint("kind") get { "cover of " + super.kind } }
    override var count: Int { @JoinPoint("pageCountChanged", root: true) didSet {} }
  }

  @Instrumented
  private struct Point {
    var x = 1
    var double: Int {
      @JoinPoint("double") get { x * 2 }
      @JoinPoint("setDouble") set { x = newValue / 2 }
    }
    var used: Int {
      @JoinPoint("used") mutating get {
        x += 1
        return x
      }
    }
    subscript<Offset: BinaryInteger>(offset: Offset) -> Offset { @JoinPoint("at") get { Offset(x) + offset } }
    static var zero: Point { @JoinPoint("zero") get { Point(x: 0) } }
  }

  /// One at a time: hooks on every call hear those of other tests, too.
  @Suite(.serialized) struct AccessorTests {
    private let sheet = Sheet()

    private func check<Parameters, Returned>(
      _ joinPoint: borrowing JoinPoint<Sheet, Parameters, Returned>, _ expected: [String],
      _ access: (Sheet) throws -> Void, at place: SourceLocation = #_sourceLocation
    ) rethrows {
      let heard = try heard(of: joinPoint) { try access(sheet) }
      #expect(heard == expected, sourceLocation: place)
    }

    @Test func `what a property is read and set to is told`() {
      check(Sheet.JoinPoints.title, ["()", "() -> text"]) { #expect($0.title == "text") }
      check(Sheet.JoinPoints.title, ["()", "() -> text"]) { #expect($0.read() == "text") }
      check(Sheet.JoinPoints.setTitle, ["(newValue: \"a\", ())", "(newValue: \"a\", ()) -> ()"]) { $0.title = "a" }
      check(Sheet.JoinPoints.setNamed, ["(newValue: \"\", ())", "(newValue: \"\", ()) -> ()"]) { $0.named = "" }
      check(Sheet.JoinPoints.setNamed, ["(newValue: \"b\", ())", "(newValue: \"b\", ()) -> ()"]) { $0.named = "b" }
      #expect(sheet.title == "b")
    }

    @Test func `a change in place is a reading and a setting`() {
      check(Sheet.JoinPoints.title, ["()", "() -> text"]) { $0.title += "!" }
      check(Sheet.JoinPoints.setTitle, ["(newValue: \"text!?\", ())", "(newValue: \"text!?\", ()) -> ()"]) {
        $0.title += "?"
      }
    }

    @Test func `the body is of the type of the property`() {
      check(Sheet.JoinPoints.pair, ["()", "() -> (left: 1, right: Optional(2.0))"]) { #expect($0.pair.right == 2) }
      check(Sheet.JoinPoints.work, ["()", "() -> (Function)"]) { #expect($0.work(1) == 2) }
      check(Sheet.JoinPoints.missing, ["()", "() -> nil"]) { #expect($0.missing == nil) }
      check(Sheet.JoinPoints.opaque, ["()", "() -> 3"]) { #expect($0.opaque.description == "3") }
      check(Sheet.JoinPoints.choice, ["()", "() -> full"]) { #expect($0.choice == "full") }
      check(Sheet.JoinPoints.conditional, ["()", "() -> here"]) { #expect($0.conditional == "here") }
    }

    @Test func `an error of a getter is told`() async {
      check(Sheet.JoinPoints.failing, ["()", "() !! Refused()"]) { _ = try? $0.failing }
      check(Sheet.JoinPoints.failing, ["()", "() -> 1"]) {
        $0.title = ""
        _ = try? $0.failing
      }
      #expect(await heard(of: Sheet.JoinPoints.slow) { _ = try? await sheet.slow } == ["()", "() -> 1"])
    }

    @Test func `the change of a stored property is told`() {
      check(Sheet.JoinPoints.countWillChange, ["(newValue: -1, ())", "(newValue: -1, ()) -> ()"]) { $0.count = -1 }
      check(Sheet.JoinPoints.countChanged, ["()", "() -> ()"]) { $0.count += 2 }
      check(Sheet.JoinPoints.amountChanged, ["(oldValue: 0, ())", "(oldValue: 0, ()) -> ()"]) { $0.amount = 2 }
      check(Sheet.JoinPoints.sizeChanged, ["(oldValue: 0, ())", "(oldValue: 0, ()) -> ()"]) { $0.size = 2 }
      let heard = Heard()
      let hook = Sheet.JoinPoints.countChanged.before(.instance(sheet)) { sheet, _ in heard.note("\(sheet.count)") }
      sheet.count = 7
      hook.detach()
      #expect(heard.all == ["7"])
    }

    @Test func `a subscript is told with its parameters`() {
      check(Sheet.JoinPoints.cell, ["(row: 1, column: \"a\")", "(row: 1, column: \"a\") -> 1a"]) {
        #expect($0[1, at: "a"] == "1a")
      }
      check(
        Sheet.JoinPoints.setCell,
        ["(row: 1, column: \"a\", newValue: \"x\")", "(row: 1, column: \"a\", newValue: \"x\") -> ()"]
      ) { $0[1, at: "a"] = "x" }
    }

    @Test func `an override belongs to the accessor above`() {
      let cover = Cover()
      #expect(heard(of: Sheet.JoinPoints.title) { _ = cover.title } == ["()", "() -> cover text"])
      #expect(heard(of: Sheet.JoinPoints.kind) { _ = Cover.kind } == ["()", "() -> cover of sheet"])
      #expect(heard(of: Sheet.JoinPoints.kind) { _ = Sheet.kind } == ["()", "() -> sheet"])
      #expect(heard(of: Cover.JoinPoints.pageCountChanged) { cover.count = 1 }.count == 2)
      #expect(heard(of: Sheet.JoinPoints.countChanged) { cover.count = 1 }.count == 2)
    }

    @Test func `a value has accessors too`() {
      var point = Point()
      #expect(heard(of: Point.JoinPoints.double) { _ = point.double } == ["()", "() -> 2"])
      #expect(heard(of: Point.JoinPoints.setDouble) { point.double = 8 }.last == "(newValue: 8, ()) -> ()")
      #expect(heard(of: Point.JoinPoints.used) { _ = point.used }.last == "() -> 5")
      #expect(heard(of: Point.JoinPoints.at) { _ = point[UInt8(1)] }.last == "(offset: 1, ()) -> 6")
      #expect(heard(of: Point.JoinPoints.zero) { _ = Point.zero }.last == "() -> \(Point(x: 0))")
    }

    @Test func `a line of an accessor is where it stands in its file`() throws {
      let lines = sheet.lines
      let listed = try #require(JoinPointListing().joinPoints.first { $0.name == "Sheet.lines.get" })
      #expect(lines == [Int(listed.line) + 2, Int(listed.line) + 3])
    }

    /// Of types of these names no other test has any.
    @Test func `accessors are listed`() {
      let names = JoinPointListing().joinPoints.map(\.name)
      #expect(
        names.filter { $0.hasPrefix("Point.") } == [
          "Point.double.get", "Point.double.set", "Point.subscript(_:).get", "Point.used.get", "Point.zero.get",
        ])
    }
  }
#endif
