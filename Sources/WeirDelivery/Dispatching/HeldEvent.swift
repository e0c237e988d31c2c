// HeldEvent: an event between the log and its verdict.

import Weir

/// An event that was read and prepared, and is yet to be settled.
struct HeldEvent: Sendable {
  /// The event as the provider gets it.
  var prepared: PreparedEvent
  /// Its offset in the log that is delivered: of a dead letter, the letter's and not the event's own.
  var offset: Offset
  /// Its bytes in the log, encoded.
  var bytes: Int
  /// How many calls it was in.
  var attempts = 0
  /// It is not to be given again before this time.
  var notBefore = Duration.zero
  /// How long it waits when it is to be given again by itself.
  var backoff: BackoffState?
}

/// A change of the default user, in its place among the events.
struct HeldAssociation: Sendable {
  var offset: Offset
  var bytes: Int
  /// Nil: there is no default user from here on. What is sensitive of it is replaced.
  var user: EventUser?
  /// It was told before a restart, and is told again: it is no event that waits.
  var isRepeated = false
}
