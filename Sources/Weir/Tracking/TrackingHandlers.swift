// TrackingHandlers: a handler for every page of a class, made when it is entered.

import Synchronization

/// Makes a handler for each object of a class when it is first entered, and lets it go when it is left.
///
/// ```swift
/// let wishlists = TrackingHandlers(
///   exactly: WishlistPage.self, entering: WishlistPage.JoinPoints.appear, leaving: WishlistPage.JoinPoints.disappear
/// ) { page in WishlistTracking(page, tracker) }
/// ```
///
/// For programs whose pages, requests or matches come from somewhere that knows nothing of tracking. The handlers need
/// no ``HookHolder/enters(on:file:line:)`` of their own: they are entered and left from here. Those of objects that
/// ended without being left go when the next one is entered, or with ``TrackingHandlers``, and say `released`.
///
/// **Threads.** As ``TrackingHandler``.
public final class TrackingHandlers<Handler: HookHolder>: Sendable {
  private struct State: Sendable {
    var handlers: [ObjectIdentifier: Handler] = [:]
    var hooks: [Hook] = []
  }

  private let state = Mutex(State())

  /// Listens from now on: objects that are entered already are taken up when they are entered again.
  ///
  /// - Parameters:
  ///   - type: The class; not its subclasses.
  ///   - entering: The join point at which an object is entered, before its body runs.
  ///   - leaving: The one at which it is left, after its body.
  ///   - interaction: What it is left by.
  ///   - make: A handler for the object.
  public init<Base: AnyObject, P1, R1, P2, R2>(
    exactly type: Handler.Owner.Type, entering: borrowing JoinPoint<Base, P1, R1>,
    leaving: borrowing JoinPoint<Base, P2, R2>, interaction: String = "back", file: StaticString = #fileID,
    line: UInt32 = #line, make: @escaping @Sendable (Handler.Owner) -> Handler
  ) {
    let enter = entering.before(exactly: type, file: file, line: line) { [weak self] owner, _ in
      self?.handler(of: owner, make).enter(owner)
    }
    let leave = leaving.after(exactly: type, file: file, line: line) { [weak self] owner, _, _ in
      self?.leave(owner, interaction)
    }
    state.withLock { $0.hooks = [enter, leave] }
  }

  deinit {
    let hooks = state.withLock { $0.hooks }
    for hook in hooks { hook.detach() }
  }

  /// How many objects are entered.
  public var count: Int { state.withLock { $0.handlers.count } }

  /// The handler of an object that is entered.
  public subscript(owner: Handler.Owner) -> Handler? {
    state.withLock { state in
      state.handlers[ObjectIdentifier(owner)].flatMap { $0.owner === owner ? $0 : nil }
    }
  }

  private func handler(of owner: Handler.Owner, _ make: (Handler.Owner) -> Handler) -> Handler {
    if let handler = self[owner] { return handler }
    let new = make(owner)
    let key = ObjectIdentifier(owner)
    // Let go outside of the lock: a handler that goes tells its delegate.
    let (handler, ended) = state.withLock { state in
      if let handler = state.handlers[key], handler.owner === owner { return (handler, [Handler]()) }
      let ended = state.handlers.filter { $0.value.owner == nil }
      state.handlers = state.handlers.filter { $0.value.owner != nil }
      state.handlers[key] = new
      return (new, Array(ended.values))
    }
    withExtendedLifetime(ended) {}
    return handler
  }

  private func leave(_ owner: Handler.Owner, _ interaction: String) {
    let handler = state.withLock { $0.handlers.removeValue(forKey: ObjectIdentifier(owner)) }
    handler?.exit(owner, interaction: interaction)
  }
}
