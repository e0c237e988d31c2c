// Scope: a piece of work with a beginning and an end, an id, and a duration.

public import Weir

/// A piece of work with a beginning and an end: a page or screen; on a server a request, a job, a connection, a match.
///
/// ```swift
/// try await tracker.withScope("checkout") { scope in
///   tracker.track(Cart.opened)       // its context has the scope's id
///   try await pay()
/// }
/// ```
///
/// If the beginning and the end are in different calls:
///
/// ```swift
/// let match = tracker.beginScope("match")
/// match.run { tracker.track(Goal(by: player)) }
/// match.track(Whistle())
/// …
/// match.end(interaction: "final whistle")
/// ```
///
/// The beginning, each suspension and the end are events: ``ScopeEvent``. A scope is the *view* of the events that are
/// captured within it: `EventContext.view` has the scope's ``id``, ``name`` and ``parent``. A view of `Bindings`
/// around a scope is its parent, and one within a scope is its child, like another scope.
///
/// **Time.** ``elapsed`` uses the monotonic clock, without the time in which the scope was suspended. With a
/// ``LifeCycle``, the time in which the process stood still is excluded too. Without one, only explicit suspensions are
/// excluded.
///
/// **End.** A scope ends with the first of these: ``end(interaction:)``, the shutdown of the life cycle or the close of
/// the tracker (interaction `shutdown`), or the release of the last reference (interaction `released`). Work that is
/// bound to an ended scope continues, and its events still carry the scope's id. A child may outlive its parent. Tasks
/// that are started within a scope don't retain the scope.
///
/// **Threads.** Any thread or task may call any member at any time. In a forked child, scopes do nothing.
///
/// **Crash.** Captured events survive. A scope that was open when the process died is entered and never exited. Its
/// last event shows how long the scope existed at least.
///
/// **Limits.** The name may be empty. If the name and the parent don't fit into the bindings (4,096 bytes), the view is
/// left out, as with `Bindings`, and counted in `Counters.bindingsRefused`. The scope's own events then have no
/// view, and other events have the outer view. If the name is larger than an event may be, the scope's own events are
/// dropped as `DropReason.tooLarge`, and counted.
///
/// **Cost.** Some microseconds from beginning to end, mostly for the random id and for encoding the bindings once.
/// ``run(_:)`` binds them again, which takes 0.1 µs if nothing else was bound in the meantime. A capture within the
/// scope costs the same as in any view.
public final class Scope: Sendable {
  /// The unique id: two scopes with the same name have different ids.
  public let id: String

  /// The scope's name.
  public let name: String

  /// The id of the enclosing scope or view, or `nil`.
  public let parent: String?

  /// The tracker of the scope's events. Retained by the scope.
  public let tracker: Tracker

  /// The receipt of `scope.entered`.
  public var entered: Receipt { entry ?? .dropped(.closed) }

  /// The receipt of `scope.entered`; `nil` until the scope is entered. Sendable because it is set before the scope is
  /// shared.
  private nonisolated(unsafe) var entry: Receipt?

  private let scopes: OpenScopes
  private let clock: ScopeClock
  private let time: ProcessLock<TimeTracker>
  /// The weak reference that bindings and the scope's own events hold.
  let reference: ScopeReference
  /// The bindings where the scope began; `nil` if nothing was bound.
  private let outer: EncodedScope?
  /// The same bindings with the scope's view.
  private let inner: EncodedScope
  /// Whether ``inner`` contains the view.
  private let fits: Bool

  /// Creates a scope without entering it. Until it is entered, no event tells of it, and only the caller has it.
  package init(_ name: String, parent: String?, _ tracker: Tracker) {
    id = newViewID()
    self.name = name
    self.tracker = tracker
    outer = EncodedScope.current
    self.parent = parent ?? outer?.view?.id
    reference = ScopeReference()
    let view = EventView(id: id, name: name, parent: self.parent)
    let bound = EncodedScope.binding(reference, view: view)
    inner = bound ?? EncodedScope.binding(reference, keepsView: false)
    fits = bound != nil
    // A standstill before the beginning must not count for this scope, so the clocks are read first.
    scopes = tracker.scopes
    scopes.lookAtClocks()
    clock = scopes.clock
    time = ProcessLock(TimeTracker(at: clock.now))
  }

  /// Captures `scope.entered`. Must be called once, before the scope is shared.
  package func enter() {
    entry = capture(.entered(name: name))
    reference.refer(to: self)
    scopes.add(reference, ObjectIdentifier(self))
  }

  deinit {
    // A scope that another thread's scope replaced was never entered.
    if entry != nil { finish("released") }
  }

  // MARK: Time

  /// The time that the scope has been open, or was open if it has ended, without suspensions.
  public var elapsed: Duration { read { $0.elapsed(at: $1) } ?? .zero }

  /// The time that the scope was suspended, including standstills of the process.
  public var suspended: Duration { read { $0.suspended(at: $1) } ?? .zero }

  /// Whether the scope is suspended now.
  public var isSuspended: Bool { time.withLock { $0.isSuspended && !$0.isEnded } ?? false }

  /// Whether the scope has ended.
  public var isEnded: Bool { time.withLock { $0.isEnded } ?? false }

  /// Stops the scope's time until ``resume()``, and captures `scope.suspended`. Returns the receipt, or `nil` if the
  /// scope is already suspended or has ended.
  @discardableResult
  public func suspend() -> Receipt? {
    guard change({ $0.suspend(at: $1) }) else { return nil }
    return capture(.suspended(name: name))
  }

  /// Continues the scope's time, and captures `scope.resumed`. Returns the receipt, or `nil` if the scope is not
  /// suspended or has ended.
  @discardableResult
  public func resume() -> Receipt? {
    guard change({ $0.resume(at: $1) }) else { return nil }
    return capture(.resumed(name: name))
  }

  /// Ends the scope, and captures `scope.exited`. Returns the receipt, or `nil` if the scope has already ended.
  ///
  /// `interaction` names what ended the scope: `back`, `submit`, `timeout`. Work within the scope continues, and its
  /// events still carry the scope's id.
  @discardableResult
  public func end(interaction: String = "end") -> Receipt? {
    finish(interaction)
  }

  // MARK: Work

  /// Binds the scope to everything that is captured in `body`, on this thread or task and on those that inherit its
  /// bindings. The bound user and fields stay.
  @inlinable
  public func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try bind(binding, body)
  }

  /// Binds the scope to everything that is captured in asynchronous work, on the caller's actor.
  public func run<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await bind(binding, isolation, body)
  }

  /// Captures an event within the scope, with the user and fields that are bound here. Also works after the end.
  @discardableResult
  @inlinable
  public func track<E: Event>(_ event: E) -> Receipt {
    var receipt = Receipt.dropped(.closed)
    bound(to: binding) { receipt = tracker.track(event) }
    return receipt
  }

  /// The innermost scope that is bound to this task or thread; `nil` if none is bound, or if it is released.
  public static var current: Scope? { (EncodedScope.current?.attachment as? ScopeReference)?.scope }

  // MARK: Parts

  /// The current bindings with this scope's view.
  @usableFromInline var binding: EncodedScope {
    // The bindings are usually the same as at the beginning.
    if fits, EncodedScope.current === outer { return inner }
    return EncodedScope.binding(reference, view: EventView(id: id, name: name, parent: parent))
      ?? EncodedScope.binding(reference, keepsView: true)
  }

  /// Captures one of the scope's own events, with the bindings of the scope's beginning, on whichever thread.
  private func capture(_ event: ScopeEvent) -> Receipt {
    var receipt = Receipt.dropped(.closed)
    bound(to: inner) { receipt = tracker.track(event) }
    return receipt
  }

  private func read(_ body: (TimeTracker, Duration) -> Duration) -> Duration? {
    scopes.lookAtClocks()
    let now = clock.now
    return time.withLock { body($0, now) }
  }

  /// Changes the time. Returns whether the time changed. Does nothing in a forked child.
  private func change(_ body: (inout TimeTracker, Duration) -> Bool) -> Bool {
    // A standstill that is not yet noticed belongs to the time before the change.
    scopes.lookAtClocks()
    let now = clock.now
    return time.withLock { body(&$0, now) } ?? false
  }

  @discardableResult
  private func finish(_ interaction: String) -> Receipt? {
    scopes.lookAtClocks()
    let now = clock.now
    let taken = time.withLock { time -> (Duration, Duration)? in
      guard time.end(at: now) else { return nil }
      return (time.elapsed(at: now), time.suspended(at: now))
    }
    guard let (elapsed, suspended) = taken ?? nil else { return nil }
    scopes.remove(ObjectIdentifier(self))
    return capture(
      .exited(
        name: name, interaction: interaction, seconds: elapsed.inSeconds, suspendedSeconds: suspended.inSeconds))
  }

  /// Excludes a standstill of the process: see ``TimeTracker/leaveOut(_:before:)``.
  func leaveOut(_ duration: Duration, before end: Duration) {
    _ = time.withLock { $0.leaveOut(duration, before: end) }
  }
}

extension Tracker {
  /// Begins a scope, and captures `scope.entered`. Its parent is the given id, or else the scope or view that is bound
  /// here. The scope is not bound to anything: see `Scope.run(_:)`.
  public func beginScope(_ name: String, parent: String? = nil) -> Scope {
    let scope = Scope(name, parent: parent, self)
    scope.enter()
    return scope
  }

  /// Runs `body` in a new scope, which ends with it. The interaction is `end`, `error` if `body` throws, `cancelled` if
  /// it throws a `CancellationError`, or the one given to `Scope.end(interaction:)` before.
  ///
  /// ```swift
  /// try await tracker.withScope("checkout") { scope in
  ///   guard try await confirm() else { return scope.end(interaction: "abandoned") }
  ///   …
  /// }
  /// ```
  @discardableResult
  @inlinable
  public func withScope<Result, Failure: Error>(
    _ name: String, parent: String? = nil, _ body: (Scope) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let scope = beginScope(name, parent: parent)
    do throws(Failure) {
      let result = try scope.run { () throws(Failure) in try body(scope) }
      scope.end()
      return result
    } catch {
      scope.end(interaction: error is CancellationError ? "cancelled" : "error")
      throw error
    }
  }

  /// Runs asynchronous work in a new scope, on the caller's actor.
  @discardableResult
  public func withScope<Result, Failure: Error>(
    _ name: String, parent: String? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (Scope) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = beginScope(name, parent: parent)
    do throws(Failure) {
      let result = try await scope.run(isolation: isolation) { () async throws(Failure) in
        _ = isolation  // otherwise the closure leaves the actor: see bind
        return try await body(scope)
      }
      scope.end()
      return result
    } catch {
      scope.end(interaction: error is CancellationError ? "cancelled" : "error")
      throw error
    }
  }
}
