// HeldEvent: an event between the log and its verdict.

import Weir

/// An event that was read and prepared, and is not settled yet.
///
/// Small, because events are copied between the queue, their batch and the settlement: what few events have is apart.
struct HeldEvent: Sendable {
  private struct Rare: Sendable {
    var notBefore = Duration.zero
    var backoff: BackoffState?
    var userID: String?
    var gap: Gap?
  }

  /// The event as the provider gets it.
  var prepared: PreparedEvent
  /// The offset in the delivered log. For a dead letter, this is the letter's offset, not the event's.
  var offset: Offset
  /// The encoded size in the log, in bytes.
  var bytes: Int
  /// The number of calls that the event was in.
  var attempts = 0
  /// At most one element.
  private var rare: [Rare] = []

  init(
    prepared: PreparedEvent, offset: Offset, bytes: Int, attempts: Int = 0, userID: String? = nil, gap: Gap? = nil
  ) {
    self.prepared = prepared
    self.offset = offset
    self.bytes = bytes
    self.attempts = attempts
    if userID != nil || gap != nil { rare = [Rare(userID: userID, gap: gap)] }
  }

  /// The event is not retried before this time.
  var notBefore: Duration {
    get { rare.first?.notBefore ?? .zero }
    set { change { $0.notBefore = newValue } }
  }

  /// The wait of an event that is retried individually.
  var backoff: BackoffState? {
    get { rare.first?.backoff }
    set { change { $0.backoff = newValue } }
  }

  /// The id of the user that the event was captured for, if the provider gets a pseudonym.
  var userID: String? { rare.first?.userID }

  /// The gap that the event tells of; `nil` for an event that a capture accepted.
  var gap: Gap? {
    get { rare.first?.gap }
    set { change { $0.gap = newValue } }
  }

  /// Whether the event tells of a gap.
  var isGap: Bool { !rare.isEmpty && rare[0].gap != nil }

  private mutating func change(_ body: (inout Rare) -> Void) {
    if rare.isEmpty { rare = [Rare()] }
    body(&rare[0])
  }

  /// The same event, which holds no memory of its neighbours in the log.
  var decoded: HeldEvent {
    var event = self
    event.prepared = prepared.decoded
    return event
  }

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
