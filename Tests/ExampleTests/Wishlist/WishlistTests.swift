// WishlistTests: what the wishlist page captures, and what each provider gets of it.

#if Macros
  import Synchronization
  import Testing
  import Weir
  import WeirAspects
  import WeirDelivery
  import WeirTesting

  // One after the other: the shop's tracking listens to every wishlist of the process.
  @Suite(.serialized) struct WishlistTests {
    private let shoes = Item(id: 1, sku: "SH-1", price: 80)
    private let hat = Item(id: 2, sku: "HA-2", price: 25)

    private func makePage() -> WishlistPage {
      WishlistPage([shoes, hat], stock: Stock([1: 3]))
    }

    @Test func `a showing of the page is a scope`() throws {
      let spy = try SpyTracker()
      let tracking = ShopTracking(spy.tracker)
      let page = makePage()
      page.appear()
      page.like(shoes)
      page.disappear()

      #expect(spy.names == ["scope.entered", "taste.liked", "scope.exited"])
      let views = spy.all.map(\.context.view)
      #expect(views.allSatisfy { $0 != nil && $0 == views[0] })
      #expect(tracking.wishlist.pages[page] == nil)
    }

    @Test func `a removal is told to both providers`() throws {
      let spy = try SpyTracker()
      let tracking = ShopTracking(spy.tracker)
      let page = makePage()
      page.appear()
      try page.remove(hat)
      #expect(throws: ItemMissing.self) { try page.remove(hat) }

      #expect(spy.events(of: WishlistEvent.self) == [.removed(item: 2, left: 1)])
      #expect(spy.events(of: TasteEvent.self) == [.disliked(sku: "HA-2")])
      #expect(tracking.wishlist.pages[page] != nil)
    }

    @Test func `a move to the cart says how long it took, or why it failed`() async throws {
      let spy = try SpyTracker()
      let tracking = ShopTracking(spy.tracker)
      let page = makePage()
      page.appear()
      #expect(try await page.moveToCart(shoes, count: 2) == 2)
      await #expect(throws: SoldOut.self) { try await page.moveToCart(hat, count: 1) }

      let events = spy.events(of: WishlistEvent.self)
      #expect(
        events.contains {
          if case .movedToCart(item: 1, count: 2, let milliseconds) = $0 { milliseconds >= 0 } else { false }
        })
      #expect(events.contains(.cartFailed(item: 2, reason: "SoldOut")))
      withExtendedLifetime(tracking) {}
    }

    @Test func `the page's sibling and parent are not tracked`() throws {
      let spy = try SpyTracker()
      let tracking = ShopTracking(spy.tracker)
      for page in [RecommendationsPage([shoes]), ItemListPage([shoes])] {
        page.appear()
        page.like(shoes)
        page.disappear()
      }
      #expect(spy.all.isEmpty)
      withExtendedLifetime(tracking) {}
    }

    @Test func `the handler tells any delegate`() throws {
      final class Notes: WishlistDelegate {
        let removals = Mutex<[WishlistInfo]>([])
        func liked(_ item: Item) {}
        func removed(_ item: Item, _ info: WishlistInfo) { removals.withLock { $0.append(info) } }
        func moved(_ item: Item, count: Int, in duration: Duration) {}
        func failedToMove(_ item: Item, _ error: any Error) {}
      }
      let notes = Notes()
      let handler = WishlistHandler(notes, tracker: try SpyTracker().tracker)
      let page = makePage()
      try page.remove(hat)
      #expect(notes.removals.withLock { $0 } == [WishlistInfo(page)])
      withExtendedLifetime(handler) {}
    }

    @Test func `the page is the same without tracking`() throws {
      let page = makePage()
      page.appear()
      #expect(page.like(shoes))
      #expect(!page.like(shoes))
      try page.remove(hat)
      #expect(page.items == [shoes])
    }

    @Test func `each provider gets its events in its own form`() async throws {
      let spy = try SpyTracker()
      let analytics = ScriptedProvider(name: "analytics")
      let recommendations = ScriptedProvider(name: "recommendations")
      let dispatcher = try Dispatcher(spy.tracker)
      try dispatcher.add(contentsOf: [
        analytics.mapped(by: .analytics), recommendations.mapped(by: .recommendations),
      ])
      let tracking = ShopTracking(spy.tracker)
      let page = makePage()
      page.appear()
      try page.remove(hat)
      page.disappear()
      let delivery = Task { try await dispatcher.run(budget: .seconds(600)) }
      delivery.cancel()
      #expect(try await delivery.value.isComplete)

      #expect(analytics.delivered.map(\.name) == ["scope_entered", "wishlist_removed", "scope_exited"])
      #expect(analytics.delivered.allSatisfy { $0.fields["app"] == "shop" && $0.fields["page"] == "wishlist" })
      #expect(recommendations.delivered.map(\.name) == ["dislike"])
      #expect(recommendations.delivered[0].fields == ["sku": "HA-2", "model": "2026-11"])
      withExtendedLifetime(tracking) {}
    }
  }
#endif
