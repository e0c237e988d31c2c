// EncodedFields: reads the encoded fields of one event, and writes them as JSON. Trusts none of the bytes.
//
// Follows `PayloadReader` of Weir case by case, and stops where `PayloadReader` throws. FileFormat has the encoding.

import Weir

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A payload that is not valid.
private struct Unreadable: Error {}

/// One event's fields on the way from bytes to JSON.
struct EncodedFields {
  /// The most bytes of JSON for a byte of a payload, names of declared fields aside. A value takes at least a byte, and
  /// `false` with its comma six. A character takes at most six, and a text has four bytes more for its count.
  static let factor = 8

  private(set) var sink: JSONSink
  private let bytes: UnsafeRawBufferPointer
  private var position = 0
  private let form: JSONForm

  init(_ bytes: UnsafeRawBufferPointer, _ sink: JSONSink, _ form: JSONForm) {
    self.bytes = bytes
    self.sink = sink
    self.form = form
  }

  /// Writes the fields as an object: these, or if `declared` is `nil` those that the payload names. Returns `false` if
  /// the payload is not valid; what was written is of no use then.
  mutating func write(_ declared: PackedFields?) -> Bool {
    do throws(Unreadable) {
      if let fields = declared {
        guard fields.isFlat else {
          try object(fields, depth: 0)
          return position == bytes.count
        }
        return flatObject(fields) && position == bytes.count
      }
      try taggedObject(depth: 0)
    } catch {
      return false
    }
    return position == bytes.count
  }

  /// Writes fields that have no parts. The same as ``object(_:depth:)`` for them, with less work for each.
  private mutating func flatObject(_ fields: PackedFields) -> Bool {
    fields.names.withUnsafeBufferPointer { names in
      guard var name = names.baseAddress else { return false }
      return fields.flat.withUnsafeBufferPointer { flat in
        for field in flat {
          sink.put(padded: name, field.nameBytes)
          name += field.nameBytes
          do throws(Unreadable) {
            if field.isOptional, try !flag() { sink.put("null") } else { try scalar(field.kind) }
          } catch {
            return false
          }
        }
        sink.put(byte: "}")
        return true
      }
    }
  }

  private mutating func object(_ fields: PackedFields, depth: Int) throws(Unreadable) {
    if fields.members.isEmpty { return sink.put("{}") }
    var start = 0
    for index in fields.members.indices {
      let end = fields.members[index].end
      fields.names.withUnsafeBufferPointer { sink.put(UnsafeBufferPointer(rebasing: $0[start..<end])) }
      start = end
      let kind = fields.members[index].kind
      switch kind {
      case .optional, .array, .object, .any: try value(fields.members[index], depth: depth + 1)
      default: try scalar(kind)
      }
    }
    sink.put(byte: "}")
  }

  private mutating func value(_ member: PackedFields.Member, depth: Int) throws(Unreadable) {
    switch member.kind {
    case .optional:
      guard depth <= maximumDepth else { throw Unreadable() }
      if try flag() { try value(member.inner[0], depth: depth + 1) } else { sink.put("null") }
    case .array:
      let count = try count(depth: depth)
      sink.put(byte: "[")
      for index in 0..<count {
        if index > 0 { sink.put(byte: ",") }
        try value(member.inner[0], depth: depth + 1)
      }
      sink.put(byte: "]")
    case .object:
      guard depth <= maximumDepth else { throw Unreadable() }
      try object(member.fields[0], depth: depth)
    case .any: try taggedValue(depth: 1)
    default: try scalar(member.kind)
    }
  }

  private mutating func taggedValue(depth: Int) throws(Unreadable) {
    guard let kind = Kind(rawValue: try number(UInt8.self)) else { throw Unreadable() }
    switch kind {
    case .array:
      let count = try count(depth: depth)
      sink.put(byte: "[")
      for index in 0..<count {
        if index > 0 { sink.put(byte: ",") }
        try taggedValue(depth: depth + 1)
      }
      sink.put(byte: "]")
    case .object: try taggedObject(depth: depth)
    default: try scalar(kind)
    }
  }

  private mutating func taggedObject(depth: Int) throws(Unreadable) {
    let count = try count(depth: depth)
    sink.put(byte: "{")
    for index in 0..<count {
      if index > 0 { sink.put(byte: ",") }
      // A name that is no UTF-8 makes the payload invalid.
      guard sink.putText(try counted()) else { throw Unreadable() }
      sink.put(byte: ":")
      try taggedValue(depth: depth + 1)
    }
    sink.put(byte: "}")
  }

  private mutating func scalar(_ kind: Kind) throws(Unreadable) {
    switch kind {
    case .null: sink.put("null")
    case .bool: sink.put(try flag() ? "true" : "false")
    case .int8: sink.put(Int64(try number(Int8.self)), as: form)
    case .int16: sink.put(Int64(try number(Int16.self)), as: form)
    case .int32: sink.put(Int64(try number(Int32.self)), as: form)
    case .int64: sink.put(try number(Int64.self), as: form)
    case .uint8: sink.put(UInt64(try number(UInt8.self)), as: form)
    case .uint16: sink.put(UInt64(try number(UInt16.self)), as: form)
    case .uint32: sink.put(UInt64(try number(UInt32.self)), as: form)
    case .uint64: sink.put(try number(UInt64.self), as: form)
    case .float: sink.put(Float(bitPattern: try number(UInt32.self)), as: form)
    case .double: sink.put(Double(bitPattern: try number(UInt64.self)), as: form)
    case .string:
      let text = try counted()
      // A text that is not UTF-8 is never repaired, but written as the captured bytes.
      if !sink.putText(text) { sink.put(.bytes(Array(text)), as: form) }
    case .bytes: sink.put(.bytes(Array(try counted())), as: form)
    case .uuid: sink.put(.uuid(UUID(uuid: try take(16).loadUnaligned(as: uuid_t.self))), as: form)
    case .date:
      let seconds = Double(bitPattern: try number(UInt64.self))
      sink.put(.date(Date(timeIntervalSinceReferenceDate: seconds)), as: form)
    case .optional, .array, .object, .any: throw Unreadable()
    }
  }

  // MARK: Bytes

  private mutating func take(_ count: Int) throws(Unreadable) -> UnsafeRawBufferPointer {
    guard count <= bytes.count - position else { throw Unreadable() }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
  }

  @inline(__always)
  private mutating func number<T: FixedWidthInteger & BitwiseCopyable>(_ type: T.Type) throws(Unreadable) -> T {
    guard MemoryLayout<T>.size <= bytes.count - position else { throw Unreadable() }
    defer { position += MemoryLayout<T>.size }
    return T(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: T.self))
  }

  private mutating func counted() throws(Unreadable) -> UnsafeRawBufferPointer {
    try take(Int(try number(UInt32.self)))
  }

  private mutating func count(depth: Int) throws(Unreadable) -> Int {
    let count = Int(try number(UInt32.self))
    guard depth <= maximumDepth, count <= bytes.count - position else { throw Unreadable() }
    return count
  }

  private mutating func flag() throws(Unreadable) -> Bool {
    let byte = try number(UInt8.self)
    guard byte <= 1 else { throw Unreadable() }
    return byte == 1
  }
}

extension JSONSink {
  /// Writes a text with quotation marks, escaped as `JSONText` does. Returns `false`, and writes nothing, if the text
  /// is not UTF-8.
  mutating func putText(_ text: UnsafeRawBufferPointer) -> Bool {
    if putPlain(text) { return true }
    guard let text = String(utf8: text) else { return false }
    put(text: text)
    return true
  }

  mutating func put(text: String) {
    var bytes: [UInt8] = []
    JSONText.append(text, to: &bytes)
    bytes.withUnsafeBufferPointer { put($0) }
  }

  /// Writes a value as `JSONText` does.
  mutating func put(_ value: FieldValue, as form: JSONForm) {
    var bytes: [UInt8] = []
    JSONText.append(value, as: form, to: &bytes)
    bytes.withUnsafeBufferPointer { put($0) }
  }
}
