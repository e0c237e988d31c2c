// FieldReport: the fields of a log beside those of a contract: what was seen, what is missing, and what is wrong, by
// event and field.

#if Tool
  import Weir
  import WeirContracts
  import WeirJSON

  /// The table of `weir contract report`.
  final class FieldReport {
    /// The maximum number of events and fields that are counted separately. The number must be bounded, because every
    /// event may have another name, and fields of other names.
    static let maximumRows = 10_000

    let contract: Contract
    private let examples: Int
    private let showsSensitive: Bool
    let budget = RowBudget()
    /// The contract's events in its order, then others in the order of the log.
    private(set) var events: [ReportedEvent] = []
    private var eventsByName: [String: ReportedEvent] = [:]
    private(set) var seen: UInt64 = 0
    private(set) var violating: UInt64 = 0
    private(set) var violations: UInt64 = 0
    private(set) var times = TimesSeen()
    /// Events whose definitions are lost to damage, so that the events can't be decoded.
    private(set) var unchecked: UInt64 = 0

    /// Creates a report with at most `examples` values of each field.
    init(contract: Contract, examples: Int, showsSensitive: Bool) {
      self.contract = contract
      self.examples = examples
      self.showsSensitive = showsSensitive
      for rule in contract.events where event(rule.name, rule) == nil { budget.isContractCut = true }
    }

    /// Counts an event that can't be checked against the contract.
    func addUnchecked() { unchecked += 1 }

    /// Counts an event, its fields, and its violations and defaults.
    func add(_ event: StoredEvent, _ outcome: ContractOutcome) {
      let found = UInt64(outcome.violations.count + outcome.omittedViolations)
      seen += 1
      violations += found
      if found > 0 { violating += 1 }
      times.add(event.time)
      guard let row = self.event(event.name, nil) else {
        budget.events += 1
        budget.violations += found
        return
      }
      row.add(
        event, outcome,
        Sighting(number: seen, time: event.time, examples: examples, showsSensitive: showsSensitive))
    }

    /// Returns the event with this name, made on demand, or `nil` if there is no room for the event.
    private func event(_ name: String, _ rule: EventRule?) -> ReportedEvent? {
      if let known = eventsByName[name] { return known }
      guard budget.take() else { return nil }
      let event = ReportedEvent(name, rule, everyEvent: contract.everyEvent, budget)
      events.append(event)
      eventsByName[name] = event
      return event
    }
  }

  // MARK: Counting

  /// A number of events. An event counts once, however often something is found in it.
  struct EventCount {
    private(set) var count: UInt64 = 0
    private var last: UInt64 = 0

    /// `event` is the event's number in this reading, from 1.
    mutating func add(_ event: UInt64) {
      guard event != last else { return }
      last = event
      count += 1
    }
  }

  /// The earliest and the latest time, which need not be those of the first and the last event: clocks are set back.
  struct TimesSeen {
    private(set) var first: Timestamp?
    private(set) var last: Timestamp?

    mutating func add(_ time: Timestamp) {
      first = min(first ?? time, time)
      last = max(last ?? time, time)
    }
  }

  /// The rules that values violate. There are few, because a field has few rules.
  struct BrokenRules {
    private var counts: [(rule: String, events: EventCount)] = []

    var isEmpty: Bool { counts.isEmpty }

    /// Returns text such as "range 1...: 3; mandatory: 1".
    var text: String { counts.map { "\($0.rule): \($0.events.count)" }.joined(separator: "; ") }

    mutating func add(_ rule: String, _ event: UInt64) {
      let index = counts.firstIndex { $0.rule == rule } ?? counts.endIndex
      if index == counts.endIndex { counts.append((rule: rule, events: EventCount())) }
      counts[index].events.add(event)
    }
  }

  /// Different values as JSON, each cut to a length that a table has room for.
  struct Examples {
    private static let characters = 80

    private var texts: [String] = []

    var text: String { texts.joined(separator: "; ") }

    mutating func add(_ value: FieldValue, most: Int) {
      guard texts.count < most else { return }
      var bytes: [UInt8] = []
      JSONText.append(value, to: &bytes)
      var text = String(decoding: bytes, as: UTF8.self)
      // Counted in Unicode scalars, because one character may have any number of them.
      if text.unicodeScalars.count > Self.characters {
        text = String(text.unicodeScalars.prefix(Self.characters)) + "…"
      }
      if !texts.contains(text) { texts.append(text) }
    }
  }

  /// The rows that are left, and what is counted together because it has no row.
  final class RowBudget {
    private var left = FieldReport.maximumRows
    var events: UInt64 = 0
    var fields: UInt64 = 0
    var violations: UInt64 = 0
    var isContractCut = false

    func take() -> Bool {
      guard left > 0 else { return false }
      left -= 1
      return true
    }

    /// Returns text such as "events: 2, violations: 2"; `nil` if everything has a row.
    var text: String? {
      let counts = [("events", events), ("fields of events", fields), ("violations", violations)]
      var parts = counts.filter { $0.1 > 0 }.map { "\($0.0): \(Quantity.count($0.1))" }
      if isContractCut { parts.append("a part of the contract") }
      return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
  }

  /// The event that is being counted.
  struct Sighting {
    let number: UInt64
    let time: Timestamp
    let examples: Int
    let showsSensitive: Bool
  }

  // MARK: Fields

  /// A field of an event.
  final class ReportedField {
    let path: String
    /// Whether the contract names the field, or a field within it.
    let isDeclared: Bool
    /// Whether the field is a part of the context, where only the parts that the contract names are counted.
    let isOfContext: Bool
    var rule: FieldRule?
    /// Whether the contract marks the field, or an enclosing field, as sensitive.
    private(set) var isSensitive: Bool
    /// The same, or it marks a field within this one.
    private var isHidden: Bool
    var members: [String: ReportedField] = [:]
    var element: ReportedField?

    private(set) var seen = EventCount()
    private(set) var missing = EventCount()
    private(set) var defaulted = EventCount()
    private(set) var unknown = EventCount()
    private(set) var wrongType = EventCount()
    private(set) var outOfRange = EventCount()
    /// Events in which the field is seen, missing or defaulted. In all others, it is absent as the contract allows.
    private(set) var asked = EventCount()
    private(set) var rules = BrokenRules()
    private(set) var times = TimesSeen()
    private(set) var examples = Examples()
    private(set) var violatingExamples = Examples()

    init(_ path: String, isDeclared: Bool, isOfContext: Bool, isSensitive: Bool = false) {
      self.path = path
      self.isDeclared = isDeclared
      self.isOfContext = isOfContext
      self.isSensitive = isSensitive
      isHidden = isSensitive
    }

    /// Marks what must not be shown, when all the fields of the contract are there.
    func markSensitive(inside isInsideSensitive: Bool = false) {
      isSensitive = isInsideSensitive || rule?.isSensitive == true
      isHidden = isSensitive
      for inner in members.values {
        inner.markSensitive(inside: isSensitive)
        if inner.isHidden { isHidden = true }
      }
      guard let element else { return }
      element.markSensitive(inside: isSensitive)
      if element.isHidden { isHidden = true }
    }

    func see(_ shown: FieldValue, _ sighting: Sighting) {
      seen.add(sighting.number)
      asked.add(sighting.number)
      times.add(sighting.time)
      examples.add(isHidden && !sighting.showsSensitive ? .redacted : shown, most: sighting.examples)
    }

    func fillIn(_ sighting: Sighting) {
      defaulted.add(sighting.number)
      asked.add(sighting.number)
    }

    func add(_ violation: Violation, _ sighting: Sighting) {
      let event = sighting.number
      rules.add(violation.rule, event)
      if violation.rule == "mandatory" {
        missing.add(event)
        asked.add(event)
      } else if violation.rule == "unknown field" {
        // Every value of an unknown field is one too many, so the examples are those of the field.
        unknown.add(event)
        return
      } else if violation.rule.hasPrefix("type ") {
        wrongType.add(event)
      } else {
        outOfRange.add(event)
      }
      let shown = sighting.showsSensitive ? violation : violation.redacted()
      if let value = shown.value { violatingExamples.add(value, most: sighting.examples) }
    }

    /// Whether the field has a row. An object that the contract names only in the paths of other fields has none,
    /// unless the object itself is wrong.
    var isListed: Bool { rule != nil || !isDeclared || !rules.isEmpty }

    /// What the contract has for the field.
    var contractText: String {
      guard let rule else { return isDeclared ? "has fields" : "" }
      var parts = ["\(rule.isMandatory ? "mandatory" : "optional") \(rule.type.rawValue)"]
      if rule.isSensitive { parts.append("sensitive") }
      if rule.isDeprecated { parts.append("deprecated") }
      return parts.joined(separator: ", ")
    }

    var finding: String {
      if unknown.count > 0 { return "unknown field" }
      if !isDeclared { return "not in the contract" }
      if seen.count == 0 { return "never seen" }
      return rules.isEmpty ? "ok" : "violations"
    }
  }

  // MARK: Events

  /// An event and its fields.
  final class ReportedEvent {
    let name: String
    let rule: EventRule?
    private(set) var fields: [ReportedField] = []
    private var fieldsByPath: [String: ReportedField] = [:]
    private let own = ReportedField("", isDeclared: true, isOfContext: false)
    private let context = ReportedField("context", isDeclared: true, isOfContext: true)
    private let budget: RowBudget

    private(set) var seen: UInt64 = 0
    /// Events whose payload can't be read as their fields.
    private(set) var unread: UInt64 = 0
    private(set) var violations: UInt64 = 0
    /// The rules for the event as a whole.
    private(set) var rules = BrokenRules()
    private(set) var times = TimesSeen()

    init(_ name: String, _ rule: EventRule?, everyEvent: [FieldRule], _ budget: RowBudget) {
      self.name = name
      self.rule = rule
      self.budget = budget
      for field in (rule?.fields ?? []) + everyEvent {
        if field.isOfContext { add(field, to: context, skipping: 1) } else { add(field, to: own) }
      }
      own.markSensitive()
      context.markSensitive()
    }

    /// Adds a rule, and the rules within it, at its path below `base`. `count` steps of the path lead to `base`.
    private func add(_ rule: FieldRule, to base: ReportedField, skipping count: Int = 0) {
      // The contract is compiled, so every path is valid.
      guard case .success(let path) = FieldPath.parse(rule.name) else { return }
      var field = base
      for step in path.steps.dropFirst(count) {
        guard let next = inner(field, step) else {
          budget.isContractCut = true
          return
        }
        field = next
      }
      field.rule = rule
      guard !rule.fields.isEmpty else { return }
      if rule.type == .array {
        guard let element = inner(field, .element) else {
          budget.isContractCut = true
          return
        }
        field = element
      }
      for nested in rule.fields { add(nested, to: field) }
    }

    /// Returns the field one step further, made on demand, or `nil` if there is no room for the field.
    private func inner(_ outer: ReportedField, _ step: FieldPath.Step) -> ReportedField? {
      switch step {
      case .member(let name): return outer.members[name] ?? member(name, of: outer, isDeclared: true)
      case .element:
        if let element = outer.element { return element }
        outer.element = field(outer.path + "[]", in: outer, isDeclared: true)
        return outer.element
      }
    }

    private func member(_ name: String, of outer: ReportedField, isDeclared: Bool) -> ReportedField? {
      let step = FieldPath.escaped(name)
      let path = outer.path.isEmpty ? step : "\(outer.path).\(step)"
      guard let made = field(path, in: outer, isDeclared: isDeclared) else { return nil }
      outer.members[name] = made
      return made
    }

    private func field(_ path: String, in outer: ReportedField, isDeclared: Bool) -> ReportedField? {
      guard budget.take() else { return nil }
      let made = ReportedField(
        path, isDeclared: isDeclared, isOfContext: outer.isOfContext, isSensitive: outer.isSensitive)
      fields.append(made)
      fieldsByPath[path] = made
      return made
    }

    /// What the contract has for the event.
    var contractText: String {
      guard let rule else { return "" }
      var parts = ["event"]
      if let kind = rule.kind { parts.append(kind.rawValue) }
      if rule.isDeprecated { parts.append("deprecated") }
      return parts.joined(separator: ", ")
    }

    func finding(allowsUnknown: Bool) -> String {
      if rule == nil { return allowsUnknown ? "not in the contract" : "unknown event" }
      if seen == 0 { return "never seen" }
      return violations == 0 ? "ok" : "violations"
    }
  }

  extension ReportedEvent {
    func add(_ event: StoredEvent, _ outcome: ContractOutcome, _ sighting: Sighting) {
      seen += 1
      times.add(sighting.time)
      if event.isUnread { unread += 1 } else { see(event, sighting) }
      violations += UInt64(outcome.violations.count + outcome.omittedViolations)
      budget.violations += UInt64(outcome.omittedViolations)
      for violation in outcome.violations {
        if violation.field.isEmpty {
          rules.add(violation.rule, sighting.number)
        } else if let field = fieldsByPath[violation.field] {
          field.add(violation, sighting)
        } else {
          budget.violations += 1
        }
      }
      for item in outcome.defaults { fieldsByPath[item.field]?.fillIn(sighting) }
    }

    private func see(_ event: StoredEvent, _ sighting: Sighting) {
      let shown = sighting.showsSensitive ? event : event.redacted()
      see(event.fields, .object(shown.fields), in: own, sighting)
      for (name, part) in context.members {
        see(event.context.part(name), shown.context.part(name), at: part, sighting)
      }
    }

    /// Counts the fields of an object. `shown` is the object after redaction, which may be a text in its place: the
    /// fields within are counted all the same.
    private func see(_ object: FieldObject, _ shown: FieldValue, in outer: ReportedField, _ sighting: Sighting) {
      for (index, member) in object.enumerated() {
        guard member.value != .null else { continue }
        let known = outer.members[member.name]
        if known == nil, outer.isOfContext { continue }
        guard let field = known ?? self.member(member.name, of: outer, isDeclared: false) else {
          budget.fields += 1
          continue
        }
        var shownMember = FieldValue.redacted
        // Redaction keeps the number and the order of the members.
        if case .object(let members) = shown, index < members.count { shownMember = members[index].value }
        see(member.value, shownMember, at: field, sighting)
      }
    }

    /// Counts a field, and the fields within it that the contract has rules for. Null counts as no value.
    private func see(_ value: FieldValue, _ shown: FieldValue, at field: ReportedField, _ sighting: Sighting) {
      guard value != .null else { return }
      field.see(shown, sighting)
      switch value {
      case .object(let object):
        if !field.members.isEmpty { see(object, shown, in: field, sighting) }
      case .array(let values):
        guard let element = field.element else { return }
        for (index, value) in values.enumerated() {
          var shownValue = FieldValue.redacted
          if case .array(let values) = shown, index < values.count { shownValue = values[index] }
          see(value, shownValue, at: element, sighting)
        }
      default: return
      }
    }
  }
#endif
