// JoinPoint: a place in the program where hooks can be attached, as a static descriptor.

public import Synchronization
import Weir

/// A method or function whose calls hooks may observe. The method's own code does not mention the hooks.
///
/// ```swift
/// @Instrumented
/// class ItemPage {
///   func like(_ item: Item) -> Bool { … }
/// }
///
/// // In a file of its own:
/// let hook = ItemPage.JoinPoints.like.after(.everything) { page, call, outcome in
///   tracker.track(PageEvent.liked(item: call.item.id))
/// }
/// ```
///
/// The macros `@Instrumented` and `@JoinPoint` write the descriptors and the calls. Without the macros, write a static
/// property and call `withJoinPoint`:
///
/// ```swift
/// static let like = JoinPoint<ItemPage, (item: Item, ()), Bool>("ItemPage.like(_:)")
/// ```
///
/// - `Owner` is the type of `self`; in a static method and an initialiser the metatype, in a free function `Void`. For
///   objects of a generic class the owner is `AnyObject`: no static descriptor can be in a generic type.
/// - `Parameters` is a tuple with the parameters' names as labels. Swift has no one-element tuple, so a single
///   parameter has an empty tuple beside it.
/// - `Returned` is the type of the result.
///
/// **Overrides.** An override belongs to the join point of the overridden method. A call of the override that calls
/// `super`, once or more often, counts as one call. To observe one class only, attach to a ``Hook/Target``. A recursive
/// call through `self` is a new call. A call through `super` is recognised in one of two ways:
///
/// - For a synchronous method, the thread notes which overrides are in progress. A call of `super` outside of a running
///   override, from another method or on another thread, therefore counts as a call. The thread does not note an
///   override that began before any hook was attached: a hook that is attached while the override runs hears the
///   override's calls of `super`.
/// - For an asynchronous method, the object's class decides, because tasks change threads. If the class has an
///   instrumented override that ran while a hook was attached, every call of a superclass's implementation counts as a
///   call through `super`.
///
/// **Cost.** With no hook attached, a call costs one load and one branch, and one more branch when the call ends. Keep
/// descriptors in static properties or globals: the compiler lays these out at compile time, and a call then reads one
/// word at a known address. A descriptor may also be a property of an object: a descriptor that is deinitialised
/// detaches its hooks. A descriptor must not be moved (consumed or returned) after a hook was attached, because hooks
/// identify the descriptor by its address.
public struct JoinPoint<Owner, Parameters, Returned>: ~Copyable, Sendable {
  /// The address of the current ``HookTable``; 0 if no hook is attached.
  @usableFromInline let table = Atomic<UInt>(0)

  /// The name in the listing: `ItemPage.like(_:)`.
  @usableFromInline let name: StaticString
  @usableFromInline let file: StaticString
  @usableFromInline let line: UInt32

  /// Creates a descriptor. Keep the descriptor in a static property or a global. The name, such as `ItemPage.like(_:)`,
  /// appears in ``JoinPointListing``.
  @inlinable
  public init(_ name: StaticString, file: StaticString = #fileID, line: UInt32 = #line) {
    self.name = name
    self.file = file
    self.line = line
  }

  deinit {
    HookRegistry.forget(table.load(ordering: .relaxed), at: word)
  }

  /// Whether hooks are attached, for any target.
  var isObserved: Bool { table.load(ordering: .relaxed) != 0 }

  /// Begins a call: see ``Call``.
  @inlinable
  @inline(__always)
  public func call() -> Call {
    Call(table: table.load(ordering: .relaxed), word: word)
  }

  /// The address of ``table``, which is stable as long as the descriptor is in a static property, a global or an
  /// object. A value that contains an atomic is passed by address, so this is not a copy's address. In `deinit` the
  /// descriptor may have been moved.
  @inlinable
  var word: UnsafeRawPointer {
    @inline(__always) get { withUnsafePointer(to: table) { UnsafeRawPointer($0) } }
  }
}
