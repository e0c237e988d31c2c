// FlushPlan: determines when the events waiting for one provider go out, and why. A pure value without clock, locks and
// events: the owner reports what happens, and when.

import Weir

/// Determines when waiting events are due, by a ``FlushPolicy``.
///
/// A provider's worker reports each event that it read (``arrived(bytes:opening:at:)``), the log's end
/// (``reachedEnd()``), signals (``signal(_:)``), and events that went out (``left(events:)``). The worker calls
/// ``due(at:)`` to learn whether events are due. If no events are due, the worker sleeps until ``nextLook(after:)``, or
/// until there is news.
///
/// Invariants:
/// - A flush covers all events that waited when the flush became due, including events in the log that were not read
///   yet. Once a flush has started, ``due(at:)`` returns the flush's triggers until the log's end was reached and the
///   events read before that have left. A flush without waiting events ends at the log's end. Events that come while
///   the last events of a flush go out need a reason of their own.
/// - Nothing is due while nothing is held.
/// - The held events are limited by ``FlushPolicy/maximumEvents`` and ``FlushPolicy/maximumBytes``, whichever is
///   reached first. If the policy has ``FlushPolicy/Triggers/count`` or ``FlushPolicy/Triggers/bytes``, a full call
///   goes out. So limits above the limits of a call have the same effect as the limits of a call, and neither trigger
///   waits for ever because the other limit was reached.
/// - A signal whose trigger the policy does not have changes nothing.
///
/// Times count from any moment that is fixed for one plan.
struct FlushPlan: Sendable {
  /// Events of the same size that came at the same time form one entry, so that a batch has few entries.
  private struct Arrival: Sendable {
    var events: Int
    let bytes: Int
    let time: Duration
    /// Whether the events are among the first events of their opening.
    let isFirst: Bool
  }

  private let policy: FlushPolicy
  private let rule: (any FlushRule)?

  /// The number of events that were read and have not gone out yet.
  private(set) var events = 0
  /// The size of these events, in bytes.
  private(set) var bytes = 0

  private var arrivals: [Arrival] = []
  /// The number of entries of ``arrivals`` that have gone out; removed from time to time.
  private var gone = 0
  private var lastArrival = Duration.zero
  private var firstsHeld = 0
  private var opening: UInt64?
  private var eventsOfOpening = 0

  /// The reasons of the current flush; empty if there is none.
  private var going: FlushPolicy.Triggers = []
  /// The number of held events that the current flush covers; known once the flush has reached the log's end.
  private var covered: Int?
  /// Whether nothing was read since the log's end was reached.
  private var isAtEnd = false

  /// Creates a plan for a policy that ``FlushPolicy/validate(_:)`` accepted.
  init(_ policy: FlushPolicy, rule: (any FlushRule)? = nil) {
    self.policy = policy
    self.rule = rule
  }

  // MARK: News

  /// Notes that an event was read and is held.
  mutating func arrived(bytes: Int, opening: UInt64, at now: Duration) {
    if opening != self.opening {
      self.opening = opening
      eventsOfOpening = 0
    }
    eventsOfOpening = min(eventsOfOpening + 1, Int.max - 1)
    let isFirst = eventsOfOpening <= policy.firstEvents
    events += 1
    self.bytes += bytes
    if isFirst { firstsHeld += 1 }
    lastArrival = now
    isAtEnd = false
    if let last = arrivals.indices.last, last >= gone, arrivals[last].time == now, arrivals[last].bytes == bytes,
      arrivals[last].isFirst == isFirst
    {
      arrivals[last].events += 1
    } else {
      arrivals.append(Arrival(events: 1, bytes: bytes, time: now, isFirst: isFirst))
    }
  }

  /// The number of events from this place of a block that may be read before ``isFull``. At least one.
  func room(for block: EventBlock, from place: Int) -> Int {
    var events = events
    var bytes = bytes
    var end = place
    repeat {
      bytes += block.entries[end].byteCount
      events += 1
      end += 1
    } while end < block.count && events < policy.maximumEvents && bytes < policy.maximumBytes
    return end - place
  }

  /// Notes that these events of a block were read and are held.
  mutating func arrived(_ block: EventBlock, _ places: Range<Int>, at now: Duration) {
    for place in places {
      let entry = block.entries[place]
      arrived(bytes: entry.byteCount, opening: entry.id.opening, at: now)
    }
  }

  /// Notes that there is nothing more to read: the current flush covers only the events that are held now. Must be
  /// called for each check of the log that found its end, even if the end was known without reading.
  mutating func reachedEnd() {
    isAtEnd = true
    guard !going.isEmpty, covered == nil else { return }
    covered = events
    endFlushIfDone()
  }

  /// Notes that a check of the log ended before its end, and read nothing that is held.
  mutating func hasMore() {
    isAtEnd = false
  }

  /// Notes that the oldest held events left: they went out, or did not have to go out.
  mutating func left(events count: Int) {
    precondition(count <= events)
    var count = count
    if let covered { self.covered = max(covered - count, 0) }
    events -= count
    while count > 0 {
      let taken = min(arrivals[gone].events, count)
      bytes -= taken * arrivals[gone].bytes
      if arrivals[gone].isFirst { firstsHeld -= taken }
      arrivals[gone].events -= taken
      count -= taken
      if arrivals[gone].events == 0 { gone += 1 }
    }
    if gone > 64, gone * 2 > arrivals.count {
      arrivals.removeFirst(gone)
      gone = 0
    }
    endFlushIfDone()
  }

  /// Notes one or more of ``FlushPolicy/Triggers/signals``. If the policy has the trigger, all events that are in the
  /// log at this moment go out.
  mutating func signal(_ triggers: FlushPolicy.Triggers) {
    let wanted = triggers.intersection(policy.triggers).intersection(.signals)
    guard !wanted.isEmpty else { return }
    going.formUnion(wanted)
    // Events may have come since the last check of the log.
    covered = nil
  }

  // MARK: Questions

  /// Returns all reasons why events must go out now, or `nil` if there are none.
  ///
  /// A returned reason starts a flush, which lasts until all waiting events have left.
  mutating func due(at now: Duration) -> FlushPolicy.Triggers? {
    guard events > 0 else { return nil }
    let new = reached(at: now)
    if going.isEmpty {
      going = new
      covered = isAtEnd ? events : nil
    }
    let why = going.union(new)
    return why.isEmpty ? nil : why
  }

  /// Returns the time to ask again if there is no news before: `now` if events are due, `nil` if only news can make
  /// events due.
  func nextLook(after now: Duration) -> Duration? {
    guard events > 0 else { return nil }
    if !going.isEmpty || !reached(at: now).isEmpty { return now }
    var times: [Duration] = []
    if policy.triggers.contains(.interval) { times.append(arrivals[gone].time + policy.interval) }
    if policy.triggers.contains(.idle) { times.append(lastArrival + policy.idleAfter) }
    if let wait = rule?.wait(of: waiting(at: now)) { times.append(now + max(wait, .milliseconds(1))) }
    return times.min()
  }

  /// Whether no more events may be read before some held events have left. A single event may be larger than a call.
  var isFull: Bool { events >= policy.maximumEvents || bytes >= policy.maximumBytes }

  /// The number of oldest events that go into one call; at least one if any are held.
  var nextCall: Int {
    var count = 0
    var size = 0
    for arrival in arrivals[gone...] {
      let room = arrival.bytes == 0 ? arrival.events : (policy.maximumBytes - size) / arrival.bytes
      let taken = min(arrival.events, max(room, count == 0 ? 1 : 0), policy.maximumEvents - count)
      count += taken
      size += taken * arrival.bytes
      if taken < arrival.events || count == policy.maximumEvents { break }
    }
    return count
  }

  // MARK: Parts

  /// The triggers that hold for the held events at this time.
  private func reached(at now: Duration) -> FlushPolicy.Triggers {
    var reached: FlushPolicy.Triggers = []
    if events >= policy.queueLimit || isFull { reached.insert(.count) }
    if bytes >= policy.deliverySize || isFull { reached.insert(.bytes) }
    if firstsHeld > 0 { reached.insert(.firstEvents) }
    if now - arrivals[gone].time >= policy.interval { reached.insert(.interval) }
    if now - lastArrival >= policy.idleAfter { reached.insert(.idle) }
    reached.formIntersection(policy.triggers)
    if let wait = rule?.wait(of: waiting(at: now)), wait <= .zero { reached.insert(.rule) }
    return reached
  }

  private func waiting(at now: Duration) -> WaitingEvents {
    WaitingEvents(count: events, bytes: bytes, oldest: now - arrivals[gone].time, latest: now - lastArrival)
  }

  private mutating func endFlushIfDone() {
    guard covered == 0 else { return }
    covered = nil
    going = []
  }
}

extension FlushPolicy.Triggers {
  /// The ``FlushRule`` says so. No policy has this trigger.
  static let rule = FlushPolicy.Triggers(rawValue: 1 << 31)

  /// The triggers that are reported by a signal, and not derived from the waiting events.
  static let signals: FlushPolicy.Triggers = [.start, .suspend, .resume, .reachable, .overflow, .shutdown, .demand]
}
