// DeadLetter: an event that a provider will never take, as it is kept.

public import Weir

/// An event that a provider rejected, in the provider's dead-letter log, the directory `dead-letters/NAME` in that of
/// the log.
///
/// ```swift
/// for letter in try LogDirectory("/var/lib/shop/events").deadLetters(of: "warehouse") {
///   print(letter.event, letter.reason)
/// }
/// ```
///
/// The event is as it was captured, with the declaration of its type, but that sensitive values are replaced, unless
/// ``DeliveryOptions/redactsSensitive`` is false. So it can be prepared and sent again, with a mapper that was mended
/// meanwhile: `LogDirectory.redrive(to:options:configuration:timeout:)`. Dead letters are never removed by themselves.
///
/// If the process was killed between the writing of a letter and the cursor's move, the event comes to the provider
/// again. Rejected again, it has a second letter; accepted this time, it has a letter all the same, and the ledger
/// counts it as acknowledged. A redrive gives both to the provider, with the event's id.
public struct DeadLetter: Hashable, Sendable {
  /// The name of the event that holds one.
  package static let eventName = EventType.reservedPrefix + "dead-letter"
  static let directoryName = "dead-letters"

  /// The provider that rejected it.
  public var provider: String
  /// The event: its offset, id and time are those of its capture.
  public var event: StoredEvent
  /// What the provider said.
  public var reason: String
  /// How many calls the event was in.
  public var attempts: Int

  /// A letter.
  package init(provider: String, event: StoredEvent, reason: String, attempts: Int) {
    self.provider = provider
    self.event = event
    self.reason = reason
    self.attempts = attempts
  }

  /// The letter that an event of a dead-letter log holds; nil if it holds none, or only a part of a large one, which
  /// ``LogDirectory/deadLetters(of:)`` puts together.
  package init?(_ stored: StoredEvent) {
    var joiner = DeadLetterJoiner()
    guard let letter = joiner.take(stored) else { return nil }
    self = letter
  }

  /// Where the dead letters of a provider are.
  static func path(of provider: String, in logDirectory: String) -> String {
    "\(logDirectory)/\(directoryName)/\(provider)"
  }
}

extension LogDirectory {
  /// The dead letters of the provider named so, in the order in which they were written; none if it never rejected an
  /// event. Reads all of them. Throws as an ``EventReader`` does.
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

  /// What both forms have.
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

  /// For a letter that is too large for one event, or nested too deep to stand inside of one: the fields of several.
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

/// Puts letters together from the events of a dead-letter log, in order.
package struct DeadLetterJoiner {
  private var body: [UInt8] = []
  private var id: String?
  /// How many parts were taken of a letter that has more.
  private(set) var parts: UInt64 = 0
  /// How many parts the last letter had; 0 if it was one event.
  private(set) var lastCount: UInt64 = 0

  package init() {}

  /// The letter that ends with this event; nil if none does.
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
    // Parts of one letter follow each other; a letter that was not finished is there again after it.
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

  /// What was taken of a letter belongs to none.
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
  /// The context as an object, without what is empty.
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
