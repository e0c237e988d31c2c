// PayloadReader: decodes an event's payload into fields. Trusts none of the bytes.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Decodes the payload of one event. Each count is compared with the remaining bytes before memory is reserved, and
/// nesting is limited. A payload is valid only if all its bytes are used.
struct PayloadReader {
  var bytes: ByteReader

  init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = ByteReader(bytes)
  }

  /// Returns the values of declared fields.
  mutating func packed(_ fields: [Field]) throws(Malformed) -> FieldObject {
    let object = try object(fields, depth: 0)
    guard bytes.isAtEnd else { throw Malformed() }
    return object
  }

  /// Returns fields that carry their own names and kinds.
  mutating func tagged() throws(Malformed) -> FieldObject {
    let object = try taggedObject(depth: 0)
    guard bytes.isAtEnd else { throw Malformed() }
    return object
  }

  private mutating func object(_ fields: [Field], depth: Int) throws(Malformed) -> FieldObject {
    var members: [FieldObject.Member] = []
    members.reserveCapacity(fields.count)
    for field in fields {
      members.append(.init(name: field.name, value: try value(field.kind, depth: depth + 1)))
    }
    return FieldObject(members)
  }

  mutating func value(_ kind: FieldKind, depth: Int) throws(Malformed) -> FieldValue {
    switch kind {
    case .optional(let wrapped):
      guard depth <= maximumDepth else { throw Malformed() }
      return try flag() ? value(wrapped, depth: depth + 1) : .null
    case .array(let element):
      let count = try count(depth: depth)
      var values: [FieldValue] = []
      values.reserveCapacity(count)
      for _ in 0..<count { values.append(try value(element, depth: depth + 1)) }
      return .array(values)
    case .object(let fields):
      guard depth <= maximumDepth, !fields.isEmpty else { throw Malformed() }
      return .object(try object(fields, depth: depth))
    case .any:
      // A tagged value counts its depth from its own start: the writer did not know where the value would be nested.
      return try taggedValue(depth: 1)
    default:
      return try scalar(kind.kind)
    }
  }

  mutating func taggedValue(depth: Int) throws(Malformed) -> FieldValue {
    guard let kind = Kind(rawValue: try bytes.number(UInt8.self)) else { throw Malformed() }
    switch kind {
    case .array:
      let count = try count(depth: depth)
      var values: [FieldValue] = []
      values.reserveCapacity(count)
      for _ in 0..<count { values.append(try taggedValue(depth: depth + 1)) }
      return .array(values)
    case .object:
      return .object(try taggedObject(depth: depth))
    default:
      return try scalar(kind)
    }
  }

  private mutating func taggedObject(depth: Int) throws(Malformed) -> FieldObject {
    let count = try count(depth: depth)
    var members: [FieldObject.Member] = []
    members.reserveCapacity(count)
    for _ in 0..<count {
      guard let name = String(utf8: try bytes.counted()) else { throw Malformed() }
      members.append(.init(name: name, value: try taggedValue(depth: depth + 1)))
    }
    return FieldObject(members)
  }

  /// Returns a number of values. Each value takes at least one byte.
  mutating func count(depth: Int) throws(Malformed) -> Int {
    let count = Int(try bytes.number(UInt32.self))
    guard depth <= maximumDepth, count <= bytes.remaining else { throw Malformed() }
    return count
  }

  mutating func flag() throws(Malformed) -> Bool {
    let byte = try bytes.number(UInt8.self)
    guard byte <= 1 else { throw Malformed() }
    return byte == 1
  }

  private mutating func scalar(_ kind: Kind) throws(Malformed) -> FieldValue {
    switch kind {
    case .null: return .null
    case .bool: return .bool(try flag())
    case .int8: return .int(Int64(try bytes.number(Int8.self)))
    case .int16: return .int(Int64(try bytes.number(Int16.self)))
    case .int32: return .int(Int64(try bytes.number(Int32.self)))
    case .int64: return .int(try bytes.number(Int64.self))
    case .uint8: return .uint(UInt64(try bytes.number(UInt8.self)))
    case .uint16: return .uint(UInt64(try bytes.number(UInt16.self)))
    case .uint32: return .uint(UInt64(try bytes.number(UInt32.self)))
    case .uint64: return .uint(try bytes.number(UInt64.self))
    case .float: return .float(Float(bitPattern: try bytes.number(UInt32.self)))
    case .double: return .double(Double(bitPattern: try bytes.number(UInt64.self)))
    case .string:
      let text = try bytes.counted()
      // A text that is not UTF-8 is never repaired, but returned as the captured bytes.
      return String(utf8: text).map { .string($0) } ?? .bytes(Array(text))
    case .bytes: return .bytes(Array(try bytes.counted()))
    case .uuid: return .uuid(UUID(uuid: try bytes.take(16).loadUnaligned(as: uuid_t.self)))
    case .date:
      return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try bytes.number(UInt64.self))))
    case .optional, .array, .object, .any: throw Malformed()
    }
  }
}
