// EventType, Field and FieldKind: the declaration of an event, which goes into the log beside its events.

/// The declaration of one event: its name, and its fields in the order in which they are written.
///
/// Names are UTF-8, 1 to 1,024 bytes. Names that start with `weir.` are the log's own and are refused.
public struct EventType: Hashable, Sendable {
  /// Names with this prefix belong to the log itself.
  package static let reservedPrefix = "weir."

  /// The longest name of an event or a field. A test compares it with the core's.
  package static let maximumNameBytes = 1024

  /// The event's name, as readers of the log see it.
  public var name: String

  /// The fields, at most 1,024.
  public var fields: [Field]

  /// Events carry their fields' names themselves, as those of `Codable` types do.
  let isTagged: Bool

  /// Declares an event.
  public init(_ name: String, _ fields: [Field] = []) {
    self.name = name
    self.fields = fields
    isTagged = false
  }

  /// Declares an event whose values carry their own names and kinds.
  init(tagged name: String) {
    self.name = name
    fields = []
    isTagged = true
  }
}

/// A named field of an event or of a nested object.
public struct Field: Hashable, Sendable {
  /// The field's name, 1 to 1,024 bytes of UTF-8.
  public var name: String

  /// What the field holds.
  public var kind: FieldKind

  /// Declares a field.
  public init(_ name: String, _ kind: FieldKind) {
    self.name = name
    self.kind = kind
  }
}

/// What a field holds. Kinds nest at most 16 deep; an object has at least one field.
public indirect enum FieldKind: Hashable, Sendable {
  case bool
  case int8
  case int16
  case int32
  /// Also Swift's `Int`.
  case int64
  case uint8
  case uint16
  case uint32
  /// Also Swift's `UInt`.
  case uint64
  case float
  case double
  /// UTF-8 text.
  case string
  /// `[UInt8]` and `Data`.
  case bytes
  case uuid
  /// A `Date`, at its full precision.
  case date
  /// A value that may be missing: `Optional`. An optional of an optional is read as one optional.
  case optional(FieldKind)
  /// Any number of values of one kind.
  case array(FieldKind)
  /// A nested value with fields of its own.
  case object([Field])
  /// A value that carries its kind with it: ``FieldValue``.
  case any
}
