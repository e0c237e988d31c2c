// FlushPlan: says when the events that wait for one provider are to go out, and why. A pure value: it is told what
// happens and at which time, and has no clock, no lock and no events of its own.

import Weir

/// When waiting events are due, by a ``FlushPolicy``.
///
/// The worker of a provider tells it of each event that it read (``arrived(bytes:opening:at:)``), of the log's end
/// (``reachedEnd()``), of signals (``signal(_:)``) and of events that went out (``left(events:)``), and asks
/// ``due(at:)``. If nothing is due it sleeps until ``nextLook(after:)``, or until there is news.
///
/// What is kept true:
/// - A flush covers everything that waited when it became due, in the log too and not only what was read of it: once
///   it began, ``due(at:)`` goes on to answer its triggers until the log's end was reached and what was read before
///   that has left. A flush that nothing waited for is over at the log's end. What comes while its last events go out
///   waits for a reason of its own.
/// - Nothing is due while nothing is held.
/// - What is held is bounded by ``FlushPolicy/maximumEvents`` and ``FlushPolicy/maximumBytes``, whichever fills first.
///   If the policy has ``FlushPolicy/Triggers/count`` or ``FlushPolicy/Triggers/bytes``, what fills a call goes out: so
///   limits above those of a call mean those of a call, and neither trigger waits for ever because the other limit was
///   reached.
/// - A signal whose trigger the policy does not have changes nothing.
///
/// Times are those since any moment that stays the same for one plan.
struct FlushPlan: Sendable {
  /// Events of one size that came at one time are one entry, so that a batch is a few.
  private struct Arrival: Sendable {
    var events: Int
    let bytes: Int
    let time: Duration
    /// They are among the first of their opening.
    let isFirst: Bool
  }

  private let policy: FlushPolicy

  /// Events that were read and did not go out yet.
  private(set) var events = 0
  /// Their bytes.
  private(set) var bytes = 0

  private var arrivals: [Arrival] = []
  /// How many of ``arrivals`` went out already; cleared up now and then.
  private var gone = 0
  private var lastArrival = Duration.zero
  private var firstsHeld = 0
  private var opening: UInt64?
  private var eventsOfOpening = 0

  /// Why a flush is going on; empty if none is.
  private var going: FlushPolicy.Triggers = []
  /// Once the flush that goes on reached the log's end: how many of the events that are held it covers.
  private var covered: Int?
  /// Nothing was read since the log's end was reached.
  private var isAtEnd = false

  /// A plan by a policy that ``FlushPolicy/validate(_:)`` has found to make sense.
  init(_ policy: FlushPolicy) {
    self.policy = policy
  }

  // MARK: News

  /// An event was read and is held.
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

  /// There is nothing more to read: the flush that goes on, if one does, covers what is held now and no more. To be
  /// told at each look at the log that found its end, also where it was known without reading.
  mutating func reachedEnd() {
    isAtEnd = true
    guard !going.isEmpty, covered == nil else { return }
    covered = events
    endFlushIfDone()
  }

  /// The oldest of the events that are held left: they went out, or need not.
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

  /// Something happened that is no event: one or more of ``FlushPolicy/Triggers/signals``. What is in the log at this
  /// moment is to go out, if the policy wants that.
  mutating func signal(_ triggers: FlushPolicy.Triggers) {
    let wanted = triggers.intersection(policy.triggers).intersection(.signals)
    guard !wanted.isEmpty else { return }
    going.formUnion(wanted)
    // Something may have come since the last look at the log.
    covered = nil
  }

  // MARK: Questions

  /// Why events are to go out now; nil if none are. All reasons that hold, not the first alone.
  ///
  /// What it answers is what a flush now goes on for, until everything that waits has left.
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

  /// When to ask again if there is no news before: now if events are due, nil if only news can make them so.
  func nextLook(after now: Duration) -> Duration? {
    guard events > 0 else { return nil }
    if !going.isEmpty || !reached(at: now).isEmpty { return now }
    var times: [Duration] = []
    if policy.triggers.contains(.interval) { times.append(arrivals[gone].time + policy.interval) }
    if policy.triggers.contains(.idle) { times.append(lastArrival + policy.idleAfter) }
    return times.min()
  }

  /// No more is to be read before some of what is held has left. A single event may have more bytes than a call.
  var isFull: Bool { events >= policy.maximumEvents || bytes >= policy.maximumBytes }

  /// How many of the oldest events go into one call; at least one if any are held.
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

  /// The triggers that hold by what is held and by the time.
  private func reached(at now: Duration) -> FlushPolicy.Triggers {
    var reached: FlushPolicy.Triggers = []
    if events >= policy.queueLimit || isFull { reached.insert(.count) }
    if bytes >= policy.deliverySize || isFull { reached.insert(.bytes) }
    if firstsHeld > 0 { reached.insert(.firstEvents) }
    if now - arrivals[gone].time >= policy.interval { reached.insert(.interval) }
    if now - lastArrival >= policy.idleAfter { reached.insert(.idle) }
    return reached.intersection(policy.triggers)
  }

  private mutating func endFlushIfDone() {
    guard covered == 0 else { return }
    covered = nil
    going = []
  }
}

extension FlushPolicy.Triggers {
  /// Those that are told by a signal, not found in what waits.
  static let signals: FlushPolicy.Triggers = [.start, .resume, .reachable, .overflow, .shutdown, .demand]
}
