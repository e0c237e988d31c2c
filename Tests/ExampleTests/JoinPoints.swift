// page: Sources/Weir/Weir.docc/Guides/JoinPoints.md
//
// swift-format-ignore-file: OrderedImports
// What lies between "// snippet" and "// end" is what the page shows: PageTests.swift holds the two together.

#if Macros
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
#endif
