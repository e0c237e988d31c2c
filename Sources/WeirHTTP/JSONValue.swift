// JSONValue: an answer's JSON, of whatever shape.

#if HTTP
  import WeirJSON
  import Weir

  /// JSON that somebody else wrote: nothing about its shape is taken for granted.
  struct JSONValue: Hashable, Sendable {
    private let value: FieldValue

    /// Nil if the bytes are no JSON, or nest deeper than anything that is asked for here.
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

    /// Names and values, in the order in which they are written.
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

    /// A whole number, also one that is written as text, as Protobuf's JSON has wide ones.
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
