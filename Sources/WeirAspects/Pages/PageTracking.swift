// PageTracking: hooks that track pages from outside, so that the pages contain no tracking code.

public import Weir
public import WeirScopes

/// Tracks pages (views, screens, requests): gives each showing of a page a `Scope`, and runs advice inside of the
/// scope.
///
/// ```swift
/// let wishlists = PageTracking("wishlist", of: .exactly(WishlistPage.self), tracker: tracker)
/// wishlists.enters(on: WishlistPage.JoinPoints.appear)
/// wishlists.exits(on: WishlistPage.JoinPoints.disappear)
/// wishlists.after(WishlistPage.JoinPoints.remove) { page, call, outcome in
///   guard outcome.threw == nil else { return }
///   tracker.track(Wishlist.removed(item: call.item.id, left: page.items.count))
/// }
/// ```
///
/// **Showings.** A showing begins with the call that enters the page, and ends with the call that leaves the page. Both
/// capture a `ScopeEvent`, with the user who was bound where the showing began. Two showings of one page have two
/// scopes. A page that is entered twice stays in its first showing. While a page is not entered, suspending, resuming
/// and leaving do nothing.
///
/// **Advice** runs inside of the page's scope, if the page is entered: `tracker.track` captures events of that scope,
/// with the user and the fields that are bound where the page was called. Within advice, `Scope.current` is the page's
/// scope. Advice may end the scope, by an interaction that depends on the outcome. Hooks fire in the order of
/// attaching. If advice is on the join point of an entrance or an exit, attach ``enters(on:file:line:)`` first, and
/// ``exits(on:interaction:file:line:)`` last.
///
/// **The process.** A `LifeCycle` of the tracker suspends and resumes the scopes, and ends the scopes with `shutdown`.
///
/// **Lifetime.** The program must keep the tracking. The tracking retains no page. When the tracking is released, its
/// hooks are detached, and the pages that are still entered are left by `released`. The last reference may be released
/// under any lock, because the release waits for nothing. A page that was deallocated without being left is left by
/// `released` when the next page is entered; with 32 or more entered pages, at the latest when as many pages again
/// were entered. Until then the page's memory stays allocated.
///
/// **Join points** must belong to the page's class or to one of its superclasses. Any other join point traps. Advice
/// reads a page on an actor with `assumeIsolated`, because advice runs inside of the page's own calls.
///
/// **Threads.** Every method may be called from any thread. Advice runs on the threads of the page's calls. In a forked
/// child nothing is tracked.
///
/// **Cost.** Beside the hook and the scope, each observed call costs a look-up under a lock. Advice also costs the
/// binding of the scope: see `Scope.run(_:)`.
///
/// **Crash.** Captured events survive. A page that was entered when the process died has no exit event.
public final class PageTracking<Page: AnyObject>: Sendable {
  let pages: OpenPages<Page>
  private let hooks = ProcessLock<[Hook]>([])

  /// The target without its object, which must not be retained. Sendable because an address is only compared.
  nonisolated(unsafe) private let whom: AttachedHook.Whom
  private let words: String
  /// The page, if the target is a single page. Sendable because any thread may read a weak reference that no thread
  /// writes.
  nonisolated(unsafe) private weak var page: Page?

  /// Creates a tracking that listens to no join point yet.
  ///
  /// - Parameters:
  ///   - name: The name of the scopes.
  ///   - target: The pages: `.exactly(WishlistPage.self)`, `.kind(of: WishlistPage.self)` with the subclasses, or
  ///     `.instance(page)`. `.everything` is every page of the class and its subclasses.
  ///   - tracker: The tracker that captures the scopes' events. Retained.
  public init(_ name: String, of target: Hook.Target<Page, Page>, tracker: Tracker) {
    pages = OpenPages(name, tracker)
    // Every call of a superclass's join point includes the calls of other pages.
    if case .everything = target.whom { whom = .kind(address(Page.self)) } else { whom = target.whom }
    words = target.words
    page = target.object as? Page
  }

  deinit {
    pages.close()
  }

  /// The scope of the page's showing; `nil` if the page is not entered.
  public subscript(page: Page) -> Scope? { pages.scope(of: page) }

  // MARK: Showings

  /// Enters the page when the join point's method is called, before the method's body runs.
  public func enters<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(joinPoint.before(target, file: file, line: line) { [pages] page, _ in pages.enter(page) })
  }

  /// Leaves the page by `interaction` after each call of the join point's method, also if the method threw. If leaving
  /// depends on the outcome, end `Scope.current` in advice instead:
  ///
  /// ```swift
  /// checkouts.after(CheckoutPage.JoinPoints.pay) { _, _, outcome in
  ///   if outcome.returned == true { Scope.current?.end(interaction: "paid") }
  /// }
  /// ```
  public func exits<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, interaction: String = "back",
    file: StaticString = #fileID, line: UInt32 = #line
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(joinPoint.after(target, file: file, line: line) { [pages] page, _, _ in pages.exit(page, interaction) })
  }

  /// Suspends the page's scope after each call of the join point's method: the page's time stands still.
  public func suspends<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(joinPoint.after(target, file: file, line: line) { [pages] page, _, _ in pages.scope(of: page)?.suspend() })
  }

  /// Resumes the page's scope when the join point's method is called, before the method's body runs.
  public func resumes<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(joinPoint.before(target, file: file, line: line) { [pages] page, _ in pages.scope(of: page)?.resume() })
  }

  // MARK: Advice

  /// Calls `advice` before each call on a tracked page, inside of the page's scope. See
  /// ``JoinPoint/before(_:file:line:_:)``.
  public func before<Base: AnyObject, Parameters, Returned>(
    _ joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Page, Parameters) -> Void
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(
      joinPoint.before(target, file: file, line: line) { [pages] page, parameters in
        pages.inScope(of: page) { advice(page, parameters) }
      })
  }

  /// Calls `advice` after each call on a tracked page, inside of the page's scope, with the outcome. See
  /// ``JoinPoint/after(_:timed:file:line:_:)``.
  public func after<Base: AnyObject, Parameters, Returned>(
    _ joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, timed: Bool = false, file: StaticString = #fileID,
    line: UInt32 = #line, _ advice: @escaping @Sendable (Page, Parameters, Hook.Outcome<Returned>) -> Void
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(
      joinPoint.after(target, timed: timed, file: file, line: line) { [pages] page, parameters, outcome in
        pages.inScope(of: page) { advice(page, parameters, outcome) }
      })
  }

  /// The target for a join point of `base`; `nil` if the target is a single page that no longer exists.
  private func target<Base: AnyObject>(of base: Base.Type) -> Hook.Target<Base, Page>? {
    check(Page.self, isOf: base)
    guard case .instance = whom else { return Hook.Target(whom, words) }
    return page.map { Hook.Target(whom, words, of: $0) }
  }

  private func hold(_ hook: Hook) {
    _ = hooks.withLock { $0.append(hook) }
  }
}
