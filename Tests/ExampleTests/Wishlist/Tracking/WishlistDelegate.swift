// WishlistDelegate: what is told of a wishlist. A test may put a delegate of its own in the coordinator's place.

#if Macros
  protocol WishlistDelegate: Sendable {
    func liked(_ item: Item)
    func removed(_ item: Item, _ info: WishlistInfo)
    func moved(_ item: Item, count: Int, in duration: Duration)
    func failedToMove(_ item: Item, _ error: any Error)
  }
#endif
