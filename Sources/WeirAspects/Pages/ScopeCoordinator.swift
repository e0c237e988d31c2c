// ScopeCoordinator: a delegate whose page is a scope, with all that a plain page needs as defaults.

public import Weir
public import WeirScopes

/// A coordinator: makes of what a handler saw the events that go out, inside of the page's scope.
///
/// ```swift
/// final class WishlistCoordinator: ScopeCoordinator {
///   let page: ScopeSlot
///
///   init(_ tracker: Tracker) { page = ScopeSlot("wishlist", tracker: tracker) }
///
///   typealias Info = WishlistInfo
///
///   func removed(_ item: Item, _ info: WishlistInfo) {
///     page.track(Wishlist.removed(item: item.id, left: info.count))      // for one destination
///     page.track(Recommendation.disliked(sku: item.sku))                 // for another
///   }
/// }
/// ```
///
/// Entering, suspending, resuming and leaving begin, suspend, resume and end the scope, which captures
/// ``ScopeEvent``s. A coordinator that implements one of them itself calls the same of its ``page``.
///
/// Which event goes to which destination is said by its type: see ``ProviderDispatcher``.
public protocol ScopeCoordinator<Info>: TrackingDelegate {
  /// The page's place for its scope.
  var page: ScopeSlot { get }
}

extension ScopeCoordinator {
  public func entered(_ info: Info) { page.begin() }
  public func exited(_ info: Info, interaction: String) { page.end(interaction: interaction) }
  public func suspended(_ info: Info) { page.suspend() }
  public func resumed(_ info: Info) { page.resume() }
}

/// The coordinator of a page that needs no more than its scope: entered, suspended, resumed, left.
public final class PageCoordinator: ScopeCoordinator {
  public typealias Info = Void

  public let page: ScopeSlot

  /// A coordinator for the page of this name.
  public init(_ name: String, tracker: Tracker) {
    page = ScopeSlot(name, tracker: tracker)
  }
}

/// A page's place for the scope that is open: one showing after the other, each with an id and a time of its own.
///
/// **Threads.** Every call may be made from any thread.
public final class ScopeSlot: Sendable {
  /// The name of the page.
  public let name: String

  /// Where its events are captured.
  public let tracker: Tracker

  private let open = ProcessLock<Scope?>(nil)

  /// An empty place for scopes of this name.
  public init(_ name: String, tracker: Tracker) {
    self.name = name
    self.tracker = tracker
  }

  /// The scope that is open; nil if none is.
  public var scope: Scope? { open.withLock { $0 } ?? nil }

  /// How long the open scope has been open, without the time that it was suspended; nil if none is open.
  public var elapsed: Duration? { scope?.elapsed }

  /// Begins a scope, inside of the one that is bound here. If one is open already, that one goes on; of threads that
  /// begin at once, one begins it, and the others wait for the capture of its beginning.
  @discardableResult
  public func begin() -> Scope {
    if let scope { return scope }
    let new = Scope(name, parent: nil, tracker)
    let scope = open.withLock { open -> Scope in
      if let open { return open }
      // Captured under the lock: one scope is entered, and whoever finds it finds it entered.
      new.enter()
      open = new
      return new
    }
    // In a child of a fork, where scopes do nothing.
    return scope ?? new
  }

  /// Ends the open scope, and leaves the place empty. Nothing if none is open.
  public func end(interaction: String) {
    let scope = open.withLock { open in
      defer { open = nil }
      return open
    }
    scope??.end(interaction: interaction)
  }

  /// Suspends the open scope, if there is one.
  public func suspend() { scope?.suspend() }

  /// Resumes it.
  public func resume() { scope?.resume() }

  /// Captures an event, inside of the open scope if there is one.
  @discardableResult
  public func track<E: Event>(_ event: E) -> Receipt {
    scope?.track(event) ?? tracker.track(event)
  }
}
