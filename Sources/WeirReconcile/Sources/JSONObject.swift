// JSONObject: an object from a text that another program wrote.

import Weir
import WeirJSON

enum JSONObject {
  private static let limits = JSONReader.Limits(depth: 64, allowsEqualNames: true)

  /// A number or a truth value; `nil` for any other text.
  static func readScalar(_ text: String) -> FieldValue? {
    guard text == "true" || text == "false" || text.utf8.last.map({ (0x30...0x39).contains($0) }) == true else {
      return nil
    }
    return switch readValue(text) {
    case .bool(let value)?: .bool(value)
    case .int(let value)?: .int(value)
    case .uint(let value)?: .uint(value)
    case .double(let value)?: .double(value)
    default: nil
    }
  }

  /// The object; an empty one for any other text.
  static func read(_ text: String) -> FieldObject {
    let bytes = Array(text.utf8)
    return read(bytes.span) ?? FieldObject([FieldObject.Member]())
  }

  /// Any value; `nil` for a text that is no JSON.
  static func readValue(_ text: String) -> FieldValue? {
    let bytes = Array(text.utf8)
    return try? JSONReader.read(bytes.span, limits: limits)
  }

  /// The object; `nil` for any other text.
  static func read(_ text: Span<UInt8>) -> FieldObject? {
    guard case .object(let object)? = try? JSONReader.read(text, limits: limits) else { return nil }
    return object
  }
}
