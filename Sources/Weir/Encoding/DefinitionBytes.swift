// DefinitionBytes: encodes an EventType's fields as bytes of the file, and decodes them.

extension EventType {
  /// The encoded fields: for each field a u16 length, the name, and the descriptor of the kind. `nil` if a name is too
  /// long or there are too many fields. The core checks the rest.
  package func encodedFields() -> [UInt8]? {
    var bytes: [UInt8] = []
    return Self.append(fields, to: &bytes, depth: 1) ? bytes : nil
  }

  private static func append(_ fields: [Field], to bytes: inout [UInt8], depth: Int) -> Bool {
    for field in fields {
      guard let count = UInt16(exactly: field.name.utf8.count) else { return false }
      append(count, to: &bytes)
      bytes.append(contentsOf: field.name.utf8)
      guard append(field.kind, to: &bytes, depth: depth) else { return false }
    }
    return true
  }

  private static func append(_ kind: FieldKind, to bytes: inout [UInt8], depth: Int) -> Bool {
    bytes.append(kind.kind.rawValue)
    switch kind {
    case .optional(let inner), .array(let inner):
      return depth <= maximumDepth && append(inner, to: &bytes, depth: depth + 1)
    case .object(let fields):
      // An object without fields would take no bytes, so a reader could not compare an array's count with the
      // remaining bytes.
      guard depth <= maximumDepth, !fields.isEmpty, let count = UInt16(exactly: fields.count) else { return false }
      append(count, to: &bytes)
      return append(fields, to: &bytes, depth: depth + 1)
    default:
      return true
    }
  }

  private static func append(_ number: UInt16, to bytes: inout [UInt8]) {
    bytes.append(UInt8(truncatingIfNeeded: number))
    bytes.append(UInt8(truncatingIfNeeded: number >> 8))
  }
}

/// Decodes the fields of a definition. Trusts none of the bytes.
package struct DefinitionReader {
  private var bytes: ByteReader

  package init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = ByteReader(bytes)
  }

  /// Returns exactly `count` fields. Throws ``Malformed`` if the bytes are anything else.
  package mutating func fields(count: Int) throws(Malformed) -> [Field] {
    let fields = try fields(count: count, depth: 1)
    guard bytes.isAtEnd else { throw Malformed() }
    return fields
  }

  private mutating func fields(count: Int, depth: Int) throws(Malformed) -> [Field] {
    // A field takes at least three bytes, so an impossible count is found before memory is reserved.
    guard count <= bytes.remaining / 3 else { throw Malformed() }
    var fields: [Field] = []
    fields.reserveCapacity(count)
    for _ in 0..<count {
      let name = try bytes.take(Int(bytes.number(UInt16.self)))
      guard let name = String(utf8: name) else { throw Malformed() }
      fields.append(Field(name, try kind(depth: depth)))
    }
    return fields
  }

  private mutating func kind(depth: Int) throws(Malformed) -> FieldKind {
    guard let kind = Kind(rawValue: try bytes.number(UInt8.self)) else { throw Malformed() }
    switch kind {
    case .null: throw Malformed()
    case .bool: return .bool
    case .int8: return .int8
    case .int16: return .int16
    case .int32: return .int32
    case .int64: return .int64
    case .uint8: return .uint8
    case .uint16: return .uint16
    case .uint32: return .uint32
    case .uint64: return .uint64
    case .float: return .float
    case .double: return .double
    case .string: return .string
    case .bytes: return .bytes
    case .uuid: return .uuid
    case .date: return .date
    case .any: return .any
    case .optional, .array, .object:
      guard depth <= maximumDepth else { throw Malformed() }
      if kind == .object {
        // No definition has an object without fields. An array of such could claim any number of values without a byte.
        let count = Int(try bytes.number(UInt16.self))
        guard count > 0 else { throw Malformed() }
        return .object(try fields(count: count, depth: depth + 1))
      }
      let inner = try self.kind(depth: depth + 1)
      return kind == .optional ? .optional(inner) : .array(inner)
    }
  }
}
