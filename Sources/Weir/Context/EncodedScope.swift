// EncodedScope: what is bound around a piece of work, kept as the bytes that each of its events ends in.

import Logging
import Synchronization

/// A user, a view and fields that are bound to a task, or to a thread outside of any. Never changes: binding more makes
/// another one, with what was bound outside in it, so that a capture has one stretch of bytes to copy.
///
/// Two values are bound to the task for it. The one that a capture reads is no more than an address: copying it out of
/// the task takes a third of what copying a reference takes, whose count is an atomic operation, up and down again. The
/// other holds the object, and with it the memory at the address, for as long as the first one is bound. It is asked for
/// seldom, so what else is bound hangs on it: a scope is attached to it, and costs a capture nothing.
@usableFromInline
package final class EncodedScope: Sendable {
  /// The most bytes that a scope takes in an event.
  static let maximumBytes = 4096

  /// The user: nil if none was bound, or nobody was.
  let user: EventUser?
  /// Whether a user, or nobody, was bound: then the process's default user does not count.
  let bindsUser: Bool
  package let view: EventView?
  let fields: FieldObject
  /// Names of fields and traits.
  let sensitive: Set<String>
  /// What a module above this one hangs on the binding, the innermost scope; nil if nothing. No capture looks at it.
  package let attachment: (any AnyObject & Sendable)?

  /// A ``ScopeHeader``, the bytes, and their count in 32 bits, as an event has them; nil if nothing is bound. Sendable
  /// because it is written before anybody else has it, and freed when nobody has.
  nonisolated(unsafe) private let memory: UnsafeMutableRawPointer?

  /// Nil if it takes over ``maximumBytes``, or is nested too deep.
  private init?(_ parts: Parts) {
    guard let bytes = parts.object.taggedBytes(), bytes.count <= Self.maximumBytes else { return nil }
    user = parts.user
    bindsUser = parts.bindsUser
    view = parts.view
    fields = parts.fields
    sensitive = parts.sensitive
    attachment = parts.attachment
    guard parts.bindsUser || parts.view != nil || !parts.fields.isEmpty || !parts.sensitive.isEmpty else {
      memory = nil
      return
    }
    let ending = bytes + withUnsafeBytes(of: UInt32(bytes.count).littleEndian) { Array($0) }
    let header = ScopeHeader(
      count: ending.count, userKey: parts.user.map { SamplingKey.of($0.id) } ?? 0, bindsUser: parts.bindsUser)
    let room = UnsafeMutableRawPointer.allocate(
      byteCount: ScopeHeader.bytes + ending.count, alignment: MemoryLayout<ScopeHeader>.alignment)
    room.storeBytes(of: header, as: ScopeHeader.self)
    UnsafeMutableRawBufferPointer(start: room + ScopeHeader.bytes, count: ending.count).copyBytes(from: ending)
    memory = room
  }

  deinit {
    memory?.deallocate()
  }

  // MARK: The task's own

  /// What is bound now, as an object.
  @TaskLocal package static var current: EncodedScope?

  /// What is bound now, as an address; nil in it if nothing is. Always bound inside of ``current``, which it points
  /// into.
  @TaskLocal static var bound = BoundScope(address: nil)

  var address: BoundScope { BoundScope(address: memory.map { UnsafeRawPointer($0) }) }

  // MARK: Making

  /// How many bindings did not fit, in this process.
  static var refusedCount: UInt64 { refused.load(ordering: .relaxed) }
  private static let refused = Atomic<UInt64>(0)

  /// What is bound now, with a user or nobody, fields and a view over it: encoded once, if all of it fits. Otherwise
  /// each part is bound by itself, the user first, and left out if it does not fit. Nil if nothing is bound.
  ///
  /// - Parameter user: Nil leaves the user; nil within it binds nobody.
  static func binding(
    user: EventUser??, fields: FieldObject, view: String?, sensitive: Set<String>
  ) -> EncodedScope? {
    var whole = Parts(current)
    if let user {
      whole.bindsUser = true
      whole.user = user
    }
    whole.fields = whole.fields.overlaid(with: fields)
    if let view { whole.view = EventView(id: newViewID(), name: view, parent: whole.view?.id) }
    whole.sensitive.formUnion(sensitive)
    if let scope = EncodedScope(whole) { return scope }
    var scope = current
    if let user { scope = binding(user: user, sensitive: sensitive, over: scope) }
    if view != nil { scope = binding(view: whole.view, over: scope) ?? scope }
    if !fields.isEmpty || user == nil && !sensitive.isEmpty {
      scope = binding(fields: fields, sensitive: sensitive, over: scope) ?? scope
    }
    return scope
  }

  /// What is bound, and a user, or nobody, instead of the one that was.
  ///
  /// An event must never say that it is another user's. So of what does not fit the traits go first; if there is no
  /// room for the id beside what is bound outside, that goes; and an id that does not fit at all leaves nobody. Nor may
  /// a value leave the process because the mark on it found no room: see ``Parts/withAllSensitive``.
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
    // Of the last one nothing can be too large.
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

  /// What is bound, and fields over those of the same names. Nil if that does not fit: then what was bound stays,
  /// but for the names that are sensitive from here on. If there is no room for those either, all is sensitive, and the
  /// fields bound outside go before that mark does.
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

  /// The first of these that fits; the last one does.
  private static func first(_ parts: Parts...) -> EncodedScope {
    for candidate in parts {
      if let scope = EncodedScope(candidate) { return scope }
    }
    preconditionFailure("what was bound before fits, and a user alone, or nobody, takes a few bytes")
  }

  /// What is bound, and a view in the place of the one that is. Nil if that does not fit: then what was bound stays.
  private static func binding(view: EventView?, over scope: EncodedScope?) -> EncodedScope? {
    var parts = Parts(scope)
    parts.view = view
    guard let scope = EncodedScope(parts) else {
      noteRefusal("a view")
      return nil
    }
    return scope
  }

  /// What is bound now, and a scope with its view in the place of the one that is. Nil if that does not fit.
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

  /// What is bound now, and a scope whose view does not fit: with the view outside of it, or none.
  package static func binding(_ attachment: any AnyObject & Sendable, keepsView: Bool) -> EncodedScope {
    var parts = Parts(current)
    parts.attachment = attachment
    if !keepsView { parts.view = nil }
    return first(parts)
  }

  /// Counts, and reports the first: a program that does this may do it at every request.
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

/// What a capture reads of the task. Trivial to copy, and sendable because the memory never changes, and lives as long
/// as it is bound.
struct BoundScope: @unchecked Sendable {
  let address: UnsafeRawPointer?
}

/// What stands before a scope's bytes in memory.
struct ScopeHeader: BitwiseCopyable {
  /// Of the bytes and their count.
  var count: Int
  /// The user's ``SamplingKey``; 0 for nobody.
  var userKey: UInt64
  var bindsUser: Bool

  static var bytes: Int { MemoryLayout<ScopeHeader>.stride }
}

/// The parts of a scope that is being made.
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

  /// The same, with everything that the context has marked as sensitive, which takes less room than many names do.
  var withAllSensitive: Parts {
    guard !sensitive.isEmpty else { return self }
    var parts = self
    parts.sensitive = [EventContext.allSensitive]
    return parts
  }

  var object: FieldObject {
    ContextBytes.scope(user: bindsUser ? .some(user) : nil, view: view, fields: fields, sensitive: sensitive)
  }
}

extension FieldObject {
  /// These fields, with `inner` in the place of those of the same names, and after them.
  func overlaid(with inner: FieldObject) -> FieldObject {
    guard !isEmpty else { return inner }
    let names = Set(inner.lazy.map(\.name))
    return FieldObject(filter { !names.contains($0.name) } + inner)
  }
}
