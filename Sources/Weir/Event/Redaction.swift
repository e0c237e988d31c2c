// Redaction: replaces sensitive values in everything that shows an event or sends an event out of the process.

extension StoredEvent {
  /// Returns the same event with each sensitive value replaced by ``FieldValue/redacted``, in fields and context.
  ///
  /// A value is sensitive if ``declaration`` marks it, also within nested objects, optionals and arrays, or if
  /// ``EventContext/sensitive`` names it. A marked object or array is replaced as a whole. If a field inside an object
  /// is marked, but the value in the object's place is no object, that value is replaced as a whole. A missing value
  /// stays ``FieldValue/null``, because there is nothing to hide. Names are never replaced.
  ///
  /// The `payload` of an event whose definition is lost, or does not fit, is replaced too, because unread bytes may
  /// hold anything.
  ///
  /// If nothing is sensitive, the cost is a look at the declared fields. The same event always gives the same result.
  /// Redacting a redacted event changes nothing.
  ///
  /// ```swift
  /// print(event.redacted().fields)  // {order: 7, email: "[redacted]"}
  /// ```
  public func redacted() -> StoredEvent {
    let fields = redactedFields()
    let context = context.redactedIfNeeded()
    guard fields != nil || context != nil else { return self }
    return StoredEvent(
      offset: offset, id: id, time: time, name: name, fields: fields ?? self.fields, declaration: declaration,
      context: context ?? self.context, monotonicNanoseconds: monotonicNanoseconds, bootID: bootID,
      host: host)
  }

  /// The redacted fields, or `nil` if no field changes. Nothing is copied to find that out.
  private func redactedFields() -> FieldObject? {
    if isUnread { return fields.redacted(paths: [unreadField]) }
    if let declaration { return fields.redactedIfNeeded(as: declaration.fields) }
    // Events of `associate` and `disassociate` have the traits as a field. The context marks which traits are
    // sensitive.
    guard name.hasPrefix(EventType.reservedPrefix), case .object(let traits)? = fields["traits"] else { return nil }
    return FieldObject(
      fields.map { member in
        member.name == "traits" ? .init(name: "traits", value: .object(context.redacted(traits))) : member
      })
  }

  /// Whether the payload could not be read as fields, because the definition is lost or does not fit, and is given as
  /// bytes.
  package var isUnread: Bool {
    guard fields.count == 1, fields[0].name == unreadField, case .bytes = fields[0].value else { return false }
    if name == Self.undefinedName { return true }
    guard let declaration, !declaration.isTagged else { return false }
    return !declaration.fields.contains { $0.name == unreadField }
  }
}

extension EventContext {
  /// Returns the same context with each sensitive global field, bound field and trait replaced by
  /// ``FieldValue/redacted``. ``sensitive`` lists them by name or, within nested objects, by path (`address.street`).
  /// If `address` is no object in that example, `address` is replaced as a whole.
  ///
  /// All bound fields and traits are replaced if it is unknown which are sensitive: the global part is lost
  /// (``isGlobalPartLost``), or the bound scope can't be read. Users and views keep their ids. Don't use an id that
  /// must not leave the process.
  public func redacted() -> EventContext {
    redactedIfNeeded() ?? self
  }

  /// Whether a value of the context is sensitive, or may be.
  var needsRedaction: Bool { !sensitive.isEmpty || isGlobalPartLost || isScopeUnread }

  fileprivate func redactedIfNeeded() -> EventContext? {
    guard needsRedaction else { return nil }
    var context = self
    context.globals = globals.redacted(paths: isAllSensitive ? Set(globals.map(\.name)) : sensitive)
    context.fields = redacted(fields)
    context.user = user.map { EventUser(id: $0.id, traits: redacted($0.traits)) }
    return context
  }

  /// Returns bound fields, or a user's traits, with the sensitive values replaced.
  fileprivate func redacted(_ bound: FieldObject) -> FieldObject {
    let isAll = isGlobalPartLost || isScopeUnread || isAllSensitive
    return bound.redacted(paths: isAll ? Set(bound.map(\.name)) : sensitive)
  }

  private var isAllSensitive: Bool { sensitive.contains(Self.allSensitive) }

  /// Whether the bound scope could not be read, and is given as bytes.
  package var isScopeUnread: Bool {
    guard fields.count == 1, fields[0].name == "scope", case .bytes = fields[0].value else { return false }
    return true
  }
}

extension FieldObject {
  /// Returns the same fields with each value that `type` marks as sensitive replaced by ``FieldValue/redacted``, by the
  /// rules of ``StoredEvent/redacted()``. Fields that `type` does not declare stay as they are.
  public func redacted(as type: EventType) -> FieldObject {
    redactedIfNeeded(as: type.fields) ?? self
  }

  fileprivate func redactedIfNeeded(as fields: [Field]) -> FieldObject? {
    guard fields.contains(where: \.holdsSensitive) else { return nil }
    let marked = fields.filter(\.holdsSensitive)
    return FieldObject(
      map { member in
        // If a declaration names a field twice, the marks of both apply.
        let value = marked.filter { $0.name == member.name }.reduce(member.value) { $0.redacted(as: $1) }
        return Member(name: member.name, value: value)
      })
  }

  /// Returns the fields with the values at these paths replaced. A path is a name, with the names of enclosing objects
  /// before it, separated by dots.
  package func redacted(paths: Set<String>, inside prefix: String = "") -> FieldObject {
    guard !paths.isEmpty else { return self }
    return FieldObject(map { Member(name: $0.name, value: $0.value.redacted(paths: paths, at: prefix + $0.name)) })
  }
}

extension Field {
  /// Whether the field, or a field within it, is sensitive.
  var holdsSensitive: Bool { isSensitive || kind.holdsSensitive }
}

extension FieldKind {
  fileprivate var holdsSensitive: Bool {
    switch self {
    case .optional(let inner), .array(let inner): inner.holdsSensitive
    case .object(let fields): fields.contains { $0.holdsSensitive }
    default: false
    }
  }
}

extension FieldValue {
  fileprivate func redacted(as field: Field) -> FieldValue {
    if field.isSensitive { return hidden }
    guard let fields = field.kind.fields else { return self }
    return mappingObjects {
      $0.redactedIfNeeded(as: fields) ?? $0
    } others: {
      $0.hidden
    }
  }

  fileprivate func redacted(paths: Set<String>, at path: String) -> FieldValue {
    if paths.contains(path) { return hidden }
    let inside = path + "."
    return mappingObjects {
      $0.redacted(paths: paths, inside: inside)
    } others: { value in
      paths.contains { $0.hasPrefix(inside) } ? value.hidden : value
    }
  }

  private var hidden: FieldValue { self == .null ? .null : .redacted }

  /// Applies `change` to the value if it is an object, and to the objects in it if it is an array. Applies `others` to
  /// all other values.
  private func mappingObjects(
    _ change: (FieldObject) -> FieldObject, others: (FieldValue) -> FieldValue
  ) -> FieldValue {
    switch self {
    case .object(let object): .object(change(object))
    case .array(let values): .array(values.map { $0.mappingObjects(change, others: others) })
    default: others(self)
    }
  }
}

/// The name of the field that holds a payload that can't be read.
package let unreadField = "payload"
