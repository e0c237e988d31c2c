// TrackingHandlers: a handler for every page of a class, made when it is entered.

import Weir

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
/// ended without being left go when the next one is entered (where there are many, when as many again were), or with
/// ``TrackingHandlers``, and say `released`; until then the memory of the object stays, not the object.
/// One that is left in its own `deinit` may be said to be `released` as well, if another is entered just then.
///
/// **Threads.** As ``TrackingHandler``.
public final class TrackingHandlers<Handler: HookHolder>: Sendable {
  private struct Entry: Sendable {
    let handler: Handler
    /// Keeps the object's memory, so that no other object gets its address, and is taken for it. Sendable because
    /// nobody reads it.
    nonisolated(unsafe) unowned let subject: Handler.Owner
  }

  private struct State: Sendable {
    var entries: [ObjectIdentifier: Entry] = [:]
    var hooks: [Hook] = []
    /// With so many entries, those of objects that ended are looked for: to do so costs a look at each.
    var sweepAt = 0
  }

  /// Up to so many entries are looked at whenever an object is entered.
  private static var few: Int { 32 }

  private let state = Lock(State())

  /// Listens from now on: objects that are entered already are taken up when they are entered again.
  ///
  /// - Parameters:
  ///   - type: The class; not its subclasses.
  ///   - entering: The join point at which an object is entered, before its body runs.
  ///   - leaving: The one at which it is left, after its body.
  ///   - interaction: What it is left by.
  ///   - file: Where it is attached, for ``JoinPointListing``.
  ///   - line: The line in the file.
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

  /// How many objects are entered.
  public var count: Int { state.withLock { $0.entries.count } }

  /// The handler of an object that is entered.
  public subscript(owner: Handler.Owner) -> Handler? {
    let key = ObjectIdentifier(owner)
    return state.withLock { $0.entries[key]?.handler }
  }

  private func handler(of owner: Handler.Owner, _ make: (Handler.Owner) -> Handler) -> Handler {
    if let handler = self[owner] { return handler }
    sweep()
    let key = ObjectIdentifier(owner)
    let entry = Entry(handler: make(owner), subject: owner)
    return state.withLock { state in
      if let earlier = state.entries[key] { return earlier.handler }
      state.entries[key] = entry
      return entry.handler
    }
  }

  /// Lets go of the handlers of objects that ended.
  ///
  /// Neither they nor the objects may go under the lock: to look whether an object is there keeps it for that moment,
  /// and so may be what ends it; its `deinit` may leave it, and a handler that goes tells its delegate.
  private func sweep() {
    let handlers = state.withLock { state in
      state.entries.count < state.sweepAt ? [] : state.entries.map { ($0.key, $0.value.handler) }
    }
    let ended = handlers.filter { $0.1.owner == nil }
    let gone = state.withLock { state in
      let left = handlers.count - ended.count
      if !handlers.isEmpty { state.sweepAt = left < Self.few ? 0 : 2 * left }
      return ended.map { key, handler in
        state.entries[key]?.handler === handler ? state.entries.removeValue(forKey: key) : nil
      }
    }
    withExtendedLifetime(gone) {}
  }

  private func leave(_ owner: Handler.Owner, _ interaction: String) {
    let key = ObjectIdentifier(owner)
    let entry = state.withLock { $0.entries.removeValue(forKey: key) }
    entry?.handler.exit(owner, interaction: interaction)
  }
}
