// ContractChange: one difference between two contracts, and whether it breaks something.

import Weir

/// One difference between two contracts, an old one and a new one.
///
/// It breaks if an event that the old contract takes without a violation may be against the new one, or if a field that
/// was sensitive is not any more.
public struct ContractChange: Hashable, Sendable {
  /// What differs.
  public enum What: String, CaseIterable, Codable, Hashable, Sendable {
    /// The contract has another name.
    case contractRenamed = "contract_renamed"
    /// The contract has another version.
    case versionChanged = "version_changed"
    /// Events that the contract does not name are flagged now, or are not any more.
    case unknownEventsChanged = "unknown_events_changed"
    /// An event that the old contract does not have.
    case eventAdded = "event_added"
    /// An event that the new contract does not have.
    case eventRemoved = "event_removed"
    /// Another ``EventKind``.
    case eventKindChanged = "event_kind_changed"
    /// Fields that the contract does not name are as they should be now.
    case eventOpened = "event_opened"
    /// Fields that the contract does not name are flagged now.
    case eventClosed = "event_closed"
    /// A field that the old contract does not have.
    case fieldAdded = "field_added"
    /// A field that the new contract does not have.
    case fieldRemoved = "field_removed"
    /// A field may be missing now.
    case fieldMadeOptional = "field_made_optional"
    /// A field must not be missing any more.
    case fieldMadeMandatory = "field_made_mandatory"
    /// Another ``FieldRule/ValueType``.
    case typeChanged = "type_changed"
    /// Values are allowed now that were not.
    case valuesAdded = "values_added"
    /// Values are not allowed any more.
    case valuesRemoved = "values_removed"
    /// Another range of numbers.
    case rangeChanged = "range_changed"
    /// Numbers must be finite now, or need not any more.
    case finiteChanged = "finite_changed"
    /// Another range of lengths.
    case lengthChanged = "length_changed"
    /// Another regular expression.
    case patternChanged = "pattern_changed"
    /// Another default, or one where there was none, or none any more.
    case defaultChanged = "default_changed"
    /// Sensitive now.
    case markedSensitive = "marked_sensitive"
    /// Not sensitive any more.
    case unmarkedSensitive = "unmarked_sensitive"
    /// Deprecated now, or not any more.
    case deprecationChanged = "deprecation_changed"
    /// Other words for people.
    case descriptionChanged = "description_changed"

    /// What differs, in words: `field made optional`.
    public var words: String { rawValue.replacing("_", with: " ") }
  }

  /// What differs.
  public var what: What

  /// The event's name, or empty if it is about the contract as a whole.
  public var event: String

  /// The field's path, or empty.
  public var field: String

  /// Whether an event that was right may be flagged for it, or something sensitive is shown.
  public var isBreaking: Bool

  /// What it means, in a sentence.
  public var why: String

  init(_ what: What, event: String = "", field: String = "", isBreaking: Bool, _ why: String) {
    self.what = what
    self.event = event
    self.field = field
    self.isBreaking = isBreaking
    self.why = why
  }
}

extension ContractChange: CustomStringConvertible {
  /// One line, such as `breaking: checkout.completed: coupon: field removed: …`.
  public var description: String {
    let place = [event, field].filter { !$0.isEmpty }.joined(separator: ": ")
    return [isBreaking ? "breaking" : "fine", place, what.words, why].filter { !$0.isEmpty }.joined(separator: ": ")
  }
}
