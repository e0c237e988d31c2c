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

extension TaggedSink {
  /// Puts a scope as a tagged object. Returns `false` if a value is nested too deep.
  mutating func put(_ scope: EncodedScope) -> Bool {
    var count = scope.bindsUser ? 1 : 0
    if !scope.traits.isEmpty { count += 1 }
    if scope.viewID != nil { count += 1 }
    if !scope.fields.isEmpty { count += 1 }
    if !scope.sensitive.isEmpty { count += 1 }
    putCount(count)
    if scope.bindsUser {
      putName(ContextBytes.user)
      if let id = scope.userID { put(id) } else { put(.null) }
    }
    if !scope.traits.isEmpty {
      putName(ContextBytes.traits)
      guard put(object: scope.traits, depth: 1) else { return false }
    }
    if let id = scope.viewID {
      putName(ContextBytes.view)
      put(.object)
      putCount(scope.viewParent == nil ? 2 : 3)
      putName(ContextBytes.id)
      put(id)
      putName(ContextBytes.name)
      put(scope.viewName)
      if let parent = scope.viewParent {
        putName(ContextBytes.parent)
        put(parent)
      }
    }
    if !scope.fields.isEmpty {
      putName(ContextBytes.fields)
      guard put(object: scope.fields, depth: 1) else { return false }
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
