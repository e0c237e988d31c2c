// EncodedScope: a bound user, view and fields, encoded as the bytes that each event ends with.

import Logging
import Synchronization

/// A user, a view and fields that are bound to a task, or to a thread outside of a task. Immutable: a further binding
/// makes a new scope that includes the outer one, so a capture copies one stretch of bytes.
///
/// Two task-local values hold a scope. Captures read the first, which is only an address. Copying an address out of the
/// task takes a third of the time of copying a reference, because a reference count needs two atomic operations. The
/// second value is the object, which keeps the memory at the address alive while both are bound. The object is read
/// seldom, so it also holds the attachment of a higher module, which costs captures nothing.
@usableFromInline
package final class EncodedScope: Sendable {
  /// The maximum size of a scope in an event, in bytes.
  static let maximumBytes = 4096

  // The parts, for further bindings within this one. Small ones: the compiler copies structures of more than a few
  // words before it looks into them, which retains and releases all that they hold.

  /// Whether a user, or the absence of a user, was bound. If so, the default user does not apply.
  let bindsUser: Bool
  let userID: String?
  /// The user's; empty without a user.
  let traits: FieldObject
  /// `nil` without a view.
  let viewID: ViewID?
  let viewName: String
  let viewParent: ViewID?
  let fields: FieldObject
  /// The names of the sensitive fields and traits.
  let sensitive: Set<String>
  /// The innermost `Scope` of a higher module; `nil` if there is none. Captures don't read it.
  package let attachment: (any AnyObject & Sendable)?

  /// A ``ScopeHeader``, the bytes, and their count in 32 bits, as an event stores them; `nil` if nothing is bound.
  /// Sendable because it is written before it is shared, only by the initializer, and freed when nobody has it.
  nonisolated(unsafe) private var memory: UnsafeMutableRawPointer?

  /// Returns `nil` if the scope takes more than ``maximumBytes`` or is nested too deep.
  private init?(
    bindsUser: Bool, userID: String?, traits: FieldObject, viewID: ViewID?, viewName: String, viewParent: ViewID?,
    fields: FieldObject, sensitive: Set<String>, attachment: (any AnyObject & Sendable)?
  ) {
    self.bindsUser = bindsUser
    self.userID = userID
    self.traits = traits
    self.viewID = viewID
    self.viewName = viewName
    self.viewParent = viewParent
    self.fields = fields
    self.sensitive = sensitive
    self.attachment = attachment
    guard bindsUser || viewID != nil || !fields.isEmpty || !sensitive.isEmpty else { return }
    var size = TaggedSize()
    guard size.put(self), size.count <= Self.maximumBytes else { return nil }
    memory = encoded(count: size.count)
  }

  private convenience init?(_ parts: Parts) {
    self.init(
      bindsUser: parts.bindsUser, userID: parts.user?.id, traits: parts.user?.traits ?? FieldObject(),
      viewID: parts.view.map { .given($0.id) }, viewName: parts.view?.name ?? "",
      viewParent: parts.view?.parent.map { .given($0) }, fields: parts.fields,
      sensitive: parts.sensitive, attachment: parts.attachment)
  }

  /// Returns new memory with the scope, which takes `count` bytes.
  private func encoded(count: Int) -> UnsafeMutableRawPointer {
    let whole = count + MemoryLayout<UInt32>.size
    let room = UnsafeMutableRawPointer.allocate(
      byteCount: ScopeHeader.bytes + whole, alignment: MemoryLayout<ScopeHeader>.alignment)
    let header = ScopeHeader(count: whole, userKey: userID.map { SamplingKey.of($0) } ?? 0, bindsUser: bindsUser)
    room.storeBytes(of: header, as: ScopeHeader.self)
    var writer = TaggedMemory(room + ScopeHeader.bytes, count: whole)
    _ = writer.put(self)
    writer.putNumber(UInt32(count))
    return room
  }

  /// The bound user; `nil` if no user was bound, or if the absence of a user was bound.
  var user: EventUser? { userID.map { EventUser(id: $0, traits: traits) } }

  package var view: EventView? { viewID.map { EventView(id: $0.text, name: viewName, parent: viewParent?.text) } }

  private func sensitive(with inner: Set<String>) -> Set<String> {
    inner.isEmpty ? sensitive : sensitive.union(inner)
  }

  deinit {
    memory?.deallocate()
  }

  // MARK: Task-local values

  /// The scope that is bound here, as an object.
  @TaskLocal package static var current: EncodedScope?

  /// The scope that is bound here, as an address into ``current``; the address is `nil` if nothing is bound. Always
  /// bound together with ``current``.
  @TaskLocal static var bound = BoundScope(address: nil)

  var address: BoundScope { BoundScope(address: memory.map { UnsafeRawPointer($0) }) }

  // MARK: Making

  /// The number of bindings in this process that did not fit.
  static var refusedCount: UInt64 { refused.load(ordering: .relaxed) }
  private static let refused = Atomic<UInt64>(0)

  /// Returns the current scope with a user, fields and a view bound within it, or `nil` if nothing is bound. All parts
  /// are encoded together if they fit. Otherwise each part is bound by itself, the user first, and a part that does not
  /// fit is left out.
  ///
  /// - Parameter user: `nil` keeps the bound user; an inner `nil` binds the absence of a user.
  @usableFromInline
  static func binding(
    user: EventUser??, fields: FieldObject, view: String?, sensitive: Set<String>
  ) -> EncodedScope? {
    let outer = current
    let userID: String?
    let traits: FieldObject
    if let user {
      userID = user?.id
      traits = user?.traits ?? FieldObject()
    } else {
      userID = outer?.userID
      traits = outer?.traits ?? FieldObject()
    }
    let viewID = view == nil ? outer?.viewID : ViewID()
    let whole = EncodedScope(
      bindsUser: user != nil || outer?.bindsUser == true, userID: userID, traits: traits, viewID: viewID,
      viewName: view ?? outer?.viewName ?? "", viewParent: view == nil ? outer?.viewParent : outer?.viewID,
      fields: outer?.fields.overlaid(with: fields) ?? fields,
      sensitive: outer?.sensitive(with: sensitive) ?? sensitive, attachment: outer?.attachment)
    if let whole { return whole }
    var scope = outer
    if let user { scope = binding(user: user, sensitive: sensitive, over: scope) }
    if let view, let viewID {
      let shown = EventView(id: viewID.text, name: view, parent: outer?.viewID?.text)
      scope = binding(view: shown, over: scope) ?? scope
    }
    if !fields.isEmpty || user == nil && !sensitive.isEmpty {
      scope = binding(fields: fields, sensitive: sensitive, over: scope) ?? scope
    }
    return scope
  }

  /// Returns the scope with another user, or with the absence of a user.
  ///
  /// An event must never name another user. If the user does not fit, the traits are left out first. If the id does not
  /// fit beside the outer bindings, these are left out. If the id alone does not fit, no user is bound. A value must
  /// not lose its sensitive mark for lack of room either: see ``Parts/withAllSensitive``.
  private static func binding(user: EventUser?, sensitive: Set<String>, over outer: EncodedScope?) -> EncodedScope {
    var whole = Parts(outer)
    whole.bindsUser = true
    whole.user = user
    whole.sensitive.formUnion(sensitive)
    if let scope = EncodedScope(whole) { return scope }
    var withoutTraits = whole
    withoutTraits.user?.traits = [:]
    var alone = withoutTraits
    alone.view = nil
    alone.fields = [:]
    var nobody = alone.withAllSensitive
    nobody.user = nil
    // The last candidate always fits.
    let found = first(withoutTraits, withoutTraits.withAllSensitive, alone, alone.withAllSensitive, nobody)
    noteRefusal(missing(in: found, of: whole))
    return found
  }

  private static func missing(in found: EncodedScope, of whole: Parts) -> String {
    guard whole.user != nil else { return "a scope" }
    guard found.user != nil else { return "the user's id" }
    let isAllAround = found.view == whole.view && found.fields == whole.fields
    return isAllAround ? "the user's traits" : "the user beside what is around"
  }

  /// Returns the scope with fields bound over its own, or `nil` if the fields do not fit and the scope stays as it is.
  /// If the fields do not fit but new names are sensitive, returns the scope with these names. If the names do not fit
  /// either, all names are marked as sensitive, and the outer fields are left out before that mark is.
  private static func binding(
    fields: FieldObject, sensitive: Set<String>, over scope: EncodedScope?
  ) -> EncodedScope? {
    let outer = Parts(scope)
    var whole = outer
    whole.fields = whole.fields.overlaid(with: fields)
    whole.sensitive.formUnion(sensitive)
    if let scope = EncodedScope(whole) { return scope }
    noteRefusal("fields")
    guard !whole.sensitive.isSubset(of: outer.sensitive) else { return nil }
    whole.fields = outer.fields
    var withoutFields = whole
    withoutFields.view = nil
    withoutFields.fields = [:]
    var alone = withoutFields.withAllSensitive
    alone.user?.traits = [:]
    var nobody = alone
    nobody.user = nil
    return first(whole, whole.withAllSensitive, withoutFields, alone, nobody)
  }

  /// Returns the first of the candidates that fits. The last one must fit.
  private static func first(_ parts: Parts...) -> EncodedScope {
    for candidate in parts {
      if let scope = EncodedScope(candidate) { return scope }
    }
    preconditionFailure("what was bound before fits, and a user alone, or nobody, takes a few bytes")
  }

  /// Returns the scope with another view, or `nil` if the view does not fit.
  private static func binding(view: EventView?, over scope: EncodedScope?) -> EncodedScope? {
    var parts = Parts(scope)
    parts.view = view
    guard let scope = EncodedScope(parts) else {
      noteRefusal("a view")
      return nil
    }
    return scope
  }

  /// Returns the current scope with an attachment and its view, or `nil` if the view does not fit.
  package static func binding(_ attachment: any AnyObject & Sendable, view: EventView) -> EncodedScope? {
    var parts = Parts(current)
    parts.view = view
    parts.attachment = attachment
    guard let encoded = EncodedScope(parts) else {
      noteRefusal("a scope's view")
      return nil
    }
    return encoded
  }

  /// Returns the current scope with an attachment whose view does not fit, with the outer view or without a view.
  package static func binding(_ attachment: any AnyObject & Sendable, keepsView: Bool) -> EncodedScope {
    var parts = Parts(current)
    parts.attachment = attachment
    if !keepsView { parts.view = nil }
    return first(parts)
  }

  /// Counts a binding that did not fit, and logs the first. A program may repeat such a binding at every request.
  private static func noteRefusal(_ what: String) {
    guard refused.wrappingAdd(1, ordering: .relaxed).oldValue == 0 else { return }
    Logger(label: "weir").error(
      """
      \(what) could not be bound: with what is bound around it takes over \(maximumBytes) bytes, or is nested over \
      \(maximumDepth - 1) deep; it is left out of the events. Bind less, and put the rest into events. This is \
      reported once, and counted: Counters.bindingsRefused
      """)
  }
}

/// The value that captures read from the task. Trivial to copy. Sendable because the memory is immutable, and lives as
/// long as the value is bound.
struct BoundScope: @unchecked Sendable {
  let address: UnsafeRawPointer?
}

/// The header of a scope's memory, before the bytes.
struct ScopeHeader: BitwiseCopyable {
  /// The number of bytes, including those of their count.
  var count: Int
  /// The user's ``SamplingKey``; 0 for no user.
  var userKey: UInt64
  var bindsUser: Bool

  static var bytes: Int { MemoryLayout<ScopeHeader>.stride }
}

/// The parts of a scope that did not fit as a whole, of which some are left out.
private struct Parts {
  var user: EventUser?
  var bindsUser = false
  var view: EventView?
  var fields: FieldObject = [:]
  var sensitive: Set<String> = []
  var attachment: (any AnyObject & Sendable)?

  init(_ scope: EncodedScope?) {
    guard let scope else { return }
    user = scope.user
    bindsUser = scope.bindsUser
    view = scope.view
    fields = scope.fields
    sensitive = scope.sensitive
    attachment = scope.attachment
  }

  /// The same parts with every name marked as sensitive, if any is. The mark takes less room than many names.
  var withAllSensitive: Parts {
    guard !sensitive.isEmpty else { return self }
    var parts = self
    parts.sensitive = [EventContext.allSensitive]
    return parts
  }
}

extension FieldObject {
  /// Returns these fields overlaid with `inner`: a field of `inner` replaces a field of the same name, and follows the
  /// others.
  func overlaid(with inner: FieldObject) -> FieldObject {
    guard !isEmpty else { return inner }
    guard !inner.isEmpty else { return self }
    return FieldObject(filter { member in !inner.contains { $0.name == member.name } } + inner)
  }
}
