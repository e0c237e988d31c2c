// PlanSteps: reads the steps of a mapper from a plan's file. A step has the name of the function of EventMapper, and
// its arguments have the names of the function's parameters.

import Weir
import WeirContracts
import WeirJSON

extension PlanMapping {
  /// Returns the mapper of a list of steps.
  mutating func mapper(_ node: DocumentNode) -> EventMapper {
    guard case .list(let nodes) = node.content else {
      problem(node.line, "mapper is \(node.kindName); write a list of steps")
      return EventMapper()
    }
    var mapper = EventMapper()
    for (index, node) in nodes.enumerated() {
      mapper = within("mapper[\(index)]") { reading in reading.step(node).map(mapper.then) ?? mapper }
    }
    return mapper
  }

  private mutating func step(_ node: DocumentNode) -> EventMapper? {
    let name: String
    let arguments: DocumentNode
    switch node.content {
    case .text(let text): (name, arguments) = (text, DocumentNode(.map([]), line: node.line))
    case .map(let entries) where entries.count == 1: (name, arguments) = (entries[0].key, entries[0].value)
    default:
      problem(node.line, "a step is a name, or a map from one name to the step's arguments")
      return nil
    }
    guard let known = PlanKeys.steps.first(where: { $0.name == name }) else {
      problem(node.line, "there is no step \(quoted(name))\(Spelling.hint(name, among: PlanKeys.steps.map(\.name)))")
      return nil
    }
    return within(name) { reading in
      guard let map = reading.map(arguments, "the step", known.arguments.names) else { return nil }
      return reading.step(name, map, node.line)
    }
  }

  private mutating func fraction(_ map: [String: DocumentNode], _ line: Int) -> Double? {
    guard map["fraction"] != nil else {
      problem(line, "the key fraction is missing")
      return nil
    }
    guard let fraction = number(map, "fraction") else { return nil }
    if !(0...1).contains(fraction) { problem(map["fraction"]?.line ?? line, "fraction is a number from 0 to 1") }
    return fraction
  }

  private mutating func step(_ name: String, _ map: [String: DocumentNode], _ line: Int) -> EventMapper? {
    switch name {
    case "deriving": return deriving(map, line)
    case "adding":
      guard let node = required(map, "fields", line), let fields = fields(node) else { return nil }
      return .adding(fields)
    case "only", "without":
      guard let key = oneKey(map, ["events", "fields"], line), let node = map[key] else { return nil }
      let names = texts(node, key)
      switch (name, key) {
      case ("only", "events"): return .only(events: names)
      case ("only", _): return .only(fields: names)
      case (_, "events"): return .without(events: names)
      default: return .without(fields: names)
      }
    case "renaming":
      guard let key = oneKey(map, ["events", "fields"], line), let node = map[key] else { return nil }
      if key == "events", let node = map["in"] { problem(node.line, "in needs the key fields, not events") }
      let names = names(node, key)
      return key == "events" ? .renaming(events: names) : .renaming(fields: names, in: text(map, "in"))
    case "joining_context": return .joiningContext()
    case "sampling":
      guard let events = required(map, "events", line), let fraction = fraction(map, line) else { return nil }
      return .sampling(events: texts(events, "events"), fraction: fraction)
    case "shortening_addresses":
      guard let node = required(map, "in", line) else { return nil }
      return .shorteningAddresses(in: texts(node, "in"))
    case "flattening": return .flattening(separator: text(map, "separator") ?? "_")
    case "snake_case": return .snakeCase(separator: text(map, "separator") ?? "_", words: words(map))
    case "camel_case": return .camelCase(separator: text(map, "separator") ?? ".", words: words(map))
    case "title_case": return .titleCase(words: words(map))
    case "json_values":
      guard let name = text(map, "dates") else { return .jsonValues() }
      let forms = EventMapper.DateForm.allCases
      if let form = forms.first(where: { $0.rawValue == name }) { return .jsonValues(dates: form) }
      let hint = Spelling.hint(name, among: forms.map(\.rawValue))
      problem(map["dates"]?.line ?? line, "there is no form of dates \(quoted(name))\(hint)")
      return nil
    default: return .limiting(nameBytes: limit(map, "name_bytes"), valueBytes: limit(map, "value_bytes"))
    }
  }

  private mutating func limit(_ map: [String: DocumentNode], _ key: String) -> Int? {
    guard let limit = whole(map, key) else { return nil }
    if limit < 0 { problem(map[key]?.line ?? 0, "\(key) is \(limit); write 0 or more") }
    return max(limit, 0)
  }

  private mutating func deriving(_ map: [String: DocumentNode], _ line: Int) -> EventMapper? {
    guard let node = required(map, "fields", line) else { return nil }
    let entries = entries(node, "fields", of: "the derived field")
    noteEqualKeys(entries, "the derived field")
    let rules = entries.compactMap { entry in rule(entry).map { (entry.key, $0) } }
    return .deriving(rules, from: map["from"].map { texts($0, "from") } ?? [])
  }

  private mutating func rule(_ entry: DocumentNode.Entry) -> DerivedField? {
    let kinds = PlanKeys.derivedField.names
    guard let map = map(entry.value, "the rule of \(quoted(entry.key))", kinds),
      let kind = oneKey(map, kinds, entry.line), let node = map[kind]
    else { return nil }
    let rule: DerivedField?
    switch kind {
    case "copy": rule = text(map, kind).map { .copy($0) }
    case "count": rule = text(map, kind).map { .count($0) }
    case "text": rule = text(map, kind).map { .text($0) }
    case "sum": rule = .sum(texts(node, kind))
    default:
      let paths = texts(node, kind)
      if paths.count != 2 { problem(node.line, "ratio is a list of two paths, the dividend and the divisor") }
      rule = paths.count == 2 ? .ratio(paths[0], paths[1]) : nil
    }
    guard let rule else { return nil }
    if case .text(let template) = rule, DerivedText(template) == nil {
      problem(node.line, "a { has no }; write {{ for a brace itself")
    }
    for path in rule.paths {
      if case .failure(let fault) = FieldPath.parse(path) {
        problem(node.line, "\(quoted(path)) is no path: \(fault.message)")
      }
    }
    return rule
  }

  // MARK: Arguments

  private mutating func required(_ map: [String: DocumentNode], _ key: String, _ line: Int) -> DocumentNode? {
    if map[key] == nil { problem(line, "the key \(key) is missing") }
    return map[key]
  }

  /// Returns the one key of these that is given, or reports a problem.
  private mutating func oneKey(_ map: [String: DocumentNode], _ keys: [String], _ line: Int) -> String? {
    let given = keys.filter { map[$0] != nil }
    if given.count == 1 { return given[0] }
    problem(line, "write exactly one of the keys \(keys.joined(separator: ", "))")
    return nil
  }

  private mutating func words(_ map: [String: DocumentNode]) -> [String] {
    map["words"].map { texts($0, "words") } ?? []
  }

  private mutating func names(_ node: DocumentNode, _ key: String) -> [String: String] {
    let entries = entries(node, key, of: "the name")
    noteEqualKeys(entries, "the name")
    var names: [String: String] = [:]
    for entry in entries {
      if case .text(let name) = entry.value.content {
        names[entry.key] = names[entry.key] ?? name
      } else {
        problem(entry.line, "the name for \(quoted(entry.key)) is \(entry.value.kindName); write a text")
      }
    }
    return names
  }

  private mutating func fields(_ node: DocumentNode) -> FieldObject? {
    let entries = entries(node, "fields", of: "the field")
    noteEqualKeys(entries, "the field")
    guard case .object(let fields) = node.fieldValue else { return nil }
    return fields
  }
}
