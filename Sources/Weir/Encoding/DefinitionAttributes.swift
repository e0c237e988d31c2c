// DefinitionAttributes: the parts of a declaration beside names and kinds, as the tagged object of a definition.

/// The names of the members. FileFormat lists them.
private enum Attribute {
  static let wireID = "id"
  static let kind = "kind"
  static let formerNames = "formerly"
  static let sensitive = "sensitive"
  static let formerFieldNames = "fields_formerly"
}

extension EventType {
  /// The attributes to store with the definition. Attributes that the declaration does not set are absent.
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
    // The fields of a tagged event are made of the paths, which may be read in several ways: see `Field.marks`.
    if isTagged { sensitive = Set(sensitive).sorted() }
    if !sensitive.isEmpty { members.append((Attribute.sensitive, .texts(sensitive))) }
    if !formerly.isEmpty { members.append((Attribute.formerFieldNames, .object(FieldObject(formerly)))) }
    return FieldObject(members)
  }

  /// Returns the declaration with these attributes. Unknown and invalid attributes are ignored: names and kinds are
  /// still valid.
  package func with(_ attributes: FieldObject) -> EventType {
    var type = self
    if case .uint(let number)? = attributes[Attribute.wireID] { type.wireID = UInt32(exactly: number) }
    if case .string(let word)? = attributes[Attribute.kind] { type.kind = EventKind(rawValue: word) }
    type.formerNames = attributes[Attribute.formerNames]?.texts ?? []
    let sensitive = Set(attributes[Attribute.sensitive]?.texts ?? [])
    if isTagged {
      type.fields = Field.marks(sensitive)
      return type
    }
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
  /// Creates an array of texts.
  static func texts(_ texts: some Sequence<String>) -> FieldValue {
    .array(texts.map { .string($0) })
  }

  /// The texts of an array, without elements of other kinds; `nil` for any other value.
  var texts: [String]? {
    guard case .array(let values) = self else { return nil }
    return values.compactMap { value in
      guard case .string(let text) = value else { return nil }
      return text
    }
  }
}

// MARK: Events that carry the names of their fields

extension Field {
  /// The most names in a path that are read in every way. A longer path marks too much rather than too little.
  private static let mostNames = 5

  /// Returns fields that mark these paths as sensitive, and say nothing else. A name may contain a dot, so a path of
  /// several names is read in every way. By scalars: a combining scalar after a dot makes one character with the dot.
  static func marks(_ paths: some Sequence<String>) -> [Field] {
    var fields: [Field] = []
    for path in Set(paths).sorted() {
      let names = path.unicodeScalars.split(separator: ".", omittingEmptySubsequences: false)
      mark(names.map { Substring($0) }[...], in: &fields)
    }
    return fields
  }

  private static func mark(_ names: ArraySlice<Substring>, in fields: inout [Field]) {
    let isLong = names.count > mostNames
    for count in 1...max(names.count, 1) {
      let name = names.prefix(count).joined(separator: ".")
      let rest = names.dropFirst(count)
      var index = fields.firstIndex { $0.name == name } ?? fields.endIndex
      if index == fields.endIndex { fields.append(Field(name, .any)) }
      index = min(index, fields.endIndex - 1)
      if rest.isEmpty || isLong {
        fields[index].isSensitive = true
      } else {
        var inner = fields[index].kind.fields ?? []
        mark(rest, in: &inner)
        fields[index].kind = .object(inner)
      }
    }
  }
}

// MARK: Paths

// A field's path consists of the names on the way to the field, such as `address.street`. Optionals and arrays add
// nothing. Two fields can have the same path if a name contains a dot. Attributes of such a path apply to both fields,
// so that no sensitive field is overlooked.

extension [Field] {
  /// Calls `body` with the path of each field, nested fields included.
  func visit(inside path: String = "", _ body: (String, Field) -> Void) {
    for field in self {
      let own = path + field.name
      body(own, field)
      field.kind.fields?.visit(inside: own + ".", body)
    }
  }

  /// Calls `body` to change each field, nested fields included.
  mutating func change(inside path: String = "", _ body: (String, inout Field) -> Void) {
    for index in indices {
      let own = path + self[index].name
      body(own, &self[index])
      self[index].kind = self[index].kind.changed { $0.change(inside: own + ".", body) }
    }
  }
}

extension FieldKind {
  /// The fields of the object that this kind is, or that this optional or array contains; `nil` if there is no object.
  package var fields: [Field]? {
    switch self {
    case .object(let fields): fields
    case .optional(let inner), .array(let inner): inner.fields
    default: nil
    }
  }

  /// Returns the kind with these fields changed.
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
