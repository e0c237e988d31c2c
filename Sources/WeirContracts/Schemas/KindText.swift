// KindText: the kinds of fields in a schema's text: `uint64`, `string?`, `[double]`, `object`.

package import Weir

extension FieldKind {
  /// The kind in one word: `uint64`, `string?` for a value that may be missing, `[double]` for an array, `object` for
  /// an object, whose fields are listed separately.
  package var text: String {
    switch self {
    case .optional(let inner): inner.text + "?"
    case .array(let inner): "[\(inner.text)]"
    case .object: "object"
    default: "\(kind)"
    }
  }

  /// Parses ``text``, with these fields if the kind is or contains an object. Returns `nil` for any other text, and if
  /// there are fields for a kind without an object.
  package init?(text: some StringProtocol, fields: [Field]) {
    self.init(text: Substring(text), fields: fields, depth: 0)
    if !fields.isEmpty, self.fields == nil { return nil }
  }

  private init?(text: Substring, fields: [Field], depth: Int) {
    // Each level of nesting may also be optional.
    guard depth <= 2 * maximumDepth else { return nil }
    if text.hasSuffix("?") {
      guard let inner = FieldKind(text: text.dropLast(), fields: fields, depth: depth + 1) else { return nil }
      self = .optional(inner)
    } else if text.hasPrefix("["), text.hasSuffix("]"), text.count >= 2 {
      guard let inner = FieldKind(text: text.dropFirst().dropLast(), fields: fields, depth: depth + 1) else {
        return nil
      }
      self = .array(inner)
    } else if text == "object" {
      self = .object(fields)
    } else {
      guard let kind = Kind.allCases.first(where: { "\($0)" == text }), let scalar = FieldKind(kind) else { return nil }
      self = scalar
    }
  }
}
