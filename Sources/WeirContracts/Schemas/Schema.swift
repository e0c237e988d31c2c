// Schema: the types of events in a log, or of a program: what there is to read, and what changes from one to another.

public import Weir

/// The types of events in a log: names, fields, and everything else that their declarations say.
///
/// A log describes its own events, so its schema can be read without the program that wrote it. A program's schema is
/// made of its declarations. Kept in a file, the one of a release can be compared with the next one's:
///
/// ```swift
/// let released = try JSONDecoder().decode(Schema.self, from: Data(contentsOf: released))
/// for change in released.changes(to: Schema(of: Checkout.eventTypes)) where change.isBreaking {
///   print(change)  // breaking: checkout.completed: total: removed: …
/// }
/// ```
///
/// **As JSON** it is what `weir schema --format json` prints: an object with the keys `events`, an array of
/// ``EventVersion``s, and `others` and `undefined`, as the properties here.
public struct Schema: Hashable, Sendable {
  /// One form that an event has in a log. An event whose declaration changed while the log lived has several.
  public struct EventVersion: Hashable, Sendable {
    /// The declaration: name, wire id, kind, former names, fields.
    public var type: EventType

    /// The log has no declaration of the fields (events of `Codable` types, and those captured by name): they are what
    /// the log's events were seen to have.
    ///
    /// A field is optional then if it was missing or null in some; an integer is `int64`, or `uint64` if no signed one
    /// was seen, for a log does not tell their width when it is read; a field with values of kinds that have nothing in
    /// common is of kind `any`.
    public var isInferred: Bool

    /// There are more fields than are listed: see ``Schema/maximumInferredFields``.
    public var isPartial: Bool

    /// How many events of this form there are. 0 in a program's schema.
    public var count: UInt64

    /// The offset of the first of them; nil in a program's schema.
    public var firstOffset: Offset?

    /// The offset of the last of them; nil in a program's schema.
    public var lastOffset: Offset?

    /// A form of an event, of which no log has any yet.
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

  /// The most forms of events that a log's schema lists. Events of any more are counted in ``others``.
  public static let maximumVersions = 4096

  /// The most fields, nested ones included, that are listed of an event without a declaration.
  public static let maximumInferredFields = 1024

  /// About how much memory a log's schema may take, in bytes: what would take it past this is counted in ``others``, or
  /// makes a form ``EventVersion/isPartial``.
  public static let maximumBytes = 32 << 20

  /// The forms of events, in the order of their first offsets: of several of one event, the later ones came later.
  public var events: [EventVersion]

  /// Events whose form is not listed, because there were too many before it.
  public var others: UInt64

  /// Events whose definition is lost to damage.
  public var undefined: UInt64

  /// A schema of these forms.
  public init(events: [EventVersion] = [], others: UInt64 = 0, undefined: UInt64 = 0) {
    self.events = events
    self.others = others
    self.undefined = undefined
  }

  /// The schema of a program: what its events declare, for example ``Event/eventTypes``. For `Codable` types, whose
  /// declarations say nothing of fields, take a log of theirs.
  public init(of types: [EventType]) {
    self.init(events: types.filter { !$0.isTagged }.map { EventVersion($0) })
  }

  /// The schema of a log, live or dead: all that an ``EventReader`` gives, the log's own notices left out.
  ///
  /// Reads the whole log, in little more time than reading takes, and takes up to ``maximumBytes`` besides what a
  /// reader takes. What is damaged or was removed is passed over and given to `onSkip`. Throws what ``EventReader``
  /// throws.
  public init(of log: LogDirectory, onSkip: @escaping (EventReader.Skip) -> Void = { _ in }) throws(WeirError) {
    let reader = try EventReader(directory: log.path)
    reader.onSkip = onSkip
    var builder = SchemaBuilder()
    while let event = try reader.next() { builder.add(event) }
    self = builder.schema()
  }
}
