// CompiledContract: a contract prepared for checking events: patterns compiled, look-ups by dictionary, texts made.

public import Weir

/// A contract that is ready to check events. Created by ``Contract/compiled()``.
///
/// **Threads.** Any number of threads may check events at the same time.
///
/// **Cost.** An event of ten fields without violations takes some hundred nanoseconds. At most, the time grows with the
/// event's size times the contract's size. Checks are meant for code outside the capture path. A check never throws and
/// never traps, whatever the event contains.
public struct CompiledContract: Sendable {
  /// The maximum number of violations that are listed for one event. Further violations are counted.
  public static let maximumViolations = 100

  /// The maximum number of defaults that are filled into one event. Further fields count as missing.
  public static let maximumDefaults = 1_000

  /// The contract that this one was compiled from.
  public let contract: Contract

  private let events: [String: CompiledEvent]

  /// The rules for the context of every event; `nil` if there are none.
  let everyEvent: CompiledMembers?

  init(_ contract: Contract, _ events: [String: CompiledEvent], everyEvent: CompiledMembers?) {
    self.contract = contract
    self.events = events
    self.everyEvent = everyEvent
  }

  /// Checks a stored event. Events whose names begin with `weir.` have no violations, and neither has an event whose
  /// definition is lost. An event whose payload can't be read as its fields has one violation, `readable`.
  public func check(_ event: StoredEvent) -> ContractOutcome {
    if event.name != StoredEvent.undefinedName, event.isUnread {
      var check = EventCheck(event: event.name, declaration: nil)
      check.report("", "readable", event.fields.first?.value, isSensitive: true)
      return check.outcome
    }
    return check(
      name: event.name, fields: event.fields, context: event.context, declaration: event.declaration)
  }

  /// Checks an event with this name, these fields and this context.
  ///
  /// A part of the context that is lost to damage is not checked.
  ///
  /// - Parameters:
  ///   - name: The event's name.
  ///   - fields: The fields, as they would be captured.
  ///   - context: The context: the global fields, the user, the view and the bound fields.
  ///   - declaration: The event's declaration, which may set its kind and mark fields as sensitive.
  public func check(
    name: String, fields: FieldObject, context: EventContext = EventContext(), declaration: EventType? = nil
  ) -> ContractOutcome {
    check(name: name, fields: fields, context: context, declaration: declaration, skipsRedacted: false)
  }

  /// The same. If `skipsRedacted` is true, a value that was replaced by `FieldValue.redacted` is not checked.
  package func check(
    name: String, fields: FieldObject, context: EventContext, declaration: EventType?, skipsRedacted: Bool
  ) -> ContractOutcome {
    if name.hasPrefix(EventType.reservedPrefix) { return ContractOutcome() }
    var check = EventCheck(event: name, declaration: declaration)
    check.skipsRedacted = skipsRedacted
    let event = events[name]
    let kind = declaration?.kind
    if let event, event.rule.kind != nil {
      if event.rule.kind != kind {
        check.report("", event.kindRule, kind.map { .string($0.rawValue) }, isSensitive: false)
      }
    } else if kind == nil, contract.requiresKind {
      check.report("", "kind", nil, isSensitive: false)
    }
    if let event {
      check.object(fields, event.members, path: "")
    } else if !contract.allowsUnknownEvents {
      check.report("", "unknown event", nil, isSensitive: false)
    }
    if let everyEvent { check.context(context, everyEvent) }
    if let rules = event?.context { check.context(context, rules) }
    if !check.outcome.defaults.isEmpty { check.withdrawDefaults(fields, context) }
    return check.outcome
  }

  /// Returns whether there are rules for the context of the events of this name.
  func hasContextRules(for event: String) -> Bool { everyEvent != nil || events[event]?.context != nil }

  /// Returns whether a context has no violations and no defaults to fill in, as the context of an event of this name.
  /// Also returns `false` for a default that a field of the event might take the place of.
  func isClean(_ context: EventContext, of event: String) -> Bool {
    var check = EventCheck(event: event, declaration: nil)
    if let everyEvent { check.context(context, everyEvent) }
    if let rules = events[event]?.context { check.context(context, rules) }
    return check.outcome.isClean
  }

  /// The fields of the events that the contract does not name; `nil` if it allows no such events.
  var membersOfUnknown: CompiledMembers? {
    contract.allowsUnknownEvents ? CompiledMembers([], isOpen: true, isSensitive: false) : nil
  }

  /// Returns the paths of the fields of `event` that the contract marks as sensitive, in the contract's order. Empty if
  /// the contract does not name the event. The paths have the form of ``FieldRule/name``.
  public func sensitiveFields(of event: String) -> [String] {
    events[event]?.sensitiveFields ?? []
  }

  /// Returns the kind that the contract has for the events of this name, or `nil`.
  package func kind(of event: String) -> EventKind? { events[event]?.rule.kind }

  /// Returns the event with this name, for comparing contracts.
  func event(_ name: String) -> CompiledEvent? { events[name] }
}

/// The compiled rule of one event.
struct CompiledEvent: Sendable {
  let rule: EventRule
  let kindRule: String
  let members: CompiledMembers
  /// The rules for the event's context; `nil` if there are none.
  let context: CompiledMembers?
  let sensitiveFields: [String]
}

/// A check of one event, in progress.
private struct EventCheck {
  let event: String
  let declaration: EventType?
  /// Whether a redacted value has no violations.
  var skipsRedacted = false
  var outcome = ContractOutcome()
  private var way: [ContractOutcome.Step] = []

  init(event: String, declaration: EventType?) {
    self.event = event
    self.declaration = declaration
  }

  /// Compares the members of an object with those that the contract lists.
  mutating func object(_ object: FieldObject, _ members: CompiledMembers, path: String) {
    withUnsafeTemporaryAllocation(of: Int.self, capacity: members.fields.count) { places in
      places.initialize(repeating: -1)
      var unknown: [Int] = []
      var last = -1
      for (index, member) in object.members.enumerated() {
        if let position = members.position(of: member.name, after: last) {
          // If several members have the same name, the last one counts.
          places[position] = index
          last = position
        } else if !members.isOpen, member.value != .null {
          unknown.append(index)
        }
      }
      for (position, field) in members.fields.enumerated() {
        let place = places[position]
        let value = place < 0 ? FieldValue.null : object.members[place].value
        self.value(value, field, .member(field.name))
      }
      for index in unknown {
        let member = object.members[index]
        report(
          FieldPath.member(member.name, of: path), "unknown field", member.value, isSensitive: members.isSensitive)
      }
    }
  }

  /// Checks a value against its rule. `step` leads to the value from the object or array that contains it.
  mutating func value(_ value: FieldValue, _ field: CompiledField, _ step: ContractOutcome.Step) {
    if case .null = value { return missing(field, step) }
    guard value != .redacted || !skipsRedacted else { return }
    guard field.type.admits(value) else {
      return report(field.path, field.type.rule, value, isSensitive: field.isSensitive)
    }
    for check in field.checks {
      if let rule = check.violated(by: value) { report(field.path, rule, value, isSensitive: field.isSensitive) }
    }
    switch value {
    case .object(let object):
      guard let members = field.members else { return }
      way.append(step)
      self.object(object, members, path: field.path)
      way.removeLast()
    case .array(let values):
      guard let element = field.element else { return }
      way.append(step)
      for (index, value) in values.enumerated() { self.value(value, element, .element(index)) }
      way.removeLast()
    default: break
    }
  }

  /// Checks the parts of a context that have rules. A part that is lost to damage is not checked.
  mutating func context(_ context: EventContext, _ parts: CompiledMembers) {
    guard !context.isScopeUnread else { return }
    let checked = outcome.violations.count
    way.append(.member(ContextParts.name))
    for part in parts.fields {
      let value = context.part(part.name)
      if context.isGlobalPartLost, part.name == "globals" || part.name == "user" && value == .null { continue }
      self.value(value, part, .member(part.name))
    }
    way.removeLast()
    guard outcome.violations.count > checked else { return }
    let redacted = context.redacted()
    for index in checked..<outcome.violations.count {
      outcome.violations[index].isSensitive = context.differs(from: redacted, at: outcome.violations[index].field)
    }
  }

  /// Takes back each default that would stand beside another value of the same name. Providers without a context get
  /// one value for a name, so the default would take the place of that value.
  mutating func withdrawDefaults(_ fields: FieldObject, _ context: EventContext) {
    let objects: [(part: String, fields: FieldObject)] = [
      ("", fields), ("fields", context.fields), ("globals", context.globals),
    ]
    outcome.defaults.removeAll { item in
      let (part, name, _) = item.place
      let holders = objects.filter { ($0.fields[name] ?? .null) != .null }
      // A default within an object that the event has there is beside nothing else.
      return !holders.isEmpty && !holders.contains { $0.part == part }
    }
  }

  /// Handles a field that is missing or null.
  private mutating func missing(_ field: CompiledField, _ step: ContractOutcome.Step) {
    guard field.isMandatory else { return }
    if let value = field.defaultValue, outcome.defaults.count < CompiledContract.maximumDefaults {
      outcome.defaults.append(.init(field: field.path, value: value, path: way + [step]))
    } else if field.rule == nil, let members = field.members {
      // The field is mandatory only because of its own fields, so these are reported as missing or filled in.
      way.append(step)
      for inner in members.fields { missing(inner, .member(inner.name)) }
      way.removeLast()
    } else {
      report(field.path, "mandatory", nil, isSensitive: field.isSensitive)
    }
  }

  mutating func report(_ field: String, _ rule: String, _ value: FieldValue?, isSensitive: Bool) {
    guard outcome.violations.count < CompiledContract.maximumViolations else {
      outcome.omittedViolations += 1
      return
    }
    let isSensitive = isSensitive || (declaration?.isSensitive(atPath: field) ?? false)
    outcome.violations.append(
      Violation(event: event, field: field, rule: rule, value: value, isSensitive: isSensitive))
  }
}

extension CompiledField {
  /// Returns the first rule that `value` violates, or the first field that `value` lacks; `nil` if there is none.
  func firstViolated(by value: FieldValue) -> String? {
    var check = EventCheck(event: "", declaration: nil)
    check.value(value, self, .member(name))
    if let violation = check.outcome.violations.first {
      return violation.field == path ? violation.rule : "\(violation.field): \(violation.rule)"
    }
    return check.outcome.defaults.first.map { "\($0.field): mandatory" }
  }
}
