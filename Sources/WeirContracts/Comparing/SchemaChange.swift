// SchemaChange: one difference between two schemas, and who can't read what because of it.

import Weir

/// One difference between an old schema and a new one.
///
/// A program reads events by the declarations of its own version. A *new reader* is a program that declares the new
/// schema, and an *old reader* is one that declares the old schema. New and old logs are those that these programs
/// wrote.
public struct SchemaChange: Hashable, Sendable {
  /// The kind of difference.
  public enum What: String, CaseIterable, Codable, Hashable, Sendable {
    /// An event that the old schema does not have.
    case eventAdded = "event_added"
    /// An event that the new schema does not have.
    case eventRetired = "event_retired"
    /// An event has another name.
    case eventRenamed = "event_renamed"
    /// A name now belongs to a different event.
    case nameReused = "name_reused"
    /// The wire id of an event was changed, added or removed.
    case wireIDChanged = "wire_id_changed"
    /// A wire id now belongs to a different event.
    case wireIDReused = "wire_id_reused"
    /// An event has another `EventKind`.
    case eventKindChanged = "event_kind_changed"
    /// A field that the old schema does not have.
    case fieldAdded = "field_added"
    /// A field that the new schema does not have.
    case fieldRemoved = "field_removed"
    /// A field has another name.
    case fieldRenamed = "field_renamed"
    /// A field may now be missing.
    case fieldMadeOptional = "field_made_optional"
    /// A field may no longer be missing.
    case fieldMadeMandatory = "field_made_mandatory"
    /// A field has another `FieldKind`.
    case fieldKindChanged = "field_kind_changed"
    /// A field is now sensitive.
    case fieldMarkedSensitive = "field_marked_sensitive"
    /// A field is no longer sensitive.
    case fieldUnmarkedSensitive = "field_unmarked_sensitive"

    /// The kind in words: `field made optional`.
    public var words: String { ChangeText.words(rawValue) }
  }

  /// Who is affected by a breaking change.
  public enum Broken: String, CaseIterable, Codable, Comparable, Hashable, Sendable {
    /// Programs of the new version, when they read events that the old version captured.
    case newReaders = "new_readers"
    /// Programs of the old version, when they read events that the new version captured.
    case oldReaders = "old_readers"
    /// People: values that were redacted are now shown and sent.
    case privacy

    public static func < (left: Broken, right: Broken) -> Bool { left.rawValue < right.rawValue }
  }

  /// The kind of difference.
  public var what: What

  /// The event's name in the old schema, or in the new schema if the old one does not have the event.
  public var event: String

  /// The field's path (`address.street`); empty if the change is about the whole event.
  public var field: String

  /// Who is affected, possibly only for some values or some events. Empty if all readers can read all logs.
  public var breaks: Set<Broken>

  /// The effect on readers, as a phrase.
  public var why: String

  /// Whether some reader can't read something, or a redacted value is now shown.
  public var isBreaking: Bool { !breaks.isEmpty }

  init(_ what: What, _ event: String, field: String = "", breaks: Set<Broken> = [], why: String) {
    self.what = what
    self.event = event
    self.field = field
    self.breaks = breaks
    self.why = why
  }
}

extension SchemaChange: CustomStringConvertible {
  /// One line, such as `breaking: checkout.completed: total: field removed: …`.
  public var description: String {
    ChangeText.line(isBreaking: isBreaking, event: event, field: field, what: what.words, why: why)
  }
}
