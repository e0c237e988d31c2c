// ContractOutcome: the result of checking one event against a contract.

public import Weir

/// The result of checking an event. No result is a reason to discard the event.
public struct ContractOutcome: Hashable, Sendable {
  /// The default for a missing mandatory field.
  public struct Default: Hashable, Sendable {
    /// The field's path in the contract.
    public var field: String

    /// The value to fill in.
    public var value: FieldValue

    /// The steps to the field through the event, or through its context.
    var path: [Step]

    /// Whether the field belongs to the context.
    var isOfContext: Bool { path.count > 2 && path[0] == .member(ContextParts.name) }

    /// The part of the context that the field belongs to, which is empty for the event's own fields; the name of the
    /// field, or of the object around the field, in that part; and the steps from there.
    var place: (part: String, name: String, rest: ArraySlice<Step>) {
      // Every default has a path of names up to its first array, and begins with a name.
      func name(_ index: Int) -> String { if case .member(let name) = path[index] { name } else { "" } }
      return isOfContext ? (name(1), name(2), path[3...]) : ("", name(0), path[1...])
    }
  }

  /// A step into a value: to a member of an object, or to a value of an array.
  enum Step: Hashable, Sendable {
    case member(String)
    case element(Int)
  }

  /// The violations: of each object, first those of its declared fields and of the values within them, in the
  /// contract's order, then its unknown fields, in the event's order. Violations of the context come last. At most
  /// ``CompiledContract/maximumViolations``.
  public internal(set) var violations: [Violation] = []

  /// The number of violations beyond the listed ones.
  public internal(set) var omittedViolations = 0

  /// The defaults to fill in, in the contract's order. If a value of the same name is among the event's own fields, its
  /// bound fields or the global fields, the default is not one of them, because it would take the place of that value.
  public internal(set) var defaults: [Default] = []

  /// Creates an outcome without violations and defaults.
  public init() {}

  /// Whether the event has no violations, and no defaults to fill in.
  public var isClean: Bool { violations.isEmpty && defaults.isEmpty }

  /// Returns `fields` with the defaults of the event's own fields filled in: in place of a null, otherwise at the end
  /// of the enclosing object. Nothing else changes.
  ///
  /// `fields` must be the fields that were checked. Costs nothing without defaults.
  public func completed(_ fields: FieldObject) -> FieldObject {
    guard !defaults.isEmpty else { return fields }
    var root = FieldValue.object(fields)
    for item in defaults where !item.isOfContext { root.fill(item.path[...], with: item.value) }
    guard case .object(let completed) = root else { return fields }
    return completed
  }

  /// Returns `context` with the defaults of its global and bound fields filled in, in the same way.
  ///
  /// `context` must be the context that was checked. Costs nothing without defaults.
  public func completed(_ context: EventContext) -> EventContext {
    guard defaults.contains(where: \.isOfContext) else { return context }
    var completed = context
    for item in defaults where item.isOfContext {
      let (part, name, rest) = item.place
      if part == "globals" {
        completed.globals.fill(name, rest, with: item.value)
      } else {
        completed.fields.fill(name, rest, with: item.value)
      }
    }
    return completed
  }
}

extension FieldValue {
  /// Puts `value` at `path`, and creates missing objects on the way. Does nothing if the path does not fit.
  fileprivate mutating func fill(_ path: ArraySlice<ContractOutcome.Step>, with value: FieldValue) {
    guard let step = path.first else {
      self = value
      return
    }
    switch (step, consume self) {
    case (.member(let name), .object(var object)):
      self = .null
      object.fill(name, path.dropFirst(), with: value)
      self = .object(object)
    case (.member(let name), .null):
      var object = FieldObject()
      object.fill(name, path.dropFirst(), with: value)
      self = .object(object)
    case (.element(let index), .array(var values)) where values.indices.contains(index):
      self = .null
      values[index].fill(path.dropFirst(), with: value)
      self = .array(values)
    case (_, let other): self = other
    }
  }
}

extension FieldObject {
  /// Fills in a member. If several members have the same name, the last one counts.
  fileprivate mutating func fill(
    _ name: String, _ rest: ArraySlice<ContractOutcome.Step>, with value: FieldValue
  ) {
    if let index = members.lastIndex(where: { $0.name == name }) {
      members[index].value.fill(rest, with: value)
    } else {
      var inner = FieldValue.null
      inner.fill(rest, with: value)
      members.append(Member(name: name, value: inner))
    }
  }
}
