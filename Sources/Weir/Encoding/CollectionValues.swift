// Values with parts, as fields: strings, bytes, optionals, arrays, and values that carry their own kind.

public import CCapture

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension EventEncoder {
  /// Puts the number of bytes, then the bytes.
  @inlinable
  @inline(__always)
  mutating func putCounted(_ bytes: UnsafeRawBufferPointer) {
    Self.put(counted: bytes, into: &record)
  }

  @inlinable
  @inline(__always)
  static func put(counted bytes: UnsafeRawBufferPointer, into record: inout weir_record) {
    weir_put_u32(&record, UInt32(truncatingIfNeeded: bytes.count))
    weir_put_raw(&record, bytes.baseAddress, UInt64(bytes.count))
  }

  /// Puts the text's length in bytes, then the text in UTF-8.
  @inlinable
  @inline(__always)
  mutating func putText(_ text: String) {
    // The contiguous storage is tried first. String.withUTF8 mutates, so the compiler would copy the string, which
    // doubles the time. Only bridged strings have no contiguous storage.
    let done: Void? = text.utf8.withContiguousStorageIfAvailable { putCounted(UnsafeRawBufferPointer($0)) }
    if done == nil { record = Self.puttingBridged(text, into: record) }
  }

  /// Returns the record with a text that has no contiguous storage.
  @usableFromInline
  @inline(never)
  static func puttingBridged(_ text: String, into record: weir_record) -> weir_record {
    var record = record
    var text = text
    text.withUTF8 { put(counted: UnsafeRawBufferPointer($0), into: &record) }
    return record
  }
}

extension String: EventValue {
  @inlinable public static var fieldKind: FieldKind { .string }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.string)
    encoder.putText(self)
  }

  public init(fieldValue: FieldValue) throws {
    guard case .string(let value) = fieldValue else { throw fieldValue.mismatch("string") }
    self = value
  }
}

extension Data: EventValue {
  @inlinable public static var fieldKind: FieldKind { .bytes }

  @inlinable
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.bytes)
    withUnsafeBytes { encoder.putCounted($0) }
  }

  public init(fieldValue: FieldValue) throws {
    guard case .bytes(let value) = fieldValue else { throw fieldValue.mismatch("bytes") }
    self.init(value)
  }
}

extension Optional: EventValue where Wrapped: EventValue {
  @inlinable public static var fieldKind: FieldKind { .optional(Wrapped.fieldKind) }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.optional)
    switch self {
    case .some(let value):
      weir_put_u8(&encoder.record, 1)
      value.encode(into: &encoder)
    case .none:
      weir_put_u8(&encoder.record, 0)
      encoder.sign(absent: Wrapped.fieldKind)
    }
  }

  public init(fieldValue: FieldValue) throws {
    if case .null = fieldValue {
      self = .none
    } else {
      self = .some(try Wrapped(fieldValue: fieldValue))
    }
  }
}

/// An array of `UInt8` is stored as bytes, in an eighth of the time that an array of numbers would take.
extension Array: EventValue where Element: EventValue {
  @inlinable public static var fieldKind: FieldKind {
    Element.self == UInt8.self ? .bytes : .array(Element.fieldKind)
  }

  @inlinable
  public func encode(into encoder: inout EventEncoder) {
    if Element.self == UInt8.self {
      encoder.sign(.bytes)
      withUnsafeBytes { encoder.putCounted($0) }
      return
    }
    encoder.sign(.array)
    weir_put_u32(&encoder.record, UInt32(truncatingIfNeeded: count))
    // The element's kind enters the signature once, whatever the number of elements. Every element must have that
    // kind.
    let before = encoder.record.signature
    encoder.sign(absent: Element.fieldKind)
    let after = encoder.record.signature
    for element in self {
      encoder.record.signature = before
      element.encode(into: &encoder)
      if encoder.record.signature != after { return encoder.spoil() }
    }
  }

  public init(fieldValue: FieldValue) throws {
    if let bytes = Self.bytes(fieldValue) {
      self = bytes
    } else {
      self = try fieldValue.array().enumerated().map { index, value in
        do {
          return try Element(fieldValue: value)
        } catch let error as FieldError {
          throw error.inside("[\(index)]")
        }
      }
    }
  }

  private static func bytes(_ value: FieldValue) -> Self? {
    guard case .bytes(let bytes) = value else { return nil }
    return bytes as? Self
  }
}

extension FieldValue: EventValue {
  public static var fieldKind: FieldKind { .any }

  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.any)
    encoder.putTagged(self, depth: 1)
  }

  public init(fieldValue: FieldValue) throws {
    self = fieldValue
  }
}
