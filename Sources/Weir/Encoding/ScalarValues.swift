// Values without parts, as fields: integers, floating-point numbers, Bool, UUID and Date.

public import CCapture

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Bool: EventValue {
  @inlinable public static var fieldKind: FieldKind { .bool }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.bool)
    weir_put_u8(&encoder.record, self ? 1 : 0)
  }

  public init(fieldValue: FieldValue) throws {
    guard case .bool(let value) = fieldValue else { throw fieldValue.mismatch("bool") }
    self = value
  }
}

extension Float: EventValue {
  @inlinable public static var fieldKind: FieldKind { .float }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.float)
    weir_put_u32(&encoder.record, bitPattern)
  }

  public init(fieldValue: FieldValue) throws {
    guard case .float(let value) = fieldValue else { throw fieldValue.mismatch("float") }
    self = value
  }
}

extension Double: EventValue {
  @inlinable public static var fieldKind: FieldKind { .double }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.double)
    weir_put_u64(&encoder.record, bitPattern)
  }

  /// Also reads a float, which a double represents exactly.
  public init(fieldValue: FieldValue) throws {
    switch fieldValue {
    case .double(let value): self = value
    case .float(let value): self = Double(value)
    default: throw fieldValue.mismatch("double")
    }
  }
}

extension UUID: EventValue {
  @inlinable public static var fieldKind: FieldKind { .uuid }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.uuid)
    withUnsafeBytes(of: uuid) { weir_put_raw(&encoder.record, $0.baseAddress, 16) }
  }

  public init(fieldValue: FieldValue) throws {
    guard case .uuid(let value) = fieldValue else { throw fieldValue.mismatch("uuid") }
    self = value
  }
}

extension Date: EventValue {
  @inlinable public static var fieldKind: FieldKind { .date }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.date)
    weir_put_u64(&encoder.record, timeIntervalSinceReferenceDate.bitPattern)
  }

  public init(fieldValue: FieldValue) throws {
    guard case .date(let value) = fieldValue else { throw fieldValue.mismatch("date") }
    self = value
  }
}
