// Integers as fields. Int and UInt are stored in 64 bits. Reading checks the range of every width.

public import CCapture

extension Int8: EventValue {
  @inlinable public static var fieldKind: FieldKind { .int8 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.int8)
    weir_put_u8(&encoder.record, UInt8(bitPattern: self))
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension Int16: EventValue {
  @inlinable public static var fieldKind: FieldKind { .int16 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.int16)
    weir_put_u16(&encoder.record, UInt16(bitPattern: self))
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension Int32: EventValue {
  @inlinable public static var fieldKind: FieldKind { .int32 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.int32)
    weir_put_u32(&encoder.record, UInt32(bitPattern: self))
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension Int64: EventValue {
  @inlinable public static var fieldKind: FieldKind { .int64 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.int64)
    weir_put_u64(&encoder.record, UInt64(bitPattern: self))
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension Int: EventValue {
  @inlinable public static var fieldKind: FieldKind { .int64 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.int64)
    weir_put_u64(&encoder.record, UInt64(bitPattern: Int64(self)))
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension UInt8: EventValue {
  @inlinable public static var fieldKind: FieldKind { .uint8 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.uint8)
    weir_put_u8(&encoder.record, self)
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension UInt16: EventValue {
  @inlinable public static var fieldKind: FieldKind { .uint16 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.uint16)
    weir_put_u16(&encoder.record, self)
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension UInt32: EventValue {
  @inlinable public static var fieldKind: FieldKind { .uint32 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.uint32)
    weir_put_u32(&encoder.record, self)
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension UInt64: EventValue {
  @inlinable public static var fieldKind: FieldKind { .uint64 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.uint64)
    weir_put_u64(&encoder.record, self)
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}

extension UInt: EventValue {
  @inlinable public static var fieldKind: FieldKind { .uint64 }

  @inlinable
  @inline(__always)
  public func encode(into encoder: inout EventEncoder) {
    encoder.sign(.uint64)
    weir_put_u64(&encoder.record, UInt64(self))
  }

  public init(fieldValue: FieldValue) throws {
    self = try fieldValue.integer()
  }
}
