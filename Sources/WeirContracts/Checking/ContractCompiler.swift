// ContractCompiler: prepares a contract for checking, and finds everything that is invalid in the contract.

import Weir
import WeirJSON

extension Contract {
  /// The maximum number of character positions in all patterns of a contract.
  static let maximumPatternPositions = 100_000

  /// The maximum number of values in a field's clause `oneOf` (`one_of` in a file). A contract with more values is
  /// refused.
  public static let maximumAllowedValues = 10_000

  /// Compiles the contract for checking events: patterns are compiled, and look-ups use dictionaries.
  ///
  /// Throws all problems at once: an empty or repeated name, bounds in the wrong order, an allowed value or a default
  /// that violates another clause, more than ``maximumAllowedValues`` values, a clause that does not match the type, an
  /// invalid pattern, a part that no context has, or nesting more than 16 deep.
  public func compiled() throws(ContractError) -> CompiledContract {
    var compiler = ContractCompiler()
    let compiled = compiler.compile(self)
    guard compiler.problems.isEmpty else { throw ContractError(compiler.problems) }
    return compiled
  }
}

/// Compiles a contract, and collects the problems.
struct ContractCompiler {
  private(set) var problems: [ContractError.Problem] = []
  private var event = ""
  private var patternPositions = 0
  private var hasTooManyPositions = false

  /// Returns the contract, without the invalid parts. The result may be used only if ``problems`` is empty.
  mutating func compile(_ contract: Contract) -> CompiledContract {
    if contract.name.isEmpty { problem("", "the contract has no name") }
    if contract.version.isEmpty { problem("", "the contract has no version") }
    let everyEvent = FieldDraft(name: "", path: "")
    for rule in contract.everyEvent {
      if rule.isOfContext {
        add(rule, to: everyEvent, depth: 0)
      } else {
        problem(rule.name, "a rule for every event is about its context; begin the name with context.")
      }
    }
    let everyContext = context(of: everyEvent)
    var events: [String: CompiledEvent] = [:]
    for rule in contract.events {
      event = rule.name
      checkName(of: rule)
      if events[rule.name] != nil { problem("", "the event appears twice; merge the two") }
      events[rule.name] = compile(rule, everyEvent)
    }
    return CompiledContract(contract, events, everyEvent: everyContext)
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
      problem("", "names that start with \(EventType.reservedPrefix) are reserved for the log, and are not checked")
    }
  }

  private mutating func compile(_ rule: EventRule, _ everyEvent: FieldDraft) -> CompiledEvent {
    let root = FieldDraft(name: "", path: "")
    let context = FieldDraft(name: "", path: "")
    for field in rule.fields { add(field, to: field.isOfContext ? context : root, depth: 0) }
    if let own = root.member(ContextParts.name), !own.isLeaf {
      problem(own.path, "paths below context are about the event's context; give this field no fields of its own")
    }
    refuseRepeated(context, everyEvent)
    let members = root.members.map { finish($0, isOpen: rule.isOpen, isInsideSensitive: false) }
    var sensitive: [String] = []
    root.collectSensitive(into: &sensitive)
    return CompiledEvent(
      rule: rule, kindRule: "kind \(rule.kind?.rawValue ?? "")",
      members: CompiledMembers(members, isOpen: rule.isOpen, isSensitive: false), context: self.context(of: context),
      sensitiveFields: sensitive)
  }

  /// Adds a rule, and the rules within it, at its path.
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
    guard draft.rule == nil else { return problem(draft.path, "the field appears twice; merge the two") }
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

  /// Returns the type that the rule declares, or that follows from the fields within.
  private mutating func type(of draft: FieldDraft) -> FieldRule.ValueType {
    if let type = ContextParts.types[draft.path] { return type }
    let type = draft.rule?.type ?? .any
    if !draft.members.isEmpty, draft.element != nil {
      problem(draft.path, "the field has object fields and array values; it can have only one of the two")
    } else if !draft.members.isEmpty, type != .any, type != .object {
      problem(draft.path, "the field has fields, but its type is \(type.rawValue); set the type to object")
    } else if draft.element != nil, type != .any, type != .array {
      problem(draft.path, "the field has array values, but its type is \(type.rawValue); set the type to array")
    }
    return !draft.members.isEmpty ? .object : draft.element != nil ? .array : type
  }

  private mutating func checks(of rule: FieldRule, _ type: FieldRule.ValueType, _ path: String) -> [CompiledCheck] {
    for name in rule.repeatedClauses { problem(path, "\(name) appears twice; merge the two") }
    var checks: [CompiledCheck] = []
    if rule.isFinite {
      if type == .number { checks.append(.finite) } else { problem(path, "finite requires the type number") }
    }
    if let range = rule.range, let exact = check(range, type, path) {
      // A range implies finite, and a violation should be reported only once.
      checks.removeAll()
      checks.append(.range(exact, rule: "range \(range)"))
    }
    if let length = rule.length, check(length, type, path) {
      checks.append(.length(length, rule: "length \(length)"))
    }
    if let values = rule.allowedValues {
      if values.isEmpty { problem(path, "no value is allowed; list some, or remove the clause") }
      if values.count > Contract.maximumAllowedValues {
        problem(path, "more than \(Contract.maximumAllowedValues) values are allowed; use a pattern or a range")
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
      problem(path, "a range requires the type integer or number; use a length for other types")
      return nil
    }
    guard range.lower != nil || range.upper != nil else {
      problem(path, "the range has no bounds")
      return nil
    }
    guard let exact = range.exact, exact.lower?.isFinite != false, exact.upper?.isFinite != false else {
      problem(path, "a bound of the range is no number that a field can have")
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
      problem(path, "a length requires the type string, bytes, array or object; use a range for numbers")
      return false
    }
    guard length.min != nil || length.max != nil else {
      problem(path, "the length has no bounds")
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
      problem(path, "a pattern requires the type string")
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
      problem(path, "the pattern \(FieldValue.string(pattern)) is invalid: \(error.message)")
      return nil
    }
  }

  /// Checks the allowed values and the default against the other clauses.
  private mutating func checkValues(of rule: FieldRule, _ field: CompiledField, isElement: Bool) {
    var earlier: Set<ValueKey> = []
    for value in (rule.allowedValues ?? []).prefix(Contract.maximumAllowedValues) {
      if let reason = Self.reasonAgainst(value, nestedAllowed: false) {
        problem(field.path, "the allowed value \(value) \(reason)")
      } else if let rule = field.firstViolated(by: value) {
        problem(field.path, "the allowed value \(value) violates \(rule)")
      } else if !earlier.insert(ValueKey(value)).inserted {
        problem(field.path, "the allowed value \(value) appears twice")
      }
    }
    guard let value = rule.defaultValue else { return }
    if !rule.isMandatory {
      problem(field.path, "only a mandatory field can have a default; remove the default, or make the field mandatory")
    }
    if isElement { problem(field.path, "the values of an array can't have a default; remove the default") }
    if let reason = Self.reasonAgainst(value, nestedAllowed: true) {
      problem(field.path, "the default \(value) \(reason)")
    } else if let rule = field.firstViolated(by: value) {
      problem(field.path, "the default \(value) violates \(rule)")
    }
  }

  /// Returns why a value can't be listed in a contract, or `nil`. Only values that JSON represents exactly can be
  /// listed.
  private static func reasonAgainst(_ value: FieldValue, nestedAllowed: Bool, depth: Int = 0) -> String? {
    switch value {
    case .null where depth == 0: return "stands for a missing value; remove it"
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

  /// Returns the text of the rule in violations. Only the first of many values are listed.
  private static func rule(ofAllowed values: [FieldValue]) -> String {
    let shown = values.prefix(10).map(\.description).joined(separator: ", ")
    return "one of \(shown)" + (values.count > 10 ? " … (\(values.count) values)" : "")
  }
}

// MARK: Contexts

extension ContractCompiler {
  /// Returns the rules for the parts of the context; `nil` if there are none.
  private mutating func context(of root: FieldDraft) -> CompiledMembers? {
    guard let context = root.member(ContextParts.name) else { return nil }
    checkContext(context)
    let parts = context.members.map { finish($0, isOpen: true, isInsideSensitive: false) }
    return CompiledMembers(parts, isOpen: true, isSensitive: false)
  }

  /// Finds rules that no context can keep, and clauses that a context can't have.
  private mutating func checkContext(_ draft: FieldDraft) {
    let known = ContextParts.members[draft.path]
    let type = ContextParts.types[draft.path]
    if draft.element != nil, known != nil || type != nil {
      problem(draft.path, "this part of the context is no array")
    } else if type == .string, !draft.isLeaf {
      problem(draft.path, "this part of the context is a string, and has no fields")
    }
    if let rule = draft.rule { checkContext(rule, type, draft.path) }
    for member in draft.members {
      if let known, !known.contains(member.name) {
        problem(member.path, Self.unknownPart(member.name, of: draft.path, known))
      } else {
        checkContext(member)
      }
    }
    if let element = draft.element { checkContext(element) }
  }

  private mutating func checkContext(_ rule: FieldRule, _ type: FieldRule.ValueType?, _ path: String) {
    if let type, rule.type != .any, rule.type != type {
      problem(path, "the type of this part of the context is \(type.rawValue), not \(rule.type.rawValue)")
    }
    if rule.isSensitive {
      problem(path, "a contract can't mark a part of the context as sensitive; use GlobalFields.sensitive")
    }
    if rule.defaultValue != nil, !ContextParts.isField(path) {
      problem(path, "only fields of context.globals and context.fields can have a default; remove the default")
    }
  }

  private static func unknownPart(_ name: String, of path: String, _ known: [String]) -> String {
    let quoted = FieldValue.string(String(name.prefix(80)))
    guard path == ContextParts.name else { return "\(path) has no \(quoted)\(Spelling.hint(name, among: known))" }
    return "the context has no part \(quoted); its parts are context.globals, context.fields, context.user and "
      + "context.view, and a global field is such as context.globals.app"
  }

  /// Refuses a rule of an event for a part of the context that has a rule for every event.
  private mutating func refuseRepeated(_ draft: FieldDraft, _ everyEvent: FieldDraft) {
    if draft.rule != nil, everyEvent.rule != nil {
      problem(draft.path, "the same part of the context has a rule for every event; remove one of the two")
    }
    for member in draft.members {
      if let other = everyEvent.member(member.name) { refuseRepeated(member, other) }
    }
    if let element = draft.element, let other = everyEvent.element { refuseRepeated(element, other) }
  }
}

/// A field of a contract under construction. Rules may name the field itself, or only fields within it.
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

  /// Returns the field one step further, made on demand.
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

  /// Whether the field has no rules for its own fields or values.
  var isLeaf: Bool { members.isEmpty && element == nil }

  func member(_ name: String) -> FieldDraft? { positions[name].map { members[$0] } }

  func collectSensitive(into paths: inout [String]) {
    if rule?.isSensitive == true { paths.append(path) }
    for member in members { member.collectSensitive(into: &paths) }
    element?.collectSensitive(into: &paths)
  }
}
