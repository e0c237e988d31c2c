// CallSite: the object of a call, and the implementation that runs.

import Weir

/// The object of a call, its class, and the implementation that runs, by address. The addresses keep nothing alive and
/// are only compared.
@usableFromInline
struct CallSite {
  /// The type that contains the running body: a subclass of the join point's owner if the body is an override. `nil` at
  /// the end of a call, where the type is not needed.
  @usableFromInline let implementer: UnsafeRawPointer?
  /// The object; `nil` for owners without identity.
  @usableFromInline let instance: UnsafeRawPointer?
  /// The object's class.
  @usableFromInline let concreteClass: UnsafeRawPointer?

  @inlinable
  @inline(__always)
  init(_ implementer: UnsafeRawPointer?) {
    self.implementer = implementer
    instance = nil
    concreteClass = nil
  }

  @inlinable
  @inline(__always)
  init<Owner: AnyObject>(_ implementer: UnsafeRawPointer?, of owner: Owner) {
    self.implementer = implementer
    instance = UnsafeRawPointer(Unmanaged.passUnretained(owner).toOpaque())
    // `AnyObject` is the owner in generic classes, and the type of an `AnyObject` is not the object's class.
    concreteClass = address(type(of: owner as AnyObject))
  }

  /// The object's class; in a class method, the class on which the method is called. `nil` for owners without a class.
  @inlinable
  @inline(__always)
  func classOf<Owner>(_ owner: Owner) -> UnsafeRawPointer? { concreteClass ?? metatype(owner) }
}

/// The owner's address if the owner is a class, as in class methods.
@inlinable
@inline(never)
func metatype<Owner>(_ owner: Owner) -> UnsafeRawPointer? {
  (owner as? AnyClass).map { address($0) }
}

/// Whether `type` is a direct or indirect subclass of `ancestor`.
@usableFromInline
func inherits(_ type: UnsafeRawPointer?, from ancestor: UnsafeRawPointer) -> Bool {
  var current: AnyClass? = type.flatMap { _getSuperclass(unsafeBitCast($0, to: AnyClass.self)) }
  while let here = current {
    if address(here) == ancestor { return true }
    current = _getSuperclass(here)
  }
  return false
}

/// A type's address, which is unique to the type.
@inlinable
@inline(__always)
func address(_ type: Any.Type) -> UnsafeRawPointer {
  unsafeBitCast(type, to: UnsafeRawPointer.self)
}
