// Join points of initialisers: what hooks hear of each way to make an object, or to fail to.

#if Macros
  import Testing
  import Weir
  import WeirAspects

  private struct Refused: Error, Equatable { var code = 1 }

  private class Base {
    let base: Int

    init(base: Int) throws {
      guard base >= 0 else { throw Refused(code: base) }
      self.base = base
    }
  }

  @Instrumented(only: ["init"])
  private class Item: Base {
    let title: String
    private(set) var steps: [String] = []

    init(title: String) throws {
      guard !title.isEmpty else { throw Refused() }
      self.title = title
      try super.init(base: title == "negative" ? -1 : 1)
      if title == "early" { return }
      steps.append("made")
    }
    convenience init?(maybe title: String?) throws(Refused) {
      guard let title else { return nil }
      if title == "?" { throw Refused(code: 2) }
      do { try self.init(title: title) } catch { throw Refused(code: 3) }
      steps.append("maybe")
    }
    /// The initialiser that it calls may return nil, which ends this one.
    convenience init?(first titles: [String]) throws {
      try self.init(maybe: titles.first)
    }
    required init(_ number: Int) async {
      title = "\(number)"
      await Task.yield()
      do { try super.init(base: number) } catch { fatalError("\(error)") }
      Self.count(self)
    }
    static func count(_ item: Item) {}
  }

  /// Makes no join points, and is heard all the same.
  private class Book: Item {
    let pages = 3
    override init(title: String) throws { try super.init(title: title + "!") }
    required init(_ number: Int) async { await super.init(number) }
  }

  @Instrumented
  private final class Novel: Book {
    @JoinPoint override init(title: String) throws { try super.init(title: title) }
    @JoinPoint required init(_ number: Int) async { await super.init(number + 1) }
  }

  private struct Size: Equatable {
    let width: Int
    var height = 1

    @JoinPoint init(width: Int) { self.width = width }
    @JoinPoint("square") init(square side: Int) {
      self.init(width: side)
      height = side
    }
    @JoinPoint init<Number: BinaryInteger>(exactly number: Number, _ log: (String) -> Void) {
      log(#function)
      width = Int(number)
    }
  }
  extension Size {
    @JoinPoint init?(text: String) {
      switch text {
      case "one": self.init(width: 1)
      case "two":
        self = Size(square: 2)
        return
      default: return nil
      }
    }
  }

  @Instrumented(only: ["init(level:)"])
  private enum Level: Equatable {
    case low, high

    init!(level: Int) {
      if level > 9 { return nil }
      self = level > 3 ? .high : .low
    }
  }

  @Instrumented(only: ["init"])
  private actor Counter {
    var count: Int

    init(count: Int) { self.count = count }
    init(slowly count: Int) async {
      self.count = count
      await Task.yield()
      add()
    }
    func add() { count += 1 }
  }

  /// By hand, as no macro does: the owner is the type, for the object is going.
  private final class Lease {
    static let endPoint = JoinPoint<Lease.Type, (name: String, ()), Void>("Lease.deinit")
    let name: String

    init(name: String) { self.name = name }
    deinit { withJoinPoint(Self.endPoint, Lease.self, (name: name, ())) {} }
  }

  @MainActor @Instrumented(only: ["init"])
  private final class Screen {
    var title: String
    init(title: String) {
      self.title = title
      show()
    }
    func show() { title += "!" }
  }

  /// One at a time: hooks on every call hear those of other tests, too.
  @Suite(.serialized) struct InitializerTests {
    @Test func `the object is what was returned`() throws {
      let heard = Heard()
      let hooks = [
        Item.JoinPoints.initTitle.before(.everything) { type, call in heard.note("\(type) of \(call.title)") },
        Item.JoinPoints.initTitle.after(.everything) { type, call, outcome in
          heard.note("\(type) \(outcome.returned?.title ?? "none") \(outcome.returned?.steps ?? [])")
        },
      ]
      let item = try Item(title: "a")
      _ = try Item(title: "early")
      for hook in hooks { hook.detach() }
      #expect(item.steps == ["made"])
      #expect(heard.all == ["Item of a", "Item a [\"made\"]", "Item of early", "Item early []"])
    }

    @Test func `an object that was not made is told`() {
      #expect(
        heard(of: Item.JoinPoints.initTitle) { _ = try? Item(title: "") }
          == ["(title: \"\", ())", "(title: \"\", ()) !! Refused(code: 1)"])
      #expect(
        heard(of: Item.JoinPoints.initTitle) { _ = try? Item(title: "negative") }.last
          == "(title: \"negative\", ()) !! Refused(code: -1)")
      #expect(
        heard(of: Item.JoinPoints.initMaybe) { _ = try? Item(maybe: nil) }
          == ["(title: nil, ())", "(title: nil, ()) -> nil"])
      #expect(
        heard(of: Item.JoinPoints.initMaybe) { _ = try? Item(maybe: "?") }.last
          == "(title: Optional(\"?\"), ()) !! Refused(code: 2)")
      #expect(
        heard(of: Item.JoinPoints.initMaybe) { _ = try? Item(maybe: "") }.last
          == "(title: Optional(\"\"), ()) !! Refused(code: 3)")
      #expect(heard(of: Item.JoinPoints.initFirst) { _ = try? Item(first: []) }.last == "(titles: [], ()) -> nil")
      #expect(
        heard(of: Item.JoinPoints.initFirst) { _ = try? Item(first: ["?"]) }.last
          == "(titles: [\"?\"], ()) !! Refused(code: 2)")
    }

    @Test func `an initialiser that calls another one is a call of both`() throws {
      let heard = Heard()
      let hooks = [
        Item.JoinPoints.initTitle.after(.everything) { _, _, outcome in
          heard.note("title \(outcome.returned?.steps ?? [])")
        },
        Item.JoinPoints.initMaybe.after(.everything) { _, _, outcome in
          heard.note("maybe \(outcome.returned??.steps ?? [])")
        },
      ]
      _ = try Item(maybe: "a")
      for hook in hooks { hook.detach() }
      #expect(heard.all == ["title [\"made\"]", "maybe [\"made\", \"maybe\"]"])
    }

    /// Every object is made by an initialiser of each class above.
    @Test func `objects of a subclass are heard without its consent`() async throws {
      let heard = Heard()
      let hooks = [
        Item.JoinPoints.initTitle.before(.exactly(Book.self)) { type, call in heard.note("\(type) \(call.title)") },
        Item.JoinPoints.initTitle.after(.kind(of: Book.self)) { type, _, outcome in
          heard.note("\(outcome.returned.map { "\(Swift.type(of: $0))" } ?? "none")")
        },
        Item.JoinPoints.initializer.after(.everything) { type, call, _ in heard.note("\(type) \(call.number)") },
      ]
      #expect(try Item(title: "a").title == "a")
      #expect(try Book(title: "b").title == "b!")
      #expect(try Novel(title: "c").title == "c!")
      #expect(await Novel(1).title == "2")
      for hook in hooks { hook.detach() }
      #expect(heard.all == ["Book b!", "Book", "Novel", "Novel 2"])
    }

    @Test func `an initialiser that overrides is a join point of its own`() async throws {
      #expect(
        try heard(of: Novel.JoinPoints.initTitle) { _ = try Novel(title: "c") }.first == "(title: \"c\", ())")
      #expect(await heard(of: Novel.JoinPoints.initializer) { _ = await Novel(1) }.first == "(number: 1, ())")
    }

    @Test func `a value is what was returned`() {
      #expect(heard(of: Size.initWidthJoinPoint) { _ = Size(width: 3) }.last == "(width: 3, ()) -> \(Size(width: 3))")
      #expect(heard(of: Size.squareJoinPoint) { _ = Size(square: 3) }.last == "(side: 3, ()) -> \(Size(square: 3))")
      #expect(
        heard(of: Size.initExactlyJoinPoint) { _ = Size(exactly: UInt8(3)) { _ = $0 } }.last
          == "(number: 3, ()) -> \(Size(width: 3))")
      #expect(
        heard(of: Size.initTextJoinPoint) { _ = Size(text: "two") }.last
          == "(text: \"two\", ()) -> Optional(\(String(reflecting: Size(square: 2))))")
      #expect(heard(of: Size.initTextJoinPoint) { _ = Size(text: "") }.last == "(text: \"\", ()) -> nil")
      #expect(heard(of: Level.JoinPoints.initLevel) { _ = Level(level: 4) }.count == 2)
      #expect(heard(of: Level.JoinPoints.initLevel) { _ = Level(level: 10) }.last == "(level: 10, ()) -> nil")
    }

    @Test func `an actor is made`() async {
      #expect(heard(of: Counter.JoinPoints.initCount) { _ = Counter(count: 1) }.count == 2)
      let heard = await heard(of: Counter.JoinPoints.initSlowly) { #expect(await Counter(slowly: 1).count == 2) }
      #expect(heard.count == 2)
    }

    @MainActor @Test func `an object on the main actor is made`() {
      let heard = Heard()
      let hook = Screen.JoinPoints.initTitle.after(.everything) { _, _, outcome in
        MainActor.assumeIsolated { heard.note(outcome.returned?.title ?? "") }
      }
      _ = Screen(title: "a")
      hook.detach()
      #expect(heard.all == ["a!"])
    }

    @Test func `the end of an object may be told by hand`() {
      #expect(heard(of: Lease.endPoint) { _ = Lease(name: "a") } == ["(name: \"a\", ())", "(name: \"a\", ()) -> ()"])
    }

    /// Of types of these names no other test has any.
    @Test func `initialisers are listed`() {
      let names = JoinPointListing().joinPoints.map(\.name)
      #expect(
        names.filter { $0.hasPrefix("Item.init") }
          == ["Item.init(_:)", "Item.init(first:)", "Item.init(maybe:)", "Item.init(title:)"])
      #expect(names.filter { $0.hasPrefix("Novel.") } == ["Novel.init(_:)", "Novel.init(title:)"])
    }
  }
#endif
