// Preparation: what happens to an event between the log and one provider.

package import Weir
import WeirContracts

/// Makes of an event in the log the event that a provider gets: derived fields, contract, duplicates, redaction, and
/// the provider's other mappers, in this order.
///
///  1. **Derived fields** are added. The event's own fields are never replaced.
///  2. **The contract** is held against the event as it is by then. Missing mandatory fields get their default, flagged
///     ``PreparedEvent/Flag/defaulted(field:)``; what is against it is in ``PreparedEvent/violations``, and the event
///     is flagged ``PreparedEvent/Flag/violating``. Fields that were derived are not unknown fields.
///  3. **Duplicates** are flagged ``PreparedEvent/Flag/duplicate(of:)``, by the event as it was captured.
///  4. **Redaction**: ``FieldValue/redacted`` takes the place of what the event's declaration, the contract or the
///     context marks as sensitive, in fields, context and violations. ``PreparedEvent/stored`` is redacted too.
///  5. **The mapper** brings the event into the provider's form, or withholds it.
///
/// The contract and the duplicates never keep an event from the provider. What the log itself wrote (notices, and the
/// events of a user who is associated or disassociated) is not prepared; an event whose definition is lost is, with its
/// payload redacted, but is not held against the contract.
///
/// The same events, in the same order, always come out the same. It is a value with the state of the duplicates' window
/// and counts; use one for each provider, on one thread at a time. Costs a third of a microsecond an event where there
/// is nothing to do, and some five with all steps and a mapper, off the capture path.
package struct Preparation: Sendable {
  /// What happened so far.
  package var counts: PreparedEvent.Counts {
    var counts = counted
    counts.forgotten = window?.forgotten ?? 0
    return counts
  }

  private let contract: CompiledContract?
  private let redaction: Redaction?
  private let mapper: EventMapper
  private var window: DuplicateWindow?
  private var counted = PreparedEvent.Counts()

  /// What these options and this mapper say is done to events.
  package init(_ options: DeliveryOptions = DeliveryOptions(), mapper: EventMapper = EventMapper()) {
    contract = options.contract
    redaction = options.redactsSensitive ? Redaction(contract) : nil
    self.mapper = mapper
    window = options.duplicateWindow.map { DuplicateWindow($0, limit: options.duplicateMemory) }
  }

  /// The event as the provider gets it; nil if it does not get it: ``counts`` says why.
  package mutating func prepare(_ stored: StoredEvent) -> PreparedEvent? {
    guard !stored.name.hasPrefix(EventType.reservedPrefix) || stored.name == StoredEvent.undefinedName else {
      counted.passed += 1
      return nil
    }
    var event = PreparedEvent(stored)
    mapper.derive(&event, &counted)
    check(&event)
    flagDuplicate(&event)
    redaction?.redact(&event)
    guard mapper.map(&event, &counted) else {
      counted.withheld += 1
      return nil
    }
    counted.prepared += 1
    return event
  }

  private mutating func check(_ event: inout PreparedEvent) {
    guard let contract else { return }
    let stored = event.stored
    // Of a payload that can't be read nobody can say what it lacks.
    let outcome =
      stored.isUnread
      ? contract.check(stored)
      : contract.check(name: event.name, fields: event.fields, declaration: stored.declaration)
    // Only fields of the event's own can be unknown to the contract: the program says nothing with the others.
    let added = outcome.isClean ? [] : event.fields.filter { stored.fields[$0.name] == nil }
    event.violations = outcome.violations.filter { violation in
      !violation.isOfUnknownField || !added.contains { FieldPath.escaped($0.name) == violation.topField }
    }
    event.fields = outcome.completed(event.fields)
    for filled in outcome.defaults { event.flags.insert(.defaulted(field: filled.field)) }
    if !event.violations.isEmpty { event.flags.insert(.violating) }
    counted.defaulted += outcome.defaults.isEmpty ? 0 : 1
    counted.violating += event.violations.isEmpty ? 0 : 1
  }

  private mutating func flagDuplicate(_ event: inout PreparedEvent) {
    guard let original = window?.original(of: event.stored) else { return }
    event.flags.insert(.duplicate(of: original))
    counted.duplicates += 1
  }
}

extension Violation {
  /// The rule of ``CompiledContract`` for fields that the contract does not name.
  fileprivate var isOfUnknownField: Bool { rule == "unknown field" }

  /// The first part of the field's path.
  fileprivate var topField: Substring {
    var isEscaped = false
    let end = field.firstIndex { letter in
      defer { isEscaped = letter == "\\" && !isEscaped }
      return !isEscaped && (letter == "." || letter == "[")
    }
    return field[..<(end ?? field.endIndex)]
  }
}
