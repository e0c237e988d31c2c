// Redaction: sensitive values replaced, in whatever shows an event or sends it out of the process.

extension StoredEvent {
  /// The same event with ``FieldValue/redacted`` in the place of each sensitive value, in fields and context.
  ///
  /// Sensitive is what ``declaration`` marks, within nested objects, optionals and arrays too, and what
  /// ``EventContext/sensitive`` names. A value that is marked is replaced whole, be it an object or an array; so is one
  /// that stands where an object with a marked field belongs and is none. One that is missing stays
  /// ``FieldValue/null``, for there is nothing to hide. Names are never replaced.
  ///
  /// Bytes that can't be read as fields may hold anything: the `payload` of an event whose definition is lost, or does
  /// not fit it, is replaced too.
  ///
  /// Costs a look at the declared fields where nothing is sensitive. The same event always gives the same result, and
  /// redacting twice is redacting once.
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
      context: context ?? self.context, monotonicNanoseconds: monotonicNanoseconds, bootID: bootID)
  }

  /// Nil if they are to stay as they are, which is found out without copying anything.
  private func redactedFields() -> FieldObject? {
    if isUnread { return fields.redacted(paths: [unreadField]) }
    if let declaration { return fields.redactedIfNeeded(as: declaration.fields) }
    // What `associate` and `disassociate` capture has the traits in its fields, marked where the context's are.
    guard name.hasPrefix(EventType.reservedPrefix), case .object(let traits)? = fields["traits"] else { return nil }
    return FieldObject(
      fields.map { member in
        member.name == "traits" ? .init(name: "traits", value: .object(context.redacted(traits))) : member
      })
  }

  /// The event's payload could not be read as fields, and is given as it is: its definition is lost, or says otherwise.
  package var isUnread: Bool {
    guard fields.count == 1, fields[0].name == unreadField, case .bytes = fields[0].value else { return false }
    if name == Self.undefinedName { return true }
    guard let declaration, !declaration.isTagged else { return false }
    return !declaration.fields.contains { $0.name == unreadField }
  }
}

extension EventContext {
  /// The same context with ``FieldValue/redacted`` in the place of the global fields, bound fields and traits that
  /// ``sensitive`` names, by name or, within nested objects, by path (`address.street`). An `address` that is no object
  /// is replaced whole then.
  ///
  /// Where it is not known what is sensitive, because the global part is lost (``isGlobalPartLost``) or what was bound
  /// can't be read, all bound fields and traits are replaced. User and view keep their ids: an id that must not leave
  /// the process is not to be used as one.
  public func redacted() -> EventContext {
    redactedIfNeeded() ?? self
  }

  fileprivate func redactedIfNeeded() -> EventContext? {
    guard !sensitive.isEmpty || isGlobalPartLost || isScopeUnread else { return nil }
    var context = self
    context.globals = globals.redacted(paths: isAllSensitive ? Set(globals.map(\.name)) : sensitive)
    context.fields = redacted(fields)
    context.user = user.map { EventUser(id: $0.id, traits: redacted($0.traits)) }
    return context
  }

  /// Bound fields, or a user's traits, with what is sensitive of them replaced.
  fileprivate func redacted(_ bound: FieldObject) -> FieldObject {
    let isAll = isGlobalPartLost || isScopeUnread || isAllSensitive
    return bound.redacted(paths: isAll ? Set(bound.map(\.name)) : sensitive)
  }

  private var isAllSensitive: Bool { sensitive.contains(Self.allSensitive) }

  /// What was bound could not be read, and is given as its bytes.
  private var isScopeUnread: Bool {
    guard fields.count == 1, fields[0].name == "scope", case .bytes = fields[0].value else { return false }
    return true
  }
}

extension FieldObject {
  /// The same fields with ``FieldValue/redacted`` in the place of each value that `type` marks as sensitive, as
  /// ``StoredEvent/redacted()`` has it. Fields that `type` does not declare are left as they are.
  public func redacted(as type: EventType) -> FieldObject {
    redactedIfNeeded(as: type.fields) ?? self
  }

  fileprivate func redactedIfNeeded(as fields: [Field]) -> FieldObject? {
    guard fields.contains(where: \.holdsSensitive) else { return nil }
    let marked = fields.filter(\.holdsSensitive)
    return FieldObject(
      map { member in
        // Should a declaration name a field twice, each mark counts for both.
        let value = marked.filter { $0.name == member.name }.reduce(member.value) { $0.redacted(as: $1) }
        return Member(name: member.name, value: value)
      })
  }

  /// With the values at these paths replaced: names, with those around them before a dot.
  package func redacted(paths: Set<String>, inside prefix: String = "") -> FieldObject {
    guard !paths.isEmpty else { return self }
    return FieldObject(map { Member(name: $0.name, value: $0.value.redacted(paths: paths, at: prefix + $0.name)) })
  }
}

extension Field {
  /// The field or something within it is sensitive.
  fileprivate var holdsSensitive: Bool { isSensitive || kind.holdsSensitive }
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

  /// The value with `change` made to it if it is an object, and to the objects in it if it is an array; `others` is
  /// made to what is neither.
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

/// The field that an event's payload is given in where it can't be read.
package let unreadField = "payload"
