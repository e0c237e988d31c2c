// Contracts from files and to files: JSON here, YAML in WeirYAML, both through the same tree.

import Weir
package import WeirJSON

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Contract {
  /// Reads a contract from a JSON file. <doc:Contracts> describes the format.
  ///
  /// Throws all problems at once, each with its line: the problems that ``compiled()`` finds, unknown keys and types,
  /// equal keys, values of the wrong kind, and numbers that no field can hold. A file is refused if it is larger than
  /// 16 MiB, has more than a million values, or nests values more than 64 deep.
  public init(json: Data) throws(ContractError) {
    let node: DocumentNode
    do {
      node = try DocumentJSON.read(Array(json))
    } catch {
      throw ContractError([.init(line: error.line, message: error.message)])
    }
    try self.init(node)
  }

  /// Reads a contract from the tree of a file.
  package init(_ node: DocumentNode) throws(ContractError) {
    var mapping = ContractMapping()
    let contract = mapping.contract(node)
    var compiler = ContractCompiler()
    _ = compiler.compile(contract)
    // If a type was unknown, the compiler's problems with the field may follow from that alone.
    let unsound = compiler.problems.filter { !mapping.isUnsure(ofEvent: $0.event, field: $0.field) }.map { problem in
      var problem = problem
      problem.line = mapping.line(ofEvent: problem.event, field: problem.field)
      return problem
    }
    let problems = mapping.problems + unsound
    guard problems.isEmpty else {
      throw ContractError(problems.sorted { ($0.line ?? 0) < ($1.line ?? 0) })
    }
    self = contract
  }

  /// Returns the contract as a JSON file. ``init(json:)`` reads the file as an equal contract if this contract is valid
  /// (``compiled()``). Floats become doubles, and whole numbers become `FieldValue.int(_:)` if they fit.
  public func json() -> Data {
    Data((node.json() + "\n").utf8)
  }

  /// The contract as the tree of a file.
  package var node: DocumentNode { ContractWriting.node(self) }
}

/// Converts a contract into the tree of a file.
enum ContractWriting {
  static func node(_ contract: Contract) -> DocumentNode {
    var map = MapWriting()
    map.put("contract", contract.name)
    map.put("version", contract.version)
    map.put("allows_unknown_events", contract.allowsUnknownEvents)
    map.put("requires_kind", contract.requiresKind)
    if !contract.everyEvent.isEmpty { map.put("every_event", contract.everyEvent.map { ($0.name, node($0)) }) }
    map.put("events", contract.events.map { ($0.name, node($0)) })
    return map.node
  }

  static func node(_ event: EventRule) -> DocumentNode {
    var map = MapWriting()
    if let kind = event.kind { map.put("kind", kind.rawValue) }
    map.put("open", event.isOpen)
    map.put("deprecated", event.isDeprecated)
    if !event.description.isEmpty { map.put("description", event.description) }
    if !event.fields.isEmpty { map.put("fields", event.fields.map { ($0.name, node($0)) }) }
    return map.node
  }

  static func node(_ field: FieldRule) -> DocumentNode {
    var map = MapWriting()
    if field.type != .any { map.put("type", field.type.rawValue) }
    map.put("mandatory", field.isMandatory)
    if let values = field.allowedValues { map.put("one_of", DocumentNode(.list(values.map(node)))) }
    switch field.range?.lower {
    case .including(let number): map.put("min", node(number))
    case .excluding(let number): map.put("above", node(number))
    case nil: break
    }
    switch field.range?.upper {
    case .including(let number): map.put("max", node(number))
    case .excluding(let number): map.put("below", node(number))
    case nil: break
    }
    map.put("finite", field.isFinite)
    if let min = field.length?.min { map.put("min_length", node(.int(Int64(min)))) }
    if let max = field.length?.max { map.put("max_length", node(.int(Int64(max)))) }
    if let pattern = field.pattern { map.put("matches", pattern) }
    if let value = field.defaultValue { map.put("default", node(value)) }
    map.put("sensitive", field.isSensitive)
    map.put("deprecated", field.isDeprecated)
    if !field.description.isEmpty { map.put("description", field.description) }
    if !field.fields.isEmpty { map.put("fields", field.fields.map { ($0.name, node($0)) }) }
    return map.node
  }

  /// Converts a value that a contract may list. Other values become text, which is refused when it is read.
  static func node(_ value: FieldValue) -> DocumentNode {
    switch value {
    case .null: DocumentNode(.null)
    case .bool(let value): DocumentNode(.bool(value))
    case .int, .uint: DocumentNode(.number(value))
    case .float(let number): node(.double(Double(number)))
    case .double(let number): number.isFinite ? DocumentNode(.number(value)) : DocumentNode(.text("\(number)"))
    case .string(let text): DocumentNode(.text(text))
    case .uuid, .bytes, .date: DocumentNode(.text(value.description))
    case .array(let values): DocumentNode(.list(values.map(node)))
    case .object(let object):
      DocumentNode(.map(object.map { DocumentNode.Entry(key: $0.name, value: node($0.value)) }))
    }
  }
}

/// A map of a file under construction. Keys whose value is false are left out.
private struct MapWriting {
  private var entries: [DocumentNode.Entry] = []

  var node: DocumentNode { DocumentNode(.map(entries)) }

  mutating func put(_ key: String, _ value: DocumentNode) { entries.append(.init(key: key, value: value)) }
  mutating func put(_ key: String, _ text: String) { put(key, DocumentNode(.text(text))) }

  mutating func put(_ key: String, _ flag: Bool) {
    if flag { put(key, DocumentNode(.bool(true))) }
  }

  mutating func put(_ key: String, _ values: [(String, DocumentNode)]) {
    put(key, DocumentNode(.map(values.map { DocumentNode.Entry(key: $0.0, value: $0.1) })))
  }
}
