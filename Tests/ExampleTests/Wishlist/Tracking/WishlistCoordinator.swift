// WishlistCoordinator: makes of what happened the events of each destination.

#if Macros
  import Weir

  struct WishlistCoordinator: WishlistDelegate {
    let tracker: Tracker

    func liked(_ item: Item) {
      tracker.track(TasteEvent.liked(sku: item.sku))
    }

    func removed(_ item: Item, _ info: WishlistInfo) {
      tracker.track(WishlistEvent.removed(item: item.id, left: Int32(clamping: info.count)))
      tracker.track(TasteEvent.disliked(sku: item.sku))
    }

    func moved(_ item: Item, count: Int, in duration: Duration) {
      let milliseconds = duration / .milliseconds(1)
      tracker.track(
        WishlistEvent.movedToCart(item: item.id, count: Int32(clamping: count), milliseconds: milliseconds))
    }

    func failedToMove(_ item: Item, _ error: any Error) {
      tracker.track(WishlistEvent.cartFailed(item: item.id, reason: "\(type(of: error))"))
    }
  }
#endif
