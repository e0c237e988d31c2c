// before and after: attaching advice to a join point.

import Weir

// What is said once for all of them:
//
// Advice is called on the thread of the call, in the order in which hooks were attached, in the isolation of the
// function. It must not block: whoever detaches a hook waits for it. It can't throw. Advice that calls its own join
// point again is not called for that.

extension JoinPoint {
  /// Calls `advice` before every call, with `self` and the parameters: every one that the process makes, in whatever
  /// task, unless it is attached in ``withTaskLocalHooks(_:)``.
  ///
  /// Returns a hook that must be kept: when it goes, so does the advice. Takes a lock, and a few microseconds.
  ///
  /// **Advice** runs on the calling thread, inside the call, in the order of attaching. It must not block: whoever
  /// detaches waits for it. It can't throw, and it does not hear of calls that it makes itself. Attaching may be done
  /// from any thread, at any time: calls that begin after it returned are heard.
  public func before(
    file: StaticString = #fileID, line: UInt32 = #line, _ advice: @escaping @Sendable (Owner, Parameters) -> Void
  ) -> Hook {
    attach(TypedHook(.everything, nil, before: advice, at(.before, "every call", file, line)))
  }

  /// Calls `advice` after every call, however it ended, with `self`, the parameters as they were when it began, and
  /// what it returned or threw. Of a mutating method `self` is as the method left it. Otherwise as
  /// ``before(file:line:_:)``.
  public func after(
    file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Owner, Parameters, Result<Returned, any Error>) -> Void
  ) -> Hook {
    attach(TypedHook(.everything, nil, after: advice, at(.after, "every call", file, line)))
  }

  /// The same, also with how long the call took, by the monotonic clock, which is read twice for it: advice that ran
  /// before the call, and in its midst, is in it.
  public func after(
    file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Owner, Parameters, Result<Returned, any Error>, Duration) -> Void
  ) -> Hook {
    attach(TypedHook(.everything, nil, timedAfter: advice, at(.after, "every call", file, line)))
  }

  func attach(_ hook: TypedHook<Owner, Parameters, Returned>) -> Hook {
    Hook(hook, at: word, listed)
  }

  func at(
    _ time: JoinPointListing.Hook.Time, _ target: String, _ file: StaticString, _ line: UInt32
  ) -> JoinPointListing.Hook {
    let target = HookScope.current == nil ? target : target + ", in one task"
    return JoinPointListing.Hook(time: time, target: target, file: "\(file)", line: line)
  }
}

// MARK: One class, a class and its subclasses, one object

extension JoinPoint where Owner: AnyObject {
  /// Calls `advice` before calls on objects whose class is exactly `type`: not on those of its superclass, of its
  /// subclasses, or of a sibling. What is called a swizzle elsewhere.
  ///
  /// `type` must be the join point's owner or a subclass of it: with any other this traps. Otherwise as
  /// ``before(file:line:_:)``.
  public func before<Concrete: AnyObject>(
    exactly type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .exactly(address(type)), nil, before: narrowed(type, advice), at(.before, "exactly \(type)", file, line)))
  }

  /// ``after(file:line:_:)-(_,_,(Owner,Parameters,Result<Returned,Error>)->Void)`` for objects whose class is exactly
  /// `type`.
  public func after<Concrete: AnyObject>(
    exactly type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>) -> Void
  ) -> Hook {
    attach(
      TypedHook(.exactly(address(type)), nil, after: narrowed(type, advice), at(.after, "exactly \(type)", file, line)))
  }

  /// The same, also with how long the call took.
  public func after<Concrete: AnyObject>(
    exactly type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>, Duration) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .exactly(address(type)), nil, timedAfter: narrowed(type, advice),
        at(.after, "exactly \(type)", file, line)))
  }

  /// Calls `advice` before calls on objects of `type` and of its subclasses. Otherwise as
  /// `before(exactly:)`.
  public func before<Concrete: AnyObject>(
    in type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .kind(address(type)), nil, before: narrowed(type, advice),
        at(.before, "\(type) and its subclasses", file, line)))
  }

  /// ``after(file:line:_:)-(_,_,(Owner,Parameters,Result<Returned,Error>)->Void)`` for objects of `type` and of its
  /// subclasses.
  public func after<Concrete: AnyObject>(
    in type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .kind(address(type)), nil, after: narrowed(type, advice),
        at(.after, "\(type) and its subclasses", file, line)))
  }

  /// The same, also with how long the call took.
  public func after<Concrete: AnyObject>(
    in type: Concrete.Type, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>, Duration) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .kind(address(type)), nil, timedAfter: narrowed(type, advice),
        at(.after, "\(type) and its subclasses", file, line)))
  }

  /// Calls `advice` before calls on this object.
  ///
  /// The object is not kept alive; its memory is, until the hook goes, so that no other object can be taken for it.
  /// It must be of the join point's owner or a subclass, or this traps. Otherwise as ``before(file:line:_:)``.
  public func before<Concrete: AnyObject>(
    on object: Concrete, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .instance(place(object)), object, before: narrowed(type(of: object), advice),
        at(.before, "one \(type(of: object))", file, line)))
  }

  /// ``after(file:line:_:)-(_,_,(Owner,Parameters,Result<Returned,Error>)->Void)`` for this object.
  public func after<Concrete: AnyObject>(
    on object: Concrete, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .instance(place(object)), object, after: narrowed(type(of: object), advice),
        at(.after, "one \(type(of: object))", file, line)))
  }

  /// The same, also with how long the call took.
  public func after<Concrete: AnyObject>(
    on object: Concrete, file: StaticString = #fileID, line: UInt32 = #line,
    _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>, Duration) -> Void
  ) -> Hook {
    attach(
      TypedHook(
        .instance(place(object)), object, timedAfter: narrowed(type(of: object), advice),
        at(.after, "one \(type(of: object))", file, line)))
  }

  private func place(_ object: AnyObject) -> UnsafeRawPointer {
    UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
  }

  /// Advice for a subclass. Only called with objects that the hook matched, which are of it.
  private func narrowed<Concrete: AnyObject>(
    _ type: Concrete.Type, _ advice: @escaping @Sendable (Concrete, Parameters) -> Void
  ) -> TypedHook<Owner, Parameters, Returned>.Before {
    checkIsOwner(type)
    return { advice(unsafeDowncast($0, to: Concrete.self), $1) }
  }

  private func narrowed<Concrete: AnyObject>(
    _ type: Concrete.Type,
    _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>, Duration) -> Void
  ) -> TypedHook<Owner, Parameters, Returned>.TimedAfter {
    checkIsOwner(type)
    return { advice(unsafeDowncast($0, to: Concrete.self), $1, $2, $3) }
  }

  private func narrowed<Concrete: AnyObject>(
    _ type: Concrete.Type, _ advice: @escaping @Sendable (Concrete, Parameters, Result<Returned, any Error>) -> Void
  ) -> TypedHook<Owner, Parameters, Returned>.After {
    checkIsOwner(type)
    return { advice(unsafeDowncast($0, to: Concrete.self), $1, $2) }
  }

  private func checkIsOwner<Concrete: AnyObject>(_ type: Concrete.Type) {
    precondition(
      type is Owner.Type, "\(name) is a join point of \(Owner.self): \(type) is neither that nor a subclass of it")
  }
}
