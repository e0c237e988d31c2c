// WishlistHandler: listens to every wishlist, and tells a delegate what happens. It names no event.

#if Macros
  import Weir
  import WeirAspects

  struct WishlistHandler: Sendable {
    let pages: PageTracking<WishlistPage>

    init(_ delegate: some WishlistDelegate, tracker: Tracker) {
      pages = PageTracking("wishlist", of: .exactly(WishlistPage.self), tracker: tracker)
      pages.enters(on: ItemListPage.JoinPoints.appear)
      pages.exits(on: ItemListPage.JoinPoints.disappear)
      WishlistHooks.attach(to: pages, telling: delegate)
    }
  }
#endif
