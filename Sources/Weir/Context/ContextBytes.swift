// ContextBytes: encodes contexts as the tagged objects that the log stores, and decodes them.

/// The names of the members. FileFormat lists them.
enum ContextBytes {
  static let fields = "fields"
  static let user = "user"
  static let id = "id"
  static let traits = "traits"
  static let view = "view"
  static let name = "name"
  static let parent = "parent"
  static let sensitive = "sensitive"

  /// Encodes a global context. The result is empty if the context is empty.
  static func global(fields: FieldObject, user: EventUser?, sensitive: Set<String>) -> FieldObject {
    var members: [(String, FieldValue)] = []
    if !fields.isEmpty { members.append((Self.fields, .object(fields))) }
    if let user {
      var parts: [(String, FieldValue)] = [(id, .string(user.id))]
      if !user.traits.isEmpty { parts.append((traits, .object(user.traits))) }
      members.append((Self.user, .object(FieldObject(parts))))
    }
    if !sensitive.isEmpty { members.append((Self.sensitive, .texts(sensitive.sorted()))) }
    return FieldObject(members)
  }
}

/// The parts of a scope that an event ends with.
struct ScopeParts {
  var user: EventUser?
  /// Whether a user, or the absence of a user, was bound. If so, the default user does not apply.
  var bindsUser = false
  var view: EventView?
  var fields: FieldObject = [:]
  /// The names of the sensitive fields and traits.
  var sensitive: Set<String> = []
}

extension TaggedSink {
  /// Puts a scope as a tagged object. Returns `false` if a value is nested too deep.
  mutating func put(_ scope: ScopeParts) -> Bool {
    let hasTraits = scope.user?.traits.isEmpty == false
    let hasFields = !scope.fields.isEmpty
    var count = scope.bindsUser ? 1 : 0
    if hasTraits { count += 1 }
    if scope.view != nil { count += 1 }
    if hasFields { count += 1 }
    if !scope.sensitive.isEmpty { count += 1 }
    putCount(count)
    if scope.bindsUser {
      putName(ContextBytes.user)
      if let user = scope.user { put(user.id) } else { put(.null) }
    }
    if let user = scope.user, hasTraits {
      putName(ContextBytes.traits)
      guard put(.object(user.traits), depth: 1) else { return false }
    }
    if let view = scope.view {
      putName(ContextBytes.view)
      put(.object)
      putCount(view.parent == nil ? 2 : 3)
      putName(ContextBytes.id)
      put(view.id)
      putName(ContextBytes.name)
      put(view.name)
      if let parent = view.parent {
        putName(ContextBytes.parent)
        put(parent)
      }
    }
    if hasFields {
      putName(ContextBytes.fields)
      guard put(.object(scope.fields), depth: 1) else { return false }
    }
    // Sorted, so that equal contexts have equal bytes.
    if !scope.sensitive.isEmpty {
      putName(ContextBytes.sensitive)
      guard put(.texts(scope.sensitive.sorted()), depth: 1) else { return false }
    }
    return true
  }
}

// Decoding trusts nothing. Unknown and invalid members are ignored. An invalid user becomes no user, so that no
// event names the wrong user.

extension EventContext {
  /// Decodes the global context, without the scope bound around each event.
  init(global object: FieldObject) {
    self.init(sensitive: Set(object[ContextBytes.sensitive]?.texts ?? []))
    if case .object(let fields)? = object[ContextBytes.fields] { globals = fields }
    if case .object(let parts)? = object[ContextBytes.user], case .string(let id)? = parts[ContextBytes.id] {
      user = EventUser(id: id)
      if case .object(let traits)? = parts[ContextBytes.traits] { user?.traits = traits }
    }
  }

  /// Returns this context with the scope that was bound around an event.
  func with(scope object: FieldObject) -> EventContext {
    var context = self
    if let value = object[ContextBytes.user] {
      context.user = nil
      if case .string(let id) = value {
        context.user = EventUser(id: id)
        if case .object(let traits)? = object[ContextBytes.traits] { context.user?.traits = traits }
      }
    }
    if case .object(let parts)? = object[ContextBytes.view], case .string(let id)? = parts[ContextBytes.id],
      case .string(let name)? = parts[ContextBytes.name]
    {
      context.view = EventView(id: id, name: name)
      if case .string(let parent)? = parts[ContextBytes.parent] { context.view?.parent = parent }
    }
    if case .object(let fields)? = object[ContextBytes.fields] { context.fields = fields }
    context.sensitive.formUnion(object[ContextBytes.sensitive]?.texts ?? [])
    return context
  }

  /// Returns this context with a scope that can't be decoded, which is given as bytes. The user is unknown then.
  func with(unreadableScope bytes: UnsafeRawBufferPointer) -> EventContext {
    var context = self
    context.user = nil
    context.fields = ["scope": .bytes(Array(bytes))]
    return context
  }
}
