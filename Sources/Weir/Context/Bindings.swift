// Bindings: who and what the events of a piece of work are captured for.

/// What is bound to a piece of work: the user, the view and the fields that its events are captured for.
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
/// **Where bindings reach.** Bindings are task-local: child tasks, task groups and `Task { }` have them.
/// `Task.detached`, dispatch queues and threads that the program makes have none; carry the bindings over by hand:
///
/// ```swift
/// let bindings = Bindings.current
/// queue.async { bindings.run { _ = tracker.track(Checkout.shipped) } }
/// ```
///
/// Outside of a task, bindings belong to the thread. They count for every tracker of the process.
///
/// **Nesting.** Inside of another binding, a user takes the place of the outer user, traits included. Fields are laid
/// over the outer fields of the same names. A view has the outer view's id as its ``EventView/parent``.
///
/// **Cost.** A call encodes what it binds once, and allocates: bind once a request. From the first binding of the
/// process on, each capture reads a task-local value, and inside of a binding copies the encoded bytes, up to 4 KiB,
/// into the event. A process that never binds anything pays one load a capture.
///
/// **Limits.** What is bound takes 4,096 bytes at most, names included, and is nested 15 deep at most. What does not
/// fit is left out, traits first; no event ever has another user for it. ``Counters/bindingsRefused`` counts, and the
/// first refusal is logged.
///
/// **Crash.** What an event carries survives whatever the event survives.
public struct Bindings: Sendable {
  /// What is bound, encoded; nil for nothing.
  private let scope: EncodedScope?

  /// What is bound here.
  public static var current: Bindings { Bindings(scope: EncodedScope.current) }

  /// The user; `nil` if none is bound, or if nobody is. Without a bound user, events have ``Tracker/user``.
  public var user: EventUser? { scope?.user }

  /// The view; `nil` if none is bound.
  public var view: EventView? { scope?.view }

  /// The fields.
  public var fields: FieldObject { scope?.fields ?? [:] }

  /// Binds a user, and fields and a view where they are given, to everything captured in `body`.
  ///
  /// - Parameters:
  ///   - user: The user's id, whatever ``Tracker/associate(_:traits:sensitive:)`` said; `nil` says that there is no
  ///     user.
  ///   - traits: What is known about the user.
  ///   - fields: Fields for ``EventContext/fields``, apart from the events' own.
  ///   - view: The name of a view (page, screen, request). This showing of the view gets an id that no other has.
  ///   - sensitive: Names of traits and fields that must not leave the process as they are. What is bound inside under
  ///     such a name is sensitive too.
  ///   - body: The work.
  @discardableResult
  public static func with<Result, Failure: Error>(
    user: String?, traits: FieldObject = [:], fields: FieldObject = [:], view: String? = nil,
    sensitive: Set<String> = [], _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let user = user.map { EventUser(id: $0, traits: traits) }
    return try bind(.binding(user: .some(user), fields: fields, view: view, sensitive: sensitive), body)
  }

  /// Binds a user, and fields and a view where they are given, to everything captured in asynchronous work, which runs
  /// on the caller's actor.
  @discardableResult
  public static func with<Result, Failure: Error>(
    user: String?, traits: FieldObject = [:], fields: FieldObject = [:], view: String? = nil,
    sensitive: Set<String> = [], isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let user = user.map { EventUser(id: $0, traits: traits) }
    let scope = EncodedScope.binding(user: .some(user), fields: fields, view: view, sensitive: sensitive)
    return try await bind(scope, isolation, body)
  }

  /// Binds fields and a view to everything captured in `body`; the user stays.
  @discardableResult
  public static func with<Result, Failure: Error>(
    fields: FieldObject = [:], view: String? = nil, sensitive: Set<String> = [], _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bind(.binding(user: nil, fields: fields, view: view, sensitive: sensitive), body)
  }

  /// Binds fields and a view to everything captured in asynchronous work, which runs on the caller's actor; the user
  /// stays.
  @discardableResult
  public static func with<Result, Failure: Error>(
    fields: FieldObject = [:], view: String? = nil, sensitive: Set<String> = [],
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    let scope = EncodedScope.binding(user: nil, fields: fields, view: view, sensitive: sensitive)
    return try await bind(scope, isolation, body)
  }

  /// Runs `body` with these bindings in the place of what is bound there: in a detached task, on a dispatch queue, on
  /// another thread. Encodes nothing.
  @discardableResult
  public func run<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    try bind(scope, body)
  }

  /// Runs asynchronous work with these bindings in the place of what is bound there, on the caller's actor.
  @discardableResult
  public func run<Result, Failure: Error>(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
  ) async throws(Failure) -> Result {
    try await bind(scope, isolation, body)
  }
}

// MARK: Binding

// Results go through a `Result`, because binding a task-local value forgets what type of error is thrown.

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

/// Not generic, so that modules above this one pay for no type that is looked up at run time.
@usableFromInline
package func bound(to scope: EncodedScope?, _ body: () -> Void) {
  Tracker.willBindScopes()
  let address = scope?.address ?? BoundScope(address: nil)
  EncodedScope.$current.withValue(scope) {
    EncodedScope.$bound.withValue(address) { body() }
  }
}

/// Runs `body` with what was bound elsewhere, nil for nothing, in the place of what is bound here.
package func rebind<Answer>(_ scope: EncodedScope?, _ body: () -> Answer) -> Answer {
  // Nearly always both are the same: then nothing is bound, and a process that binds nothing goes on paying nothing.
  scope === EncodedScope.current ? body() : bind(scope, body)
}

package func bind<Answer, Failure: Error>(
  _ scope: EncodedScope?, _ isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> Answer
) async throws(Failure) -> Answer {
  Tracker.willBindScopes()
  let address = scope?.address ?? BoundScope(address: nil)
  return try await EncodedScope.$current.withValue(
    scope,
    operation: { () async -> Result<Answer, Failure> in
      // A closure is on the actor that it captures. A closure that captures none leaves the caller's actor and comes
      // back, and other work of the actor comes in between.
      _ = isolation
      return await EncodedScope.$bound.withValue(
        address,
        operation: { () async -> Result<Answer, Failure> in
          _ = isolation
          do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
        }, isolation: isolation)
    }, isolation: isolation
  ).get()
}
