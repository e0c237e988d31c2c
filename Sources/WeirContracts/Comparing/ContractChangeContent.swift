// ContractChangeContent: the parts of both contracts that a change is about. An approval is bound to these parts, and
// not to the words of the change: words may be shortened, and another version may choose other words.

import Weir
import WeirJSON

/// What was in the old contract at the place of a change, and what is in the new contract, each as JSON on one line.
struct ContractChangeContent: Hashable, Sendable {
  /// The new contract's name.
  var contract = ""
  /// `null` if the old contract has nothing at the place.
  var was = "null"
  /// `null` if the new contract has nothing at the place.
  var now = "null"

  init(contract: String = "", was: String = "null", now: String = "null") {
    self.contract = contract
    self.was = was
    self.now = now
  }

  init(of change: ContractChange, from old: CompiledContract, to new: CompiledContract) {
    contract = new.contract.name
    was = Self.part(of: change, in: old).jsonLine()
    now = Self.part(of: change, in: new).jsonLine()
  }

  private static func part(of change: ContractChange, in compiled: CompiledContract) -> DocumentNode {
    switch change.what {
    case .contractRenamed: return .text(compiled.contract.name)
    case .versionChanged: return .text(compiled.contract.version)
    case .unknownEventsChanged: return .bool(compiled.contract.allowsUnknownEvents)
    case .requiredKindChanged: return .bool(compiled.contract.requiresKind)
    default: break
    }
    guard !change.event.isEmpty else {
      return compiled.everyEvent?.field(at: change.field, in: ContextParts.name)?.node.keeping(change.keys)
        ?? DocumentNode(.null)
    }
    guard let event = compiled.event(change.event) else { return DocumentNode(.null) }
    if change.field.isEmpty { return event.node.keeping(change.keys) }
    let field =
      event.members.field(at: change.field) ?? event.context?.field(at: change.field, in: ContextParts.name)
    return field?.node.keeping(change.keys) ?? DocumentNode(.null)
  }
}

extension ContractChange {
  /// The keys of a contract's file that the change is about; `nil` for all.
  fileprivate var keys: Set<String>? {
    switch what {
    case .contractRenamed, .versionChanged, .unknownEventsChanged, .requiredKindChanged: []
    case .eventAdded, .eventRemoved, .fieldAdded, .fieldRemoved: nil
    case .eventKindChanged: ["kind"]
    case .eventOpened, .eventClosed: ["open"]
    case .fieldMadeOptional, .fieldMadeMandatory, .defaultChanged: ["mandatory", "default"]
    // The clauses of a wider type are compared by themselves. Those of another type are not, and come with the type.
    case .typeChanged where isBreaking: Self.clauses.union(["type"])
    case .typeChanged: ["type"]
    case .valuesAdded, .valuesRemoved: ["one_of"]
    case .rangeChanged: ["min", "max", "above", "below"]
    case .finiteChanged: ["finite"]
    case .lengthChanged: ["min_length", "max_length"]
    case .patternChanged: ["matches"]
    case .markedSensitive, .unmarkedSensitive: ["sensitive"]
    case .deprecationChanged: ["deprecated"]
    case .descriptionChanged: ["description"]
    }
  }

  /// The keys of the checks of a field's values.
  private static let clauses: Set = [
    "one_of", "min", "max", "above", "below", "finite", "min_length", "max_length", "matches",
  ]
}

extension DocumentNode {
  /// Returns the map with these keys only.
  fileprivate func keeping(_ keys: Set<String>?) -> DocumentNode {
    guard let keys, case .map(let entries) = content else { return self }
    return DocumentNode(.map(entries.filter { keys.contains($0.key) }))
  }
}

extension CompiledEvent {
  /// The event in the form of a contract's file. Equal rules have equal forms, whether fields within objects are nested
  /// or have paths as their names.
  fileprivate var node: DocumentNode {
    var rule = rule
    rule.fields = []
    let node = ContractWriting.node(rule).with("fields", members.node)
    return context.map { node.with(ContextParts.name, $0.node) } ?? node
  }
}

extension CompiledMembers {
  /// Returns the field at a path of ``ContractChange/field``. The path begins with `place`, if there is one.
  fileprivate func field(at path: String, in place: String? = nil) -> CompiledField? {
    guard case .success(let path) = FieldPath.parse(path) else { return nil }
    var steps = path.steps[...]
    if let place {
      guard case .member(place)? = steps.popFirst() else { return nil }
    }
    var inside: CompiledMembers? = self
    var field: CompiledField?
    for step in steps {
      switch step {
      case .member(let name): field = inside?.positions[name].flatMap { inside?.fields[$0] }
      case .element: field = field?.element
      }
      // The fields of the objects in an array are a step further, at the array's element.
      inside = field?.members
    }
    return field
  }
}

extension CompiledMembers {
  fileprivate var node: DocumentNode {
    DocumentNode(.map(fields.map { DocumentNode.Entry(key: $0.name, value: $0.node) }))
  }
}

extension CompiledField {
  fileprivate var node: DocumentNode {
    var rule = rule ?? FieldRule(name, mandatory: isMandatory)
    rule.fields = []
    rule.type = type
    var node = ContractWriting.node(rule)
    if let members { node = node.with("fields", members.node) }
    if let element { node = node.with("values", element.node) }
    return node
  }
}

extension DocumentNode {
  /// Returns the map with a further key, which is left out if its map is empty.
  fileprivate func with(_ key: String, _ value: DocumentNode) -> DocumentNode {
    guard case .map(var entries) = content else { return self }
    if case .map(let inner) = value.content, inner.isEmpty { return self }
    entries.append(Entry(key: key, value: value))
    return DocumentNode(.map(entries))
  }
}
