// withTaskLocalHooks: hooks that hear of the calls of one task, beside others of the process.

import Weir

/// Runs `body` with hooks of its own: one that is attached in it hears of calls that are made in it, and of no others.
///
/// ```swift
/// @Test func aLikeIsHeard() throws {
///   try withTaskLocalHooks {
///     let hook = ItemPage.JoinPoints.like.after(.everything) { _, call, _ in … }
///     …
///   }
/// }
/// ```
///
/// For tests that run beside each other. Join points are the process's: a hook on every object, or on those of a class,
/// hears of what any test calls; one on an object does not need this. It also counts for hooks that others attach in
/// `body`, such as those of a ``PageTracking``.
///
/// Bound to the task, as task-local values are: calls of child tasks and of `Task { }` are heard, those of
/// `Task.detached` and of other threads are not. Outside of a task it is bound to the thread. Of one in another, the
/// outer one's hooks hear the calls of both. A hook of this kind looks for a task-local value at each call that it
/// would hear without; other hooks, and calls that nobody listens to, pay nothing.
@discardableResult
public func withTaskLocalHooks<Result, Failure: Error>(
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  // The type of the error goes through a `Result`, because binding a task-local value forgets it.
  try HookScope.$current.withValue(HookScope()) { () -> Swift.Result<Result, Failure> in
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
  }.get()
}

/// The same around asynchronous work, on the caller's actor.
@discardableResult
public func withTaskLocalHooks<Result, Failure: Error>(
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  try await HookScope.$current.withValue(
    HookScope(),
    operation: { () async -> Swift.Result<Result, Failure> in
      _ = isolation  // or the closure leaves the actor
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }, isolation: isolation
  ).get()
}

/// What the hooks that are attached in ``withTaskLocalHooks(_:)`` are bound to.
final class HookScope: Sendable {
  @TaskLocal static var current: HookScope?

  private let outer = HookScope.current

  /// Whether this task or thread is inside of it.
  var isHere: Bool {
    var scope = Self.current
    while let here = scope {
      if here === self { return true }
      scope = here.outer
    }
    return false
  }
}
