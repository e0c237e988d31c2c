// FieldComparison: finds the differences between the fields of an event in two schemas.

import Weir

/// Compares the old and new fields of one event, and of the objects within them.
struct FieldComparison {
  private(set) var found: [SchemaChange] = []
  private let event: String
  /// Whether the fields of one side are inferred instead of declared.
  private let isInferred: Bool

  init(event: String, isInferred: Bool) {
    self.event = event
    self.isInferred = isInferred
  }

  mutating func compare(_ old: [Field], _ new: [Field]) {
    compare(old, new, Place())
  }

  /// The place of the fields: the enclosing object, and whether it is redacted as a whole.
  private struct Place {
    var path = ""
    var wasSensitive = false
    var isSensitive = false

    var isNested: Bool { !path.isEmpty }
    func path(of field: Field) -> String { path.isEmpty ? field.name : "\(path).\(field.name)" }
  }

  private mutating func compare(_ old: [Field], _ new: [Field], _ place: Place) {
    var matched: Set<Int> = []
    for field in old {
      guard let index = Self.index(of: field, in: new, notIn: old) else {
        reportRemoved(field, from: new, place)
        continue
      }
      matched.insert(index)
      compare(field, new[index], place)
    }
    for (index, field) in new.enumerated() where !matched.contains(index) {
      reportAdded(field, to: old, place)
    }
  }

  /// Returns the index of the field's new form. As in readers, the field's own name comes first. A former name counts
  /// only if no old field has the new name.
  private static func index(of field: Field, in new: [Field], notIn old: [Field]) -> Int? {
    if let index = new.firstIndex(where: { $0.name == field.name }) { return index }
    return new.firstIndex { candidate in
      let isKnown = candidate.formerNames.contains(field.name) || field.formerNames.contains(candidate.name)
      return isKnown && !old.contains { $0.name == candidate.name }
    }
  }

  private mutating func report(
    _ what: SchemaChange.What, _ field: Field, _ place: Place, breaks: Set<SchemaChange.Broken> = [], _ why: String
  ) {
    found.append(SchemaChange(what, event, field: place.path(of: field), breaks: breaks, why: why))
  }

  // MARK: Fields in one

  private mutating func reportRemoved(_ field: Field, from new: [Field], _ place: Place) {
    if !place.isNested, let heir = new.first(where: { $0.formerNames.contains(field.name) }) {
      report(
        .fieldRemoved, field, place, breaks: [.oldReaders],
        "is no longer written, and \(heir.name) has its name as a former name: old readers read \(heir.name) instead")
    } else if field.kind.takesNothing {
      report(.fieldRemoved, field, place, "is no longer written: old readers find it missing")
    } else {
      report(
        .fieldRemoved, field, place, breaks: [.oldReaders],
        "is no longer written: old readers without a default for it can't read new events")
    }
  }

  private mutating func reportAdded(_ field: Field, to old: [Field], _ place: Place) {
    if let former = field.formerNames.last(where: { name in old.contains { $0.name == name } }) {
      report(
        .fieldRenamed, field, place, breaks: [.oldReaders],
        "was \(former), which is now another field's name: old readers read that field instead")
    } else if field.kind.takesNothing {
      report(.fieldAdded, field, place, "is new: new readers find it missing in old events")
    } else {
      report(
        .fieldAdded, field, place, breaks: [.newReaders],
        "is new and mandatory: new readers without a default for it can't read old events")
    }
  }

  // MARK: Fields in both

  private mutating func compare(_ old: Field, _ new: Field, _ place: Place) {
    if old.name != new.name { reportRenamed(old, new, place) }
    reportOptional(old, new, place)
    let (oldKind, newKind) = (old.kind.value, new.kind.value)
    if !isSame(oldKind, newKind) {
      let toNew = Reading(of: oldKind, by: newKind)
      let toOld = Reading(of: newKind, by: oldKind)
      report(
        .fieldKindChanged, old, place,
        breaks: Set((toNew == .always ? [] : [.newReaders]) + (toOld == .always ? [] : [.oldReaders])),
        "was \(oldKind.text), is \(newKind.text): new readers \(toNew.words(of: oldKind)) in old events, old readers "
          + "\(toOld.words(of: newKind)) in new ones")
    }
    var inside = Place(path: place.path(of: old))
    inside.wasSensitive = place.wasSensitive || old.isSensitive
    inside.isSensitive = place.isSensitive || new.isSensitive
    if inside.wasSensitive != inside.isSensitive, old.isSensitive || new.isSensitive {
      reportSensitive(old, place, inside)
    }
    if let oldFields = oldKind.fields, let newFields = newKind.fields {
      compare(oldFields, newFields, inside)
    }
  }

  private mutating func reportRenamed(_ old: Field, _ new: Field, _ place: Place) {
    if place.isNested {
      report(
        .fieldRenamed, old, place, breaks: [.newReaders, .oldReaders],
        "is \(new.name) now: within an object, readers find fields only by name")
    } else {
      report(.fieldRenamed, old, place, "is \(new.name) now; readers find it by the former name")
    }
  }

  private mutating func reportOptional(_ old: Field, _ new: Field, _ place: Place) {
    switch (old.kind.isOptional, new.kind.isOptional) {
    case (false, true):
      report(
        .fieldMadeOptional, old, place, breaks: old.kind.takesNothing ? [] : [.oldReaders],
        "may be missing: old readers without a default for it can't read new events in which it is missing")
    case (true, false):
      report(
        .fieldMadeMandatory, old, place, breaks: new.kind.takesNothing ? [] : [.newReaders],
        "may not be missing: new readers without a default for it can't read old events in which it is missing")
    default: break
    }
  }

  private mutating func reportSensitive(_ field: Field, _ place: Place, _ inside: Place) {
    if inside.isSensitive {
      report(.fieldMarkedSensitive, field, place, "is redacted from now on; old events are not marked")
    } else {
      report(
        .fieldUnmarkedSensitive, field, place, breaks: [.privacy],
        "is no longer marked: values that were redacted are shown and sent")
    }
  }

  /// Returns whether readers see no difference. The fields of objects are compared separately.
  private func isSame(_ old: FieldKind, _ new: FieldKind) -> Bool {
    if old.text == new.text { return true }
    guard isInferred else { return false }
    // Inferred kinds don't show the width of integers, nor the kind of values that were always missing.
    switch (old, new) {
    case (.any, _), (_, .any): return true
    case (.array(let old), .array(let new)), (.optional(let old), .optional(let new)): return isSame(old, new)
    case (.optional(let old), _): return isSame(old, new)
    case (_, .optional(let new)): return isSame(old, new)
    default: return old.integerRange != nil && new.integerRange != nil
    }
  }
}

/// Whether a reader that requests one kind can read a value written as another.
private enum Reading: Hashable {
  case always
  /// Only if this condition is met.
  case onlyWhere(String)
  case never

  init(of written: FieldKind, by reader: FieldKind) {
    switch (written, reader) {
    case (_, .any): self = .always
    case (.any, _): self = .onlyWhere("the value is \(reader.text)")
    case (.optional(let written), .optional(let reader)), (let written, .optional(let reader)):
      self = Reading(of: written, by: reader)
    case (.optional(let written), _):
      let present = Reading(of: written, by: reader)
      self = present == .always ? .onlyWhere("none is missing") : present
    case (.array(let written), .array(let reader)): self = Reading(of: written, by: reader)
    case (.object, .object), (.float, .double): self = .always
    default:
      guard written.text != reader.text else {
        self = .always
        return
      }
      guard let writes = written.integerRange, let reads = reader.integerRange else {
        self = .never
        return
      }
      let fits = reads.lowerBound <= writes.lowerBound && writes.upperBound <= reads.upperBound
      self = fits ? .always : .onlyWhere("it fits in \(reader.text)")
    }
  }

  /// Returns the end of a sentence about readers.
  func words(of written: FieldKind) -> String {
    switch self {
    case .always: "read \(written.text)"
    case .onlyWhere(let condition): "read \(written.text) only if \(condition)"
    case .never: "can't read \(written.text)"
    }
  }
}

extension FieldKind {
  /// The kind of an optional's value, or the kind itself.
  fileprivate var value: FieldKind {
    if case .optional(let inner) = self { return inner.value }
    return self
  }

  fileprivate var isOptional: Bool {
    if case .optional = self { return true }
    return false
  }

  /// Whether a reader that requests this kind accepts a missing value.
  fileprivate var takesNothing: Bool { isOptional || self == .any }

  /// The values of an integer kind; `nil` for other kinds.
  fileprivate var integerRange: ClosedRange<Int128>? {
    switch self {
    case .int8: Int128(Int8.min)...Int128(Int8.max)
    case .int16: Int128(Int16.min)...Int128(Int16.max)
    case .int32: Int128(Int32.min)...Int128(Int32.max)
    case .int64: Int128(Int64.min)...Int128(Int64.max)
    case .uint8: 0...Int128(UInt8.max)
    case .uint16: 0...Int128(UInt16.max)
    case .uint32: 0...Int128(UInt32.max)
    case .uint64: 0...Int128(UInt64.max)
    default: nil
    }
  }
}
