// Overrides: which classes have an instrumented override of an asynchronous method.

import Synchronization
import Weir

/// The classes whose overrides of a join point's method were seen to run. Grows only, by as many as there are such
/// classes; read and added to without a lock.
///
/// An override is here before it goes on to `super`, for its own beginning puts it here.
@usableFromInline
final class Overrides: Sendable {
  /// One class. Never changes, and lives as long as the process.
  private final class Node: Sendable {
    let implementer: UInt
    let next: UInt

    init(_ implementer: UInt, next: UInt) {
      self.implementer = implementer
      self.next = next
    }
  }

  /// The address of the first node; 0 for none.
  private let first = Atomic<UInt>(0)

  @usableFromInline
  init() {}

  /// The first time that an override runs while somebody listens; after that it is there.
  @usableFromInline
  func note(_ implementer: UnsafeRawPointer) {
    let implementer = UInt(bitPattern: implementer)
    var head = first.load(ordering: .acquiring)
    while !contains(implementer, from: head) {
      let node = Unmanaged.passRetained(Node(implementer, next: head))
      let (isAdded, found) = first.compareExchange(
        expected: head, desired: UInt(bitPattern: node.toOpaque()), ordering: .acquiringAndReleasing)
      if isAdded { return }
      node.release()
      head = found
    }
  }

  /// Whether from the concrete class on, up to the one whose body runs, there is one with an override: then that runs
  /// first, and this one was called through `super`.
  @usableFromInline
  func hides(_ implementer: UnsafeRawPointer, from concrete: UnsafeRawPointer) -> Bool {
    let head = first.load(ordering: .acquiring)
    guard head != 0 else { return false }
    var current: AnyClass? = unsafeBitCast(concrete, to: AnyClass.self)
    while let here = current, address(here) != implementer {
      if contains(UInt(bitPattern: address(here)), from: head) { return true }
      current = _getSuperclass(here)
    }
    return false
  }

  private func contains(_ implementer: UInt, from head: UInt) -> Bool {
    var next = head
    while let pointer = UnsafeRawPointer(bitPattern: next) {
      let node = Unmanaged<Node>.fromOpaque(pointer)
      if node._withUnsafeGuaranteedRef({ $0.implementer }) == implementer { return true }
      next = node._withUnsafeGuaranteedRef { $0.next }
    }
    return false
  }
}
