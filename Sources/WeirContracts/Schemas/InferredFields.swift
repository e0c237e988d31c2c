// InferredFields: infers the fields of events without a declaration from the events themselves.

import Weir

/// The fields of the objects seen at one place, in the order of their first occurrence.
final class InferredObject {
  /// Whether a field had to be left out.
  private(set) var isPartial = false
  private var members: [InferredField] = []
  private var indices: [String: Int] = [:]
  /// The number of objects seen.
  private var count: UInt64 = 0
  private let memory: SchemaBudget
  private let fieldCount: SchemaBudget

  /// `memory` counts bytes, and is shared by the whole schema. `fieldCount` counts fields, and is shared by the whole
  /// event.
  init(_ memory: SchemaBudget, _ fieldCount: SchemaBudget) {
    self.memory = memory
    self.fieldCount = fieldCount
  }

  func add(_ object: FieldObject) {
    count += 1
    for (position, member) in object.enumerated() {
      guard let index = index(of: member.name, near: position) else {
        isPartial = true
        continue
      }
      members[index].add(member.value, object: count)
      if members[index].isPartial { isPartial = true }
    }
  }

  func fields() -> [Field] {
    members.map { Field($0.name, $0.kind(objects: count)) }
  }

  /// Returns the field's index in `members`, usually its position in the object, or `nil` if there is no room for the
  /// field.
  private func index(of name: String, near position: Int) -> Int? {
    if position < members.count, members[position].name == name { return position }
    if let index = indices[name] { return index }
    guard fieldCount.take(1), memory.take(Self.bytes(ofName: name)) else { return nil }
    members.append(InferredField(name: name, shape: InferredShape(memory, fieldCount)))
    indices[name] = members.count - 1
    return members.count - 1
  }

  /// Returns the approximate memory of a field with this name, in bytes.
  static func bytes(ofName name: String) -> Int { 256 + 2 * name.utf8.count }
}

/// One field, and how often it was present.
private struct InferredField {
  let name: String
  let shape: InferredShape
  /// The number of objects with the field, and the last of them: an object may have a name twice.
  private var objects: UInt64 = 0
  private var lastObject: UInt64 = 0

  var isPartial: Bool { shape.isPartial }

  init(name: String, shape: InferredShape) {
    self.name = name
    self.shape = shape
  }

  mutating func add(_ value: FieldValue, object: UInt64) {
    if lastObject != object {
      objects += 1
      lastObject = object
    }
    shape.add(value)
  }

  func kind(objects all: UInt64) -> FieldKind {
    objects < all ? shape.kind.madeOptional : shape.kind
  }
}

/// The kinds of the values seen at one place.
private final class InferredShape {
  private var kinds: Set<Kind> = []
  private var element: InferredShape?
  private var object: InferredObject?
  private let memory: SchemaBudget
  private let fieldCount: SchemaBudget

  var isPartial: Bool { element?.isPartial ?? false || object?.isPartial ?? false }

  init(_ memory: SchemaBudget, _ fieldCount: SchemaBudget) {
    self.memory = memory
    self.fieldCount = fieldCount
  }

  func add(_ value: FieldValue) {
    kinds.insert(value.inferredKind)
    switch value {
    case .array(let values):
      let element = element ?? InferredShape(memory, fieldCount)
      self.element = element
      for value in values { element.add(value) }
    case .object(let members):
      let object = object ?? InferredObject(memory, fieldCount)
      self.object = object
      object.add(members)
    default: break
    }
  }

  var kind: FieldKind {
    kinds.contains(.null) ? kindOfValues.madeOptional : kindOfValues
  }

  /// The kind of the values that are not null.
  private var kindOfValues: FieldKind {
    let seen = kinds.subtracting([.null])
    if seen == [.int64, .uint64] { return .int64 }
    if seen == [.float, .double] { return .double }
    guard seen.count == 1, let only = seen.first else { return .any }
    return switch only {
    case .array: .array(element?.kind ?? .any)
    case .object: .object(object?.fields() ?? [])
    default: FieldKind(only) ?? .any
    }
  }
}

extension FieldKind {
  fileprivate var madeOptional: FieldKind {
    if case .optional = self { return self }
    return .optional(self)
  }

  /// Creates the kind with this number, for kinds without parts.
  init?(_ kind: Kind) {
    switch kind {
    case .bool: self = .bool
    case .int8: self = .int8
    case .int16: self = .int16
    case .int32: self = .int32
    case .int64: self = .int64
    case .uint8: self = .uint8
    case .uint16: self = .uint16
    case .uint32: self = .uint32
    case .uint64: self = .uint64
    case .float: self = .float
    case .double: self = .double
    case .string: self = .string
    case .bytes: self = .bytes
    case .uuid: self = .uuid
    case .date: self = .date
    case .any: self = .any
    case .null, .optional, .array, .object: return nil
    }
  }
}

extension FieldValue {
  /// The most specific kind that a reader can still see in the value.
  fileprivate var inferredKind: Kind {
    switch self {
    case .null: .null
    case .bool: .bool
    case .int: .int64
    case .uint: .uint64
    case .float: .float
    case .double: .double
    case .string: .string
    case .bytes: .bytes
    case .uuid: .uuid
    case .date: .date
    case .array: .array
    case .object: .object
    }
  }
}
