// WishlistCoordinator: makes of what happened the events of each provider.

#if Macros
  import Weir
  import WeirAspects

  final class WishlistCoordinator: ScopeCoordinator {
    typealias Info = WishlistInfo

    let page: ScopeSlot

    init(_ tracker: Tracker) {
      page = ScopeSlot("wishlist", tracker: tracker)
    }

    func liked(_ item: Item) {
      page.track(TasteEvent.liked(sku: item.sku))
    }

    func removed(_ item: Item, _ info: WishlistInfo) {
      page.track(WishlistEvent.removed(item: item.id, left: Int32(clamping: info.count)))
      page.track(TasteEvent.disliked(sku: item.sku))
    }

    func moved(_ item: Item, count: Int, in duration: Duration) {
      let milliseconds = duration / .milliseconds(1)
      page.track(
        WishlistEvent.movedToCart(item: item.id, count: Int32(clamping: count), milliseconds: milliseconds))
    }

    func failedToMove(_ item: Item, _ error: any Error) {
      page.track(WishlistEvent.cartFailed(item: item.id, reason: "\(type(of: error))"))
    }
  }
#endif
