// SwiftLiteral: values of a contract as literals of Swift.

import Weir

package enum SwiftLiteral {
  package static func text(_ text: String) -> String {
    var literal = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": literal += "\\\(scalar)"
      case "\n": literal += "\\n"
      case "\t": literal += "\\t"
      case _ where isShown(scalar): literal.unicodeScalars.append(scalar)
      default: literal += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    return literal + "\""
  }

  /// Returns a default as the value of a parameter, or `nil` if there is no literal: for UUIDs, and for structures.
  static func value(_ value: FieldValue, _ shape: SwiftShape) -> String? {
    switch (shape, value) {
    case (.any, _): return anyValue(value)
    case (.bool, .bool(let flag)): return "\(flag)"
    case (.integer, .int(let number)), (.unsigned, .int(let number)): return "\(number)"
    case (.integer, .uint(let number)), (.unsigned, .uint(let number)): return "\(number)"
    case (.number, .int(let number)): return "\(Double(number))"
    case (.number, .uint(let number)): return "\(Double(number))"
    case (.number, .float(let number)): return "\(Double(number))"
    case (.number, .double(let number)): return "\(number)"
    case (.text, .string(let text)): return self.text(text)
    case (.choice(let values), .string(let text)):
      guard values.contains(where: { $0.utf8.elementsEqual(text.utf8) }) else { return nil }
      return SwiftNames.distinct(values, SwiftNames.enumCase)[text].map { ".\(SwiftNames.code($0))" }
    case (.list(let element), .array(let values)):
      let literals = values.compactMap { self.value($0, element) }
      return literals.count == values.count ? "[\(literals.joined(separator: ", "))]" : nil
    case (.object, .object(let object)): return members(object)
    default: return nil
    }
  }

  private static func anyValue(_ value: FieldValue) -> String? {
    switch value {
    case .null: return "nil"
    case .bool(let flag): return "\(flag)"
    case .int(let number): return "\(number)"
    case .uint(let number): return ".uint(\(number))"
    case .double(let number): return ".double(\(number))"
    case .float(let number): return ".float(\(number))"
    case .string(let text): return self.text(text)
    case .array(let values):
      let literals = values.compactMap(anyValue)
      return literals.count == values.count ? "[\(literals.joined(separator: ", "))]" : nil
    case .object(let object): return members(object).map { ".object(\($0))" }
    case .bytes, .uuid, .date: return nil
    }
  }

  /// Returns a dictionary, or `nil` if a name appears twice, which ends the program that has such a literal.
  private static func members(_ object: FieldObject) -> String? {
    guard !object.isEmpty else { return "[:]" }
    let literals = object.compactMap { member in anyValue(member.value).map { "\(text(member.name)): \($0)" } }
    guard literals.count == object.count, Set(object.map(\.name)).count == object.count else { return nil }
    return "[\(literals.joined(separator: ", "))]"
  }

  /// Whether a character can stand in a source file as it is: no control, and nothing that changes how text is shown.
  static func isShown(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    default: true
    }
  }
}
