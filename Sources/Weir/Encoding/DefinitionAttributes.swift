// DefinitionAttributes: what a declaration says beyond names and kinds, as the tagged object that a definition carries.

/// The names in the object, as FileFormat lists them.
private enum Attribute {
  static let wireID = "id"
  static let kind = "kind"
  static let formerNames = "formerly"
  static let sensitive = "sensitive"
  static let formerFieldNames = "fields_formerly"
}

extension EventType {
  /// What is to be stored with the definition; what the declaration leaves out is not in it.
  package var attributes: FieldObject {
    var members: [(String, FieldValue)] = []
    if let wireID { members.append((Attribute.wireID, .uint(UInt64(wireID)))) }
    if let kind { members.append((Attribute.kind, .string(kind.rawValue))) }
    if !formerNames.isEmpty { members.append((Attribute.formerNames, .texts(formerNames))) }
    var sensitive: [String] = []
    var formerly: [(String, FieldValue)] = []
    fields.visit { path, field in
      if field.isSensitive { sensitive.append(path) }
      if !field.formerNames.isEmpty { formerly.append((path, .texts(field.formerNames))) }
    }
    if !sensitive.isEmpty { members.append((Attribute.sensitive, .texts(sensitive))) }
    if !formerly.isEmpty { members.append((Attribute.formerFieldNames, .object(FieldObject(formerly)))) }
    return FieldObject(members)
  }

  /// The declaration with what the attributes say. What is not known is passed over, and so is what makes no sense:
  /// whoever wrote it, names and kinds still hold.
  package func with(_ attributes: FieldObject) -> EventType {
    var type = self
    if case .uint(let number)? = attributes[Attribute.wireID] { type.wireID = UInt32(exactly: number) }
    if case .string(let word)? = attributes[Attribute.kind] { type.kind = EventKind(rawValue: word) }
    type.formerNames = attributes[Attribute.formerNames]?.texts ?? []
    let sensitive = Set(attributes[Attribute.sensitive]?.texts ?? [])
    var formerly: [String: [String]] = [:]
    if case .object(let object)? = attributes[Attribute.formerFieldNames] {
      for member in object { formerly[member.name] = member.value.texts }
    }
    if !sensitive.isEmpty || !formerly.isEmpty {
      type.fields.change { path, field in
        field.isSensitive = sensitive.contains(path)
        field.formerNames = formerly[path] ?? []
      }
    }
    return type
  }
}

extension FieldValue {
  /// An array of texts.
  static func texts(_ texts: some Sequence<String>) -> FieldValue {
    .array(texts.map { .string($0) })
  }

  /// The texts of an array; those elements that are none are left out. Nil for any other value.
  var texts: [String]? {
    guard case .array(let values) = self else { return nil }
    return values.compactMap { value in
      guard case .string(let text) = value else { return nil }
      return text
    }
  }
}

// MARK: Paths

// A field's path is the names on the way to it, `address.street`; optionals and arrays add nothing. Two fields can have
// one path if a name has a dot in it: what is said of the one then holds for both, so nothing sensitive is overlooked.

extension [Field] {
  /// Calls `body` with each field, and with those in nested objects, and with its path.
  func visit(inside path: String = "", _ body: (String, Field) -> Void) {
    for field in self {
      let own = path + field.name
      body(own, field)
      field.kind.fields?.visit(inside: own + ".", body)
    }
  }

  /// Changes each field, and those in nested objects.
  mutating func change(inside path: String = "", _ body: (String, inout Field) -> Void) {
    for index in indices {
      let own = path + self[index].name
      body(own, &self[index])
      self[index].kind = self[index].kind.changed { $0.change(inside: own + ".", body) }
    }
  }
}

extension FieldKind {
  /// The fields of the object that this is, or that is in this optional or array; nil if there is none.
  package var fields: [Field]? {
    switch self {
    case .object(let fields): fields
    case .optional(let inner), .array(let inner): inner.fields
    default: nil
    }
  }

  /// The kind with those fields changed.
  fileprivate func changed(_ change: (inout [Field]) -> Void) -> FieldKind {
    switch self {
    case .object(var fields):
      change(&fields)
      return .object(fields)
    case .optional(let inner): return .optional(inner.changed(change))
    case .array(let inner): return .array(inner.changed(change))
    default: return self
    }
  }
}
