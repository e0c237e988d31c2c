// Bindings: who and what the events of a piece of work are captured for.
//
// `run` is there twice, with and without a result. A closure fits one of the two.
// swift-format-ignore-file: AmbiguousTrailingClosureOverload

/// The user, the view and the fields that are bound to a piece of work. Every event captured in the work has them.
///
/// ```swift
/// func handle(_ request: Request) async throws -> Response {
///   try await Bindings.with(user: request.userID, fields: ["request": .string(request.id)], view: "/checkout") {
///     tracker.track(Checkout.started(cart: request.cart))  // the event's context has all three
///     return try await respond(to: request)
///   }
/// }
/// ```
///
/// **Where bindings apply.** Bindings are task-local: child tasks, task groups and `Task { }` inherit them.
/// `Task.detached`, dispatch queues and threads that the program creates don't; pass the bindings on by hand:
///
/// ```swift
/// let bindings = Bindings.current
/// queue.async { bindings.run { _ = tracker.track(Checkout.shipped) } }
/// ```
///
/// Outside of a task, bindings belong to the thread. They apply to every tracker of the process.
///
/// **Nesting.** An inner user replaces the outer user, traits included. An inner field replaces an outer field of the
/// same name. An inner view has the outer view's id as its ``EventView/parent``.
///
/// **Cost.** A call encodes the bindings once, and allocates: bind once for each request, with user, fields and view in
/// one call. After the first binding of the process, each capture reads a task-local value. Within a binding, each
/// capture also copies the encoded bytes, up to 4 KiB, into the event. In a process that never binds anything, each
/// capture pays one load.
///
/// **Limits.** Bindings take at most 4,096 bytes, names included, and are nested at most 15 deep. What does not fit is
/// left out, traits first. No event ever names another user because of that. ``Counters/bindingsRefused`` counts such
/// bindings, and the first is logged.
///
/// **Crash.** The bindings of an event survive whatever the event survives.
public struct Bindings: Sendable {
  /// The encoded bindings; `nil` if nothing is bound.
  @usableFromInline let scope: EncodedScope?

  /// The bindings of the current task, or of the current thread outside of a task.
  public static var current: Bindings { Bindings(scope: EncodedScope.current) }

  /// The bound user; `nil` if no user is bound, or if the absence of a user is bound. Without a binding, events have
  /// ``Tracker/user``.
  public var user: EventUser? { scope?.user }

  /// The bound view; `nil` if no view is bound.
  public var view: EventView? { scope?.view }

  /// The bound fields.
  public var fields: FieldObject { scope?.fields ?? [:] }

  /// Binds a user, and optionally fields and a view, to everything that is captured in `body`.
  ///
  /// - Parameters:
  ///   - user: The user's id, which replaces the user of ``Tracker/associate(_:traits:sensitive:)``. `nil` says that
  ///     there is no user.
  ///   - traits: What is known about the user.
  ///   - fields: The fields for ``EventContext/fields``, separate from the events' own fields.
  ///   - view: The name of a view (page, screen, request). The showing of the view gets a unique id.
  ///   - sensitive: The names of traits and fields that must not leave the process unredacted. Inner bindings of the
  ///     same names are sensitive too.
  ///   - body: The work.
  @discardableResult
  @inlinable
  public static func with<Result, Failure: Error>(
    user: String?, traits: FieldObject = [:], fields: FieldObject = [:], view: String? = nil,
    sensitive: Set<String> = [], _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let user = user.map { EventUser(id: $0, traits: traits) }
    return try bind(.binding(user: .some(user), fields: fields, view: view, sensitive: sensitive), body)
  }

  /// Binds a user, and optionally fields and a view, to everything that is captured in asynchronous work. The work runs
  /// on the caller's actor.
  @discardableResult
  @inlinable
  public static func with<Result, Failure: Error>(
    user: String?, traits: FieldObject = [:], fields: FieldObject = [:], view: String? = nil,
    sensitive: Set<String> = [], isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let user = user.map { EventUser(id: $0, traits: traits) }
    let scope = EncodedScope.binding(user: .some(user), fields: fields, view: view, sensitive: sensitive)
    return try await bind(scope, isolation, body)
  }

  /// Binds fields and a view to everything that is captured in `body`. The bound user stays.
  @discardableResult
  @inlinable
  public static func with<Result, Failure: Error>(
    fields: FieldObject = [:], view: String? = nil, sensitive: Set<String> = [], _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bind(.binding(user: nil, fields: fields, view: view, sensitive: sensitive), body)
  }

  /// Binds fields and a view to everything that is captured in asynchronous work. The bound user stays. The work runs
  /// on the caller's actor.
  @discardableResult
  @inlinable
  public static func with<Result, Failure: Error>(
    fields: FieldObject = [:], view: String? = nil, sensitive: Set<String> = [],
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = EncodedScope.binding(user: nil, fields: fields, view: view, sensitive: sensitive)
    return try await bind(scope, isolation, body)
  }

  /// Runs `body` with these bindings instead of the current ones: in a detached task, on a dispatch queue, or on
  /// another thread. Encodes nothing.
  @discardableResult
  @inlinable
  public func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try bind(scope, body)
  }

  /// Runs work without a result with these bindings. So a closure of a queue, which has no result either, may consist
  /// of a capture whose receipt is not used: `queue.async { bindings.run { tracker.track(event) } }`.
  @inlinable
  public func run<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    try bind(scope, body)
  }

  /// Runs asynchronous work with these bindings instead of the current ones, on the caller's actor.
  @discardableResult
  @inlinable
  public func run<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await bind(scope, isolation, body)
  }
}

// MARK: Binding

// The result passes through a `Result`, because binding a task-local value loses the type of the thrown error.

@inlinable
package func bind<Answer, Failure: Error>(
  _ scope: EncodedScope?, _ body: () throws(Failure) -> Answer
) throws(Failure) -> Answer {
  var result: Result<Answer, Failure>?
  bound(to: scope) {
    do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
  }
  guard let result else { preconditionFailure("the body was not run") }
  return try result.get()
}

/// Binds `scope` during `body`. Not generic: all that is generic inlines into the caller, who knows the types.
@usableFromInline
package func bound(to scope: EncodedScope?, _ body: () -> Void) {
  Tracker.willBindScopes()
  let address = scope?.address ?? BoundScope(address: nil)
  EncodedScope.$current.withValue(scope) {
    EncodedScope.$bound.withValue(address) { body() }
  }
}

/// Runs `body` with another task's or thread's bindings instead of the current ones; `nil` binds nothing.
package func rebind<Answer>(_ scope: EncodedScope?, _ body: () -> Answer) -> Answer {
  // Both scopes are usually the same. Then nothing is bound, so a process without bindings keeps its fast captures.
  scope === EncodedScope.current ? body() : bind(scope, body)
}

@inlinable
package func bind<Answer, Failure: Error>(
  _ scope: EncodedScope?, _ isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> Answer
) async throws(Failure) -> Answer {
  var result: Result<Answer, Failure>?
  await bound(to: scope, isolation) {
    // Capturing `isolation` keeps the closure on the actor. Without it, the closure would leave the actor and
    // return, and other work of the actor could run in between.
    _ = isolation
    do throws(Failure) { result = .success(try await body()) } catch { result = .failure(error) }
  }
  guard let result else { preconditionFailure("the body was not run") }
  return try result.get()
}

/// Binds `scope` during asynchronous work. Not generic, as the other function of the name.
@usableFromInline
package func bound(
  to scope: EncodedScope?, _ isolation: isolated (any Actor)?, _ body: () async -> Void
) async {
  Tracker.willBindScopes()
  let address = scope?.address ?? BoundScope(address: nil)
  await EncodedScope.$current.withValue(
    scope,
    operation: {
      _ = isolation
      await EncodedScope.$bound.withValue(
        address,
        operation: {
          _ = isolation
          await body()
        }, isolation: isolation)
    }, isolation: isolation)
}
