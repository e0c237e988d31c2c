// What @JoinPoint and @Instrumented write, at work: each form of function is called, does what it did without them, and
// tells its hooks what it was called with and what came of it.

#if Macros
  import Testing
  import Weir
  import WeirAspects

  private struct Refused: Error, Equatable { var code = 1 }

  private func stop() -> Never { fatalError("not to be called") }

  /// Every way to end.
  @Instrumented
  private final class Endings {
    var steps: [String] = []

    func nothing() {}
    func plain(_ x: Int) -> Int { x + 1 }
    func early(_ x: Int) -> String {
      defer { steps.append("left") }
      guard x > 0 else { return "none" }
      for y in 0..<x {
        switch y {
        case 3: return "three"
        default: do { if x == 2 { return "two" } }
        }
      }
      return "end"
    }
    func bare(_ x: Int) {
      if x > 1 { return }
      steps.append("bare")
    }
    func ofNothing() { return nothing() }
    // swift-format-ignore: NoVoidReturnOnFunctionSignature
    func explicitNothing() -> Void { steps.append("void") }
    // swift-format-ignore: NoVoidReturnOnFunctionSignature
    func unit() -> () { return () }
    func branches(_ x: Int) throws -> String {
      if x == 1 {
        "one"
      } else if x == 2 {
        throw Refused(code: 2)
      } else {
        switch x {
        case 3: try thrown(0)
        case 4: stop()
        default: "many"
        }
      }
    }
    func returnedBranches(_ x: Int) -> Int? { return if x > 1 { x } else { nil } }
    func statement(_ x: Int) -> Int { if x > 1 { return 1 } else { return 2 } }
    func thrown(_ x: Int) throws -> String {
      if x > 0 { throw Refused(code: x) }
      return "fine"
    }
    func typed(_ x: Int) throws(Refused) -> Int {
      if x > 0 { throw Refused(code: x) }
      return 7
    }
    func neverThrown() throws -> Int { 5 }
    func caught(_ x: Int) throws -> Int {
      do { return try typed(x) } catch { return -error.code }
    }
    func stops() -> Int { stop() }
    func unreachable() -> Int { fatalError("not to be called") }
    func never() -> Never { stop() }
    func literal() -> Double? { 1 }
    func array() -> [any CustomStringConvertible] { [1, "a"] }
    func pair() -> (left: Int, right: Double) { (1, 2) }
    func function() -> @Sendable (Int) -> Int { { $0 + 1 } }
    func implicitlyUnwrapped(_ x: Int!) -> Int! { x }
    func inner(_ x: Int) -> Int {
      func twice(_ y: Int) -> Int { return y * 2 }
      struct Local { var value: Int { return 4 } }
      let closure = { (y: Int) -> Int in return y + 1 }
      return closure(twice(x)) + Local().value
    }
    func conditional() -> Int {
      #if WEIR_NEVER
        1
      #else
        2
      #endif
    }
    @discardableResult func discardable() -> Int { 3 }
    func capturing(_ x: Int) throws -> Int {
      let later: (Int) throws -> Int = { [weak self] y in
        guard let self else { return 0 }
        self.steps.append(#function)
        if y < 0 { throw Refused() }
        return self.plain(y)
      }
      return try later(x)
    }
    func line() -> [Int] {
      [#line, #line]
    }
    @available(*, deprecated) func old() -> Int { 1 }
    func sent() -> sending [Int] { [1] }
  }

  /// One at a time: hooks on every call hear those of other tests, too.
  @Suite(.serialized) struct JoinPointRoundTripTests {
    private let endings = Endings()

    private func check<Parameters, Returned>(
      _ joinPoint: borrowing JoinPoint<Endings, Parameters, Returned>, _ expected: [String],
      _ call: (Endings) throws -> Void, at place: SourceLocation = #_sourceLocation
    ) rethrows {
      let heard = try heard(of: joinPoint) { try call(endings) }
      #expect(heard == expected, sourceLocation: place)
    }

    @Test func `a result is told`() throws {
      check(Endings.JoinPoints.nothing, ["()", "() -> ()"]) { $0.nothing() }
      check(Endings.JoinPoints.plain, ["(x: 2, ())", "(x: 2, ()) -> 3"]) { #expect($0.plain(2) == 3) }
      check(Endings.JoinPoints.statement, ["(x: 2, ())", "(x: 2, ()) -> 1"]) { #expect($0.statement(2) == 1) }
      check(Endings.JoinPoints.literal, ["()", "() -> Optional(1.0)"]) { #expect($0.literal() == 1) }
      check(Endings.JoinPoints.array, ["()", "() -> [1, \"a\"]"]) { #expect($0.array().count == 2) }
      check(Endings.JoinPoints.pair, ["()", "() -> (left: 1, right: 2.0)"]) { #expect($0.pair().right == 2) }
      check(Endings.JoinPoints.function, ["()", "() -> (Function)"]) { #expect($0.function()(1) == 2) }
      check(Endings.JoinPoints.implicitlyUnwrapped, ["(x: Optional(1), ())", "(x: Optional(1), ()) -> Optional(1)"]) {
        #expect($0.implicitlyUnwrapped(1) == 1)
      }
      check(Endings.JoinPoints.conditional, ["()", "() -> 2"]) { #expect($0.conditional() == 2) }
      check(Endings.JoinPoints.discardable, ["()", "() -> 3"]) { $0.discardable() }
    }

    @Test(arguments: [(0, "none"), (1, "end"), (2, "two"), (5, "three")])
    func `an early return is told`(x: Int, result: String) {
      let told = ["(x: \(x), ())", "(x: \(x), ()) -> \(result)"]
      check(Endings.JoinPoints.early, told) { #expect($0.early(x) == result) }
      #expect(endings.steps == ["left"])
    }

    @Test func `a call that returns nothing is told`() {
      check(Endings.JoinPoints.bare, ["(x: 2, ())", "(x: 2, ()) -> ()"]) { $0.bare(2) }
      check(Endings.JoinPoints.bare, ["(x: 1, ())", "(x: 1, ()) -> ()"]) { $0.bare(1) }
      check(Endings.JoinPoints.ofNothing, ["()", "() -> ()"]) { $0.ofNothing() }
      check(Endings.JoinPoints.explicitNothing, ["()", "() -> ()"]) { $0.explicitNothing() }
      check(Endings.JoinPoints.unit, ["()", "() -> ()"]) { $0.unit() }
      // It may be touched by nobody but the caller.
      check(Endings.JoinPoints.sent, ["()", "() -> ()"]) { #expect($0.sent() == [1]) }
      #expect(endings.steps == ["bare", "void"])
    }

    @Test func `branches that are values are told`() throws {
      try check(Endings.JoinPoints.branches, ["(x: 1, ())", "(x: 1, ()) -> one"]) {
        let found = try $0.branches(1)
        #expect(found == "one")
      }
      check(Endings.JoinPoints.branches, ["(x: 2, ())", "(x: 2, ()) !! Refused(code: 2)"]) { endings in
        #expect(throws: Refused(code: 2)) { try endings.branches(2) }
      }
      try check(Endings.JoinPoints.branches, ["(x: 3, ())", "(x: 3, ()) -> fine"]) { _ = try $0.branches(3) }
      try check(Endings.JoinPoints.branches, ["(x: 5, ())", "(x: 5, ()) -> many"]) { _ = try $0.branches(5) }
      check(Endings.JoinPoints.returnedBranches, ["(x: 1, ())", "(x: 1, ()) -> nil"]) { _ = $0.returnedBranches(1) }
      check(Endings.JoinPoints.returnedBranches, ["(x: 2, ())", "(x: 2, ()) -> Optional(2)"]) {
        #expect($0.returnedBranches(2) == 2)
      }
    }

    @Test func `a thrown error is told`() throws {
      check(Endings.JoinPoints.thrown, ["(x: 3, ())", "(x: 3, ()) !! Refused(code: 3)"]) { endings in
        #expect(throws: Refused(code: 3)) { try endings.thrown(3) }
      }
      check(Endings.JoinPoints.typed, ["(x: 3, ())", "(x: 3, ()) !! Refused(code: 3)"]) { endings in
        do throws(Refused) { _ = try endings.typed(3) } catch { #expect(error.code == 3) }
      }
      try check(Endings.JoinPoints.typed, ["(x: 0, ())", "(x: 0, ()) -> 7"]) {
        let found = try $0.typed(0)
        #expect(found == 7)
      }
      try check(Endings.JoinPoints.neverThrown, ["()", "() -> 5"]) {
        let found = try $0.neverThrown()
        #expect(found == 5)
      }
      try check(Endings.JoinPoints.caught, ["(x: 3, ())", "(x: 3, ()) -> -3"]) {
        let found = try $0.caught(3)
        #expect(found == -3)
      }
    }

    @Test func `the results of inner functions are their own`() {
      check(Endings.JoinPoints.inner, ["(x: 1, ())", "(x: 1, ()) -> 7"]) { #expect($0.inner(1) == 7) }
    }

    @Test func `a closure may list what it captures`() throws {
      try check(Endings.JoinPoints.capturing, ["(x: 1, ())", "(x: 1, ()) -> 2"]) {
        let found = try $0.capturing(1)
        #expect(found == 2)
      }
      check(Endings.JoinPoints.capturing, ["(x: -1, ())", "(x: -1, ()) !! Refused(code: 1)"]) { endings in
        #expect(throws: Refused()) { try endings.capturing(-1) }
      }
      #expect(endings.steps == ["capturing(_:)", "capturing(_:)"])
    }

    @Test func `a line of a body is where it stands in its file`() throws {
      let lines = endings.line()
      let listed = try #require(JoinPointListing().joinPoints.first { $0.name == "Endings.line()" })
      #expect(lines == [Int(listed.line) + 1, Int(listed.line) + 1])
      #expect(listed.file == "WeirMacrosTests/JoinPointRoundTripTests.swift")
    }

    /// Compiled on, though of a function that never returns there is nothing to tell.
    @Test func `a function that never returns has a join point`() {
      let names = Set(JoinPointListing().joinPoints.map(\.name))
      #expect(names.isSuperset(of: ["Endings.stops()", "Endings.unreachable()", "Endings.never()", "Endings.old()"]))
    }
  }
#endif
