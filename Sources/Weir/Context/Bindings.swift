// withUser, withContext, withView: who and what the events of a piece of work are captured for.

/// Binds a user to everything captured in `body`: a request, a task, a job.
///
/// ```swift
/// func handle(_ request: Request) async throws -> Response {
///   try await withUser(request.userID, traits: ["plan": "paid"]) {
///     tracker.track(Checkout.started(cart: request.cart))  // the event's context has the user
///     return try await respond(to: request)
///   }
/// }
/// ```
///
/// Bound to the task, as task-local values are: child tasks and `Task { }` have it, `Task.detached` has not. Outside of
/// a task it is bound to the thread. It counts for every tracker of the process, whatever
/// ``Tracker/associate(_:traits:sensitive:)`` said; nil says that there is no user. Bindings nest: the inner user takes
/// the outer one's place, with the traits.
///
/// **Cost.** Binding encodes id and traits once, and allocates. From the first binding of the process on each capture
/// reads a task-local value, and inside of one copies the encoded bytes, up to 4 KiB, into the event. A process that
/// never binds anything pays one load a capture.
///
/// **Limits.** What is bound takes 4,096 bytes at most, names included, nested 15 deep at most. Of what does not fit
/// the traits are left out first; no event ever has another user for it. ``Counters/scopesRefused`` counts, and the
/// first is logged.
///
/// What the events carry survives whatever the events survive. `sensitive` names traits that must not leave the process
/// as they are.
@discardableResult
public func withUser<Result, Failure: Error>(
  _ id: String?, traits: FieldObject = [:], sensitive: Set<String> = [], _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try bind(EncodedScope.binding(user: id.map { EventUser(id: $0, traits: traits) }, sensitive: sensitive), body)
}

/// The same around asynchronous work, on the caller's actor.
@discardableResult
public func withUser<Result, Failure: Error>(
  _ id: String?, traits: FieldObject = [:], sensitive: Set<String> = [],
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  let scope = EncodedScope.binding(user: id.map { EventUser(id: $0, traits: traits) }, sensitive: sensitive)
  return try await bind(scope, isolation, body)
}

/// Binds fields to everything captured in `body`, over those of the same names that are bound outside.
///
/// ```swift
/// try await withContext(["request": .string(request.id), "route": "/checkout"]) {
///   try await respond(to: request)
/// }
/// ```
///
/// Events have them in ``EventContext/fields``, apart from their own. `sensitive` names those that must not leave the
/// process as they are; what is bound inside under such a name is sensitive too. Tasks, cost and limits as of
/// ``withUser(_:traits:sensitive:_:)``; fields that do not fit are left out, and what is bound outside stays.
@discardableResult
public func withContext<Result, Failure: Error>(
  _ fields: FieldObject, sensitive: Set<String> = [], _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  guard let scope = EncodedScope.binding(fields: fields, sensitive: sensitive) else { return try body() }
  return try bind(scope, body)
}

/// The same around asynchronous work, on the caller's actor.
@discardableResult
public func withContext<Result, Failure: Error>(
  _ fields: FieldObject, sensitive: Set<String> = [], isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  guard let scope = EncodedScope.binding(fields: fields, sensitive: sensitive) else { return try await body() }
  return try await bind(scope, isolation, body)
}

/// Binds a view (page, screen, request) to everything captured in `body`: a showing of it, with an id that no other
/// has.
///
/// ```swift
/// try await withView("/checkout") {
///   tracker.track(PageView(page: "/checkout"))
///   …
/// }
/// ```
///
/// A view inside another one has that one's id as its ``EventView/parent``. ``currentView`` has the id. Tasks, cost and
/// limits as of ``withUser(_:traits:sensitive:_:)``; a view that does not fit is left out, and what is bound outside
/// stays.
@discardableResult
public func withView<Result, Failure: Error>(
  _ name: String, _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  guard let scope = EncodedScope.binding(view: name) else { return try body() }
  return try bind(scope, body)
}

/// The same around asynchronous work, on the caller's actor.
@discardableResult
public func withView<Result, Failure: Error>(
  _ name: String, isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  guard let scope = EncodedScope.binding(view: name) else { return try await body() }
  return try await bind(scope, isolation, body)
}

/// The user that is bound here; nil if none is, or nobody. Without one, events have ``Tracker/user``.
public var currentUser: EventUser? { EncodedScope.current?.user }

/// The view that is bound here, or nil.
public var currentView: EventView? { EncodedScope.current?.view }

/// The fields that are bound here.
public var currentContext: FieldObject { EncodedScope.current?.fields ?? [:] }

// MARK: Binding

// Results go through a `Result`, because binding a task-local value forgets what type of error is thrown.

package func bind<Answer, Failure: Error>(
  _ scope: EncodedScope?, _ body: () throws(Failure) -> Answer
) throws(Failure) -> Answer {
  Tracker.willBindScopes()
  let address = scope?.address ?? BoundScope(address: nil)
  return try EncodedScope.$current.withValue(scope) { () -> Result<Answer, Failure> in
    EncodedScope.$bound.withValue(address) { () -> Result<Answer, Failure> in
      do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
    }
  }.get()
}

/// Runs `body` with what was bound elsewhere, nil for nothing, in the place of what is bound here.
package func rebind<Answer>(_ scope: EncodedScope?, _ body: () -> Answer) -> Answer {
  // Nearly always it is the same: then nothing is bound, and a process that binds nothing goes on paying nothing.
  scope === EncodedScope.current ? body() : bind(scope, body)
}

package func bind<Answer, Failure: Error>(
  _ scope: EncodedScope, _ isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> Answer
) async throws(Failure) -> Answer {
  Tracker.willBindScopes()
  return try await EncodedScope.$current.withValue(
    scope,
    operation: { () async -> Result<Answer, Failure> in
      // A closure is on the actor that it captures. One that captures none leaves the caller's and comes back, and
      // other work of the actor comes in between.
      _ = isolation
      return await EncodedScope.$bound.withValue(
        scope.address,
        operation: { () async -> Result<Answer, Failure> in
          _ = isolation
          do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
        }, isolation: isolation)
    }, isolation: isolation
  ).get()
}
