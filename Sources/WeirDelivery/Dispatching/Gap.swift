// Gap: what a provider is told of events that are missing because they were refused or overwritten. A pure value.

import Weir

/// The notices of one reason in one opening that wait for the same call, as one event `weir.gap`: see
/// ``DeliveryOptions/sendsGaps``.
///
/// The event has the offset and the id of the first notice. Further notices are added to it while it waits. They lie
/// above its offset, so the cursor passes none of them before the event is settled: after a kill, all of them are read
/// again.
struct Gap: Sendable {
  /// The first notice.
  let first: StoredEvent
  /// The reason, as in `DropReason.name`.
  let reason: String
  /// The number of missing events.
  private(set) var dropped: UInt64
  /// The time of the last notice.
  private(set) var last: Timestamp

  /// Creates a gap from a notice. Returns `nil` for other notices, and for events that are missing on purpose.
  init?(_ notice: StoredEvent) {
    guard notice.isNotice, notice.name == "weir.gap", let reason = try? notice["reason"] as String,
      let dropped = try? notice["dropped"] as UInt64, dropped > 0, reason != DropReason.sampled.name
    else { return nil }
    first = notice
    self.reason = reason
    self.dropped = dropped
    last = notice.time
  }

  /// Adds a later notice of the same reason. Returns `false`, and changes nothing, if the notice is of another reason
  /// or another opening.
  mutating func add(_ other: Gap) -> Bool {
    guard other.reason == reason, other.first.id.opening == first.id.opening else { return false }
    let (sum, isTooMuch) = dropped.addingReportingOverflow(other.dropped)
    dropped = isTooMuch ? .max : sum
    last = max(last, other.last)
    return true
  }

  /// What the provider gets before its mapper changes the event.
  var event: PreparedEvent {
    var event = PreparedEvent(first)
    event.fields = [
      "reason": .string(reason), "dropped": .uint(dropped), "from": .string(first.time.description),
      "to": .string(last.description),
    ]
    return event
  }

  /// What the first notice says of accepted events that have no offset.
  var outcomes: Outcomes { Outcomes(notice: first) }
}
