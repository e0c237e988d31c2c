// withTaskLocalHooks: hooks that hear the calls of one task only.

import Weir

/// Runs `body` with task-local hooks: a hook that is attached within `body` hears only calls that are made within
/// `body`.
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
/// Use this function in tests that run in parallel. Join points belong to the process: a hook on every object, or on
/// the objects of a class, hears the calls of every test. A hook on a single object does not need this function. The
/// function also applies to hooks that other code attaches within `body`, such as those of a ``PageTracking``.
///
/// The hooks are bound to the task, like task-local values: the hooks hear calls of child tasks and of `Task { }`, but
/// not calls of `Task.detached` and of other threads. Outside of a task, the hooks are bound to the thread. If calls of
/// this function are nested, the outer hooks also hear the calls of the inner `body`.
///
/// **Cost.** A task-local hook reads a task-local value at each call that matches the hook's target. Other hooks, and
/// calls that no hook observes, pay nothing.
@discardableResult
public func withTaskLocalHooks<Result, Failure: Error>(
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  // The result passes through a `Result`, because binding a task-local value loses the type of the thrown error.
  try HookScope.$current.withValue(HookScope()) { () -> Swift.Result<Result, Failure> in
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
  }.get()
}

/// Runs asynchronous work with task-local hooks, on the caller's actor.
@discardableResult
public func withTaskLocalHooks<Result, Failure: Error>(
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Result
) async throws(Failure) -> Result {
  try await HookScope.$current.withValue(
    HookScope(),
    operation: { () async -> Swift.Result<Result, Failure> in
      _ = isolation  // keeps the closure on the actor
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }, isolation: isolation
  ).get()
}

/// The scope to which the hooks of ``withTaskLocalHooks(_:)`` are bound.
final class HookScope: Sendable {
  @TaskLocal static var current: HookScope?

  private let outer = HookScope.current

  /// Whether this task or thread is inside of the scope.
  var isHere: Bool {
    var scope = Self.current
    while let here = scope {
      if here === self { return true }
      scope = here.outer
    }
    return false
  }
}
