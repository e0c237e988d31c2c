// CallSite: which object a call is on, and whose implementation it runs.

import Weir

/// Addresses only: nothing is kept alive, and nothing but identity is asked of them.
@usableFromInline
struct CallSite {
  /// The type whose body runs: a subclass of the join point's owner if that is an override; nil at the end of a call,
  /// where nobody asks.
  @usableFromInline let implementer: UnsafeRawPointer?
  /// The object; nil for what has no identity.
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
    concreteClass = address(type(of: owner))
  }

  /// The object's class; of a class method the class that it is called on; nil for what has none.
  @inlinable
  @inline(__always)
  func classOf<Owner>(_ owner: Owner) -> UnsafeRawPointer? { concreteClass ?? metatype(owner) }
}

/// The class, if that is what the owner is: it is in class methods.
@inlinable
@inline(never)
func metatype<Owner>(_ owner: Owner) -> UnsafeRawPointer? {
  (owner as? AnyClass).map { address($0) }
}

/// Whether this class is a subclass of that one, however far down.
@usableFromInline
func inherits(_ type: UnsafeRawPointer?, from ancestor: UnsafeRawPointer) -> Bool {
  var current: AnyClass? = type.flatMap { _getSuperclass(unsafeBitCast($0, to: AnyClass.self)) }
  while let here = current {
    if address(here) == ancestor { return true }
    current = _getSuperclass(here)
  }
  return false
}

/// A type's address, which is the type's alone.
@inlinable
@inline(__always)
func address(_ type: Any.Type) -> UnsafeRawPointer {
  unsafeBitCast(type, to: UnsafeRawPointer.self)
}
