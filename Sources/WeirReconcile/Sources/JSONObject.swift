// JSONObject: an object from a text that another program wrote.

import Weir
import WeirJSON

enum JSONObject {
  private static let limits = JSONReader.Limits(depth: 64, allowsEqualNames: true)

  /// The object; an empty one for any other text.
  static func read(_ text: String) -> FieldObject {
    let bytes = Array(text.utf8)
    return read(bytes.span) ?? FieldObject([FieldObject.Member]())
  }

  /// The object; `nil` for any other text.
  static func read(_ text: Span<UInt8>) -> FieldObject? {
    guard case .object(let object)? = try? JSONReader.read(text, limits: limits) else { return nil }
    return object
  }
}
