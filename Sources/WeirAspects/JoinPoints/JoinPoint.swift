// JoinPoint: a place in the program where hooks can be attached, as a static descriptor.

public import Synchronization
import Weir

/// A method or function whose calls others may listen to, while its own code says nothing of them.
///
/// ```swift
/// @Instrumented
/// class ItemPage {
///   func like(_ item: Item) -> Bool { … }
/// }
///
/// In a file of its own:
/// let hook = ItemPage.JoinPoints.like.after(.everything) { page, call, outcome in
///   tracker.track(PageEvent.liked(item: call.item.id))
/// }
/// ```
///
/// The macros `@Instrumented` and `@JoinPoint` write descriptors and calls; by hand it is a static property and
/// `withJoinPoint`:
///
/// ```swift
/// static let like = JoinPoint<ItemPage, (item: Item, ()), Bool>("ItemPage.like(_:)")
/// ```
///
/// - `Owner` is the type of `self`; the metatype in a static method, `Void` in a free function.
/// - `Parameters` is a tuple with the parameters' names as labels. Swift has no tuple of one, so a single parameter has
///   an empty tuple beside it.
/// - `Returned` is the type of the result.
///
/// **One join point a method.** An override belongs to the join point of the method that it overrides, and a call of it
/// that goes on to `super`, once or more often, is one call. To hear one class alone, attach to
/// ``Hook/Target``. A recursive call through `self` is a new call. What came through `super`
/// is recognised in one of two ways:
///
/// - Of a synchronous method by the thread, which notes the overrides in progress. So `super` called where the override
///   is not running, from another method or on another thread, is a call of its own. An override that began before
///   anybody listened is not noted: a hook attached in its midst hears of what it then calls through `super`.
/// - Of an asynchronous one by the class, as tasks change threads: if the object's class has an instrumented override
///   that ran while somebody listened, then what runs above it came through `super`, from wherever it was called.
///
/// **Cost.** With nothing attached, a call pays for one load and one branch, and for a test of what was loaded when it
/// ends. Keep descriptors in static properties or globals: the compiler lays those out beforehand, and a call then
/// reads one word at a known address. A property of an object will do, too: a descriptor that ends while hooks are
/// attached lets them go. It must not be moved (consumed, or returned) once something was attached to it: hooks know it
/// by where it lies.
public struct JoinPoint<Owner, Parameters, Returned>: ~Copyable, Sendable {
  /// The address of the ``HookTable`` in force; 0: nobody listens.
  @usableFromInline let table = Atomic<UInt>(0)

  /// As it is listed: `ItemPage.like(_:)`.
  @usableFromInline let name: StaticString
  @usableFromInline let file: StaticString
  @usableFromInline let line: UInt32

  /// A descriptor, to be kept in a static property or a global. The name is for ``JoinPointListing``:
  /// `ItemPage.like(_:)`.
  @inlinable
  public init(_ name: StaticString, file: StaticString = #fileID, line: UInt32 = #line) {
    self.name = name
    self.file = file
    self.line = line
  }

  deinit {
    HookRegistry.forget(table.load(ordering: .relaxed), at: word)
  }

  /// Whether hooks are attached, for any object.
  var isObserved: Bool { table.load(ordering: .relaxed) != 0 }

  /// The beginning of a call: see ``Call``.
  @inlinable
  @inline(__always)
  public func call() -> Call {
    Call(table: table.load(ordering: .relaxed), word: word)
  }

  /// Where ``table`` lies: in a static property, a global or an object for as long as the descriptor is there. What has
  /// an atomic in it is passed by its address, so that this is no copy's; but as it ends it may have been moved.
  @inlinable
  var word: UnsafeRawPointer {
    @inline(__always) get { withUnsafePointer(to: table) { UnsafeRawPointer($0) } }
  }
}
