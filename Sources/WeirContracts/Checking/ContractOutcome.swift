// ContractOutcome: what the check of one event against a contract found.

public import Weir

/// What the check of an event found. Nothing in it is a reason to discard the event.
public struct ContractOutcome: Hashable, Sendable {
  /// A default that stands in for a missing mandatory field.
  public struct Default: Hashable, Sendable {
    /// The field, as the contract names it.
    public var field: String

    /// What is filled in.
    public var value: FieldValue

    /// The way to it through the event.
    var path: [Step]
  }

  /// A step into a value: to a member of an object, or to a value of an array.
  enum Step: Hashable, Sendable {
    case member(String)
    case element(Int)
  }

  /// What is against the contract: fields in the order in which the contract declares them, then unknown fields in the
  /// order of the event. At most ``CompiledContract/maximumViolations``.
  public internal(set) var violations: [Violation] = []

  /// How many violations there were beyond those listed.
  public internal(set) var omittedViolations = 0

  /// The defaults to fill in, in the order in which the contract declares the fields.
  public internal(set) var defaults: [Default] = []

  /// An outcome of nothing found.
  public init() {}

  /// Whether the event is as it should be, nothing to fill in.
  public var isClean: Bool { violations.isEmpty && defaults.isEmpty }

  /// `fields` with the defaults filled in: in place of a null, otherwise at the end of their object. Everything else
  /// stays as it is.
  ///
  /// For the fields that were checked. Costs nothing where there are no defaults.
  public func completed(_ fields: FieldObject) -> FieldObject {
    guard !defaults.isEmpty else { return fields }
    var root = FieldValue.object(fields)
    for item in defaults { root.fill(item.path[...], with: item.value) }
    guard case .object(let completed) = root else { return fields }
    return completed
  }
}

extension FieldValue {
  /// Puts `value` at `path`, with the objects on the way that are missing. A path that does not fit is let alone.
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
  /// The last of several members with one name is the one that counts.
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
