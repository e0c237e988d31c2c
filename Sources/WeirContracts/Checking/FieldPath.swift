// FieldPath: the path of a field through objects and arrays, such as `items[].price`.

import Weir

/// The path of a field: `address.street`, `items[].price`, `tags[]`, `matrix[][]`. A backslash before `.`, `[`, `]` or
/// `\` makes the character a part of a name.
package struct FieldPath: Hashable, Sendable {
  package enum Step: Hashable, Sendable {
    case member(String)
    /// Each value of an array.
    case element
  }

  package var steps: [Step]

  /// Parses a path. Returns the problem if the path is invalid.
  package static func parse(_ text: String) -> Result<FieldPath, PathProblem> {
    var steps: [Step] = []
    var name = ""
    var hasName = false
    // A dot must be followed by a name, also after [].
    var isAfterDot = false
    var rest = text.unicodeScalars[...]
    func problem(_ message: String) -> Result<FieldPath, PathProblem> { .failure(PathProblem(message: message)) }

    while let scalar = rest.popFirst() {
      switch scalar {
      case "\\":
        guard let next = rest.popFirst(), special.contains(next) else {
          return problem("a backslash in a field's name must be followed by one of . [ ] \\")
        }
        name.unicodeScalars.append(next)
        hasName = true
      case ".":
        if hasName { steps.append(.member(name)) }
        guard hasName || (steps.last == .element && !isAfterDot), !rest.isEmpty else {
          return problem("a part of the path is empty")
        }
        name = ""
        hasName = false
        isAfterDot = true
      case "[":
        guard rest.popFirst() == "]" else { return problem("[ must be followed by ], for each value of the array") }
        if hasName { steps.append(.member(name)) }
        guard hasName || (steps.last == .element && !isAfterDot) else {
          return problem("the array's name is missing before []")
        }
        name = ""
        hasName = false
        isAfterDot = false
        if let next = rest.first, next != ".", next != "[" { return problem("[] must be followed by . or the end") }
      case "]": return problem("a ] without its [; put a backslash before it if it belongs to the name")
      default:
        // A name after `[]` needs a dot, which was checked there.
        name.unicodeScalars.append(scalar)
        hasName = true
        continue
      }
      if scalar == "[" { steps.append(.element) }
    }
    if hasName { steps.append(.member(name)) }
    return steps.isEmpty ? problem("the field has no name") : .success(FieldPath(steps: steps))
  }

  /// The Unicode scalars that have a meaning in a path.
  private static let special: Set<Unicode.Scalar> = [".", "[", "]", "\\"]

  /// Returns a name as a part of a path.
  package static func escaped(_ name: String) -> String {
    guard name.unicodeScalars.contains(where: special.contains) else { return name }
    var text = ""
    for scalar in name.unicodeScalars {
      if special.contains(scalar) { text.unicodeScalars.append("\\") }
      text.unicodeScalars.append(scalar)
    }
    return text
  }

  /// Returns the path of a member of the object at `outer`.
  static func member(_ name: String, of outer: String) -> String {
    outer.isEmpty ? escaped(name) : "\(outer).\(escaped(name))"
  }
}

/// The reason why a path is invalid.
package struct PathProblem: Error, Hashable {
  package var message: String
}
