// before and after one class, or a class and its subclasses, of class methods: there the owner is the class itself.

import Weir

extension JoinPoint {
  /// Calls `advice` before calls of a class method on exactly this class: not on its superclass, its subclasses, or a
  /// sibling. Otherwise as the form for objects: `type` must be the join point's class or a subclass, or this traps.
  public func before<Base: AnyObject, Concrete: AnyObject>(
    exactly type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete.Type, Parameters) -> Void
  ) -> Hook where Owner == Base.Type {
    checkIsClass(type, of: Base.self)
    return attach(
      TypedHook(
        .exactly(address(type)), nil, before: { advice(unsafeBitCast($0, to: Concrete.Type.self), $1) },
        at(.before, "exactly \(type)", file, line)))
  }

  /// The same after such calls.
  public func after<Base: AnyObject, Concrete: AnyObject>(
    exactly type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete.Type, Parameters, Result<Returned, any Error>) -> Void
  ) -> Hook where Owner == Base.Type {
    checkIsClass(type, of: Base.self)
    return attach(
      TypedHook(
        .exactly(address(type)), nil, after: { advice(unsafeBitCast($0, to: Concrete.Type.self), $1, $2) },
        at(.after, "exactly \(type)", file, line)))
  }

  /// The same, also with how long the call took.
  public func after<Base: AnyObject, Concrete: AnyObject>(
    exactly type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete.Type, Parameters, Result<Returned, any Error>, Duration) -> Void
  ) -> Hook where Owner == Base.Type {
    checkIsClass(type, of: Base.self)
    return attach(
      TypedHook(
        .exactly(address(type)), nil, timedAfter: { advice(unsafeBitCast($0, to: Concrete.Type.self), $1, $2, $3) },
        at(.after, "exactly \(type)", file, line)))
  }

  /// Calls `advice` before calls of a class method on this class and its subclasses.
  public func before<Base: AnyObject, Concrete: AnyObject>(
    in type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete.Type, Parameters) -> Void
  ) -> Hook where Owner == Base.Type {
    checkIsClass(type, of: Base.self)
    return attach(
      TypedHook(
        .kind(address(type)), nil, before: { advice(unsafeBitCast($0, to: Concrete.Type.self), $1) },
        at(.before, "\(type) and its subclasses", file, line)))
  }

  /// The same after such calls.
  public func after<Base: AnyObject, Concrete: AnyObject>(
    in type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete.Type, Parameters, Result<Returned, any Error>) -> Void
  ) -> Hook where Owner == Base.Type {
    checkIsClass(type, of: Base.self)
    return attach(
      TypedHook(
        .kind(address(type)), nil, after: { advice(unsafeBitCast($0, to: Concrete.Type.self), $1, $2) },
        at(.after, "\(type) and its subclasses", file, line)))
  }

  /// The same, also with how long the call took.
  public func after<Base: AnyObject, Concrete: AnyObject>(
    in type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete.Type, Parameters, Result<Returned, any Error>, Duration) -> Void
  ) -> Hook where Owner == Base.Type {
    checkIsClass(type, of: Base.self)
    return attach(
      TypedHook(
        .kind(address(type)), nil, timedAfter: { advice(unsafeBitCast($0, to: Concrete.Type.self), $1, $2, $3) },
        at(.after, "\(type) and its subclasses", file, line)))
  }

  private func checkIsClass<Base: AnyObject>(_ type: any AnyObject.Type, of base: Base.Type) {
    precondition(type is Base.Type, "\(name) is a join point of \(base): \(type) is neither that nor a subclass of it")
  }
}
