// withJoinPoint: a join point without a macro.

import Weir

/// Runs `body` as a call at a join point, without a macro.
///
/// ```swift
/// final class ItemPage {
///   enum JoinPoints {
///     static let like = JoinPoint<ItemPage, (item: Item, ()), Bool>("ItemPage.like(_:)")
///   }
///
///   func like(_ item: Item) -> Bool {
///     withJoinPoint(JoinPoints.like, self, (item: item, ())) {
///       items.insert(item).inserted
///     }
///   }
/// }
/// ```
///
/// - Parameters:
///   - joinPoint: The descriptor.
///   - owner: `self`; `()` in a free function.
///   - parameters: The parameters by name. Not evaluated if no hook is attached.
///   - implementer: In an override, the class that contains the override, so that a call that also calls `super`
///     counts once.
///   - body: The function's body.
@inlinable
@inline(__always)
public func withJoinPoint<Owner, Parameters, Returned, Failure: Error>(
  _ joinPoint: borrowing JoinPoint<Owner, Parameters, Returned>, _ owner: Owner,
  _ parameters: @autoclosure () -> Parameters, in implementer: Any.Type? = nil,
  _ body: () throws(Failure) -> Returned
) throws(Failure) -> Returned {
  var call = joinPoint.call()
  if call.isObserved { call.begin(owner, parameters(), in: implementer ?? Owner.self) }
  defer { if call.isObserved { call.end(owner) } }
  do throws(Failure) { return call.returned(try body()) } catch {
    call.threw(error)
    throw error
  }
}

/// Runs `body` as a call at a join point of an object, without a macro.
@inlinable
@inline(__always)
public func withJoinPoint<Owner: AnyObject, Parameters, Returned, Failure: Error>(
  _ joinPoint: borrowing JoinPoint<Owner, Parameters, Returned>, _ owner: Owner,
  _ parameters: @autoclosure () -> Parameters, in implementer: Any.Type? = nil,
  _ body: () throws(Failure) -> Returned
) throws(Failure) -> Returned {
  var call = joinPoint.call()
  if call.isObserved { call.begin(owner, parameters(), in: implementer ?? Owner.self) }
  defer { if call.isObserved { call.end(owner) } }
  do throws(Failure) { return call.returned(try body()) } catch {
    call.threw(error)
    throw error
  }
}

/// Runs asynchronous work as a call at a join point, on the caller's actor.
@inlinable
public func withJoinPoint<Owner, Parameters, Returned, Failure: Error>(
  _ joinPoint: borrowing JoinPoint<Owner, Parameters, Returned>, _ owner: Owner,
  _ parameters: @autoclosure () -> Parameters, in implementer: Any.Type? = nil,
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Returned
) async throws(Failure) -> Returned {
  var call = joinPoint.call()
  if call.isObserved { call.beginAsync(owner, parameters(), in: implementer ?? Owner.self) }
  defer { if call.isObserved { call.end(owner) } }
  do throws(Failure) { return call.returned(try await body()) } catch {
    call.threw(error)
    throw error
  }
}

/// Runs asynchronous work as a call at a join point of an object, on the caller's actor.
@inlinable
public func withJoinPoint<Owner: AnyObject, Parameters, Returned, Failure: Error>(
  _ joinPoint: borrowing JoinPoint<Owner, Parameters, Returned>, _ owner: Owner,
  _ parameters: @autoclosure () -> Parameters, in implementer: Any.Type? = nil,
  isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Returned
) async throws(Failure) -> Returned {
  var call = joinPoint.call()
  if call.isObserved { call.beginAsync(owner, parameters(), in: implementer ?? Owner.self) }
  defer { if call.isObserved { call.end(owner) } }
  do throws(Failure) { return call.returned(try await body()) } catch {
    call.threw(error)
    throw error
  }
}
