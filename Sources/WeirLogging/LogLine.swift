// LogLine: the event that a line is captured as, and its fields.

import Logging
import Weir

/// An encoded line, as the event `log.line`.
///
/// Sendable only because events have to be: the memory is valid during the call that captures the line.
struct LogLine: Event, @unchecked Sendable {
  static let name = "log.line"
  static let eventTypes = [EventType(tagged: name)]

  /// What stands in the place of a sensitive value.
  static let redacted: String = {
    guard case .string(let text) = FieldValue.redacted else { return "[redacted]" }
    return text
  }()

  /// `nil` for a line that is larger than any event.
  private let fields: UnsafeRawBufferPointer?
  /// The number of the type that marks the sensitive fields; 0 if there are none.
  private let number: UInt32
  /// Gets the room that there is if the line does not fit, in place of a refusal.
  private let room: UnsafeMutablePointer<Int>?

  @inline(__always)
  init(_ fields: UnsafeRawBufferPointer?, number: UInt32, room: UnsafeMutablePointer<Int>?) {
    self.fields = fields
    self.number = number
    self.room = room
  }

  init?(_ stored: StoredEvent) throws { return nil }

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    let count = fields?.count ?? .max
    let available = encoder.room(for: count)
    if let room, available < count {
      room.pointee = max(available, 0)
      return encoder.outOfLine { $0.cancel() }
    }
    encoder.put(taggedFields: fields)
    if number != 0 { encoder.outOfLine { $0.end(as: number, of: Self.self, name: Self.name) } }
  }

  // MARK: Types

  /// The most types that a log may have for another set of sensitive paths to become one. Leaves most of the numbers of
  /// types, of which a log has 8,191, to the program.
  private static let typeLimit = 2048

  /// The number of the type with these sensitive paths; `nil` if there can be no such type.
  static func number(sensitive: Set<String>, in tracker: Tracker) -> UInt32? {
    let paths = sensitive.sorted()
    // With their lengths, because a path may hold any character.
    let key = paths.map { "\($0.utf8.count):\($0)" }.joined()
    guard key.utf8.count <= EventType.maximumNameBytes else { return nil }
    return tracker.number(
      ofTagged: EventType(codable: name, sensitive: paths), for: Self.self, key: key, limit: typeLimit)
  }

  /// Whether a line has a field of this name, whatever its metadata.
  @inline(__always)
  static func hasField(_ name: String) -> Bool {
    switch name.utf8.count {
    case 4: name == "line" || name == "file"
    case 5: name == "level" || name == "label"
    case 6: name == "source"
    case 7: name == "message"
    case 8: name == "function"
    case 9: name == "truncated"
    default: false
    }
  }
}

extension LineWriter {
  /// Puts the fields of a line. `given` replaces what it has in common with `inherited`. Returns `false` if metadata
  /// can't be stored as it is: see ``MetadataForm``.
  @inline(__always)
  mutating func put(
    _ event: LogEvent, label: String, given: Logger.Metadata, inherited: Logger.Metadata
  ) -> Bool {
    put("level", event.level.rawValue)
    put("label", label)
    put("message", event.message.description)
    if !given.isEmpty { guard put(given, except: nil) else { return false } }
    if !inherited.isEmpty { guard put(inherited, except: given.isEmpty ? nil : given) else { return false } }
    put("source", event.source)
    put("file", event.file)
    put("function", event.function)
    put("line", UInt64(event.line))
    return true
  }

  /// Puts metadata, without the keys of `replacing`. One loop without calls that take a value, because each of these
  /// would retain and release the value.
  private mutating func put(_ metadata: Logger.Metadata, except replacing: Logger.Metadata?) -> Bool {
    for (key, value) in metadata {
      if let replacing, replacing[key] != nil { continue }
      guard !LogLine.hasField(key) else { return false }
      begin(key)
      switch value {
      case .string(let text): put(tagged: text)
      case .stringConvertible(let convertible):
        guard let scalar = Scalar(convertible) else { return false }
        put(scalar)
      case .array, .dictionary:
        guard put(value, depth: 1) else { return false }
      }
    }
    return true
  }

  @inline(never)
  private mutating func put(_ value: Logger.MetadataValue, depth: Int) -> Bool {
    switch value {
    case .string(let text):
      put(tagged: text)
    case .stringConvertible(let convertible):
      guard let scalar = Scalar(convertible) else { return false }
      put(scalar)
    case .array(let values):
      guard depth <= maximumDepth else { return false }
      begin(.array, count: values.count)
      for value in values { guard put(value, depth: depth + 1) else { return false } }
    case .dictionary(let members):
      guard depth <= maximumDepth else { return false }
      begin(.object, count: members.count)
      for (key, value) in members {
        put(key)
        guard put(value, depth: depth + 1) else { return false }
      }
    }
    return true
  }
}
