// PageTracking: what listens to pages, so that a page has no tracking of its own.

public import Weir
public import WeirScopes

/// Tracks pages (views, screens, requests): gives each showing of a page a `Scope`, and hears what happens in it.
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
/// **A showing** begins with the call that enters the page, and ends with the call that leaves it: `ScopeEvent`s say
/// so, with the user who was bound where the showing began. Two showings of one page have two scopes. A page that is
/// entered twice stays in its first showing. While a page is not entered, suspending, resuming and leaving do nothing.
///
/// **Advice** runs inside of the page's scope, if the page is entered: `tracker.track` captures events of that scope,
/// for the user and with the fields that are bound where the page was called. `Scope.current` is the scope then, and
/// may be ended there, by an interaction that depends on the outcome. Hooks fire in the order of attaching: where advice
/// is on the join point of an entrance or an exit, attach ``enters(on:file:line:)`` first, and
/// ``exits(on:interaction:file:line:)`` last.
///
/// **The process.** A `LifeCycle` of the tracker suspends and resumes the scopes, and ends them with `shutdown`.
///
/// **Its life.** Whoever puts the program together keeps the tracking. The tracking keeps no page. When the tracking
/// goes, its hooks go, and pages that are still entered are left by `released`; the last reference may go under any
/// lock, for nothing waits. A page that ended without being left is left by `released` when the next page is entered,
/// or, where many are entered, when as many again were; until then the page's memory stays.
///
/// **Join points** must be of the page's class or a superclass of it: any other traps. A page on an actor is read with
/// `assumeIsolated`, for advice runs inside of the page's own calls.
///
/// **Threads.** Every call may be made from any thread. Advice runs on the threads of the page's calls. In a child of a
/// fork nothing is tracked.
///
/// **Cost.** Beside the hook and the scope, a look-up under a lock for each call that is heard, and for advice the
/// binding of the scope: see `Scope.run(_:)`.
///
/// **Crash.** What was captured survives. A page that was entered when the process died has no exit.
public final class PageTracking<Page: AnyObject>: Sendable {
  let pages: OpenPages<Page>
  private let hooks = ProcessLock<[Hook]>([])

  /// The target without its object, which is not to be kept. Sendable because an address is only compared.
  nonisolated(unsafe) private let whom: AttachedHook.Whom
  private let words: String
  /// The one page, if the target is one. Sendable because any thread may read a weak reference that none writes.
  nonisolated(unsafe) private weak var page: Page?

  /// Tracks pages, with nothing to listen to yet.
  ///
  /// - Parameters:
  ///   - name: What the scopes are called.
  ///   - target: The pages: `.exactly(WishlistPage.self)`, `.kind(of: WishlistPage.self)` with the subclasses, or
  ///     `.instance(page)`. `.everything` is every page of the class and its subclasses.
  ///   - tracker: Where the scopes capture their events. Kept.
  public init(_ name: String, of target: Hook.Target<Page, Page>, tracker: Tracker) {
    pages = OpenPages(name, tracker)
    // Of a join point of the superclass, every call is also that of other pages.
    if case .everything = target.whom { whom = .kind(address(Page.self)) } else { whom = target.whom }
    words = target.words
    page = target.object as? Page
  }

  deinit {
    pages.close()
  }

  /// The scope of the page's showing; nil if the page is not entered.
  public subscript(page: Page) -> Scope? { pages.scope(of: page) }

  // MARK: Showings

  /// The page is entered when this is called, before its body runs.
  public func enters<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(joinPoint.before(target, file: file, line: line) { [pages] page, _ in pages.enter(page) })
  }

  /// The page is left when this has been called, by `interaction`; also if the call threw. Where that is a matter of
  /// the outcome, advice ends `Scope.current`:
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

  /// The page's time stands still when this has been called.
  public func suspends<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(joinPoint.after(target, file: file, line: line) { [pages] page, _, _ in pages.scope(of: page)?.suspend() })
  }

  /// The page's time goes on when this is called, before its body runs.
  public func resumes<Base: AnyObject, Parameters, Returned>(
    on joinPoint: borrowing JoinPoint<Base, Parameters, Returned>, file: StaticString = #fileID, line: UInt32 = #line
  ) {
    guard let target = target(of: Base.self) else { return }
    hold(joinPoint.before(target, file: file, line: line) { [pages] page, _ in pages.scope(of: page)?.resume() })
  }

  // MARK: What happens in them

  /// Calls `advice` before each call on such a page, inside of the page's scope. See
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

  /// Calls `advice` after each call on such a page, inside of the page's scope, with the outcome. See
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

  /// These pages, as a join point of `base` has them; nil if it is one page and that is gone.
  private func target<Base: AnyObject>(of base: Base.Type) -> Hook.Target<Base, Page>? {
    check(Page.self, isOf: base)
    guard case .instance = whom else { return Hook.Target(whom, words) }
    return page.map { Hook.Target(whom, words, of: $0) }
  }

  private func hold(_ hook: Hook) {
    _ = hooks.withLock { $0.append(hook) }
  }
}
