// Overrides: the classes that have an instrumented override of an asynchronous method.

import Synchronization
import Weir

/// The classes whose overrides of a join point's method have run while a hook was attached. The list only grows, by
/// one node a class. Threads read the list and add to the list without a lock.
///
/// An override is in the list before the override calls `super`, because the beginning of the override adds its class.
@usableFromInline
final class Overrides: Sendable {
  /// One class. A node never changes, and lives as long as the process.
  private final class Node: Sendable {
    let implementer: UInt
    let next: UInt

    init(_ implementer: UInt, next: UInt) {
      self.implementer = implementer
      self.next = next
    }
  }

  /// The address of the first node; 0 if there is none.
  private let first = Atomic<UInt>(0)

  @usableFromInline
  init() {}

  /// Adds the class of an override, unless the class is in the list.
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

  /// Whether the concrete class, or a class between it and the implementer, has an override. The override then runs
  /// first, and the implementer's method was called through `super`.
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
