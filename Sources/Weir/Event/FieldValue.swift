// FieldValue: any value that a field can have, for events without a Swift type and for reading.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The value of a field, of any kind.
///
/// Integers keep their signedness and lose their width: a `UInt8` is read as ``uint(_:)``, an `Int16` as ``int(_:)``.
/// Floating-point values and dates keep every bit, including infinities and NaN payloads; as usual, NaN does not equal
/// itself. Text keeps every character, including NUL. Text that is not valid UTF-8 is never repaired, but read as
/// ``bytes(_:)``. Names have stricter rules: see ``EventType``.
public enum FieldValue: Hashable, Sendable {
  /// No value: a missing optional.
  case null
  case bool(Bool)
  case int(Int64)
  case uint(UInt64)
  case float(Float)
  case double(Double)
  case string(String)
  /// Bytes, or text that is not valid UTF-8. Only a C program can capture such text.
  case bytes([UInt8])
  case uuid(UUID)
  case date(Date)
  case array([FieldValue])
  case object(FieldObject)

  /// The text `[redacted]`, which replaces a sensitive value wherever the value is shown or sent.
  public static let redacted = FieldValue.string("[redacted]")

  /// The kind of the value in one word, for error messages.
  public var kindName: String {
    switch self {
    case .null: "null"
    case .bool: "bool"
    case .int: "int"
    case .uint: "uint"
    case .float: "float"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .uuid: "uuid"
    case .date: "date"
    case .array: "array"
    case .object: "object"
    }
  }

  /// Returns the nested object, or throws a ``FieldError``.
  public func object() throws -> FieldObject {
    guard case .object(let object) = self else { throw mismatch("object") }
    return object
  }

  /// Returns the array, or throws a ``FieldError``.
  public func array() throws -> [FieldValue] {
    guard case .array(let values) = self else { throw mismatch("array") }
    return values
  }

  /// Returns the integer as `T`. Throws a ``FieldError`` if the value is no integer or does not fit in `T`.
  public func integer<T: FixedWidthInteger>(as type: T.Type = T.self) throws -> T {
    let value: T?
    switch self {
    case .int(let number): value = T(exactly: number)
    case .uint(let number): value = T(exactly: number)
    default: throw mismatch("integer")
    }
    guard let value else { throw FieldError("\(self) does not fit in \(T.self)") }
    return value
  }

  /// Returns the error for a value that is not of the wanted kind.
  func mismatch(_ wanted: String) -> FieldError {
    if case .null = self { return FieldError("the value is missing, expected \(wanted)") }
    return FieldError("the value is \(kindName), expected \(wanted)")
  }
}

extension FieldValue: CustomStringConvertible {
  public var description: String {
    switch self {
    case .null: "null"
    case .bool(let value): "\(value)"
    case .int(let value): "\(value)"
    case .uint(let value): "\(value)"
    case .float(let value): "\(value)"
    case .double(let value): "\(value)"
    case .string(let value): String(reflecting: value)
    case .bytes(let value): "\(value.count) bytes"
    case .uuid(let value): value.uuidString
    case .date(let value): Self.text(of: value)
    case .array(let values): "[" + values.map(\.description).joined(separator: ", ") + "]"
    case .object(let object): object.description
    }
  }

  /// Dates far from now are written as seconds: Foundation's description of such a date ends the process.
  private static func text(of date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    let yearsThatHaveFourDigits = -63_145_526_400.0..<252_423_993_600.0
    return yearsThatHaveFourDigits.contains(seconds) ? "\(date)" : "\(seconds) s from 2001"
  }
}

extension FieldValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .int(value) }
  public init(floatLiteral value: Double) { self = .double(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: FieldValue...) { self = .array(elements) }
  public init(dictionaryLiteral elements: (String, FieldValue)...) { self = .object(FieldObject(elements)) }
}
