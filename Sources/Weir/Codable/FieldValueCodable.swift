// FieldValue as a part of Codable events: for fields whose type is not known in advance.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension FieldValue: Codable {
  /// Encodes the value as what it is: a number as a number, an object as an object.
  ///
  /// In an event, every value keeps its kind. Other encoders, such as `JSONEncoder`, have fewer kinds: bytes, UUIDs and
  /// dates get the form that the encoder gives them.
  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .array(let values):
      var container = encoder.unkeyedContainer()
      for value in values { try container.encode(value) }
    case .object(let object):
      var container = encoder.container(keyedBy: TextKey.self)
      for member in object { try container.encode(member.value, forKey: TextKey(member.name)) }
    default: try encodeScalar(to: encoder)
    }
  }

  private func encodeScalar(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null, .array, .object: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .uint(let value): try container.encode(value)
    case .float(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .bytes(let value): try container.encode(value)
    case .uuid(let value): try container.encode(value)
    case .date(let value): try container.encode(value)
    }
  }

  /// Decodes a value of any kind.
  ///
  /// From an event, the value is as it was captured. From other decoders, the value is what the decoder can tell: with
  /// `JSONDecoder` an object with its keys sorted, an array, a truth value, an integer, a number, a text, or null.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? EventDecoder {
      self = decoder.value
      return
    }
    if let container = try? decoder.container(keyedBy: TextKey.self) {
      let names = container.allKeys.map(\.stringValue).sorted()
      self = .object(
        FieldObject(try names.map { ($0, try container.decode(FieldValue.self, forKey: TextKey($0))) }))
      return
    }
    if var container = try? decoder.unkeyedContainer() {
      var values: [FieldValue] = []
      while !container.isAtEnd { values.append(try container.decode(FieldValue.self)) }
      self = .array(values)
      return
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int64.self) {
      self = .int(value)
    } else if let value = try? container.decode(UInt64.self) {
      self = .uint(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else {
      self = .string(try container.decode(String.self))
    }
  }
}
