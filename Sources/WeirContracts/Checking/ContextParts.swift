// ContextParts: an event's context as paths name it: an object with the names that EventJSON writes. A path that begins
// with `context.` is a path in this object.

package import Weir

/// The parts of a context that every context has in the same form.
enum ContextParts {
  static let name = "context"

  /// The members of the objects whose members are fixed, by path.
  static let members = [
    "context": ["fields", "globals", "user", "view"], "context.user": ["id", "traits"],
    "context.view": ["id", "name", "parent"],
  ]

  /// The types of the parts whose types are fixed, by path.
  static let types: [String: FieldRule.ValueType] = [
    "context.fields": .object, "context.globals": .object, "context.user": .object, "context.user.id": .string,
    "context.user.traits": .object, "context.view": .object, "context.view.id": .string, "context.view.name": .string,
    "context.view.parent": .string,
  ]

  /// Returns whether the path is that of a global field or a bound field, or of a field within one.
  static func isField(_ path: String) -> Bool {
    path.hasPrefix("context.globals.") || path.hasPrefix("context.fields.")
  }
}

extension FieldPath {
  /// Whether the path names a part of the event's context, and not one of the event's own fields.
  package var isOfContext: Bool { steps.count > 1 && steps[0] == .member(ContextParts.name) }
}

extension FieldRule {
  /// Whether the rule is for a part of the event's context, and not for one of the event's own fields.
  package var isOfContext: Bool {
    if case .success(let path) = FieldPath.parse(name) { path.isOfContext } else { false }
  }
}

extension EventContext {
  /// Returns a part of the context by its name: `globals`, `fields`, `user` or `view`. Null if there is none.
  package func part(_ name: String) -> FieldValue {
    switch name {
    case "globals": return .object(globals)
    case "fields": return .object(fields)
    case "user":
      guard let user else { return .null }
      return .object(["id": .string(user.id), "traits": .object(user.traits)])
    case "view":
      guard let view else { return .null }
      var object: FieldObject = ["id": .string(view.id), "name": .string(view.name)]
      if let parent = view.parent { object["parent"] = .string(parent) }
      return .object(object)
    default: return .null
    }
  }

  /// Returns whether the value at the path of a part is another value in `redacted`, the redacted context.
  func differs(from redacted: EventContext, at path: String) -> Bool {
    guard case .success(let path) = FieldPath.parse(path), path.isOfContext, case .member(let part) = path.steps[1]
    else { return false }
    let steps = path.steps.dropFirst(2)
    return self.part(part).value(at: steps) != redacted.part(part).value(at: steps)
  }
}

extension FieldValue {
  /// Returns the value at the end of the steps, or the array or other value at which the steps can't be followed.
  fileprivate func value(at steps: ArraySlice<FieldPath.Step>) -> FieldValue {
    guard case .member(let name) = steps.first, case .object(let object) = self else { return self }
    return (object[name] ?? .null).value(at: steps.dropFirst())
  }
}
