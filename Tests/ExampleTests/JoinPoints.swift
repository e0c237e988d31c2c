// page: Sources/Weir/Weir.docc/Guides/JoinPoints.md
//
// swift-format-ignore-file: OrderedImports
// What lies between "// snippet" and "// end" is what the page shows: PageTests.swift holds the two together.

#if Macros
  import Foundation
  import Synchronization
  import Testing
  import WeirScopes
  import WeirTesting

  // snippet
  import Weir
  import WeirAspects

  @Instrumented
  class BookPage {
    private(set) var liked: Set<String> = []

    func appear() {}

    func disappear() {}

    /// True if it was not liked before.
    @discardableResult
    func like(_ title: String) -> Bool { liked.insert(title).inserted }
  }
  // end

  @Event enum Books: Equatable {
    case liked(title: String)
    case slow(milliseconds: Double)
    case bought(left: Int32)
  }

  // snippet
  struct LikeTracking {
    private let hook: Hook

    init(_ tracker: Tracker) {
      hook = BookPage.JoinPoints.like.after(.everything) { page, call, outcome in
        if outcome.returned == true { tracker.track(Books.liked(title: call.title)) }
      }
    }
  }
  // end

  // snippet
  final class Shelf {
    static let take = JoinPoint<Shelf, (title: String, ()), Int>("Shelf.take(_:)")

    private var left = 3

    func take(_ title: String) -> Int {
      withJoinPoint(Self.take, self, (title: title, ())) {
        left -= 1
        return left
      }
    }
  }
  // end

  final class NovelPage: BookPage {}

  @Suite(.serialized) struct JoinPointsGuideTests {
    @Test func `a hook hears what was returned`() throws {
      let spy = try SpyTracker()
      let tracking = LikeTracking(spy.tracker)
      let page = BookPage()
      page.like("Emma")
      page.like("Emma")
      #expect(spy.events(of: Books.self) == [.liked(title: "Emma")])
      withExtendedLifetime(tracking) {}
    }

    @Test func `an outcome says how long it took`() throws {
      let (spy, page) = (try SpyTracker(), BookPage())
      let tracker = spy.tracker
      // snippet
      let slow = BookPage.JoinPoints.like.after(.instance(page), timed: true) { _, _, outcome in
        guard let elapsed = outcome.elapsed, outcome.threw == nil else { return }
        tracker.track(Books.slow(milliseconds: elapsed / .milliseconds(1)))
      }
      // end
      page.like("Emma")
      #expect(spy.events(of: Books.self).count == 1)
      slow.detach()
    }

    @Test func `the listing has what nobody listens to`() {
      let hook = BookPage.JoinPoints.like.before(.everything) { _, _ in }
      // snippet
      let unheard = JoinPointListing().joinPoints.filter(\.hooks.isEmpty)
      // end
      let names = unheard.map(\.name)
      #expect(names.contains("BookPage.appear()"))
      #expect(!names.contains("BookPage.like(_:)"))
      hook.detach()
    }

    @Test func `pages are tracked`() throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      // snippet
      let novels = PageTracking("novel", of: .exactly(NovelPage.self), tracker: tracker)
      novels.enters(on: BookPage.JoinPoints.appear)
      novels.exits(on: BookPage.JoinPoints.disappear)
      novels.after(BookPage.JoinPoints.like) { page, call, outcome in
        if outcome.returned == true { tracker.track(Books.liked(title: call.title)) }
      }
      // end
      for page in [NovelPage(), BookPage()] {
        page.appear()
        page.like("Emma")
        page.disappear()
      }
      #expect(spy.names == ["scope.entered", "Books.liked", "scope.exited"])
      withExtendedLifetime(novels) {}
    }

    @Test func `a page on an actor is read inside of its calls`() async throws {
      let spy = try SpyTracker()
      let tracker = spy.tracker
      // snippet
      let carts = PageTracking("cart", of: .exactly(BookCart.self), tracker: tracker)
      carts.enters(on: BookCart.JoinPoints.open)
      carts.after(BookCart.JoinPoints.buy) { cart, _, _ in
        let left = cart.assumeIsolated { $0.books.count }
        tracker.track(Books.bought(left: Int32(clamping: left)))
      }
      // end
      let cart = BookCart()
      await cart.open()
      await cart.buy()
      #expect(spy.events(of: Books.self) == [.bought(left: 1)])
      withExtendedLifetime(carts) {}
    }

    @Test func `a join point by hand is heard`() {
      let heard = Mutex<[String]>([])
      let hook = Shelf.take.after(.everything) { _, call, outcome in
        heard.withLock { $0.append("\(call.title) \(outcome.returned ?? -1)") }
      }
      #expect(Shelf().take("Emma") == 2)
      #expect(heard.withLock { $0 } == ["Emma 2"])
      hook.detach()
    }
  }

  @Instrumented
  actor BookCart {
    var books = ["Emma", "Persuasion"]

    func open() {}

    func buy() { books.removeLast() }
  }

  // snippet
  @Instrumented(only: ["init(isbn:)"])
  class Edition {
    let isbn: String

    init(isbn: String) throws {
      guard isbn.count == 13 else { throw InvalidISBN() }
      self.isbn = isbn
    }
  }
  // end

  struct InvalidISBN: Error {}

  /// Knows nothing of join points.
  final class AudioEdition: Edition {}

  // snippet
  @Instrumented
  class ReadingList {
    private var titles: [String] = []

    var next: String? {
      get { titles.last }
      @JoinPoint("setNext") set { if let newValue { titles.append(newValue) } }
    }

    subscript(place: Int) -> String { @JoinPoint("title") get { titles[place] } }

    var goal: Int = 12 { @JoinPoint("goalChanged") didSet {} }
  }
  // end

  // snippet
  extension ReadingList {
    static let countPoint = JoinPoint<ReadingList, (), Int>("ReadingList.count.get")

    var count: Int { withJoinPoint(Self.countPoint, self, ()) { titles.count } }
  }
  // end

  // snippet
  @Instrumented
  class Cache<Value: Sendable> {
    private var values: [String: Value] = [:]

    func store(_ value: Value, for key: String) { values[key] = value }
  }
  // end

  extension ReachOfJoinPointsTests {
    @Test func `a generic class is heard`() {
      let heard = heard
      // snippet
      let covers = CacheJoinPoints.store.before(.exactly(Cache<Data>.self)) { cache, call in
        heard.add("\(call.key): \((call.value as? Data)?.count ?? 0) bytes")
      }
      // end
      Cache<Data>().store(Data(count: 3), for: "emma")
      Cache<Int>().store(3, for: "emma")
      covers.detach()
      #expect(heard.all == ["emma: 3 bytes"])
    }
  }

  // snippet
  @Instrumented
  final class Download: Operation, @unchecked Sendable {
    @JoinPoint(root: true) override func main() { load() }

    func load() {}
  }
  // end

  protocol BookIndex: Sendable {
    func find(_ title: String) async throws -> Int?
  }

  /// Of another package.
  struct Library: BookIndex {
    func find(_ title: String) -> Int? { title == "Emma" ? 7 : nil }
  }

  // snippet
  @Instrumented
  struct Traced<Base: BookIndex>: BookIndex {
    let base: Base

    func find(_ title: String) async throws -> Int? { try await base.find(title) }
  }
  // end

  extension BookIndex {
    // A protocol's extension has no static property either.
    func has(_ title: String) async throws -> Bool {
      try await withJoinPoint(hasPoint, self, (title: title, ())) { try await find(title) != nil }
    }
  }

  private let hasPoint = JoinPoint<any BookIndex, (title: String, ()), Bool>("BookIndex.has(_:)")

  @Suite(.serialized) struct ReachOfJoinPointsTests {
    private let heard = Told()

    @Test func `an initialiser is heard, of a subclass too`() throws {
      let heard = heard
      let hook = Edition.JoinPoints.initIsbn.after(.everything) { type, call, outcome in
        heard.add("\(type) \(outcome.returned?.isbn ?? "none")")
      }
      _ = try Edition(isbn: "9780141439587")
      _ = try AudioEdition(isbn: "9780141439587")
      #expect(throws: InvalidISBN.self) { try Edition(isbn: "1") }
      hook.detach()
      #expect(heard.all == ["Edition 9780141439587", "AudioEdition 9780141439587", "Edition none"])
    }

    @Test func `accessors are heard`() {
      let heard = heard
      let list = ReadingList()
      let hooks = [
        ReadingList.JoinPoints.setNext.before(.instance(list)) { _, call in heard.add(call.newValue ?? "none") },
        ReadingList.JoinPoints.title.after(.instance(list)) { _, call, outcome in
          heard.add("\(call.place) \(outcome.returned ?? "")")
        },
        ReadingList.JoinPoints.goalChanged.before(.instance(list)) { list, _ in heard.add("\(list.goal)") },
        ReadingList.countPoint.after(.everything) { _, _, outcome in heard.add("\(outcome.returned ?? -1)") },
      ]
      list.next = "Emma"
      #expect(list.next == "Emma")
      #expect(list[0] == "Emma")
      list.goal += 1
      #expect(list.count == 1)
      for hook in hooks { hook.detach() }
      #expect(heard.all == ["Emma", "0 Emma", "13", "1"])
    }

    @Test func `classes and protocols of other packages are heard`() async throws {
      let heard = heard
      let hooks = [
        Download.JoinPoints.main.before(.everything) { _, _ in heard.add("main") },
        TracedJoinPoints.find.after(.everything) { traced, call, outcome in
          heard.add("\(type(of: traced)) \(call.title) \(outcome.returned.flatMap { $0 } ?? 0)")
        },
        hasPoint.after(.everything) { index, _, outcome in
          heard.add("\(type(of: index)) \(outcome.returned == true)")
        },
      ]
      Download().start()
      let index: any BookIndex = Traced(base: Library())
      #expect(try await index.has("Emma"))
      for hook in hooks { hook.detach() }
      #expect(heard.all == ["main", "Traced<Library> Emma 7", "Traced<Library> true"])
    }
  }

  /// What advice heard, in order.
  private final class Told: Sendable {
    private let texts = Mutex<[String]>([])

    var all: [String] { texts.withLock { $0 } }

    func add(_ text: String) { texts.withLock { $0.append(text) } }
  }
#endif
