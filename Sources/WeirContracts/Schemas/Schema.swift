// Schema: the event types of a log or a program, and how they change from one version to the next.

public import Weir

/// The event types of a log: names, fields, and everything else in their declarations.
///
/// A log describes its own events, so its schema can be read without the program that wrote it. A program's schema
/// consists of its declarations. A schema that is stored in a file with each release can be compared with the next
/// release:
///
/// ```swift
/// let released = try JSONDecoder().decode(Schema.self, from: Data(contentsOf: released))
/// for change in released.changes(to: Schema(of: Checkout.eventTypes)) where change.isBreaking {
///   print(change)  // breaking: checkout.completed: total: removed: …
/// }
/// ```
///
/// **JSON.** `weir schema --format json` prints a schema as an object with the keys `events`, an array of
/// ``EventVersion``s, `others` and `undefined`, like the properties here.
public struct Schema: Hashable, Sendable {
  /// One form of an event in a log. An event has several forms if its declaration changed during the log's life.
  public struct EventVersion: Hashable, Sendable {
    /// The declaration: name, wire id, kind, former names, fields.
    public var type: EventType

    /// Whether the log does not declare the fields (events of `Codable` types and events captured by name), so that the
    /// fields are inferred from the log's events.
    ///
    /// An inferred field is optional if it was missing or null in some events. An integer is `int64`, or `uint64` if no
    /// signed one was seen: a reader can't see the width of integers. A field with values of unrelated kinds has the
    /// kind `any`.
    public var isInferred: Bool

    /// Whether the event has more fields than are listed: see ``Schema/maximumInferredFields``.
    public var isPartial: Bool

    /// The number of events of this form; 0 in a program's schema.
    public var count: UInt64

    /// The offset of the first event of this form; `nil` in a program's schema.
    public var firstOffset: Offset?

    /// The offset of the last event of this form; `nil` in a program's schema.
    public var lastOffset: Offset?

    /// Creates a form, by default one without events.
    public init(
      _ type: EventType, isInferred: Bool = false, isPartial: Bool = false, count: UInt64 = 0,
      firstOffset: Offset? = nil, lastOffset: Offset? = nil
    ) {
      self.type = type
      self.isInferred = isInferred
      self.isPartial = isPartial
      self.count = count
      self.firstOffset = firstOffset
      self.lastOffset = lastOffset
    }
  }

  /// The maximum number of forms in a log's schema. Events of further forms are counted in ``others``.
  public static let maximumVersions = 4096

  /// The maximum number of fields, nested ones included, listed for an event without a declaration.
  public static let maximumInferredFields = 1024

  /// The approximate maximum memory of a log's schema, in bytes. Events beyond it are counted in ``others``, and fields
  /// beyond it make a form ``EventVersion/isPartial``.
  public static let maximumBytes = 32 << 20

  /// The forms of events, in the order of their first offsets. Of several forms of an event, the newest is last.
  public var events: [EventVersion]

  /// Events whose form is not listed because of the limits.
  public var others: UInt64

  /// Events whose definition is lost to damage.
  public var undefined: UInt64

  /// Creates a schema with these forms.
  public init(events: [EventVersion] = [], others: UInt64 = 0, undefined: UInt64 = 0) {
    self.events = events
    self.others = others
    self.undefined = undefined
  }

  /// Creates a program's schema from its declarations, such as `Event.eventTypes`. The declarations of `Codable`
  /// types list no fields, so create their schema from a log.
  public init(of types: [EventType]) {
    self.init(events: types.filter { !$0.isTagged }.map { EventVersion($0) })
  }

  /// Creates the schema of a log, live or not, from all events that an `EventReader` returns, without the log's own
  /// notices.
  ///
  /// Reads the whole log, and takes little more time than reading it. Takes up to ``maximumBytes`` in addition to a
  /// reader's memory. Damaged and removed stretches are skipped and passed to `onSkip`. Throws what `EventReader`
  /// throws.
  public init(of log: LogDirectory, onSkip: @escaping (EventReader.Skip) -> Void = { _ in }) throws(WeirError) {
    let reader = try EventReader(directory: log.path)
    reader.onSkip = onSkip
    var builder = SchemaBuilder()
    while let event = try reader.next() { builder.add(event) }
    self = builder.schema()
  }
}
