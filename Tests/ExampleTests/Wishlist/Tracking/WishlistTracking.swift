// WishlistTracking: all hooks of the page. It knows when something happens, not what is sent for it.

#if Macros
  import Weir
  import WeirAspects
  import WeirScopes

  final class WishlistTracking: TrackingHandler<WishlistPage, WishlistInfo, WishlistCoordinator>, @unchecked Sendable {
    init(_ page: WishlistPage, _ coordinator: WishlistCoordinator, lifeCycle: LifeCycle? = nil) {
      super.init(page, delegate: coordinator, lifeCycle: lifeCycle) { WishlistInfo($0) }

      after(ItemListPage.JoinPoints.like) { tracking, _, call, outcome in
        if case .success(true) = outcome { tracking.delegate.liked(call.item) }
      }
      after(ItemListPage.JoinPoints.remove) { tracking, page, call, outcome in
        if case .success = outcome { tracking.delegate.removed(call.item, tracking.info(of: page)) }
      }
      hold(
        WishlistPage.JoinPoints.moveToCart.after(on: page) { [coordinator] _, call, outcome, duration in
          switch outcome {
          case .success: coordinator.moved(call.item, count: call.count, in: duration)
          case .failure(let error): coordinator.failedToMove(call.item, error)
          }
        })
    }
  }
#endif
