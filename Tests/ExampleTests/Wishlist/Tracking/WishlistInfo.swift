// WishlistInfo: the raw facts about the page when something happens.

#if Macros
  struct WishlistInfo: Hashable, Sendable {
    let count: Int
    let total: Double

    init(_ page: WishlistPage) {
      count = page.items.count
      total = page.items.reduce(0) { $0 + $1.price }
    }
  }
#endif
