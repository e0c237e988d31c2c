// EventType, Field and FieldKind: the declaration of an event, which the log stores beside its events.

/// The declaration of one event: its name, and its fields in the order in which they are written.
///
/// Names are UTF-8, 1 to 1,024 bytes. An event name is refused if it starts with `weir.`, which is reserved for the
/// log, or contains a NUL. Events with a refused name are dropped as ``DropReason/invalid``, and
/// ``Tracker/lastDefinitionError`` gives the reason. The log stores each declaration once, so that it can be read with
/// the events. A declaration takes at most 32 KiB.
///
/// ```swift
/// EventType(
///   "checkout.completed",
///   [Field("amount", .double, formerNames: ["total"]), Field("email", .string, sensitive: true)],
///   wireID: 2, kind: .pageAction, formerNames: ["checkout.paid"])
/// ```
public struct EventType: Hashable, Sendable {
  /// The prefix of names that are reserved for the log.
  package static let reservedPrefix = "weir."

  /// The prefix of the properties that Weir adds to events for vendors, such as `weir_kind`.
  package static let propertyPrefix = "weir_"

  /// The maximum length of an event's or field's name, in bytes. A test compares it with the core's.
  package static let maximumNameBytes = 1024

  /// The event's name in the log.
  public var name: String

  /// The fields, at most 1,024. Of an event of a `Codable` type only the sensitive fields, and the objects that contain
  /// them.
  public var fields: [Field]

  /// A number that stays the same when the event is renamed. Readers of other versions use it to find the event: see
  /// ``StoredEvent/index(in:)``. If it is `nil`, readers use names only.
  ///
  /// A wire id must be unique among the events whose names have the same prefix, up to the last dot. If two types of a
  /// program claim the same id within a prefix, the second type's event is defined without a wire id.
  /// ``Tracker/lastDefinitionError`` reports the collision, and ``Counters/collidingTypes`` counts it.
  public var wireID: UInt32?

  /// The category of the event, or `nil` if none is declared.
  public var kind: EventKind?

  /// The event's names in earlier versions of the program, oldest first.
  public var formerNames: [String]

  /// Whether each event carries the names of its fields, as the events of `Codable` types do.
  package let isTagged: Bool

  /// Creates a declaration.
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

  /// Creates the declaration of an event whose values carry their own names and kinds.
  package init(tagged name: String) {
    self.init(name, [], wireID: nil, kind: nil, formerNames: [], isTagged: true)
  }

  /// Creates the declaration of an event of a `Codable` type, which needs a declaration only for a kind or for
  /// sensitive fields.
  ///
  /// ```swift
  /// struct Login: Codable, Event {
  ///   var email: String
  ///   var attempts: Int
  ///
  ///   static let eventTypes = [EventType(codable: "login", kind: .pageAction, sensitive: ["email"])]
  /// }
  /// ```
  ///
  /// A structure declares one event. An enum may declare some of its cases, each named like the case's events:
  /// `Checkout.completed`. Each event carries the names and kinds of its fields, so the declaration lists none.
  ///
  /// - Parameters:
  ///   - name: The event's name: ``Event/eventName`` of a structure.
  ///   - kind: The category of the event.
  ///   - sensitive: The sensitive fields, by name or, within nested objects, by path (`address.street`). Arrays add
  ///     nothing to a path: `items.price` is the field `price` of each object in the array `items`. If a path may be
  ///     read in two ways because a name contains a dot, both are sensitive. A sensitive field is redacted as
  ///     ``Field/isSensitive`` says.
  public init(codable name: String, kind: EventKind? = nil, sensitive: [String] = []) {
    self.init(
      name, Field.marks(sensitive), wireID: nil, kind: kind, formerNames: [], isTagged: true)
  }
}

extension EventType {
  /// The prefixes of the event's name and former names, each up to the last dot. Wire ids are unique within a prefix.
  var prefixes: Set<Substring> {
    Set(([name] + formerNames).compactMap { name in name.lastIndex(of: ".").map { name[..<$0] } })
  }
}

/// A named field of an event or of a nested object.
public struct Field: Hashable, Sendable {
  /// The field's name, 1 to 1,024 bytes of UTF-8.
  public var name: String

  /// The kind of the field's value.
  public var kind: FieldKind

  /// Whether the value must not leave the process unredacted. Everything that shows or sends the field replaces the
  /// value with ``FieldValue/redacted``, unless told otherwise. The log itself stores the value.
  public var isSensitive: Bool

  /// The field's names in earlier versions of the program.
  public var formerNames: [String]

  /// Creates a field.
  public init(_ name: String, _ kind: FieldKind, sensitive: Bool = false, formerNames: [String] = []) {
    self.name = name
    self.kind = kind
    isSensitive = sensitive
    self.formerNames = formerNames
  }
}

/// The kind of a field's value. Kinds are nested at most 16 deep. An object has at least one field.
public indirect enum FieldKind: Hashable, Sendable {
  case bool
  case int8
  case int16
  case int32
  /// Also for Swift's `Int`.
  case int64
  case uint8
  case uint16
  case uint32
  /// Also for Swift's `UInt`.
  case uint64
  case float
  case double
  /// UTF-8 text.
  case string
  /// Bytes: `[UInt8]` or `Data`.
  case bytes
  case uuid
  /// A `Date` at full precision.
  case date
  /// A value that may be missing: `Optional`. Nested optionals are read as one optional.
  case optional(FieldKind)
  /// Any number of values of one kind.
  case array(FieldKind)
  /// A nested value with fields of its own.
  case object([Field])
  /// A value that carries its own kind: ``FieldValue``.
  case any
}
