// HookTable: the hooks of a join point as calls read them. Never changes: another takes its place.

public import CFiring
public import Synchronization
import Weir

/// What a hook has without its types: all that attaching, detaching and listing need.
///
/// Sendable though its members are not checked: but for the flag, all of it is written before anybody else has it, the
/// serial number under the registry's lock before the hook is in any table.
@usableFromInline
class AttachedHook: @unchecked Sendable {
  /// Whom it listens to.
  @usableFromInline
  enum Whom {
    case everything
    case exactly(UnsafeRawPointer)
    case kind(UnsafeRawPointer)
    case instance(UnsafeRawPointer)
  }

  @usableFromInline let whom: Whom
  @usableFromInline let isAfter: Bool
  /// Its advice wants to know how long a call took.
  @usableFromInline let isTimed: Bool
  /// Hooks are numbered as they are attached. Not for calls to read: the table has it, too.
  var serial: UInt64 = 0
  /// When, to whom and where it was attached, for the listing.
  let description: String
  /// It hears of calls that are made inside of this alone; nil: of all.
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

  /// Whether this call is made inside of what a task-local hook is bound to.
  @usableFromInline
  @inline(never)
  final func isInScope() -> Bool { scope?.isHere ?? true }

  @inlinable
  final var isDetached: Bool {
    @inline(__always) get { isDetachedFlag.load(ordering: .acquiring) }
  }

  /// True the first time.
  final func markDetached() -> Bool {
    !isDetachedFlag.exchange(true, ordering: .sequentiallyConsistent)
  }

  /// A table of these hooks, all of which are of one join point.
  func makeTable(_ hooks: [AttachedHook], _ overrides: Overrides) -> UnsafeRawPointer {
    preconditionFailure("a hook knows the types of its join point")
  }

  /// Releases the advice. To be called once: by who detached it, when no thread can come to it any more.
  func dropAdvice() {
    preconditionFailure("a hook knows the types of its join point")
  }

  /// Runs advice, unless it runs on this thread already, or was detached.
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

/// What a hook does, and holds.
@usableFromInline
final class Advice<Owner, Parameters, Returned>: Sendable {
  @usableFromInline typealias Before = @Sendable (Owner, Parameters) -> Void
  @usableFromInline typealias After = @Sendable (Owner, Parameters, Hook.Outcome<Returned>) -> Void

  /// One of the two does nothing.
  @usableFromInline let before: Before
  @usableFromInline let after: After

  /// The object that it listens to. Unowned: its memory can't become another object's as long as this is here, so the
  /// address that the hook has is enough to know it by, and it may end before. Sendable because nobody reads it.
  private nonisolated(unsafe) unowned let subject: AnyObject?

  init(_ subject: AnyObject?, before: Before?, after: After?) {
    self.subject = subject
    self.before = before ?? { _, _ in }
    self.after = after ?? { _, _, _ in }
  }
}

/// A hook with its advice.
@usableFromInline
final class TypedHook<Owner, Parameters, Returned>: AttachedHook, @unchecked Sendable {
  @usableFromInline typealias Act = Advice<Owner, Parameters, Returned>
  @usableFromInline typealias Before = Act.Before
  @usableFromInline typealias After = Act.After

  /// Retained until ``dropAdvice()``: not by a table, which others may release, nor by whoever looks at the hook just
  /// then. To be read only where ``isDetached`` was found to be false, in the same firing.
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
  /// Sendable because it is written before anybody else has it.
  @usableFromInline nonisolated(unsafe) let hooks: UnsafeMutablePointer<Element>
  /// The serial number of the newest of them.
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
