// EventFeed: the events of a log that match a filter, and what becomes of them: what a page and a terminal show.

import Weir
import WeirDelivery

/// Follows a log for one reader, look by look.
///
/// What is known about an event changes after the event was looked at. So each look also says which of the last events
/// have other states, and, for a filter that asks for states or flags, which events match only now, and which no more.
///
/// **Threads.** Belongs to one task at a time.
final class EventFeed {
  /// An event, and what was known about it.
  struct Row {
    var event: StoredEvent
    var findings: EventFindings
  }

  /// What one look found.
  struct News {
    /// The events that were looked at for the first time. `found.events` are those of ``rows``.
    var found = EventScan.Found()
    /// The newest events that match, by offset.
    var rows: [Row] = []
    /// The newest events that were looked at before and match only now, by offset.
    var late: [Row] = []
    /// The events that match no more, as ranges of offsets.
    var gone: [ClosedRange<Offset>] = []
    /// The events of earlier looks whose states have changed.
    var states: [(offset: Offset, states: [DeliveryStates.State])] = []
    /// The providers, if they are others than before: then all states of earlier looks are void.
    var providers: [String]?
    /// The offset behind the log's last event.
    var end: Offset = 0
    var isLive = false

    /// Whether a reader who has all that came before learns nothing from this.
    var isEmpty: Bool {
      found.looked == 0 && found.skipped.isEmpty && late.isEmpty && gone.isEmpty && states.isEmpty
    }
  }

  /// The number of events that are followed: as many as a page keeps.
  static let mostFollowed = 5_000
  /// Ranges that are closer than this are read as one.
  private static let gap: Offset = 64
  /// How long one look reads events that were looked at before.
  private static let turn = Duration.milliseconds(40)

  private let watch: LogWatch
  private let filter: EventFilter
  private let showsSensitive: Bool
  private let scan: EventScan
  /// The offset behind the last event that was looked at.
  private var next: Offset
  private var followed = FollowedEvents()
  private var providers: [String]?
  private var version: UInt64 = 0
  /// Events that were looked at before, and may match only now.
  private var fitting = OffsetSet()
  /// Whether the reader has events of before that the filter has to judge anew.
  private var isResumed: Bool

  /// Looks from an offset on. A reader that comes back passes `isResumed`: he has events of before.
  ///
  /// Throws what `EventReader` throws.
  init(
    _ watch: LogWatch, _ filter: EventFilter, from start: Offset, isResumed: Bool = false, showsSensitive: Bool
  ) throws(WeirError) {
    self.watch = watch
    self.filter = isResumed ? filter : filter.limited(to: start...Offset.max) ?? filter
    self.showsSensitive = showsSensitive
    self.isResumed = isResumed
    scan = try EventScan(watch.log, from: start, filter: filter, showsSensitive: showsSensitive)
    next = start
    // Which ones match a filter without states does not matter: the reader knows it.
    if isResumed, !filter.needsStates { followed.add(Self.last(before: start)) }
  }

  /// Where a new reader begins: without a filter with the last events; a filter looks at all of them.
  static func start(of watch: LogWatch, _ filter: EventFilter) throws(WeirError) -> Offset {
    guard filter.isEmpty else { return 0 }
    let end = try watch.log.tally(from: .max).nextOffset
    return end - min(end, Offset(EventScan.maximumRows))
  }

  private static func last(before offset: Offset) -> Range<Offset> {
    offset - min(offset, Offset(mostFollowed))..<offset
  }

  /// Looks at what is new until the clock reaches `deadline`, or nothing is left.
  func look(until deadline: ContinuousClock.Instant) throws(WeirError) -> News {
    let known = try watch.refresh()
    var news = News()
    if providers != known.providers {
      providers = known.providers
      news.providers = known.providers
      followed.forgetStates()
    }
    let before = next
    news.found = try scan.look(until: deadline) { watch.findings(of: $0) }
    next = news.found.next
    let isChanged = version != known.version || news.providers != nil || isResumed
    if filter.needsStates, isChanged || !fitting.ranges.isEmpty {
      try judge(watch.changes(since: version), below: before, &news)
    }
    if isChanged {
      news.states = followed.changedStates(watch)
      version = known.version
      isResumed = false
    }
    news.rows = rows(news.found.events)
    for row in news.rows { followed.add(row) }
    news.end = news.found.isAtEnd ? next : max(next, try watch.sums().statistics.nextOffset)
    news.isLive = scan.isLive
    return news
  }

  private func rows(_ events: [StoredEvent]) -> [Row] {
    events.map { Row(event: $0, findings: watch.findings(of: $0)) }
  }

  // MARK: Events that were looked at before

  /// Finds out which of the events whose states or flags have changed match only now, and which no more.
  private func judge(_ changed: OffsetSet, below end: Offset, _ news: inout News) throws(WeirError) {
    var gone = OffsetSet()
    for event in followed.events where changed.contains(event.offset) {
      let found = watch.findings(of: event.offset, isNotice: event.isNotice)
      if !filter.matches(found) { gone.insert(event.offset...event.offset) }
    }
    if isResumed {
      // Which of the last events the reader has is not known: those that match come again, and no others stay.
      let last = Self.last(before: end)
      if !last.isEmpty { fitting.insert(ClosedRange(last)) }
      for range in fitting.ranges { gone.insert(range) }
    } else {
      for range in watch.offsets(of: changed, below: end, where: { filter.matches($0) }) { fitting.insert(range) }
    }
    let late = try readFitting().filter { !followed.contains($0.offset) }
    if isResumed, late.count == EventScan.maximumRows, let first = late.first { gone.remove(below: first.offset) }
    followed.remove(gone)
    news.gone = gone.ranges
    news.late = rows(late)
    for row in news.late { followed.add(row) }
  }

  /// Reads ``fitting`` events, the newest first, and leaves to the next look what takes too long. What is older than a
  /// frame full of events that match is not read.
  private func readFitting() throws(WeirError) -> [StoredEvent] {
    let deadline = ContinuousClock.now + Self.turn
    var events: [StoredEvent] = []
    var bytes = 0
    while let last = fitting.ranges.last {
      let most = Self.last(before: last.upperBound).lowerBound
      var first = last.lowerBound
      for near in fitting.ranges.dropLast().reversed() {
        guard first > most, first - near.upperBound <= Self.gap else { break }
        first = near.lowerBound
      }
      let range = max(first, most)...last.upperBound
      fitting.remove(range)
      if let limited = filter.limited(to: range) {
        let scan = try EventScan(watch.log, from: range.lowerBound, filter: limited, showsSensitive: showsSensitive)
        let found = try scan.look(until: .now + .seconds(10)) { watch.findings(of: $0) }
        events = found.events + events
        bytes += found.bytes
      }
      guard events.count < EventScan.maximumRows, bytes < EventScan.maximumBytes else {
        fitting = OffsetSet()
        break
      }
      if ContinuousClock.now >= deadline { break }
    }
    return events.suffix(EventScan.maximumRows)
  }
}

/// The last events that a reader has, by offset.
private struct FollowedEvents {
  struct Event {
    var offset: Offset
    var isNotice: Bool
    /// The letters of the states that the reader has; `nil` if it has none.
    var states: String?
  }

  private(set) var events: [Event] = []

  func contains(_ offset: Offset) -> Bool {
    let place = place(of: offset)
    return place < events.count && events[place].offset == offset
  }

  /// The index of the first event at or above an offset.
  private func place(of offset: Offset) -> Int {
    var low = 0
    var high = events.count
    while low < high {
      let middle = (low + high) / 2
      if events[middle].offset < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }

  mutating func add(_ row: EventFeed.Row) {
    let states = MonitorJSON.letters(row.findings.states.map(\.state))
    let event = Event(offset: row.event.offset, isNotice: row.event.isNotice, states: states)
    events.insert(event, at: place(of: event.offset))
    if events.count > 2 * EventFeed.mostFollowed { events.removeFirst(EventFeed.mostFollowed) }
  }

  /// Events of which the reader's states are not known.
  mutating func add(_ offsets: Range<Offset>) {
    events += offsets.map { Event(offset: $0, isNotice: false, states: nil) }
  }

  mutating func remove(_ offsets: OffsetSet) {
    if !offsets.ranges.isEmpty { events.removeAll { offsets.contains($0.offset) } }
  }

  /// The reader does not know the states of its events any more.
  mutating func forgetStates() {
    for index in events.indices { events[index].states = nil }
  }

  /// The last events whose states have changed, with their states.
  mutating func changedStates(_ watch: LogWatch) -> [(offset: Offset, states: [DeliveryStates.State])] {
    var changed: [(offset: Offset, states: [DeliveryStates.State])] = []
    for index in events.indices.suffix(EventFeed.mostFollowed) {
      let event = events[index]
      let states = watch.findings(of: event.offset, isNotice: event.isNotice).states.map(\.state)
      let letters = MonitorJSON.letters(states)
      guard letters != event.states else { continue }
      events[index].states = letters
      changed.append((event.offset, states))
    }
    return changed
  }
}
