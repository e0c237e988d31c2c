// HeldEvent: an event between the log and its verdict.

import Weir

/// An event that was read and prepared, and is not settled yet.
struct HeldEvent: Sendable {
  /// The event as the provider gets it.
  var prepared: PreparedEvent
  /// The offset in the delivered log. For a dead letter, this is the letter's offset, not the event's.
  var offset: Offset
  /// The encoded size in the log, in bytes.
  var bytes: Int
  /// The number of calls that the event was in.
  var attempts = 0
  /// The event is not retried before this time.
  var notBefore = Duration.zero
  /// The wait of an event that is retried individually.
  var backoff: BackoffState?
  /// The id of the user that the event was captured for; the provider may get a pseudonym.
  var userID: String?
  /// The gap that the event tells of; `nil` for an event that a capture accepted.
  var gap: Gap?

  /// The event for the dead letters, which are prepared again when they are redriven.
  var captured: StoredEvent {
    var event = prepared.stored
    if let userID { event.context.user?.id = userID }
    return event
  }

  /// The outcomes to count once the event is settled. A gap is not an accepted event, whatever the provider says.
  func outcomes(_ outcomes: Outcomes) -> Outcomes { gap?.outcomes ?? outcomes }
}

/// A change of the default user, in its place among the events.
struct HeldAssociation: Sendable {
  var offset: Offset
  var bytes: Int
  /// The user, with sensitive values replaced; `nil` if there is no default user from here on.
  var user: EventUser?
  /// Whether the change is repeated after a restart or a rewind. A repeated change is not a waiting event.
  var isRepeated = false
}
