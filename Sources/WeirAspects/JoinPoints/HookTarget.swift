// Hook.Target: the objects whose calls a hook hears.

import Weir

extension Hook {
  /// The objects whose calls a hook hears: all objects, the objects of a class, or a single object.
  ///
  /// ```swift
  /// ItemPage.JoinPoints.like.before(.everything) { page, call in … }
  /// ItemPage.JoinPoints.like.before(.exactly(WishlistPage.self)) { wishlist, call in … }
  /// ItemPage.JoinPoints.like.before(.kind(of: WishlistPage.self)) { wishlist, call in … }
  /// ItemPage.JoinPoints.like.before(.instance(page)) { page, call in … }
  /// ```
  ///
  /// `Owner` is the join point's owner. `Subject` is the type that advice receives: the owner, or the named class. A
  /// class that is neither the owner nor a subclass of the owner traps.
  public struct Target<Owner, Subject> {
    let whom: AttachedHook.Whom
    /// The object of ``instance(_:)``; `nil` for any other target.
    let object: AnyObject?
    /// The description for the listing.
    let words: String

    init(_ whom: AttachedHook.Whom, _ words: String, of object: AnyObject? = nil) {
      self.whom = whom
      self.object = object
      self.words = words
    }
  }
}

extension Hook.Target where Subject == Owner {
  /// Every call that the process makes, in any task. Inside of ``withTaskLocalHooks(_:)``, the calls of that task.
  public static var everything: Self { Self(.everything, "every call") }
}

extension Hook.Target where Owner: AnyObject, Subject: AnyObject {
  /// Calls on objects whose class is exactly `type`: not on objects of its superclass, its subclasses, or a sibling.
  public static func exactly(_ type: Subject.Type) -> Self {
    check(type, isOf: Owner.self)
    return Self(.exactly(address(type)), "exactly \(type)")
  }

  /// Calls on objects of `type` and of its subclasses.
  public static func kind(of type: Subject.Type) -> Self {
    check(type, isOf: Owner.self)
    return Self(.kind(address(type)), "\(type) and its subclasses")
  }

  /// Calls on this object. A hook does not keep the object alive. A hook keeps the object's memory allocated, so that
  /// no other object is mistaken for this object.
  public static func instance(_ object: Subject) -> Self {
    check(type(of: object as AnyObject), isOf: Owner.self)
    return Self(
      .instance(UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())), "one \(type(of: object))", of: object)
  }
}

extension Hook.Target {
  /// Calls of a class method on exactly this class.
  public static func exactly<Base: AnyObject, Concrete: AnyObject>(_ type: Concrete.Type) -> Self
  where Owner == Base.Type, Subject == Concrete.Type {
    check(type, isOf: Base.self)
    return Self(.exactly(address(type)), "exactly \(type)")
  }

  /// Calls of a class method on this class and its subclasses.
  public static func kind<Base: AnyObject, Concrete: AnyObject>(of type: Concrete.Type) -> Self
  where Owner == Base.Type, Subject == Concrete.Type {
    check(type, isOf: Base.self)
    return Self(.kind(address(type)), "\(type) and its subclasses")
  }
}

// MARK: Advice

/// Advice in a generic structure. For every type of subject, the advice then receives the subject's address.
private struct Before<Subject, Parameters> {
  let advice: @Sendable (Subject, Parameters) -> Void
}

private struct After<Subject, Parameters, Returned> {
  let advice: @Sendable (Subject, Parameters, Hook.Outcome<Returned>) -> Void
}

extension Hook.Target {
  /// Returns the subject's advice as advice for the owner, without a closure around the advice, which would cost time
  /// in each call. The subject is the owner, or a class that the target has checked. Both are represented by one
  /// reference, and a hook calls the advice only with owners of the subject's class.
  func ownerAdvice<Parameters>(
    _ advice: @escaping @Sendable (Subject, Parameters) -> Void
  ) -> @Sendable (Owner, Parameters) -> Void {
    unsafeBitCast(Before(advice: advice), to: Before<Owner, Parameters>.self).advice
  }

  func ownerAdvice<Parameters, Returned>(
    _ advice: @escaping @Sendable (Subject, Parameters, Hook.Outcome<Returned>) -> Void
  ) -> @Sendable (Owner, Parameters, Hook.Outcome<Returned>) -> Void {
    unsafeBitCast(After(advice: advice), to: After<Owner, Parameters, Returned>.self).advice
  }
}

/// Traps unless `type` is `owner` or a subclass of `owner`. Advice later receives the object as `type`, unchecked.
/// Every class is an `AnyObject`, which is the owner in generic classes.
func check<Owner>(_ type: Any.Type, isOf owner: Owner.Type) {
  precondition(
    type is Owner.Type || owner == AnyObject.self,
    "the join point is of \(owner): \(type) is neither that nor a subclass of it")
}
