// ContractCompiler: makes a contract ready to check with, and finds everything in it that makes no sense.

import Weir

extension Contract {
  /// The most characters that the patterns of one contract may have places for, all together.
  static let maximumPatternPositions = 100_000

  /// The most values that one field's clause `oneOf` (`one_of` in a file) may list. A contract with more is refused.
  public static let maximumAllowedValues = 10_000

  /// The contract, ready to check events: patterns compiled, look-ups by dictionary.
  ///
  /// Throws everything that is wrong with it, at once: a name that is empty or there twice, bounds in the wrong order,
  /// an allowed value or a default that another clause refuses, more than ``maximumAllowedValues`` of them, a clause
  /// that does not go with the type, a pattern that makes no sense, nesting over 16.
  public func compiled() throws(ContractError) -> CompiledContract {
    var compiler = ContractCompiler()
    let compiled = compiler.compile(self)
    guard compiler.problems.isEmpty else { throw ContractError(compiler.problems) }
    return compiled
  }
}

/// Compiles a contract, and notes what is wrong on the way.
struct ContractCompiler {
  private(set) var problems: [ContractError.Problem] = []
  private var event = ""
  private var patternPositions = 0
  private var hasTooManyPositions = false

  /// The contract as far as it makes sense; only for use if there are no ``problems``.
  mutating func compile(_ contract: Contract) -> CompiledContract {
    if contract.name.isEmpty { problem("", "the contract has no name") }
    if contract.version.isEmpty { problem("", "the contract has no version") }
    var events: [String: CompiledEvent] = [:]
    for rule in contract.events {
      event = rule.name
      checkName(of: rule)
      if events[rule.name] != nil { problem("", "the event is there twice; make one of them both") }
      events[rule.name] = compile(rule)
    }
    return CompiledContract(contract, events)
  }

  mutating func problem(_ field: String, _ message: String) {
    guard problems.count < ContractError.maximumProblems else { return }
    problems.append(ContractError.Problem(event: event, field: field, message: message))
  }

  private mutating func checkName(of rule: EventRule) {
    if rule.name.isEmpty { problem("", "an event has no name") }
    if rule.name.utf8.count > EventType.maximumNameBytes {
      problem("", "the name is longer than \(EventType.maximumNameBytes) bytes; no event can have it")
    }
    if rule.name.hasPrefix(EventType.reservedPrefix) {
      problem("", "names that begin with \(EventType.reservedPrefix) are the log's own and are not checked")
    }
  }

  private mutating func compile(_ rule: EventRule) -> CompiledEvent {
    let root = FieldDraft(name: "", path: "")
    for field in rule.fields { add(field, to: root, depth: 0) }
    let members = root.members.map { finish($0, isOpen: rule.isOpen, isInsideSensitive: false) }
    var sensitive: [String] = []
    root.collectSensitive(into: &sensitive)
    return CompiledEvent(
      rule: rule, kindRule: "kind \(rule.kind?.rawValue ?? "")",
      members: CompiledMembers(members, isOpen: rule.isOpen, isSensitive: false), sensitiveFields: sensitive)
  }

  /// Puts a rule, and those inside it, where its path leads.
  private mutating func add(_ rule: FieldRule, to base: FieldDraft, depth: Int) {
    let steps: [FieldPath.Step]
    let fallback = FieldPath.member(rule.name, of: base.path)
    switch FieldPath.parse(rule.name) {
    case .failure(let wrong): return problem(fallback, wrong.message)
    case .success(let path): steps = path.steps
    }
    guard depth + steps.count <= maximumDepth else {
      return problem(fallback, "fields nest at most \(maximumDepth) deep")
    }
    var draft = base
    for step in steps { draft = draft.inner(step) }
    if case .member(let name) = steps.last, name.utf8.count > EventType.maximumNameBytes {
      problem(draft.path, "the name is longer than \(EventType.maximumNameBytes) bytes; no field can have it")
    }
    guard draft.rule == nil else { return problem(draft.path, "the field is there twice; make one of them both") }
    draft.rule = rule
    let inner = rule.type == .array && !rule.fields.isEmpty ? draft.inner(.element) : draft
    for field in rule.fields { add(field, to: inner, depth: depth + steps.count + (inner === draft ? 0 : 1)) }
  }

  private mutating func finish(_ draft: FieldDraft, isOpen: Bool, isInsideSensitive: Bool) -> CompiledField {
    let isSensitive = isInsideSensitive || draft.rule?.isSensitive == true
    let members = draft.members.map { finish($0, isOpen: isOpen, isInsideSensitive: isSensitive) }
    let element = draft.element.map { finish($0, isOpen: isOpen, isInsideSensitive: isSensitive) }
    let type = type(of: draft)
    let checks = draft.rule.map { self.checks(of: $0, type, draft.path) } ?? []
    let holdsSensitive = members.contains(where: \.isSensitive) || element?.isSensitive == true
    let field = CompiledField(
      name: draft.name, path: draft.path,
      isMandatory: draft.rule?.isMandatory ?? (members.contains(where: \.isMandatory) || element?.isMandatory == true),
      rule: draft.rule, type: type, checks: checks,
      members: members.isEmpty ? nil : CompiledMembers(members, isOpen: isOpen, isSensitive: isSensitive),
      element: element, isSensitive: isSensitive || holdsSensitive)
    if let rule = draft.rule { checkValues(of: rule, field, isElement: draft.isElement) }
    return field
  }

  /// The type that the rule says, or that follows from what is inside.
  private mutating func type(of draft: FieldDraft) -> FieldRule.ValueType {
    let type = draft.rule?.type ?? .any
    if !draft.members.isEmpty, draft.element != nil {
      problem(draft.path, "it has fields of an object and values of an array; it can be one of the two")
    } else if !draft.members.isEmpty, type != .any, type != .object {
      problem(draft.path, "it has fields and its type is \(type.rawValue); make it object")
    } else if draft.element != nil, type != .any, type != .array {
      problem(draft.path, "it has values and its type is \(type.rawValue); make it array")
    }
    return !draft.members.isEmpty ? .object : draft.element != nil ? .array : type
  }

  private mutating func checks(of rule: FieldRule, _ type: FieldRule.ValueType, _ path: String) -> [CompiledCheck] {
    for name in rule.repeatedClauses { problem(path, "\(name) is there twice; make one of them both") }
    var checks: [CompiledCheck] = []
    if rule.isFinite {
      if type == .number { checks.append(.finite) } else { problem(path, "finite goes with the type number") }
    }
    if let range = rule.range, let exact = check(range, type, path) {
      // It says that a number is not finite, and so says it once.
      checks.removeAll()
      checks.append(.range(exact, rule: "range \(range)"))
    }
    if let length = rule.length, check(length, type, path) {
      checks.append(.length(length, rule: "length \(length)"))
    }
    if let values = rule.allowedValues {
      if values.isEmpty { problem(path, "no value is allowed; list some, or leave the clause out") }
      if values.count > Contract.maximumAllowedValues {
        problem(path, "more than \(Contract.maximumAllowedValues) values are allowed; write a pattern or a range")
      }
      checks.append(.allowed(AllowedValues(values), rule: Self.rule(ofAllowed: values)))
    }
    if let pattern = rule.pattern, let compiled = check(pattern, type, path) {
      checks.append(.matches(compiled, rule: "matches \(pattern)"))
    }
    return checks
  }

  private mutating func check(_ range: NumberRange, _ type: FieldRule.ValueType, _ path: String) -> ExactRange? {
    guard type == .integer || type == .number else {
      problem(path, "a range goes with the types integer and number; for other types there is length")
      return nil
    }
    guard range.lower != nil || range.upper != nil else {
      problem(path, "the range has no ends")
      return nil
    }
    guard let exact = range.exact, exact.lower?.isFinite != false, exact.upper?.isFinite != false else {
      problem(path, "an end of the range is no number that a field can have")
      return nil
    }
    guard !exact.isEmpty else {
      problem(path, "no number lies in the range \(range)")
      return nil
    }
    guard type != .integer || exact.holdsInteger else {
      problem(path, "no integer that a field can have lies in the range \(range)")
      return nil
    }
    return exact
  }

  private mutating func check(_ length: LengthRange, _ type: FieldRule.ValueType, _ path: String) -> Bool {
    guard [.string, .bytes, .array, .object].contains(type) else {
      problem(path, "a length goes with the types string, bytes, array and object; for numbers there is range")
      return false
    }
    guard length.min != nil || length.max != nil else {
      problem(path, "the length has no ends")
      return false
    }
    guard length.min ?? 0 >= 0, length.max ?? 0 >= 0, length.min ?? 0 <= length.max ?? .max else {
      problem(path, "no value has a length in \(length)")
      return false
    }
    return true
  }

  private mutating func check(_ pattern: String, _ type: FieldRule.ValueType, _ path: String) -> Pattern? {
    guard type == .string else {
      problem(path, "a pattern goes with the type string")
      return nil
    }
    do {
      let compiled = try Pattern(pattern)
      patternPositions += compiled.positions
      if patternPositions > Contract.maximumPatternPositions, !hasTooManyPositions {
        hasTooManyPositions = true
        problem(path, "the patterns of the contract have more than \(Contract.maximumPatternPositions) characters")
      }
      return hasTooManyPositions ? nil : compiled
    } catch {
      problem(path, "the pattern \(FieldValue.string(pattern)) is not understood: \(error.message)")
      return nil
    }
  }

  /// Allowed values and the default, held against the other clauses.
  private mutating func checkValues(of rule: FieldRule, _ field: CompiledField, isElement: Bool) {
    var earlier: Set<ValueKey> = []
    for value in (rule.allowedValues ?? []).prefix(Contract.maximumAllowedValues) {
      if let reason = Self.reasonAgainst(value, nestedAllowed: false) {
        problem(field.path, "the allowed value \(value) \(reason)")
      } else if let rule = field.firstViolated(by: value) {
        problem(field.path, "the allowed value \(value) is against \(rule)")
      } else if !earlier.insert(ValueKey(value)).inserted {
        problem(field.path, "the allowed value \(value) is there twice")
      }
    }
    guard let value = rule.defaultValue else { return }
    if !rule.isMandatory {
      problem(field.path, "a default is for a mandatory field; leave it out or make the field mandatory")
    }
    if isElement { problem(field.path, "the values of an array have no default; they are there or not") }
    if let reason = Self.reasonAgainst(value, nestedAllowed: true) {
      problem(field.path, "the default \(value) \(reason)")
    } else if let rule = field.firstViolated(by: value) {
      problem(field.path, "the default \(value) is against \(rule)")
    }
  }

  /// Why a value can't stand in a contract: only what JSON says exactly can.
  private static func reasonAgainst(_ value: FieldValue, nestedAllowed: Bool, depth: Int = 0) -> String? {
    switch value {
    case .null where depth == 0: return "says that there is none; leave it out"
    case .null, .bool, .int, .uint, .string: return nil
    case .uuid where depth == 0: return nil
    case .float(let number): return number.isFinite ? nil : "is not finite"
    case .double(let number): return number.isFinite ? nil : "is not finite"
    case .bytes, .uuid, .date: return "is of a kind that a contract can't list; use a pattern or a length"
    case .array(let values):
      guard nestedAllowed, depth < maximumDepth else { return "is nested" }
      return values.lazy.compactMap { reasonAgainst($0, nestedAllowed: true, depth: depth + 1) }.first
    case .object(let object):
      guard nestedAllowed, depth < maximumDepth else { return "is nested" }
      return object.lazy.compactMap { reasonAgainst($0.value, nestedAllowed: true, depth: depth + 1) }.first
    }
  }

  /// The values as violations have them; of many, the first ones.
  private static func rule(ofAllowed values: [FieldValue]) -> String {
    let shown = values.prefix(10).map(\.description).joined(separator: ", ")
    return "one of \(shown)" + (values.count > 10 ? " … (\(values.count) values)" : "")
  }
}

/// A field of a contract while it is put together: rules may name it, or only things inside it.
private final class FieldDraft {
  let name: String
  let path: String
  let isElement: Bool
  var rule: FieldRule?
  private(set) var members: [FieldDraft] = []
  private(set) var element: FieldDraft?
  private var positions: [String: Int] = [:]

  init(name: String, path: String, isElement: Bool = false) {
    self.name = name
    self.path = path
    self.isElement = isElement
  }

  /// The field a step further, made if it is new.
  func inner(_ step: FieldPath.Step) -> FieldDraft {
    switch step {
    case .member(let name):
      if let position = positions[name] { return members[position] }
      let draft = FieldDraft(name: name, path: FieldPath.member(name, of: path))
      positions[name] = members.count
      members.append(draft)
      return draft
    case .element:
      if let element { return element }
      let draft = FieldDraft(name: "", path: path + "[]", isElement: true)
      element = draft
      return draft
    }
  }

  func collectSensitive(into paths: inout [String]) {
    if rule?.isSensitive == true { paths.append(path) }
    for member in members { member.collectSensitive(into: &paths) }
    element?.collectSensitive(into: &paths)
  }
}
