// ChangeText: the text that contract and schema changes have in common.

enum ChangeText {
  /// One line. Parts that are empty are left out.
  static func line(isBreaking: Bool, event: String, field: String, what: String, why: String) -> String {
    [isBreaking ? "breaking" : "fine", event, field, what, why].filter { !$0.isEmpty }.joined(separator: ": ")
  }

  /// The words of a raw value such as `field_made_optional`.
  static func words(_ rawValue: String) -> String { rawValue.replacing("_", with: " ") }
}
