// Preparation: what happens to an event between the log and one provider.

public import Weir
public import WeirContracts

/// Makes of an event in the log the event that a provider gets: completed, checked, flagged, edited, redacted, mapped.
///
/// ```swift
/// var preparation = Preparation(
///   contract: try contract.compiled(),
///   registries: [FeedRegistry.self, CheckoutRegistry.self],
///   enrichment: [EventHook("plan") { event in … }],
///   hooks: [EventHook("no staff") { event in … }],
///   mapper: EventMapper(.snakeCase(), .flatten()))
/// while let stored = try reader.next() {
///   guard let event = preparation.prepare(stored) else { continue }
///   …
/// }
/// ```
///
/// The steps, in this order:
///
///  1. **Derived fields** of the event's registry are added. The event's own fields are never replaced.
///  2. **Enrichment** hooks, in order. The first that drops the event ends it.
///  3. **The contract** is held against the event as it is by then. Missing mandatory fields get their default, flagged
///     ``EventFlag/defaulted(field:)``; what is against it is in ``PreparedEvent/violations``, and the event is flagged
///     ``EventFlag/violating``. Fields that the steps before added are not unknown fields.
///  4. **Duplicates** are flagged ``EventFlag/duplicate(of:)``, by the event as it was captured.
///  5. **Hooks** before delivery, in order: they see all flags, and the true values of sensitive fields.
///  6. **Redaction**: ``FieldValue/redacted`` takes the place of what the event's declaration, the contract or the
///     context marks as sensitive, in fields, context and violations. ``PreparedEvent/stored`` is redacted too.
///  7. **The mapper** brings the event into the provider's form.
///
/// The contract and the duplicates never keep an event from the provider; hooks and the mapper may, and that is
/// counted. What the log itself wrote (notices, and the events of a user who is associated or disassociated) is not
/// prepared; an event whose definition is lost is, with its payload redacted, but is not held against the contract.
///
/// The same events, in the same order, always come out the same. It is a value with the state of the duplicates' window
/// and counts; use one for each provider, on one thread at a time. Costs a third of a microsecond an event where there
/// is nothing to do, and some five with all steps and a mapper, off the capture path.
public struct Preparation: Sendable {
  /// What happened so far.
  public var counts: Counts {
    var counts = counted
    counts.forgotten = window?.forgotten ?? 0
    counts.renamed = mapping.renamed
    counts.truncated = mapping.truncated
    return counts
  }

  private let contract: CompiledContract?
  private let registries: [any Registry.Type]
  private let enrichment: [EventHook]
  private let hooks: [EventHook]
  private let redaction: Redaction?
  private let mapper: EventMapper
  private var window: DuplicateWindow?
  private var counted = Counts()
  private var mapping = EventMapper.Counts()

  /// A preparation of these steps; each that is not given is left out, but for duplicates and redaction.
  ///
  /// - Parameters:
  ///   - contract: What events are held against.
  ///   - registries: Those whose derived fields are wanted. Where two derive the same field, the first one's stays.
  ///   - enrichment: Hooks that run before the check.
  ///   - duplicates: What counts as a duplicate; nil flags none.
  ///   - hooks: Hooks that run after the check.
  ///   - redactsSensitive: False lets sensitive values go to the provider as they are.
  ///   - mapper: The provider's form.
  public init(
    contract: CompiledContract? = nil, registries: [any Registry.Type] = [], enrichment: [EventHook] = [],
    duplicates: DuplicateRule? = DuplicateRule(), hooks: [EventHook] = [], redactsSensitive: Bool = true,
    mapper: EventMapper = EventMapper()
  ) {
    self.contract = contract
    self.registries = registries
    self.enrichment = enrichment
    self.hooks = hooks
    redaction = redactsSensitive ? Redaction(contract) : nil
    self.mapper = mapper
    window = duplicates.map { DuplicateWindow($0) }
  }

  /// The event as the provider gets it; nil if it does not get it, which ``counts`` says why.
  public mutating func prepare(_ stored: StoredEvent) -> PreparedEvent? {
    guard !stored.name.hasPrefix(EventType.reservedPrefix) || stored.name == StoredEvent.undefinedName else {
      counted.passed += 1
      return nil
    }
    var event = PreparedEvent(stored)
    derive(&event)
    guard run(enrichment, &event) else { return nil }
    check(&event)
    flagDuplicate(&event)
    guard run(hooks, &event) else { return nil }
    redaction?.redact(&event)
    guard mapper.map(&event, &mapping) else {
      counted.filtered += 1
      return nil
    }
    counted.prepared += 1
    return event
  }

  private mutating func derive(_ event: inout PreparedEvent) {
    for registry in registries {
      do {
        for field in try registry.derivedFields(of: event.stored) ?? [:] {
          if event.fields[field.name] == nil {
            event.fields[field.name] = field.value
          } else {
            counted.collisions[registry.area, default: 0] += 1
          }
        }
      } catch {
        counted.underived[registry.area, default: 0] += 1
      }
    }
  }

  private mutating func run(_ hooks: [EventHook], _ event: inout PreparedEvent) -> Bool {
    for hook in hooks where hook.body(&event) == .drop {
      counted.dropped[hook.name, default: 0] += 1
      return false
    }
    return true
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
