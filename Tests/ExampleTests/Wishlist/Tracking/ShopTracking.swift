// ShopTracking: where the program puts its tracking together: one line a page, and the two destinations.

#if Macros
  import Weir
  import WeirAspects
  import WeirDelivery
  import WeirScopes

  struct ShopTracking {
    let wishlists: TrackingHandlers<WishlistTracking>

    init(_ tracker: Tracker, lifeCycle: LifeCycle? = nil) {
      wishlists = TrackingHandlers(
        exactly: WishlistPage.self, entering: ItemListPage.JoinPoints.appear,
        leaving: ItemListPage.JoinPoints.disappear
      ) { page in WishlistTracking(page, WishlistCoordinator(tracker), lifeCycle: lifeCycle) }
    }
  }

  /// What every event of a destination needs, and which events it gets.
  enum Destinations {
    static func analytics(_ provider: any Provider) -> ProviderDispatcher {
      ProviderDispatcher(
        to: provider, only: [WishlistEvent.self, ScopeEvent.self],
        fields: [
          GenericField("app", "shop"),
          GenericField("page") { $0.context.view.map { .string($0.name) } },
        ],
        mapper: EventMapper(.snakeCase()))
    }

    static func recommendations(_ provider: any Provider) -> ProviderDispatcher {
      ProviderDispatcher(
        to: provider, only: [TasteEvent.self], fields: [GenericField("model", "2026-11")],
        mapper: EventMapper(.renameEvents(["taste.liked": "like", "taste.disliked": "dislike"])))
    }
  }
#endif
