// ShopTracking: where the program puts its tracking together: one line a page, and the dispatchers of
// the two destinations.

#if Macros
  import Weir
  import WeirDelivery
  import WeirScopes

  struct ShopTracking {
    let wishlist: WishlistHandler

    init(_ tracker: Tracker) {
      wishlist = WishlistHandler(WishlistCoordinator(tracker: tracker), tracker: tracker)
    }
  }

  /// What every event of a destination needs, and which events it gets.
  enum Dispatchers {
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
