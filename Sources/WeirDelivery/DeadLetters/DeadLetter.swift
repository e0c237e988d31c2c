// DeadLetter: a rejected event, as the dead-letter log keeps the event.

public import Weir

/// An event that a provider rejected. It is kept in the provider's dead-letter log: the directory `dead-letters/NAME`
/// in the log's directory.
///
/// ```swift
/// for letter in try LogDirectory("/var/lib/shop/events").deadLetters(of: "warehouse") {
///   print(letter.event, letter.reason)
/// }
/// ```
///
/// The event is stored as it was captured, with the declaration of its type. Sensitive values are replaced, unless
/// ``DeliveryOptions/redactsSensitive`` is `false`. So the event can be prepared and sent again, for example after its
/// mapper was fixed: `LogDirectory.redrive(to:options:configuration:timeout:)`. Dead letters are never removed
/// automatically.
///
/// If the process is killed after a letter is written and before the cursor moves, the event is delivered again. If the
/// provider rejects the event again, there is a second letter. If the provider accepts the event this time, the letter
/// stays, and the ledger counts the event as acknowledged. A redrive delivers all letters of an event, with the event's
/// id.
public struct DeadLetter: Hashable, Sendable {
  /// The name of the events that hold letters.
  package static let eventName = EventType.reservedPrefix + "dead-letter"
  static let directoryName = "dead-letters"

  /// The provider that rejected the event.
  public var provider: String
  /// The event. Its offset, id and time are those of its capture.
  public var event: StoredEvent
  /// The provider's reason.
  public var reason: String
  /// The number of calls that the event was in.
  public var attempts: Int

  /// Creates a letter.
  package init(provider: String, event: StoredEvent, reason: String, attempts: Int) {
    self.provider = provider
    self.event = event
    self.reason = reason
    self.attempts = attempts
  }

  /// Reads the letter that an event of a dead-letter log holds. Returns `nil` if the event holds no letter, or only a
  /// part of a large letter, which ``LogDirectory/deadLetters(of:)`` joins.
  package init?(_ stored: StoredEvent) {
    var joiner = DeadLetterJoiner()
    guard let letter = joiner.take(stored) else { return nil }
    self = letter
  }

  /// Returns the directory of a provider's dead letters.
  static func path(of provider: String, in logDirectory: String) -> String {
    "\(logDirectory)/\(directoryName)/\(provider)"
  }
}

extension LogDirectory {
  /// Returns the dead letters of a provider, in the order in which they were written. Returns none if the provider
  /// never rejected an event. Reads all the letters. Throws like ``EventReader``.
  public func deadLetters(of provider: String) throws(WeirError) -> [DeadLetter] {
    try checkPath(path)
    let reader: EventReader
    do throws(WeirError) {
      reader = try EventReader(directory: DeadLetter.path(of: provider, in: path))
    } catch {
      guard error.code == .missing else { throw error }
      return []
    }
    var joiner = DeadLetterJoiner()
    var letters: [DeadLetter] = []
    while let stored = try reader.next() {
      if let letter = joiner.take(stored) { letters.append(letter) }
    }
    return letters
  }
}

// MARK: As events

extension DeadLetter {
  private static let maximumPartBytes = 512 << 10

  /// The fields that both forms have.
  private var head: [(String, FieldValue)] {
    let declaration = event.declaration?.asLetterFields
    return [
      ("provider", .string(provider)), ("offset", .uint(event.offset)), ("id", .string(event.id.description)),
      ("time", .int(event.time.nanosecondsSince1970)), ("name", .string(event.name)), ("reason", .string(reason)),
      ("attempts", .uint(UInt64(clamping: attempts))),
    ] + (declaration.map { [("declaration", .object($0))] } ?? [])
  }

  /// The fields of the event that holds the letter.
  var fields: FieldObject {
    FieldObject(head + [("fields", .object(event.fields)), ("context", .object(event.context.asFields))])
  }

  /// The fields of the several events that hold a letter that is too large for one event, or nested too deeply for one.
  var parts: [FieldObject] {
    let context = event.context.asFields.taggedBytes() ?? []
    let fields = event.fields.taggedBytes() ?? []
    var body: [UInt8] = []
    withUnsafeBytes(of: UInt32(fields.count).littleEndian) { body += $0 }
    body += fields + context
    let count = (body.count + Self.maximumPartBytes - 1) / Self.maximumPartBytes
    return (0..<count).map { part in
      let bytes = body[part * Self.maximumPartBytes..<min((part + 1) * Self.maximumPartBytes, body.count)]
      return FieldObject(
        head + [("part", .uint(UInt64(part))), ("parts", .uint(UInt64(count))), ("body", .bytes(Array(bytes)))])
    }
  }
}

/// Joins letters from the events of a dead-letter log, which must be given in order.
package struct DeadLetterJoiner {
  private var body: [UInt8] = []
  private var id: String?
  /// The number of parts taken of an unfinished letter.
  private(set) var parts: UInt64 = 0
  /// The number of parts of the last letter; 0 if the letter was a single event.
  private(set) var lastCount: UInt64 = 0

  package init() {}

  /// Returns the letter that ends with this event, or `nil` if no letter ends here.
  package mutating func take(_ stored: StoredEvent) -> DeadLetter? {
    guard stored.name == DeadLetter.eventName else { return nil }
    guard let part = try? stored["part"] as UInt64, let count = try? stored["parts"] as UInt64,
      case .bytes(let bytes)? = stored.fields["body"]
    else {
      forget()
      lastCount = 0
      guard case .object(let fields)? = stored.fields["fields"] else { return nil }
      var context = EventContext()
      if case .object(let known)? = stored.fields["context"] { context = EventContext(asFields: known) }
      return DeadLetter(head: stored, fields: fields, context: context)
    }
    let id = try? stored["id"] as String
    // The parts of a letter follow each other. After an unfinished letter, the same letter follows again.
    if part == 0 || part != parts || id != self.id { forget() }
    guard part == parts else { return nil }
    self.id = id
    body += bytes
    parts += 1
    guard parts >= count else { return nil }
    defer { forget() }
    lastCount = count
    guard body.count >= 4 else { return nil }
    return body.withUnsafeBytes { bytes -> DeadLetter? in
      let size = Int(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
      guard size <= bytes.count - 4,
        let fields = FieldObject(taggedBytes: UnsafeRawBufferPointer(rebasing: bytes[4..<4 + size]))
      else { return nil }
      let context = FieldObject(taggedBytes: UnsafeRawBufferPointer(rebasing: bytes[(4 + size)...])) ?? [:]
      return DeadLetter(head: stored, fields: fields, context: EventContext(asFields: context))
    }
  }

  /// Drops the parts of an unfinished letter.
  private mutating func forget() {
    (body, parts, id) = ([], 0, nil)
  }
}

extension DeadLetter {
  fileprivate init?(head stored: StoredEvent, fields: FieldObject, context: EventContext) {
    guard let provider = try? stored["provider"] as String, let offset = try? stored["offset"] as UInt64,
      let id = (try? stored["id"] as String).flatMap({ EventID($0) }), let time = try? stored["time"] as Int64,
      let name = try? stored["name"] as String, let reason = try? stored["reason"] as String,
      let attempts = try? stored["attempts"] as UInt64
    else { return nil }
    var declaration: EventType?
    if case .object(let declared)? = stored.fields["declaration"] {
      declaration = EventType(asLetterFields: declared, name: name)
    }
    self.init(
      provider: provider,
      event: StoredEvent(
        offset: offset, id: id, time: Timestamp(nanosecondsSince1970: time), name: name, fields: fields,
        declaration: declaration, context: context),
      reason: reason, attempts: Int(clamping: attempts))
  }
}

// MARK: Contexts as fields

extension EventContext {
  /// The context as an object, without empty parts.
  fileprivate var asFields: FieldObject {
    var object = FieldObject()
    if !globals.isEmpty { object["globals"] = .object(globals) }
    if let user { object["user"] = .object(["id": .string(user.id), "traits": .object(user.traits)]) }
    if let view {
      var fields: FieldObject = ["id": .string(view.id), "name": .string(view.name)]
      if let parent = view.parent { fields["parent"] = .string(parent) }
      object["view"] = .object(fields)
    }
    if !fields.isEmpty { object["fields"] = .object(fields) }
    if !sensitive.isEmpty { object["sensitive"] = .array(sensitive.sorted().map { .string($0) }) }
    if isGlobalPartLost { object["globals_lost"] = .bool(true) }
    return object
  }

  fileprivate init(asFields object: FieldObject) {
    func inner(_ name: String, of object: FieldObject) -> FieldObject? {
      guard case .object(let inner)? = object[name] else { return nil }
      return inner
    }
    func text(_ name: String, of object: FieldObject) -> String? {
      guard case .string(let text)? = object[name] else { return nil }
      return text
    }
    self.init(globals: inner("globals", of: object) ?? [:], fields: inner("fields", of: object) ?? [:])
    if let user = inner("user", of: object), let id = text("id", of: user) {
      self.user = EventUser(id: id, traits: inner("traits", of: user) ?? [:])
    }
    if let view = inner("view", of: object), let id = text("id", of: view) {
      self.view = EventView(id: id, name: text("name", of: view) ?? "", parent: text("parent", of: view))
    }
    if case .array(let names)? = object["sensitive"] {
      sensitive = Set(
        names.compactMap { name in
          guard case .string(let name) = name else { return nil }
          return name
        })
    }
    isGlobalPartLost = object["globals_lost"] == .bool(true)
  }
}
