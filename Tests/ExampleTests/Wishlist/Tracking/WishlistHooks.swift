// WishlistHooks: which calls of the page are heard, and what is told of each.

#if Macros
  import Weir
  import WeirAspects

  enum WishlistHooks {
    static func attach(to pages: PageTracking<WishlistPage>, telling delegate: some WishlistDelegate) {
      pages.after(ItemListPage.JoinPoints.like) { _, call, outcome in
        if outcome.returned == true { delegate.liked(call.item) }
      }
      pages.after(ItemListPage.JoinPoints.remove) { page, call, outcome in
        if outcome.threw == nil { delegate.removed(call.item, WishlistInfo(page)) }
      }
      pages.after(WishlistPage.JoinPoints.moveToCart, timed: true) { _, call, outcome in
        if let error = outcome.threw {
          delegate.failedToMove(call.item, error)
        } else {
          delegate.moved(call.item, count: call.count, in: outcome.elapsed ?? .zero)
        }
      }
    }
  }
#endif
