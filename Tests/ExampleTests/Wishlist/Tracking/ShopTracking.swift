// ShopTracking: where the program puts its tracking together: one line a page, and what the two providers get.

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

  /// What each provider gets, and in which form.
  extension EventMapper {
    static let analytics = EventMapper(
      .only(WishlistEvent.self, ScopeEvent.self),
      .adding(["app": "shop"]),
      .adding("page") { $0.context.view.map { .string($0.name) } },
      .snakeCase())

    static let recommendations = EventMapper(
      .only(TasteEvent.self),
      .adding(["model": "2026-11"]),
      .renaming(events: ["taste.liked": "like", "taste.disliked": "dislike"]))
  }
#endif
