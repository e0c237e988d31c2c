// HookTable: the hooks of a join point as calls read them. A table never changes; a new table replaces it.

public import CFiring
public import Synchronization
import Weir

/// The part of a hook that does not depend on the join point's types: all that attaching, detaching and listing need.
///
/// Sendable without the compiler's checks: except for the flag, all members are written before another thread can see
/// the hook. The serial number is written under the registry's lock, before the hook is in any table.
@usableFromInline
class AttachedHook: @unchecked Sendable {
  /// The objects whose calls the hook hears.
  @usableFromInline
  enum Whom {
    case everything
    case exactly(UnsafeRawPointer)
    case kind(UnsafeRawPointer)
    case instance(UnsafeRawPointer)
  }

  @usableFromInline let whom: Whom
  @usableFromInline let isAfter: Bool
  /// Whether the hook measures how long a call takes.
  @usableFromInline let isTimed: Bool
  /// The hook's number in the order of attaching. Calls read the copy in the table instead.
  var serial: UInt64 = 0
  /// The hook's time, target and place, for the listing.
  let description: String
  /// The scope to which the hook is bound; `nil` if the hook hears the calls of all tasks.
  private let scope: HookScope?
  @usableFromInline let isTaskLocal: Bool

  @usableFromInline let isDetachedFlag = Atomic<Bool>(false)

  init(_ whom: Whom, isAfter: Bool, isTimed: Bool, _ description: String) {
    self.whom = whom
    self.isAfter = isAfter
    self.isTimed = isTimed
    self.description = description
    scope = HookScope.current
    isTaskLocal = scope != nil
  }

  /// Whether this call is made inside of the scope to which the hook is bound.
  @usableFromInline
  @inline(never)
  final func isInScope() -> Bool { scope?.isHere ?? true }

  @inlinable
  final var isDetached: Bool {
    @inline(__always) get { isDetachedFlag.load(ordering: .acquiring) }
  }

  /// Marks the hook as detached. Returns `true` for the first call only.
  final func markDetached() -> Bool {
    !isDetachedFlag.exchange(true, ordering: .sequentiallyConsistent)
  }

  /// Makes a table of these hooks. All hooks must belong to one join point.
  func makeTable(_ hooks: [AttachedHook], _ overrides: Overrides) -> UnsafeRawPointer {
    preconditionFailure("a hook knows the types of its join point")
  }

  /// Releases the advice. Called once, by the thread that detached the hook, when no thread can reach the advice.
  func dropAdvice() {
    preconditionFailure("a hook knows the types of its join point")
  }

  /// Runs the hook's advice, unless the advice is already running on this thread or the hook is detached.
  @inlinable
  @inline(__always)
  final func run(in firing: UnsafeMutablePointer<weir_firing>, _ advice: () -> Void) {
    let hook = UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
    let outer = firing.pointee.running
    var other = outer
    while let running = other {
      if running.pointee.hook == hook { return }
      other = running.pointee.outer
    }
    guard !isDetached else { return }
    withUnsafePointer(to: weir_running(hook: hook, outer: outer)) { running in
      firing.pointee.running = running
      advice()
      firing.pointee.running = outer
    }
  }
}

/// A hook's functions, and the objects that the functions hold.
@usableFromInline
final class Advice<Owner, Parameters, Returned>: Sendable {
  @usableFromInline typealias Before = @Sendable (Owner, Parameters) -> Void
  @usableFromInline typealias After = @Sendable (Owner, Parameters, Hook.Outcome<Returned>) -> Void

  /// One of the two functions does nothing.
  @usableFromInline let before: Before
  @usableFromInline let after: After

  /// The object of the hook's target. Unowned, so the object may be deinitialised, but its memory stays allocated. No
  /// other object can get the same address, and the address identifies the object. Sendable because nobody reads the
  /// property.
  private nonisolated(unsafe) unowned let subject: AnyObject?

  init(_ subject: AnyObject?, before: Before?, after: After?) {
    self.subject = subject
    self.before = before ?? { _, _ in }
    self.after = after ?? { _, _, _ in }
  }
}

/// A hook with its advice, for a join point's types.
@usableFromInline
final class TypedHook<Owner, Parameters, Returned>: AttachedHook, @unchecked Sendable {
  @usableFromInline typealias Act = Advice<Owner, Parameters, Returned>
  @usableFromInline typealias Before = Act.Before
  @usableFromInline typealias After = Act.After

  /// The advice, retained until ``dropAdvice()``. Neither tables nor running calls retain the advice. Read the advice
  /// only after ``isDetached`` was found to be `false` in the same firing.
  @usableFromInline let advice: Unmanaged<Act>
  private let isDropped = Atomic<Bool>(false)

  init(
    _ whom: Whom, _ subject: AnyObject?, before: Before?, after: After?, isTimed: Bool, _ description: String
  ) {
    advice = .passRetained(Act(subject, before: before, after: after))
    super.init(whom, isAfter: after != nil, isTimed: isTimed, description)
  }

  deinit {
    dropAdvice()
  }

  override func dropAdvice() {
    if !isDropped.exchange(true, ordering: .acquiringAndReleasing) { advice.release() }
  }

  override func makeTable(_ hooks: [AttachedHook], _ overrides: Overrides) -> UnsafeRawPointer {
    let table = HookTable(hooks.map { unsafeDowncast($0, to: Self.self) }, overrides)
    return UnsafeRawPointer(Unmanaged.passRetained(table).toOpaque())
  }

  @inlinable
  @inline(__always)
  func matches(_ owner: Owner, _ site: CallSite) -> Bool {
    let isWanted =
      switch whom {
      case .everything: true
      case .exactly(let type): site.classOf(owner) == type
      case .instance(let object): site.instance == object
      case .kind(let type): site.classOf(owner) == type || inherits(site.classOf(owner), from: type)
      }
    return isWanted && (!isTaskLocal || isInScope())
  }
}

/// The hooks of a join point.
@usableFromInline
final class HookTable<Owner, Parameters, Returned>: Sendable {
  @usableFromInline
  struct Element {
    /// Retained.
    @usableFromInline let hook: Unmanaged<TypedHook<Owner, Parameters, Returned>>
    /// Not retained.
    @usableFromInline let advice: Unmanaged<Advice<Owner, Parameters, Returned>>
    @usableFromInline let serial: UInt64
  }

  @usableFromInline let count: Int
  /// Sendable because the memory is written before another thread can see the table.
  @usableFromInline nonisolated(unsafe) let hooks: UnsafeMutablePointer<Element>
  /// The serial number of the newest hook.
  @usableFromInline let newest: UInt64
  @usableFromInline let overrides: Overrides

  init(_ hooks: [TypedHook<Owner, Parameters, Returned>], _ overrides: Overrides) {
    count = hooks.count
    newest = hooks.map(\.serial).max() ?? 0
    self.overrides = overrides
    self.hooks = .allocate(capacity: hooks.count)
    for (index, hook) in hooks.enumerated() {
      (self.hooks + index).initialize(to: Element(hook: .passRetained(hook), advice: hook.advice, serial: hook.serial))
    }
  }

  deinit {
    for index in 0..<count { hooks[index].hook.release() }
    hooks.deallocate()
  }
}
