// RecommendationsPage: what somebody might like, a sibling of the wishlist.

#if Macros
  import Weir

  @Instrumented
  final class RecommendationsPage: ItemListPage {
    func refresh() {}
  }
#endif
