// ShopTracking: where the program puts its tracking together: one line a page, and the two providers.

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
