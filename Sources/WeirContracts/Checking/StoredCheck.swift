// StoredCheck: checks stored events by their bytes. An event without violations is not built.

import Weir

/// Says of stored events of one reader that they are clean, or that they have to be built and checked. Keeps how the
/// events of each definition are asked.
///
/// The answer "clean" is that of ``CompiledContract/check(_:)``: no violations, and no defaults to fill in. Of
/// everything else, and whenever bytes are not as expected, the answer is that the event has to be checked.
struct StoredCheck {
  /// How the events of one definition, or of one name, are asked.
  private enum Way {
    /// The events have to be built and checked.
    case build
    case packed(PayloadTest)
    case tagged(TaggedTest)
  }

  private final class Plan: Sendable {
    let name: String
    let way: Way
    /// The rules of the fields that a value is built for, by index. `nil` stands for a field that has to be null.
    let fields: [CompiledField?]
    let hasContextRules: Bool

    init(_ name: String, _ way: Way, _ fields: [CompiledField?] = [], hasContextRules: Bool = false) {
      self.name = name
      self.way = way
      self.fields = fields
      self.hasContextRules = hasContextRules
    }
  }

  /// The number of plans that are found without a look-up.
  private static let slots = 64
  private static let maximumNames = 4_096

  private let contract: CompiledContract
  /// The plans of definitions that were met last, by the key of their definition.
  private var recent: [(definition: UInt64, plan: Plan)?] = Array(repeating: nil, count: slots)
  /// The plans of events that carry their own names.
  private var byName: [String: Plan] = [:]

  init(_ contract: CompiledContract) {
    self.contract = contract
  }

  /// Returns whether the event is one of the program's, and has no violations and no defaults to fill in. If not, or if
  /// its bytes don't tell, the event has to be built and checked.
  mutating func isClean(_ event: RawEvent, in reader: EventReader) -> Bool {
    let plan = plan(of: event, in: reader)
    let isClean =
      switch plan.way {
      case .build: false
      case .packed(let test): test.passes(event.payload) { Self.isClean($1, plan.fields[$0]) }
      case .tagged(let test): test.passes(event.payload) { Self.isClean($1, plan.fields[$0]) }
      }
    guard isClean, plan.hasContextRules else { return isClean }
    return contract.isClean(reader.context(of: event), of: plan.name)
  }

  private static func isClean(_ value: FieldValue, _ field: CompiledField?) -> Bool {
    if let field { return field.firstViolated(by: value) == nil }
    if case .null = value { return true }
    return false
  }

  private mutating func plan(of event: RawEvent, in reader: EventReader) -> Plan {
    if event.isDynamic {
      let name = reader.definition(of: event).name
      if let known = byName[name] { return known }
      if byName.count >= Self.maximumNames { byName.removeAll() }
      let plan = plan(name, nil, .tagged)
      byName[name] = plan
      return plan
    }
    let slot = Int(event.definition % UInt64(Self.slots))
    if let known = recent[slot], known.definition == event.definition { return known.plan }
    let (name, declaration, layout) = reader.definition(of: event)
    let plan = plan(name, declaration, layout)
    recent[slot] = (event.definition, plan)
    return plan
  }

  private func plan(_ name: String, _ declaration: EventType?, _ layout: StoredDefinition.Layout) -> Plan {
    guard !name.hasPrefix(EventType.reservedPrefix) else { return Plan(name, .build) }
    let rule = contract.event(name)
    let kind = declaration?.kind
    if let wanted = rule?.rule.kind {
      guard wanted == kind else { return Plan(name, .build) }
    } else if kind == nil, contract.contract.requiresKind {
      return Plan(name, .build)
    }
    guard let members = rule?.members ?? contract.membersOfUnknown else { return Plan(name, .build) }
    switch layout {
    case .unknown: return Plan(name, .build)
    case .tagged: return tagged(name, members)
    case .packed(let fields): return packed(name, fields, members)
    }
  }

  private func tagged(_ name: String, _ members: CompiledMembers) -> Plan {
    // Swift's strings are equal if they mean the same, whatever their bytes: a test of bytes is right for ASCII alone.
    let isASCII = members.fields.allSatisfy { $0.name.utf8.allSatisfy { $0 < 0x80 } }
    guard isASCII, members.fields.count <= TaggedTest.maximumNames else { return Plan(name, .build) }
    let names = members.fields.map { (name: $0.name, isMandatory: $0.isMandatory) }
    return Plan(
      name, .tagged(TaggedTest(names, allowsOthers: members.isOpen)), members.fields,
      hasContextRules: contract.hasContextRules(for: name))
  }

  private func packed(_ name: String, _ declared: [Field], _ members: CompiledMembers) -> Plan {
    let names = Set(declared.map(\.name))
    let lacks = members.fields.contains { $0.isMandatory && !names.contains($0.name) }
    guard names.count == declared.count, !lacks else { return Plan(name, .build) }
    var fields: [CompiledField?] = []
    var tests: [PayloadTest.Field] = []
    for field in declared {
      let rule = members.positions[field.name].map { members.fields[$0] }
      if rule == nil, !members.isOpen {
        // Any value of such a field is a violation.
        tests.append(.init(field.kind, .value, allowsNull: true))
      } else {
        let question = rule?.question(of: field.kind) ?? .anything
        tests.append(.init(field.kind, question, allowsNull: rule?.isMandatory != true))
      }
      fields.append(rule)
    }
    return Plan(
      name, .packed(PayloadTest(tests)), fields, hasContextRules: contract.hasContextRules(for: name))
  }
}

extension CompiledField {
  /// Returns what is to be asked of values of this kind.
  fileprivate func question(of kind: FieldKind) -> PayloadTest.Question {
    var kind = kind
    if case .optional(let wrapped) = kind { kind = wrapped }
    switch kind {
    // Such a value may be null, where the kind says nothing of it.
    case .optional, .any: return isMandatory || !asksNothing ? .value : .anything
    case .int8, .int16, .int32, .int64, .uint8, .uint16, .uint32, .uint64:
      guard type.admits(.int(0)), let range = numbers else { return .value }
      guard let bounds = range?.wholeBounds else { return .anything }
      return .integer(least: bounds.least, most: bounds.most)
    case .float, .double:
      guard type.admits(.double(0)), let range = numbers else { return .value }
      guard let range else { return .anything }
      guard let bounds = range.doubleBounds else { return .value }
      return .number(least: bounds.least, most: bounds.most)
    case .string:
      if asksNothing { return .anything }
      guard type == .string, let length = scalars else { return .value }
      return .text(least: length.min ?? 0, most: length.max ?? .max)
    case .bool: return checks.isEmpty && (type == .any || type == .bool) ? .anything : .value
    case .bytes: return checks.isEmpty && (type == .any || type == .bytes) ? .anything : .value
    case .uuid: return checks.isEmpty && (type == .any || type == .uuid) ? .anything : .value
    case .date: return checks.isEmpty && (type == .any || type == .date) ? .anything : .value
    case .array, .object: return asksNothing ? .anything : .value
    }
  }

  /// Whether every value fulfils the rule.
  private var asksNothing: Bool { type == .any && checks.isEmpty && members == nil && element == nil }

  /// The range of numbers that the checks allow, which is `nil` if they allow all; `nil` if they are other checks.
  private var numbers: ExactRange?? {
    switch checks.first {
    case nil: .some(nil)
    case .finite? where checks.count == 1: ExactRange()
    case .range(let range, _)? where checks.count == 1: range
    default: nil
    }
  }

  /// The lengths that the checks allow; `nil` if they are other checks.
  private var scalars: LengthRange? {
    switch checks.first {
    case nil: LengthRange()
    case .length(let range, _)? where checks.count == 1: range
    default: nil
    }
  }
}
