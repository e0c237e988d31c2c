// Preparation: the steps between the log and one provider.

package import Weir
import WeirContracts

/// Converts an event of the log to the event that a provider gets. The steps are derived fields, contract, duplicates,
/// redaction, and the provider's other mappers, in this order.
///
///  0. **Rate caps** withhold the events beyond them. Only events that the provider gets count.
///  1. **Derived fields** are added. The event's own fields are never replaced.
///  2. **The contract** is checked against the event with its derived fields and its context. Missing mandatory fields
///     get their defaults, flagged ``PreparedEvent/Flag/defaulted(field:)``. Violations are in
///     ``PreparedEvent/violations``, and the event is flagged ``PreparedEvent/Flag/violating``. Derived fields are not
///     unknown fields. Unknown fields are left out if ``DeliveryOptions/omitsUnknownFields`` is true. An event without
///     a kind gets the kind that the contract has for the event.
///  3. **Duplicates** are flagged ``PreparedEvent/Flag/duplicate(of:)``, by the event as it was captured.
///  4. **Redaction**: ``FieldValue/redacted`` replaces the values that the event's declaration, the contract or the
///     context marks as sensitive, in fields, context and violations. ``PreparedEvent/stored`` is redacted too.
///     The user's pseudonym replaces the user's id.
///  5. **The mapper** converts the event to the provider's form, or withholds the event.
///
/// The contract and the duplicates never withhold an event. Events that the log wrote itself (notices, and changes of
/// the default user) are not prepared, except that a ``Gap`` goes through the mapper. An event whose definition is lost
/// is prepared with its payload redacted, but is not checked against the contract.
///
/// The same events in the same order always give the same result. The value holds the window of duplicates and the
/// counts: use one for each provider, on one thread at a time. An event costs a third of a microsecond if there is
/// nothing to do, and about five microseconds with all steps and a mapper, off the capture path. An event that no step
/// changes is not even decoded for a provider that takes its bytes.
package struct Preparation: Sendable {
  /// The counts so far.
  package var counts: PreparedEvent.Counts {
    var counts = counted
    counts.forgotten = window?.forgotten ?? 0
    return counts
  }

  /// Whether the events are dead letters. Nobody knows what a redacted value of a letter was, so such a value has no
  /// violations.
  package var isOfLetters = false

  private let contract: CompiledContract?
  private let omitsUnknownFields: Bool
  private let redaction: Redaction?
  private let pseudonym: Pseudonym?
  private let annotations: DeliveryOptions.Annotations
  private let sendsGaps: Bool
  private let mapper: EventMapper
  /// Whether no step changes an event but the redaction, and the provider takes events as their bytes.
  let passesBytes: Bool
  private var caps: [RateCapCounter]
  private var window: DuplicateWindow?
  private var hasher = ContentHasher()
  private var hashes: [Int] = []
  private var counted = PreparedEvent.Counts()

  /// Creates a preparation with these options and this mapper. With `takesBytes`, the provider gets events as their
  /// bytes where no step changes them: see ``EncodedEventProvider``.
  package init(
    _ options: DeliveryOptions = DeliveryOptions(), mapper: EventMapper = EventMapper(), takesBytes: Bool = false
  ) {
    contract = options.contract
    omitsUnknownFields = options.omitsUnknownFields
    redaction = options.redactsSensitive ? Redaction(contract) : nil
    pseudonym = options.pseudonym
    annotations = options.annotations
    sendsGaps = options.sendsGaps
    caps = options.rateCaps.map(RateCapCounter.init)
    self.mapper = mapper
    window = options.duplicateWindow.map { DuplicateWindow($0, limit: options.duplicateMemory) }
    passesBytes =
      takesBytes && contract == nil && pseudonym == nil && caps.isEmpty && mapper.derivations.isEmpty
      && mapper.steps.isEmpty
  }

  /// Returns the event as the provider gets it, without decoding the event if nothing has to be changed.
  package mutating func prepare(_ event: EncodedEvent) -> PreparedEvent? {
    // Events beyond a cap are no originals.
    guard caps.isEmpty, !event.isOfTheLog else { return prepare(event.stored) }
    let original = window?.original(of: hasher.hash(of: event), event.id, event.entry.time)
    guard passesBytes, redaction == nil || event.isPlain, original == nil else {
      return prepare(event.stored, duplicateOf: original)
    }
    counted.prepared += 1
    return PreparedEvent(event, redacts: redaction != nil, annotations)
  }

  /// Prepares events of a block, none of which the log itself wrote, if ``passesBytes`` is true. Calls `take` with each
  /// event and its entry. No event is withheld, because there is no mapper. Costs less than to prepare each alone.
  mutating func prepare(
    _ block: EventBlock, _ places: Range<Int>, take: (PreparedEvent, EventBlock.Entry) -> Void
  ) {
    precondition(passesBytes)
    let redacts = redaction != nil
    hashes.removeAll(keepingCapacity: true)
    if window != nil {
      hasher.hash(block, places, to: &hashes)
      window?.warm(hashes, at: block.entries[places.lowerBound].time)
    }
    for place in places {
      let entry = block.entries[place]
      let hash = hashes.isEmpty ? nil : hashes[place - places.lowerBound]
      let original = hash.flatMap { window?.original(of: $0, entry.id, entry.time) }
      if original == nil, !redacts || entry.marks.contains(.isPlain) {
        counted.prepared += 1
        take(PreparedEvent(block[place], redacts: redacts, annotations), entry)
      } else if let prepared = prepare(block[place].stored, duplicateOf: original) {
        take(prepared, entry)
      }
    }
  }

  /// Returns the event as the provider gets it. Returns `nil` if the provider does not get the event; ``counts`` shows
  /// why.
  package mutating func prepare(_ stored: StoredEvent) -> PreparedEvent? {
    if sendsGaps, let gap = Gap(stored) {
      let prepared = prepare(gap)
      if prepared == nil { counted.withheld += 1 } else { counted.prepared += 1 }
      return prepared
    }
    guard !stored.name.hasPrefix(EventType.reservedPrefix) || stored.name == StoredEvent.undefinedName else {
      counted.passed += 1
      return nil
    }
    guard caps.allSatisfy({ $0.admits(stored) }) else {
      counted.withheld += 1
      return nil
    }
    return prepare(stored, duplicateOf: window?.original(of: stored))
  }

  private mutating func prepare(_ stored: StoredEvent, duplicateOf original: EventID?) -> PreparedEvent? {
    var event = PreparedEvent(stored)
    event.annotations = annotations
    derive(&event)
    check(&event)
    if let original { flag(&event, asDuplicateOf: original) }
    redaction?.redact(&event)
    if let pseudonym { event.replaceUser(by: pseudonym) }
    guard mapper.map(&event, &counted) else {
      counted.withheld += 1
      return nil
    }
    for index in caps.indices { caps[index].count(stored) }
    counted.prepared += 1
    return event
  }

  /// Returns a gap as the provider gets it. Returns `nil` if the mapper withholds the gap.
  func prepare(_ gap: Gap) -> PreparedEvent? {
    var event = gap.event
    var counts = PreparedEvent.Counts()
    return mapper.map(&event, &counts) ? event : nil
  }

  /// Returns a default user as the provider gets the user. Returns `nil` if the mapper withholds what is no event of
  /// the program: then only the user's events tell the provider of the user.
  func prepare(_ user: EventUser) -> EventUser? {
    let (user, sampled) = replaced(user)
    return mapper.mapped(user, sampled: sampled)
  }

  /// Returns a default user as the provider is associated with the user: see ``EventMapper/associated(_:sampled:)``.
  func associated(_ user: EventUser) -> EventUser? {
    let (user, sampled) = replaced(user)
    return mapper.associated(user, sampled: sampled)
  }

  private func replaced(_ user: EventUser) -> (user: EventUser, sampled: SampledUser?) {
    guard let pseudonym else { return (user, nil) }
    var other = user
    other.id = pseudonym(user.id)
    return (other, SampledUser(id: user.id))
  }

  /// Adds the derived fields. With a pseudonym, the fields are derived from the pseudonym and not from the user's id.
  private mutating func derive(_ event: inout PreparedEvent) {
    guard let pseudonym else { return mapper.derive(&event, &counted) }
    var other = event
    other.replaceUser(by: pseudonym)
    mapper.derive(&other, &counted)
    event.fields = other.fields
  }

  private mutating func check(_ event: inout PreparedEvent) {
    guard let contract else { return }
    let stored = event.stored
    event.kind = event.kind ?? contract.kind(of: event.name)
    // A payload that can't be read can't be checked for missing fields.
    let outcome =
      stored.isUnread
      ? contract.check(stored)
      : contract.check(
        name: event.name, fields: event.fields, context: event.context, declaration: stored.declaration,
        skipsRedacted: isOfLetters)
    // Only the event's own fields can be unknown to the contract; the other fields come from a mapper.
    let added = outcome.isClean ? [] : event.fields.filter { stored.fields[$0.name] == nil }
    event.violations = outcome.violations.filter { violation in
      !violation.isOfUnknownField || !added.contains { FieldPath.escaped($0.name) == violation.topField }
    }
    event.fields = outcome.completed(event.fields)
    event.context = outcome.completed(event.context)
    if omitsUnknownFields, !stored.isUnread {
      let known = contract.knownFields(of: event.name, event.fields) { stored.fields[$0] == nil }
      event.fields = known.fields
      counted.omitted += UInt64(known.omitted)
    }
    for filled in outcome.defaults { event.flags.insert(.defaulted(field: filled.field)) }
    if !event.violations.isEmpty { event.flags.insert(.violating) }
    counted.defaulted += outcome.defaults.isEmpty ? 0 : 1
    counted.violating += event.violations.isEmpty ? 0 : 1
  }

  private mutating func flag(_ event: inout PreparedEvent, asDuplicateOf original: EventID) {
    event.flags.insert(.duplicate(of: original))
    counted.duplicates += 1
  }
}

extension EventMapper {
  /// Returns what is known about a user as the provider gets it; `nil` if the mapper withholds what is no event of the
  /// program.
  func mapped(_ user: EventUser, sampled: SampledUser? = nil) -> EventUser? {
    let (user, isWithheld) = applied(to: user, sampled)
    return isWithheld ? nil : user
  }

  /// Returns a default user as the provider is associated with the user. A mapper that withholds what is no event of
  /// the program has nothing to say of the user: then the provider gets the id alone. `nil` if the mapper removes the
  /// user.
  func associated(_ user: EventUser, sampled: SampledUser? = nil) -> EventUser? {
    let (user, isWithheld) = applied(to: user, sampled)
    return isWithheld ? user.map { EventUser(id: $0.id) } : user
  }

  private func applied(to user: EventUser, _ sampled: SampledUser?) -> (EventUser?, isWithheld: Bool) {
    var event = PreparedEvent(
      StoredEvent(
        offset: 0, id: EventID(opening: 0, sequence: 0), time: .now, name: EventType.reservedPrefix + "associated",
        fields: [:], context: EventContext(user: user)))
    event.sampled = sampled
    var counts = PreparedEvent.Counts()
    let isKept = map(&event, &counts)
    return (event.context.user, !isKept)
  }
}

extension Violation {
  /// Whether this is a violation of the rule of ``CompiledContract`` about fields that the contract does not name.
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
