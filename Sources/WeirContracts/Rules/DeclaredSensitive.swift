// DeclaredSensitive: finds the fields that an event's declaration marks as sensitive, by the paths of contracts.

import Weir

extension EventType {
  /// Returns whether the declaration marks the field at a path, an enclosing field or a field within it as sensitive.
  func isSensitive(atPath path: String) -> Bool {
    guard !path.isEmpty, case .success(let path) = FieldPath.parse(path) else { return false }
    var fields = self.fields
    for case .member(let name) in path.steps {
      guard let field = fields.first(where: { $0.name == name }) else { return false }
      if field.isSensitive { return true }
      fields = field.kind.innerFields
    }
    return fields.contains(where: \.holdsSensitive)
  }
}

extension Field {
  fileprivate var holdsSensitive: Bool { isSensitive || kind.innerFields.contains(where: \.holdsSensitive) }
}

extension FieldKind {
  /// The fields of the object, also within optionals and arrays.
  fileprivate var innerFields: [Field] {
    switch self {
    case .object(let fields): fields
    case .optional(let inner), .array(let inner): inner.innerFields
    default: []
    }
  }
}
