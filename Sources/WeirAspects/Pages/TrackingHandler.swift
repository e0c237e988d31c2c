// TrackingHandler: all that listens to one page, and what state its tracking is in.

import Weir
public import WeirScopes

/// Listens to one object, a page, and tells a delegate what happens to it, so that the page has no tracking of its own.
///
/// ```swift
/// final class WishlistTracking: TrackingHandler<WishlistPage, WishlistInfo, WishlistCoordinator>, @unchecked Sendable {
///   init(_ page: WishlistPage, _ tracker: Tracker) {
///     super.init(page, delegate: WishlistCoordinator(tracker)) { WishlistInfo(count: $0.items.count) }
///     enters(on: WishlistPage.JoinPoints.appear)
///     exits(on: WishlistPage.JoinPoints.disappear)
///     after(WishlistPage.JoinPoints.remove) { tracking, page, call, _ in
///       tracking.delegate.removed(call.item, tracking.info(of: page))
///     }
///   }
/// }
/// ```
///
/// A page that is only entered and left takes no class:
///
/// ```swift
/// let tracking = TrackingHandler(page, delegate: PageCoordinator("checkout", tracker: tracker), lifeCycle: lifeCycle)
/// tracking.enters(on: CheckoutPage.JoinPoints.open)
/// tracking.exits(on: CheckoutPage.JoinPoints.close)
/// ```
///
/// **Its life.** Whoever puts the page together keeps the handler; ``TrackingHandlers`` does it for every page of a
/// class. It does not keep the page. When it goes, so do its hooks, and a page that is still entered is left with the
/// interaction `released`. That never waits for advice on another thread, so the last reference may go under any lock.
///
/// **The process.** With a ``LifeCycle`` the delegate is told when the process is suspended and resumed while the page
/// is entered, and at its shutdown that the page is left, with the interaction `shutdown`. A page that was suspended by
/// itself stays so when the process goes on.
///
/// **Threads.** Every call may be made from any thread. What the delegate is told comes in the order in which it
/// happened, one call at a time; a thread that finds another one telling leaves its own to that one, which tells it with
/// the user, the fields and the view that are bound where it happened. A subclass says `@unchecked Sendable` again, as
/// the compiler asks, and so promises as much of what it adds: advice runs on the threads of the page's calls.
///
/// Sendable though its members are not checked: they are behind a lock, or never change, but for the weak reference,
/// which any thread may read.
open class TrackingHandler<
  Owner: AnyObject, Info: Sendable, Delegate: TrackingDelegate
>: HookHolder, @unchecked Sendable where Delegate.Info == Info {
  /// The page; nil once it is gone.
  public private(set) final weak var owner: Owner?

  /// Who is told.
  public final let delegate: Delegate

  private let makeInfo: @Sendable (Owner) -> Info
  private let state = Lock(State())
  /// Set at the end of `init`, ended in `deinit`.
  private var observation: LifeCycle.Observation?

  /// What it is suspended by: it goes on when neither stands in its way.
  private enum Cause { case page, process }

  private struct State: Sendable {
    var hooks: [Hook] = []
    var isInside = false
    var suspendedBy: Set<Cause> = []
    /// As of the last thing that happened, for what happens to the process, not to the page.
    var info: Info?
    /// What the delegate is yet to be told.
    var news: [@Sendable (Delegate) -> Void] = []
    var isTelling = false

    mutating func leave(_ interaction: String) -> (@Sendable (Delegate) -> Void)? {
      guard isInside, let info else { return nil }
      isInside = false
      suspendedBy = []
      return { $0.exited(info, interaction: interaction) }
    }
  }

  /// Listens to `owner`, with nothing attached yet.
  ///
  /// - Parameters:
  ///   - owner: The page. Not kept.
  ///   - delegate: Who is told. Kept.
  ///   - lifeCycle: The process's, if the page is to be told of it.
  ///   - info: What is known about the page at a moment. Called on the threads of the page's own calls.
  public init(
    _ owner: Owner, delegate: Delegate, lifeCycle: LifeCycle? = nil, info: @escaping @Sendable (Owner) -> Info
  ) {
    self.owner = owner
    self.delegate = delegate
    makeInfo = info
    observation = lifeCycle?.observe { [weak self] state in self?.processChanged(to: state) }
  }

  deinit {
    observation = nil
    letHooksGo()
    let info = state.withLock { $0.isInside ? $0.info : nil }
    if let info { delegate.exited(info, interaction: "released") }
  }

  /// Not `detach()`, which waits for advice in progress: nobody knows under which lock the last reference goes.
  private func letHooksGo() {
    let hooks = state.withLock { state in
      defer { state.hooks = [] }
      return state.hooks
    }
    withExtendedLifetime(hooks) {}
  }

  // MARK: What happens

  /// The page is entered. Nothing if it is already.
  open func enter(_ owner: Owner) {
    let info = info(of: owner)
    tell { state in
      state.info = info
      guard !state.isInside else { return nil }
      state.isInside = true
      return { $0.entered(info) }
    }
  }

  /// The page is left. Nothing if it is not entered.
  open func exit(_ owner: Owner, interaction: String) {
    let info = info(of: owner)
    tell { state in
      state.info = info
      return state.leave(interaction)
    }
  }

  /// The page is suspended. Nothing if it is not entered; the delegate is told if it was not suspended already, by this
  /// or by the process.
  open func suspend() { suspend(by: .page) }

  /// The page goes on. Nothing if ``suspend()`` was not called; the delegate is told if the process is not suspended.
  open func resume() { resume(by: .page) }

  private func suspend(by cause: Cause) {
    tell { state in
      guard state.isInside, let info = state.info else { return nil }
      let isFirst = state.suspendedBy.isEmpty
      state.suspendedBy.insert(cause)
      guard isFirst else { return nil }
      return { $0.suspended(info) }
    }
  }

  private func resume(by cause: Cause) {
    tell { state in
      let wasSuspended = state.suspendedBy.remove(cause) != nil
      guard wasSuspended, state.suspendedBy.isEmpty, let info = state.info else { return nil }
      return { $0.resumed(info) }
    }
  }

  /// The process's life cycle has come to a new state.
  open func processChanged(to lifeCycleState: LifeCycle.State) {
    switch lifeCycleState {
    case .suspend: suspend(by: .process)
    case .resume: resume(by: .process)
    case .shutdown: tell { $0.leave("shutdown") }
    case .start, .idle: break
    }
  }

  /// What is known about the page now.
  public final func info(of owner: Owner) -> Info { makeInfo(owner) }

  /// Changes the state, and tells the delegate what comes of it, after all that came before.
  private func tell(_ change: (inout State) -> (@Sendable (Delegate) -> Void)?) {
    // Another thread may tell it: one that works for another request, with another user bound.
    let scope = EncodedScope.current
    let isToTell = state.withLock { state in
      guard let news = change(&state) else { return false }
      state.news.append { delegate in rebind(scope) { news(delegate) } }
      defer { state.isTelling = true }
      return !state.isTelling
    }
    guard isToTell else { return }
    // Not under the lock: the delegate may ask the handler for something.
    while let news = nextNews() { news(delegate) }
  }

  private func nextNews() -> (@Sendable (Delegate) -> Void)? {
    state.withLock { state in
      guard state.news.isEmpty else { return state.news.removeFirst() }
      state.isTelling = false
      return nil
    }
  }

  // MARK: Hooks

  /// Keeps a hook as long as this handler lives.
  public final func hold(_ hook: Hook) {
    state.withLock { $0.hooks.append(hook) }
  }
}

extension TrackingHandler where Info == Void {
  /// Listens to a page of which there is nothing to know.
  public convenience init(_ owner: Owner, delegate: Delegate, lifeCycle: LifeCycle? = nil) {
    self.init(owner, delegate: delegate, lifeCycle: lifeCycle) { _ in }
  }
}
