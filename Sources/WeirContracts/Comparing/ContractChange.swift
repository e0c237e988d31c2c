// ContractChange: one difference between two contracts, and whether the difference is breaking.

import Weir

/// One difference between an old contract and a new one.
///
/// A change is breaking in two cases: an event without violations of the old contract may violate the new one, or a
/// sensitive field is no longer sensitive.
public struct ContractChange: Hashable, Sendable {
  /// The kind of difference.
  public enum What: String, CaseIterable, Codable, Hashable, Sendable {
    /// The contract has another name.
    case contractRenamed = "contract_renamed"
    /// The contract has another version.
    case versionChanged = "version_changed"
    /// Events that the contract does not name are now flagged, or are no longer flagged.
    case unknownEventsChanged = "unknown_events_changed"
    /// Events without a kind are now flagged, or are no longer flagged.
    case requiredKindChanged = "required_kind_changed"
    /// An event that the old contract does not have.
    case eventAdded = "event_added"
    /// An event that the new contract does not have.
    case eventRemoved = "event_removed"
    /// An event has another `EventKind`.
    case eventKindChanged = "event_kind_changed"
    /// Fields that the contract does not name are now allowed.
    case eventOpened = "event_opened"
    /// Fields that the contract does not name are now flagged.
    case eventClosed = "event_closed"
    /// A field that the old contract does not have.
    case fieldAdded = "field_added"
    /// A field that the new contract does not have.
    case fieldRemoved = "field_removed"
    /// A field may now be missing.
    case fieldMadeOptional = "field_made_optional"
    /// A field must no longer be missing.
    case fieldMadeMandatory = "field_made_mandatory"
    /// A field has another ``FieldRule/ValueType``.
    case typeChanged = "type_changed"
    /// Further values are allowed.
    case valuesAdded = "values_added"
    /// Some values are no longer allowed.
    case valuesRemoved = "values_removed"
    /// A field has another range of numbers.
    case rangeChanged = "range_changed"
    /// Numbers must now be finite, or need no longer be finite.
    case finiteChanged = "finite_changed"
    /// A field has another range of lengths.
    case lengthChanged = "length_changed"
    /// A field has another regular expression.
    case patternChanged = "pattern_changed"
    /// A default was changed, added or removed.
    case defaultChanged = "default_changed"
    /// A field is now sensitive.
    case markedSensitive = "marked_sensitive"
    /// A field is no longer sensitive.
    case unmarkedSensitive = "unmarked_sensitive"
    /// An event or field is now deprecated, or no longer deprecated.
    case deprecationChanged = "deprecation_changed"
    /// An event or field has another description.
    case descriptionChanged = "description_changed"

    /// The kind in words: `field made optional`.
    public var words: String { ChangeText.words(rawValue) }
  }

  /// The kind of difference.
  public var what: What

  /// The event's name; empty if the change is about the whole contract, or about a rule for every event.
  public var event: String

  /// The field's path, or empty.
  public var field: String

  /// Whether an event without violations may now be flagged, or a sensitive value may now be shown.
  public var isBreaking: Bool

  /// The effect, as a phrase.
  public var why: String

  /// What the change is bound to when somebody approves the change: see ``ContractApprovals``.
  var content = ContractChangeContent()

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
    ChangeText.line(isBreaking: isBreaking, event: event, field: field, what: what.words, why: why)
  }
}
