// EventValue: the protocol of types that a field of an event can have.

/// A type that a field of a hand-written ``Event`` can have.
///
/// These types conform: integers, floating-point numbers, `Bool`, `String`, `[UInt8]`, `Data`, `UUID`, `Date`,
/// ``FieldValue``, and optionals and arrays of these types. `URL` and `Decimal` are stored as text, `Duration` in
/// seconds, and sets as arrays. An enum with a raw value of such a type only declares the conformance. A structure
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
  /// The kind that ``encode(into:)`` writes. An object keeps its kind in a `static let`, because captures of empty
  /// arrays and missing optionals read the kind.
  static var fieldKind: FieldKind { get }

  /// Writes the value, and nothing else, in the form that ``fieldKind`` declares. Called on the capturing thread.
  func encode(into encoder: inout EventEncoder)

  /// Reads the value back. If the event does not have the field, `fieldValue` is ``FieldValue/null``.
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

/// The reason why a field could not be read as the requested type.
public struct FieldError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The field's name, with the names of enclosing objects before it (`price.amount`). Empty for a value without a
  /// name.
  public var field: String

  /// The problem, as a phrase.
  public var message: String

  package init(_ message: String, field: String = "") {
    self.field = field
    self.message = message
  }

  /// Returns the same error with the name of the enclosing object or field prepended.
  func inside(_ outer: String) -> FieldError {
    FieldError(message, field: field.isEmpty ? outer : "\(outer).\(field)")
  }

  public var description: String {
    field.isEmpty ? message : "field \(field): \(message)"
  }
}
