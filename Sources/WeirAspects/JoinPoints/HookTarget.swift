// Hook.Target: whose calls a hook hears.

import Weir

extension Hook {
  /// Whose calls a hook hears: everybody's, those on objects of one class, those on one object.
  ///
  /// ```swift
  /// ItemPage.JoinPoints.like.before(.everything) { page, call in … }
  /// ItemPage.JoinPoints.like.before(.exactly(WishlistPage.self)) { wishlist, call in … }
  /// ItemPage.JoinPoints.like.before(.kind(of: WishlistPage.self)) { wishlist, call in … }
  /// ItemPage.JoinPoints.like.before(.instance(page)) { page, call in … }
  /// ```
  ///
  /// `Owner` is the join point's; `Subject` is what advice gets: the owner, or the class that was named. A class that
  /// is neither the owner nor a subclass of the owner traps.
  public struct Target<Owner, Subject> {
    @usableFromInline let whom: AttachedHook.Whom
    /// The one object; nil for any other target.
    @usableFromInline let object: AnyObject?
    /// As the listing has it.
    @usableFromInline let words: String

    init(_ whom: AttachedHook.Whom, _ words: String, of object: AnyObject? = nil) {
      self.whom = whom
      self.object = object
      self.words = words
    }
  }
}

extension Hook.Target where Subject == Owner {
  /// Every call that the process makes, in whatever task; inside of ``withTaskLocalHooks(_:)`` the calls of that task.
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

  /// Calls on this object. A hook does not keep the object alive. A hook keeps the object's memory, so that no other
  /// object is taken for it.
  public static func instance(_ object: Subject) -> Self {
    check(type(of: object), isOf: Owner.self)
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

/// Advice is called with the object as one of `type`, unchecked.
func check<Owner>(_ type: Any.Type, isOf owner: Owner.Type) {
  precondition(type is Owner.Type, "the join point is of \(owner): \(type) is neither that nor a subclass of it")
}
