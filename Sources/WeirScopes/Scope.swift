// Scope: a piece of work with a beginning and an end, an id of its own, and the time that it took.

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
/// Where beginning and end lie in different calls:
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
/// captured inside of it: ``EventContext/view`` has its ``id``, its ``name`` and its ``parent``. A ``Bindings``
/// around a scope, or in one, is its parent, or its child, as another scope is.
///
/// **Time.** ``elapsed`` goes by the monotonic clock, without the time that the scope was suspended, and, with a
/// ``LifeCycle``, without that in which the process stood still. Without one only explicit suspensions are left out.
///
/// **The end** is the first of: ``end(interaction:)``; the shutdown of the life cycle (interaction `shutdown`); the
/// release of the last reference (interaction `released`). Work that is bound to an ended scope goes on, and its events
/// carry the id still. A child may outlive its parent. Tasks that were made inside of a scope do not keep it.
///
/// **Threads.** Every call may be made from any thread or task at any time. In a child of a fork scopes do nothing.
///
/// **Crash.** What was captured survives, as every event. A scope that was open when the process died is entered and
/// never exited: its last event tells how long it was there.
///
/// **Limits.** A name may be empty. Where name and parent do not fit into what can be bound (4,096 bytes), the view is
/// left out as that of ``Bindings`` is, and counted in ``Counters/bindingsRefused``: the scope's own events have no
/// view then, and others have the one around it. Where the name is larger than an event may be, the scope's own events
/// are dropped as ``DropReason/tooLarge``, and counted.
///
/// **Cost.** Some microseconds from beginning to end, most of them for the random id and for encoding what is bound
/// once; entering ``run(_:)`` binds that again for 0.1 µs where nothing else was bound meanwhile. A capture inside costs
/// as much as in any view.
public final class Scope: Sendable {
  /// The unique id: two scopes of one name have two.
  public let id: String

  /// What the scope is one of.
  public let name: String

  /// The id of the scope or view around it, or nil.
  public let parent: String?

  /// Where its events go. Kept as long as the scope is.
  public let tracker: Tracker

  /// What became of `scope.entered`.
  public var entered: Receipt { entry ?? .dropped(.closed) }

  /// The same; nil until it is entered. Sendable because it is set before anybody else has the scope.
  private nonisolated(unsafe) var entry: Receipt?

  private let scopes: OpenScopes
  private let clock: ScopeClock
  private let time: ProcessLock<TimeTracker>
  /// How what is bound refers to the scope: it must not keep it, nor must its own events.
  let reference: ScopeReference
  /// What was bound where it began; nil if nothing was.
  private let outer: EncodedScope?
  /// The same with the scope's view.
  private let inner: EncodedScope
  /// Whether the view is in ``inner``.
  private let fits: Bool

  /// A scope that is yet to be entered: until then nothing tells of it, and nobody but the caller has it.
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
    // What stood still before is not this scope's: the clocks are looked at before it is there.
    scopes = tracker.scopes
    scopes.lookAtClocks()
    clock = scopes.clock
    time = ProcessLock(TimeTracker(at: clock.now))
  }

  /// Captures `scope.entered`. To be called once, before anybody else has the scope.
  package func enter() {
    entry = capture(.entered(name: name))
    reference.refer(to: self)
    scopes.add(reference, ObjectIdentifier(self))
  }

  deinit {
    // One that another was quicker than was never there.
    if entry != nil { finish("released") }
  }

  // MARK: Time

  /// How long it has been open, without the time that it was suspended; after the end, how long it was.
  public var elapsed: Duration { read { $0.elapsed(at: $1) } ?? .zero }

  /// How long it was suspended, with what the life cycle left out.
  public var suspended: Duration { read { $0.suspended(at: $1) } ?? .zero }

  /// Whether it is suspended now.
  public var isSuspended: Bool { time.withLock { $0.isSuspended && !$0.isEnded } ?? false }

  /// Whether it ended.
  public var isEnded: Bool { time.withLock { $0.isEnded } ?? false }

  /// Time stands still until ``resume()``; captures `scope.suspended`. Answers what became of that; nil if there was
  /// nothing to do, because it is suspended already, or ended.
  @discardableResult
  public func suspend() -> Receipt? {
    guard change({ $0.suspend(at: $1) }) else { return nil }
    return capture(.suspended(name: name))
  }

  /// Time goes on; captures `scope.resumed`. Answers what became of that; nil if it was not suspended, or ended.
  @discardableResult
  public func resume() -> Receipt? {
    guard change({ $0.resume(at: $1) }) else { return nil }
    return capture(.resumed(name: name))
  }

  /// Ends it; captures `scope.exited`. Answers what became of that; nil if it had ended before.
  ///
  /// `interaction` says what ended it: `back`, `submit`, `timeout`. Work that runs in it goes on, and its events carry
  /// the scope's id still.
  @discardableResult
  public func end(interaction: String = "end") -> Receipt? {
    finish(interaction)
  }

  // MARK: Work

  /// Binds the scope to everything captured in `body`, on this thread or task and in those that are made there, beside
  /// the user and the fields that are bound here.
  public func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try bind(binding, body)
  }

  /// The same around asynchronous work, on the caller's actor.
  public func run<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await bind(binding, isolation, body)
  }

  /// Captures an event inside of the scope, for the user and with the fields that are bound here. Also after the end.
  @discardableResult
  @inlinable
  public func track<E: Event>(_ event: E) -> Receipt {
    var receipt = Receipt.dropped(.closed)
    bound(to: binding) { receipt = tracker.track(event) }
    return receipt
  }

  /// The innermost scope that is bound to this task, or thread; nil if none is, or it is released.
  public static var current: Scope? { (EncodedScope.current?.attachment as? ScopeReference)?.scope }

  // MARK: Parts

  /// What is bound here, with this scope's view.
  @usableFromInline var binding: EncodedScope {
    // Nearly always what was bound at the beginning is what is bound now.
    if fits, EncodedScope.current === outer { return inner }
    return EncodedScope.binding(reference, view: EventView(id: id, name: name, parent: parent))
      ?? EncodedScope.binding(reference, keepsView: true)
  }

  /// Captures an event of the scope's own: for whom the scope was begun, whichever thread it is.
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

  /// Changes the time, and answers whether it did. Not in a child of a fork.
  private func change(_ body: (inout TimeTracker, Duration) -> Bool) -> Bool {
    // A stop that nobody has noticed yet counts for the time before the change.
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

  /// The process stood still: see ``TimeTracker/leaveOut(_:before:)``.
  func leaveOut(_ duration: Duration, before end: Duration) {
    _ = time.withLock { $0.leaveOut(duration, before: end) }
  }
}

extension Tracker {
  /// Begins a scope, and captures `scope.entered` for it: as the child of the scope or view that is bound here, or of
  /// the one whose id is given. It is not bound to anything: see ``Scope/run(_:)``.
  public func beginScope(_ name: String, parent: String? = nil) -> Scope {
    let scope = Scope(name, parent: parent, self)
    scope.enter()
    return scope
  }

  /// Runs `body` in a scope of its own, which ends with it: with the interaction `end`; `error` if it throws,
  /// `cancelled` if what it throws is a `CancellationError`; or what ``Scope/end(interaction:)`` said before.
  ///
  /// ```swift
  /// try await tracker.withScope("checkout") { scope in
  ///   guard try await confirm() else { return scope.end(interaction: "abandoned") }
  ///   …
  /// }
  /// ```
  @discardableResult
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

  /// The same around asynchronous work, on the caller's actor.
  @discardableResult
  public func withScope<Result, Failure: Error>(
    _ name: String, parent: String? = nil, isolation: isolated (any Actor)? = #isolation,
    _ body: (Scope) async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = beginScope(name, parent: parent)
    do throws(Failure) {
      let result = try await scope.run(isolation: isolation) { () async throws(Failure) in
        _ = isolation  // or the closure leaves the actor: see bind
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
