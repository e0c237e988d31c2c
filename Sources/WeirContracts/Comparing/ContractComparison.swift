// ContractComparison: finds the differences between two contracts, and which of them are breaking.
//
// A difference counts as breaking unless it certainly flags no event that had no violations. A pattern that only looks
// stricter may break nothing, but nobody should rely on that. A test checks random events against random pairs of
// contracts.

import Weir

extension CompiledContract {
  /// Returns the differences between this contract and a newer one: first those of this contract's events and fields,
  /// in its order, then what the newer one adds.
  ///
  /// ```swift
  /// let breaking = try old.compiled().changes(to: new.compiled()).filter(\.isBreaking)
  /// ```
  public func changes(to new: CompiledContract) -> [ContractChange] {
    var comparison = ContractComparison()
    comparison.compare(self, new)
    return comparison.changes.map { change in
      var change = change
      change.content = ContractChangeContent(of: change, from: self, to: new)
      return change
    }
  }
}

private struct ContractComparison {
  private(set) var changes: [ContractChange] = []
  private var event = ""

  private mutating func add(
    _ what: ContractChange.What, _ field: String, breaking isBreaking: Bool = false, _ why: String
  ) {
    changes.append(ContractChange(what, event: event, field: field, isBreaking: isBreaking, why))
  }

  mutating func compare(_ old: CompiledContract, _ new: CompiledContract) {
    let (before, after) = (old.contract, new.contract)
    if before.name != after.name { add(.contractRenamed, "", "it was \(before.name) and is \(after.name)") }
    if before.version != after.version { add(.versionChanged, "", "it was \(before.version) and is \(after.version)") }
    if before.allowsUnknownEvents != after.allowsUnknownEvents {
      let isFlagged = before.allowsUnknownEvents
      add(
        .unknownEventsChanged, "", breaking: isFlagged,
        isFlagged ? "events that it does not name are flagged now" : "events that it does not name are allowed now")
    }
    if before.requiresKind != after.requiresKind {
      add(
        .requiredKindChanged, "", breaking: after.requiresKind,
        after.requiresKind ? "events without a kind are flagged now" : "events may have no kind now")
    }
    compare(old.everyEvent, new.everyEvent, wasSensitive: false, isSensitive: false)
    for rule in before.events {
      guard let one = old.event(rule.name) else { continue }
      event = rule.name
      if let other = new.event(rule.name) { compare(one, other) } else { removed(one, from: after) }
    }
    for rule in after.events where old.event(rule.name) == nil {
      event = rule.name
      add(
        .eventAdded, "", breaking: before.allowsUnknownEvents,
        before.allowsUnknownEvents ? "it was allowed with any fields" : "it was flagged as unknown")
    }
  }

  private mutating func removed(_ old: CompiledEvent, from new: Contract) {
    let isBreaking = !new.allowsUnknownEvents || !old.sensitiveFields.isEmpty
    let why = new.allowsUnknownEvents ? "it may have any fields now" : "it is flagged as unknown now"
    add(.eventRemoved, "", breaking: isBreaking, old.rule.isDeprecated ? "\(why); it was deprecated" : why)
  }

  private mutating func compare(_ old: CompiledEvent, _ new: CompiledEvent) {
    if old.rule.kind != new.rule.kind {
      let kinds =
        "it was \(old.rule.kind?.rawValue ?? "of any kind") and is \(new.rule.kind?.rawValue ?? "of any kind")"
      add(.eventKindChanged, "", breaking: new.rule.kind != nil, kinds)
    }
    if old.rule.isOpen != new.rule.isOpen {
      add(
        new.rule.isOpen ? .eventOpened : .eventClosed, "", breaking: old.rule.isOpen,
        "fields that it does not name are \(old.rule.isOpen ? "flagged" : "allowed") now")
    }
    words(old.rule.isDeprecated, new.rule.isDeprecated, old.rule.description, new.rule.description, "")
    compare(old.members, new.members, wasSensitive: false, isSensitive: false)
    compare(old.context, new.context, wasSensitive: false, isSensitive: false)
  }

  private mutating func words(
    _ wasDeprecated: Bool, _ isDeprecated: Bool, _ before: String, _ after: String, _ field: String
  ) {
    if wasDeprecated != isDeprecated {
      add(.deprecationChanged, field, isDeprecated ? "it is deprecated now" : "it is no longer deprecated")
    }
    if before != after { add(.descriptionChanged, field, "checks are not affected") }
  }

  /// `nil` members are those of an object that may have any fields, such as a context without rules.
  private mutating func compare(
    _ old: CompiledMembers?, _ new: CompiledMembers?, wasSensitive: Bool, isSensitive: Bool
  ) {
    for field in old?.fields ?? [] {
      if let position = new?.positions[field.name], let other = new?.fields[position] {
        compare(field, other, wasSensitive: wasSensitive, isSensitive: isSensitive)
      } else {
        removed(field, isFree: new?.isOpen ?? true, wasSensitive: wasSensitive, isSensitive: isSensitive)
      }
    }
    for field in new?.fields ?? [] where old?.positions[field.name] == nil {
      added(field, wasFree: old?.isOpen ?? true)
    }
    if old == nil, let new, !new.isOpen, let first = new.fields.first {
      // Each of its fields is reported as a change. That other fields are now flagged is a further change.
      let object = String(first.path.dropLast(FieldPath.escaped(first.name).count + 1))
      add(.typeChanged, object, breaking: true, "it could have any fields, and those it does not name are flagged now")
    }
  }

  /// `wasFree`: the field was allowed before, with any value. `isBound`: the enclosing value could also be anything,
  /// and must now be an object or array.
  private mutating func added(_ field: CompiledField, wasFree: Bool, isBound: Bool = false) {
    guard let rule = field.rule else {
      // A part of the context with a fixed type never could be anything else.
      let isBound = isBound || wasFree && ContextParts.types[field.path] == nil
      for inner in field.members?.fields ?? [] { added(inner, wasFree: wasFree, isBound: isBound) }
      // A default can't be filled in if there is no array to contain it.
      if let element = field.element { added(element, wasFree: wasFree, isBound: isBound || field.failsWhenMissing) }
      return
    }
    let why =
      switch (rule.isMandatory, rule.defaultValue) {
      case (true, nil): "it is mandatory and has no default"
      case (true, let value?): "where it is missing, \(value) is filled in"
      case (false, _): "it may be missing"
      }
    let lacks = rule.isMandatory && rule.defaultValue == nil
    add(
      .fieldAdded, field.path, breaking: lacks || isBound || wasFree && !field.takesAnything,
      wasFree && !lacks ? "\(why); it could hold anything" : why)
  }

  private mutating func removed(_ field: CompiledField, isFree: Bool, wasSensitive: Bool, isSensitive: Bool) {
    guard let rule = field.rule else {
      for inner in field.members?.fields ?? [] {
        removed(inner, isFree: isFree, wasSensitive: wasSensitive, isSensitive: isSensitive)
      }
      if let element = field.element {
        removed(element, isFree: isFree, wasSensitive: wasSensitive, isSensitive: isSensitive)
      }
      return
    }
    let shows = (wasSensitive || field.isSensitive) && !isSensitive
    var why = isFree ? "it may hold anything now" : "it is flagged as unknown now"
    if shows { why += "; it was sensitive" }
    if rule.isDeprecated { why += "; it was deprecated" }
    add(.fieldRemoved, field.path, breaking: !isFree || shows, why)
  }

  private mutating func compare(
    _ old: CompiledField, _ new: CompiledField, wasSensitive: Bool, isSensitive: Bool
  ) {
    compareMandatory(old, new)
    let isTypeSame = compareTypes(old, new)
    if isTypeSame { compareChecks(old, new) }
    compareDefaults(old, new)
    let (was, now) = (wasSensitive || old.rule?.isSensitive == true, isSensitive || new.rule?.isSensitive == true)
    if was != now, old.rule?.isSensitive == true || new.rule?.isSensitive == true {
      add(
        now ? .markedSensitive : .unmarkedSensitive, new.path, breaking: was,
        now ? "it is redacted now" : "it is no longer redacted")
    }
    words(
      old.rule?.isDeprecated == true, new.rule?.isDeprecated == true, old.rule?.description ?? "",
      new.rule?.description ?? "", new.path)
    if old.members != nil || new.members != nil {
      compare(old.members, new.members, wasSensitive: was, isSensitive: now)
    }
    switch (old.element, new.element) {
    case (let one?, let other?): compare(one, other, wasSensitive: was, isSensitive: now)
    case (let one?, nil): removed(one, isFree: true, wasSensitive: was, isSensitive: now)
    case (nil, let other?): added(other, wasFree: true)
    case (nil, nil): break
    }
  }

  private mutating func compareMandatory(_ old: CompiledField, _ new: CompiledField) {
    let isBroken = !old.failsWhenMissing && new.failsWhenMissing
    // Fields within a field without a rule are reported themselves. An array that must now be present is the
    // exception, because a field of its elements with a default is not reported.
    guard old.rule != nil || new.rule != nil || isBroken && new.element != nil else { return }
    // A removed default is reported separately.
    guard old.isMandatory != new.isMandatory || isBroken && old.defaultValue == nil else { return }
    let why =
      isBroken
      ? "where it is missing, it is flagged now"
      : new.isMandatory
        ? new.defaultValue.map { "where it is missing, \($0) is filled in" }
          ?? "where it is missing, it was flagged before"
        : "it may be missing now"
    add(new.isMandatory ? .fieldMadeMandatory : .fieldMadeOptional, new.path, breaking: isBroken, why)
  }

  /// Compares the types. Returns whether the clauses can be compared: the type is the same, or accepts more values.
  private mutating func compareTypes(_ old: CompiledField, _ new: CompiledField) -> Bool {
    guard old.type != new.type else { return true }
    let isWider = new.type == .any || old.type == .integer && new.type == .number
    add(.typeChanged, new.path, breaking: !isWider, "it was \(old.type.rawValue) and is \(new.type.rawValue)")
    return isWider
  }

  private mutating func compareDefaults(_ old: CompiledField, _ new: CompiledField) {
    // A field that became mandatory with a default is already reported with that default.
    guard old.isMandatory == new.isMandatory || new.defaultValue == nil else { return }
    switch (old.defaultValue, new.defaultValue) {
    case (nil, nil): break
    case (let value?, nil):
      add(.defaultChanged, new.path, breaking: new.isMandatory, "\(value) is no longer filled in")
    case (nil, let value?): add(.defaultChanged, new.path, "where it is missing, \(value) is filled in now")
    case (let before?, let after?):
      if !before.isSame(as: after) { add(.defaultChanged, new.path, "it was \(before) and is \(after)") }
    }
  }
}

/// The clauses of a field.
extension ContractComparison {
  private mutating func compareChecks(_ old: CompiledField, _ new: CompiledField) {
    let (before, after) = (old.rule?.allowedValues, new.rule?.allowedValues)
    // If the old values were listed, the new check is tried on each of them, so the result is certain.
    func breaks(_ isStricter: Bool, _ check: (CompiledCheck) -> Bool) -> Bool {
      guard isStricter, let before else { return isStricter }
      return new.checks.contains { one in check(one) && before.contains { one.violated(by: $0) != nil } }
    }
    compareValues(before, after, new.path)
    if old.rule?.range != new.rule?.range {
      let isStricter = Self.isStricter(old.rule?.range?.exact, new.rule?.range?.exact)
      add(
        .rangeChanged, new.path, breaking: breaks(isStricter) { if case .range = $0 { true } else { false } },
        Self.difference(old.rule?.range, new.rule?.range))
    }
    let wasFinite = old.type == .integer || old.rule?.range != nil || old.rule?.isFinite == true
    if (old.rule?.isFinite == true) != (new.rule?.isFinite == true), new.rule?.range == nil {
      let isStricter = !wasFinite && new.rule?.isFinite == true
      add(
        .finiteChanged, new.path, breaking: breaks(isStricter) { if case .finite = $0 { true } else { false } },
        new.rule?.isFinite == true ? "it must be finite now" : "it may be infinite or NaN now")
    }
    if old.rule?.length != new.rule?.length {
      let (one, other) = (old.rule?.length ?? LengthRange(), new.rule?.length ?? LengthRange())
      let isStricter = other.min ?? 0 > one.min ?? 0 || other.max ?? .max < one.max ?? .max
      add(
        .lengthChanged, new.path, breaking: breaks(isStricter) { if case .length = $0 { true } else { false } },
        Self.difference(old.rule?.length, new.rule?.length))
    }
    if old.rule?.pattern != new.rule?.pattern {
      let isStricter = new.rule?.pattern != nil
      add(
        .patternChanged, new.path, breaking: breaks(isStricter) { if case .matches = $0 { true } else { false } },
        Self.difference(old.rule?.pattern, new.rule?.pattern))
    }
  }

  private mutating func compareValues(_ before: [FieldValue]?, _ after: [FieldValue]?, _ path: String) {
    switch (before, after) {
    case (nil, nil): break
    case (_?, nil): add(.valuesAdded, path, "any value is allowed now")
    case (nil, let after?): add(.valuesRemoved, path, breaking: true, "only \(Self.list(after)) are allowed now")
    case (let before?, let after?):
      let keysBefore = Set(before.lazy.map(ValueKey.init))
      let keysAfter = Set(after.lazy.map(ValueKey.init))
      let removed = before.filter { !keysAfter.contains(ValueKey($0)) }
      let added = after.filter { !keysBefore.contains(ValueKey($0)) }
      if !removed.isEmpty { add(.valuesRemoved, path, breaking: true, Self.list(removed)) }
      if !added.isEmpty { add(.valuesAdded, path, Self.list(added)) }
    }
  }

  private static func isStricter(_ old: ExactRange?, _ new: ExactRange?) -> Bool {
    guard let new else { return false }
    guard let old else { return true }
    if let end = new.lower {
      guard let before = old.lower, new.excludesLower && !old.excludesLower ? end < before : end <= before else {
        return true
      }
    }
    if let end = new.upper {
      guard let before = old.upper, new.excludesUpper && !old.excludesUpper ? before < end : before <= end else {
        return true
      }
    }
    return false
  }

  private static func difference<Value>(_ before: Value?, _ after: Value?) -> String {
    switch (before, after) {
    case (nil, let after?): "it is \(after) now"
    case (let before?, nil): "it was \(before)"
    case (let before?, let after?): "it was \(before) and is \(after)"
    case (nil, nil): ""
    }
  }

  private static func list(_ values: [FieldValue]) -> String {
    let more = values.count > 10 ? " and \(values.count - 10) more" : ""
    return values.prefix(10).map(\.description).joined(separator: ", ") + more
  }
}

extension CompiledField {
  /// Whether no value of the field, nor its absence, violates the rule.
  fileprivate var takesAnything: Bool {
    type == .any && checks.isEmpty && members == nil && element == nil && !failsWhenMissing
  }
}
