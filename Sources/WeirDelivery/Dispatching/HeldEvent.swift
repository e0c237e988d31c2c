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

  /// A place of its own for what is rare. Never changed: a changed event has another.
  private final class Box: Sendable {
    let rare: Rare

    init(_ rare: Rare) { self.rare = rare }
  }

  /// The event as the provider gets it.
  var prepared: PreparedEvent
  /// The offset in the delivered log. For a dead letter, this is the letter's offset, not the event's.
  var offset: Offset
  /// The encoded size in the log, in bytes.
  var bytes: Int
  /// The number of calls that the event was in.
  var attempts = 0
  private var box: Box?

  init(
    prepared: PreparedEvent, offset: Offset, bytes: Int, attempts: Int = 0, userID: String? = nil, gap: Gap? = nil
  ) {
    self.prepared = prepared
    self.offset = offset
    self.bytes = bytes
    self.attempts = attempts
    if userID != nil || gap != nil { box = Box(Rare(userID: userID, gap: gap)) }
  }

  /// Creates an event that waits in the place of this entry.
  init(prepared: PreparedEvent, _ entry: EventBlock.Entry) {
    self.prepared = prepared
    offset = entry.offset
    bytes = entry.byteCount
  }

  /// The event is not retried before this time.
  var notBefore: Duration {
    get { box?.rare.notBefore ?? .zero }
    set { change { $0.notBefore = newValue } }
  }

  /// The wait of an event that is retried individually.
  var backoff: BackoffState? {
    get { box?.rare.backoff }
    set { change { $0.backoff = newValue } }
  }

  /// The id of the user that the event was captured for, if the provider gets a pseudonym.
  var userID: String? { box?.rare.userID }

  /// The gap that the event tells of; `nil` for an event that a capture accepted.
  var gap: Gap? {
    get { box?.rare.gap }
    set { change { $0.gap = newValue } }
  }

  /// Whether the event tells of a gap.
  var isGap: Bool { box?.rare.gap != nil }

  private mutating func change(_ body: (inout Rare) -> Void) {
    var rare = box?.rare ?? Rare()
    body(&rare)
    box = Box(rare)
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

extension [HeldEvent] {
  /// The sum of the encoded sizes, in bytes.
  var byteCount: Int {
    var sum = 0
    for index in indices { sum += self[index].bytes }
    return sum
  }
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
