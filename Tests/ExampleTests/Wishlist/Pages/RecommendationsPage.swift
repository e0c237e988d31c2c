// RecommendationsPage: what somebody might like, a sibling of the wishlist.

#if Macros
  import Weir
  import WeirAspects

  @Instrumented
  final class RecommendationsPage: ItemListPage {
    func refresh() {}
  }
#endif
