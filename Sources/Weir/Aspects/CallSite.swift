// CallSite: which object a call is on, and whose implementation it runs.

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
}

/// A type's address, which is the type's alone.
@inlinable
@inline(__always)
func address(_ type: Any.Type) -> UnsafeRawPointer {
  unsafeBitCast(type, to: UnsafeRawPointer.self)
}
