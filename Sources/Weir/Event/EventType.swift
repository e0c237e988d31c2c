// EventType, Field and FieldKind: the declaration of an event, which goes into the log beside its events.

/// The declaration of one event: its name, and its fields in the order in which they are written.
///
/// Names are UTF-8, 1 to 1,024 bytes. Names that start with `weir.` are the log's own, and are refused, and so is an
/// event's name with a NUL in it: its events are dropped as ``DropReason/invalid``, and ``Tracker/lastDefinitionError``
/// says why. All of a declaration goes into the log, once, so that it is read with the events; it takes 32 KiB at most.
///
/// ```swift
/// EventType(
///   "checkout.completed",
///   [Field("amount", .double, formerNames: ["total"]), Field("email", .string, sensitive: true)],
///   wireID: 2, kind: .pageAction, formerNames: ["checkout.paid"])
/// ```
public struct EventType: Hashable, Sendable {
  /// Names with this prefix belong to the log itself.
  package static let reservedPrefix = "weir."

  /// The longest name of an event or a field. A test compares it with the core's.
  package static let maximumNameBytes = 1024

  /// The event's name, as readers of the log see it.
  public var name: String

  /// The fields, at most 1,024.
  public var fields: [Field]

  /// A number that stays when the event is renamed: readers of other versions find the event by it, as
  /// ``StoredEvent/index(in:)`` has it. Nil for none; then names alone tell what an event is.
  ///
  /// Unique among the events whose names begin alike, up to the last dot: those of one module's enum. Should two types
  /// of a program claim one there, the second one's event is defined without it, which ``Tracker/lastDefinitionError``
  /// says and ``Counters/collidingTypes`` counts.
  public var wireID: UInt32?

  /// What sort of thing the event reports; nil if that was not said.
  public var kind: EventKind?

  /// Names that earlier versions of the program stored the event under, the first one first.
  public var formerNames: [String]

  /// Events carry their fields' names themselves, as those of `Codable` types do.
  package let isTagged: Bool

  /// Declares an event.
  public init(
    _ name: String, _ fields: [Field] = [], wireID: UInt32? = nil, kind: EventKind? = nil, formerNames: [String] = []
  ) {
    self.init(name, fields, wireID: wireID, kind: kind, formerNames: formerNames, isTagged: false)
  }

  init(
    _ name: String, _ fields: [Field], wireID: UInt32?, kind: EventKind?, formerNames: [String], isTagged: Bool
  ) {
    self.name = name
    self.fields = fields
    self.wireID = wireID
    self.kind = kind
    self.formerNames = formerNames
    self.isTagged = isTagged
  }

  /// Declares an event whose values carry their own names and kinds.
  package init(tagged name: String) {
    self.init(name, [], wireID: nil, kind: nil, formerNames: [], isTagged: true)
  }
}

extension EventType {
  /// What the event's names, former ones too, begin with: up to the last dot. Wire ids are unique within one.
  var prefixes: Set<Substring> {
    Set(([name] + formerNames).compactMap { name in name.lastIndex(of: ".").map { name[..<$0] } })
  }
}

/// A named field of an event or of a nested object.
public struct Field: Hashable, Sendable {
  /// The field's name, 1 to 1,024 bytes of UTF-8.
  public var name: String

  /// What the field holds.
  public var kind: FieldKind

  /// What the field holds must not leave the process as it is: whatever shows or sends it puts ``FieldValue/redacted``
  /// in its place, unless told otherwise. The log itself has the value.
  public var isSensitive: Bool

  /// Names that earlier versions of the program stored the field under.
  public var formerNames: [String]

  /// Declares a field.
  public init(_ name: String, _ kind: FieldKind, sensitive: Bool = false, formerNames: [String] = []) {
    self.name = name
    self.kind = kind
    isSensitive = sensitive
    self.formerNames = formerNames
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
