// FieldPath: the text that names a field through objects and arrays, such as `items[].price`.

import Weir

/// A path to a field: `address.street`, `items[].price`, `tags[]`, `matrix[][]`. A backslash takes the meaning from a
/// `.`, `[`, `]` or `\` that belongs to a name.
package struct FieldPath: Hashable, Sendable {
  package enum Step: Hashable, Sendable {
    case member(String)
    /// Each value of an array.
    case element
  }

  package var steps: [Step]

  /// Reads a path, or says what is wrong with it.
  package static func parse(_ text: String) -> Result<FieldPath, PathProblem> {
    var steps: [Step] = []
    var name = ""
    var hasName = false
    // A dot wants a name behind it, also where it stands behind [].
    var isAfterDot = false
    var rest = text.unicodeScalars[...]
    func problem(_ message: String) -> Result<FieldPath, PathProblem> { .failure(PathProblem(message: message)) }

    while let scalar = rest.popFirst() {
      switch scalar {
      case "\\":
        guard let next = rest.popFirst(), special.contains(next) else {
          return problem("a backslash in a field's name stands before one of . [ ] \\")
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
        guard rest.popFirst() == "]" else { return problem("after [ must come ], for each value of the array") }
        if hasName { steps.append(.member(name)) }
        guard hasName || (steps.last == .element && !isAfterDot) else {
          return problem("before [] must come the array's name")
        }
        name = ""
        hasName = false
        isAfterDot = false
        if let next = rest.first, next != ".", next != "[" { return problem("after [] must come . or the end") }
      case "]": return problem("a ] without its [; put a backslash before it if it belongs to the name")
      default:
        // After `[]` a name may only come behind a dot, which was checked there.
        name.unicodeScalars.append(scalar)
        hasName = true
        continue
      }
      if scalar == "[" { steps.append(.element) }
    }
    if hasName { steps.append(.member(name)) }
    return steps.isEmpty ? problem("the field has no name") : .success(FieldPath(steps: steps))
  }

  /// Scalars with a meaning in a path.
  private static let special: Set<Unicode.Scalar> = [".", "[", "]", "\\"]

  /// A name as a part of a path.
  package static func escaped(_ name: String) -> String {
    guard name.unicodeScalars.contains(where: special.contains) else { return name }
    var text = ""
    for scalar in name.unicodeScalars {
      if special.contains(scalar) { text.unicodeScalars.append("\\") }
      text.unicodeScalars.append(scalar)
    }
    return text
  }

  /// The path of a member of the object at `outer`.
  static func member(_ name: String, of outer: String) -> String {
    outer.isEmpty ? escaped(name) : "\(outer).\(escaped(name))"
  }
}

/// Why a path is refused.
package struct PathProblem: Error, Hashable {
  var message: String
}
