// LoggedViolation: the event type of the log of violations.

public import Weir

/// A violation in the log of violations, which is the directory `violations` of the tracker's log.
///
/// ```swift
/// let reader = try EventReader(directory: "/var/lib/shop/events/violations")
/// while let stored = try reader.next() {
///   guard let violation = try LoggedViolation(stored) else { continue }
///   print(violation.offset, violation.event, violation.field, violation.rule)
/// }
/// ```
///
/// `weir cat DIR/violations` prints the violations. If the process was killed, a violation may appear twice, with the
/// same ``id``, ``field`` and ``rule``: see ``ViolationCounts``.
public struct LoggedViolation: Event, Hashable {
  /// The offset of the event in the tracker's log.
  public var offset: Offset
  /// The event's id.
  public var id: EventID
  /// The event's name.
  public var event: String
  /// The field: see ``Violation/field``.
  public var field: String
  /// The rule: see ``Violation/rule``.
  public var rule: String
  /// The value that was found: redacted if it is sensitive, as text if it is longer than a kilobyte, null if the field
  /// is missing.
  public var value: FieldValue
  /// The contract's name.
  public var contract: String
  /// The contract's version.
  public var version: String

  public static let eventTypes = [
    EventType(
      "violation",
      [
        Field("offset", .uint64), Field("id", .string), Field("event", .string), Field("field", .string),
        Field("rule", .string), Field("value", .any), Field("contract", .string), Field("version", .string),
      ])
  ]

  /// Returns the directory of the log of violations of a tracker's log.
  package static func directory(in logDirectory: String) -> String {
    "\(logDirectory)/\(ViolationLog.directoryName)"
  }

  /// The maximum length of a text, in bytes.
  static let textBytes = 1024

  /// Creates the logged form of a violation: redacted, and limited in length.
  init(_ violation: Violation, by stored: StoredEvent, of contract: Contract) {
    offset = stored.offset
    id = stored.id
    event = violation.event.cut(to: Self.textBytes)
    field = violation.field.cut(to: Self.textBytes)
    rule = violation.rule.cut(to: Self.textBytes)
    let value = violation.redacted().value ?? .null
    self.value = value.fits(in: Self.textBytes) ? value : .string(value.description.cut(to: Self.textBytes))
    self.contract = contract.name.cut(to: Self.textBytes)
    version = contract.version.cut(to: Self.textBytes)
  }

  public func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(offset)
    encoder.put(id.description)
    encoder.put(event)
    encoder.put(field)
    encoder.put(rule)
    encoder.put(value)
    encoder.put(contract)
    encoder.put(version)
  }

  public init?(_ stored: StoredEvent) throws {
    guard stored.name == "violation" else { return nil }
    offset = try stored["offset"]
    id = try Self.id(stored)
    event = try stored["event"]
    field = try stored["field"]
    rule = try stored["rule"]
    value = try stored["value"]
    contract = try stored["contract"]
    version = try stored["version"]
  }

  /// Reads the id. Earlier versions wrote the id as a UUID.
  private static func id(_ stored: StoredEvent) throws -> EventID {
    let id: EventID? =
      if case .uuid(let uuid)? = stored.fields["id"] { EventID(uuid) } else { EventID(try stored["id"] as String) }
    guard let id else { throw FieldError("no id of an event", field: "id") }
    return id
  }
}

extension FieldValue {
  /// Returns whether the value takes at most `bytes`. Looks no further than needed.
  fileprivate func fits(in bytes: Int) -> Bool {
    var room = bytes
    return take(from: &room)
  }

  /// Each value has a minimum cost, also if it is empty, so that a large number of values does not fit either.
  private func take(from room: inout Int) -> Bool {
    room -= 8
    switch self {
    case .string(let text): room -= text.utf8.count
    case .bytes(let bytes): room -= bytes.count
    case .array(let values): return room >= 0 && values.allSatisfy { $0.take(from: &room) }
    case .object(let object):
      return object.allSatisfy { member in
        room -= member.name.utf8.count
        return room >= 0 && member.value.take(from: &room)
      }
    default: break
    }
    return room >= 0
  }
}
