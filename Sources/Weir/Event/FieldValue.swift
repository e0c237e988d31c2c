// FieldValue: any value that a field can have, for events without a Swift type and for reading.

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// The value of a field, whatever its kind.
///
/// Integers keep the sign of their kind and lose its width: a `UInt8` is read as ``uint(_:)``, an `Int16` as
/// ``int(_:)``. Floating-point numbers and dates keep every bit: the infinities, and those of not-a-number, which as
/// ever equals nothing, not itself either. Text keeps every character, NUL included; what is not valid UTF-8 is never
/// repaired, but read as ``bytes(_:)``. Only names are stricter: see ``EventType``.
public enum FieldValue: Hashable, Sendable {
  /// No value: a missing optional.
  case null
  case bool(Bool)
  case int(Int64)
  case uint(UInt64)
  case float(Float)
  case double(Double)
  case string(String)
  /// Bytes; also a text that is not valid UTF-8, which only a C program can have captured.
  case bytes([UInt8])
  case uuid(UUID)
  case date(Date)
  case array([FieldValue])
  case object(FieldObject)

  /// What stands in the place of a sensitive value wherever it is shown or sent: the text `[redacted]`.
  public static let redacted = FieldValue.string("[redacted]")

  /// What the value is, in a word, as errors say it.
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

  /// The nested object, or a ``FieldError``.
  public func object() throws -> FieldObject {
    guard case .object(let object) = self else { throw mismatch("object") }
    return object
  }

  /// The array, or a ``FieldError``.
  public func array() throws -> [FieldValue] {
    guard case .array(let values) = self else { throw mismatch("array") }
    return values
  }

  /// The integer if there is one and `T` holds it, or a ``FieldError``.
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

  /// The error of finding another kind than the one wanted.
  func mismatch(_ wanted: String) -> FieldError {
    if case .null = self { return FieldError("no value, where \(wanted) is wanted") }
    return FieldError("\(kindName), where \(wanted) is wanted")
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

  /// Foundation's own text ends the process where a date is very far from now, and a field may hold any.
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
