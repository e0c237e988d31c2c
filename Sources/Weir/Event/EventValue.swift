// EventValue: the types that a field of an event can have.

/// A type that a field of a hand-written ``Event`` can have.
///
/// Integers, floating-point numbers, `Bool`, `String`, `[UInt8]`, `Data`, `UUID`, `Date`, ``FieldValue``, and optionals
/// and arrays of these conform; `URL` and `Decimal`, which are stored as text, `Duration`, in seconds, and sets, as
/// arrays. So does an enum with a raw value of such a type once it declares it. A structure
/// conforms as a nested object:
///
/// ```swift
/// struct Price: EventValue {
///   var amount: Int64
///   var currency: String
///
///   static let fieldKind = FieldKind.object([Field("amount", .int64), Field("currency", .string)])
///
///   func encode(into encoder: inout EventEncoder) {
///     encoder.beginObject()
///     encoder.put(amount)
///     encoder.put(currency)
///   }
///
///   init(fieldValue: FieldValue) throws {
///     let object = try fieldValue.object()
///     amount = try object.value("amount")
///     currency = try object.value("currency")
///   }
/// }
/// ```
public protocol EventValue: Sendable {
  /// The kind that ``encode(into:)`` writes. Objects keep it in a `static let`: it is read in captures of empty arrays
  /// and missing optionals.
  static var fieldKind: FieldKind { get }

  /// Writes the value, and nothing else, as ``fieldKind`` declares it. Called on the capturing thread.
  func encode(into encoder: inout EventEncoder)

  /// Reads the value back. A field that the event does not have is given as ``FieldValue/null``.
  init(fieldValue: FieldValue) throws
}

extension EventValue where Self: RawRepresentable, RawValue: EventValue {
  public static var fieldKind: FieldKind { RawValue.fieldKind }

  @inlinable
  public func encode(into encoder: inout EventEncoder) {
    rawValue.encode(into: &encoder)
  }

  public init(fieldValue: FieldValue) throws {
    let raw = try RawValue(fieldValue: fieldValue)
    guard let value = Self(rawValue: raw) else {
      throw FieldError("\(raw) is no value of \(Self.self)")
    }
    self = value
  }
}

/// Why a field could not be read as the type that was asked for.
public struct FieldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The field's name; for a field of a nested object, with those around it (`price.amount`). Empty for a bare value.
  public var field: String

  /// What is wrong.
  public var message: String

  package init(_ message: String, field: String = "") {
    self.field = field
    self.message = message
  }

  /// The same error, seen from the object that holds the field.
  func inside(_ outer: String) -> FieldError {
    FieldError(message, field: field.isEmpty ? outer : "\(outer).\(field)")
  }

  public var description: String {
    field.isEmpty ? message : "field \(field): \(message)"
  }
}
