// WishlistEvents: what is captured, a type for each provider.

#if Macros
  import Weir

  /// For analytics: what people do with their wishlist.
  @Event("wishlist")
  enum WishlistEvent: Hashable {
    case removed(item: UInt64, left: Int32)
    case movedToCart(item: UInt64, count: Int32, milliseconds: Double)
    case cartFailed(item: UInt64, reason: String)
  }

  /// For recommendations: what people like, by SKU, which is what that service knows.
  @Event("taste")
  enum TasteEvent: Hashable {
    case liked(sku: String)
    case disliked(sku: String)
  }
#endif
