// SchemaChange: one difference between two schemas, and who can't read what for it.

import Weir

/// One difference between two schemas, an old one and a new one.
///
/// A program reads by the declarations of its own version: a *new reader* is a program that declares the new schema, an
/// *old reader* one that declares the old; new and old logs are what they captured.
public struct SchemaChange: Hashable, Sendable {
  /// What differs.
  public enum What: String, CaseIterable, Codable, Hashable, Sendable {
    /// An event that the old schema does not have.
    case eventAdded = "event_added"
    /// An event that the new schema does not have.
    case eventRetired = "event_retired"
    /// An event has another name.
    case eventRenamed = "event_renamed"
    /// A name stands for another event than before.
    case nameReused = "name_reused"
    /// An event has another wire id, or has one now, or none any more.
    case wireIDChanged = "wire_id_changed"
    /// A wire id stands for another event than before.
    case wireIDReused = "wire_id_reused"
    /// Another ``EventKind``.
    case eventKindChanged = "event_kind_changed"
    /// A field that the old schema does not have.
    case fieldAdded = "field_added"
    /// A field that the new schema does not have.
    case fieldRemoved = "field_removed"
    /// A field has another name.
    case fieldRenamed = "field_renamed"
    /// A field may be missing now.
    case fieldMadeOptional = "field_made_optional"
    /// A field may not be missing any more.
    case fieldMadeMandatory = "field_made_mandatory"
    /// A field has another ``FieldKind``.
    case fieldKindChanged = "field_kind_changed"
    /// A field is sensitive now.
    case fieldMarkedSensitive = "field_marked_sensitive"
    /// A field is not sensitive any more.
    case fieldUnmarkedSensitive = "field_unmarked_sensitive"
  }

  /// Whom a change fails.
  public enum Broken: String, CaseIterable, Codable, Comparable, Hashable, Sendable {
    /// Programs of the new version, when they read what those of the old one captured.
    case newReaders = "new_readers"
    /// Programs of the old version, when they read what those of the new one captured.
    case oldReaders = "old_readers"
    /// People: what was redacted is shown and sent from here on.
    case privacy

    public static func < (left: Broken, right: Broken) -> Bool { left.rawValue < right.rawValue }
  }

  /// What differs.
  public var what: What

  /// The event's name in the old schema; for an event that it does not have, in the new one.
  public var event: String

  /// The field, with those around it (`address.street`); empty if it is about the event as a whole.
  public var field: String

  /// Whom it fails, if only for some values or some events. Empty where all readers read all logs.
  public var breaks: Set<Broken>

  /// What it means to readers, in a sentence.
  public var why: String

  /// Somebody can't read something for it, or sees what was hidden.
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
    let place = field.isEmpty ? event : "\(event): \(field)"
    return "\(isBreaking ? "breaking" : "fine"): \(place): \(what.words): \(why)"
  }
}

extension SchemaChange.What {
  /// What differs, in words: `field made optional`.
  public var words: String { rawValue.replacing("_", with: " ") }
}

extension SchemaChange: Codable {
  private enum CodingKeys: String, CodingKey {
    case what, event, field, breaking, breaks, why
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      try container.decode(What.self, forKey: .what), try container.decode(String.self, forKey: .event),
      field: try container.decode(String.self, forKey: .field),
      breaks: Set(try container.decode([Broken].self, forKey: .breaks)),
      why: try container.decode(String.self, forKey: .why))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(what, forKey: .what)
    try container.encode(event, forKey: .event)
    try container.encode(field, forKey: .field)
    try container.encode(isBreaking, forKey: .breaking)
    try container.encode(breaks.sorted(), forKey: .breaks)
    try container.encode(why, forKey: .why)
  }
}
