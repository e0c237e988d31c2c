// Session: a user's activity without a long pause, as values and as events.

public import Weir

/// A user's activity without a pause of ``Sessions/Configuration/idleAfter`` or more.
public struct Session: Hashable, Sendable {
  /// The session's id, 16 hexadecimal digits.
  public var id: String {
    let digits = String(number64, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }

  /// The number of the session among its user's, from 1.
  public let number: UInt64

  /// The user's id.
  public let user: String

  /// The time of the first activity.
  public let began: Timestamp

  /// The time of the last activity.
  public internal(set) var lastActive: Timestamp

  /// The time from the first activity to the last.
  public var duration: Duration { .nanoseconds(lastActive.nanosecondsSince(began)) }

  /// The id as a number.
  let number64: UInt64
  var isOpen = true

  init(id64: UInt64, number: UInt64, user: String, began: Timestamp) {
    number64 = id64
    self.number = number
    self.user = user
    self.began = began
    lastActive = began
  }

  /// The fields that the session's events are bound with.
  var fields: FieldObject { ["session_id": .string(id), "session_number": .uint(number)] }
}

extension Timestamp {
  /// The time from another time to this one, in nanoseconds. A difference that is too large for the type is the largest
  /// or the least value of the type, because a file may have any times.
  func nanosecondsSince(_ other: Timestamp) -> Int64 {
    let (difference, overflow) = nanosecondsSince1970.subtractingReportingOverflow(other.nanosecondsSince1970)
    return overflow ? (self < other ? .min : .max) : difference
  }
}

/// The events of ``Sessions``, captured for the session's user, with the session's fields bound. `session.ended` has no
/// other bindings.
///
/// | event | fields |
/// |---|---|
/// | `session.started` | `number` |
/// | `session.ended` | `number`, `reason` (`idle` or `ended`), `seconds` |
public enum SessionEvent: Event, Hashable {
  /// A session began.
  case started(number: UInt64)
  /// A session ended: why, and its duration from the first activity to the last. The event comes when the end is
  /// noticed, which may be long after the last activity.
  case ended(number: UInt64, reason: String, seconds: Double)

  public static let eventTypes = [
    EventType("session.started", [Field("number", .uint64)], kind: .systemAction),
    EventType(
      "session.ended",
      [Field("number", .uint64), Field("reason", .string), Field("seconds", .double)], kind: .systemAction),
  ]

  public func encode(into encoder: inout EventEncoder) {
    switch self {
    case .started(let number):
      encoder.begin(0)
      encoder.put(number)
    case .ended(let number, let reason, let seconds):
      encoder.begin(1)
      encoder.put(number)
      encoder.put(reason)
      encoder.put(seconds)
    }
  }

  public init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0: self = .started(number: try stored["number"])
    case 1:
      self = .ended(number: try stored["number"], reason: try stored["reason"], seconds: try stored["seconds"])
    default: return nil
    }
  }
}
