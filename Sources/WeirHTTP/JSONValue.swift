// JSONValue: the JSON of an answer, of any shape.

#if HTTP
  import WeirJSON
  import Weir

  /// JSON from another program. Nothing about its shape is assumed.
  struct JSONValue: Hashable, Sendable {
    private let value: FieldValue

    /// Returns `nil` if the bytes are no JSON, or are nested deeper than any value that is read here.
    init?(_ bytes: [UInt8]) {
      let limits = JSONReader.Limits(depth: 32, allowsEqualNames: true)
      guard let value = try? JSONReader.read(bytes.span, limits: limits) else { return nil }
      self.value = value
    }

    private init(_ value: FieldValue) { self.value = value }

    subscript(name: String) -> JSONValue? {
      guard case .object(let members) = value else { return nil }
      return members[name].map { JSONValue($0) }
    }

    var array: [JSONValue]? {
      guard case .array(let values) = value else { return nil }
      return values.map { JSONValue($0) }
    }

    /// Names and values, in the order of the text.
    var members: [(name: String, value: JSONValue)]? {
      guard case .object(let members) = value else { return nil }
      return members.map { ($0.name, JSONValue($0.value)) }
    }

    var isNull: Bool {
      if case .null = value { true } else { false }
    }

    var isObject: Bool {
      if case .object = value { true } else { false }
    }

    var text: String? {
      guard case .string(let text) = value else { return nil }
      return text
    }

    var bool: Bool? {
      guard case .bool(let value) = value else { return nil }
      return value
    }

    /// A whole number, also if it is written as text, like wide numbers in Protobuf's JSON.
    var integer: Int? {
      switch value {
      case .int(let number): Int(exactly: number)
      case .uint(let number): Int(exactly: number)
      case .double(let number): Int(exactly: number)
      case .string(let text): Int(text)
      default: nil
      }
    }
  }
#endif
