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
    /// The events of earlier looks whose states or flags have changed.
    var changes: [(offset: Offset, findings: EventFindings)] = []
    /// Whether events match that are in no list, because more match than anybody reads.
    var isCut = false
    /// Whether ``found`` counts the events that match. A filter by states can't: they change.
    var isCounted = true
    /// The providers, if they are others than before: then all states of earlier looks are void.
    var providers: [String]?
    /// The offset behind the log's last event.
    var end: Offset = 0
    var isLive = false

    /// Whether a reader who has all that came before learns nothing from this.
    var isEmpty: Bool {
      found.looked == 0 && found.skipped.isEmpty && late.isEmpty && gone.isEmpty && changes.isEmpty
    }
  }

  /// The number of events that are followed: as many as a page keeps.
  static let mostFollowed = 5_000
  /// Ranges that are closer than this are read as one.
  private static let gap: Offset = 64
  /// How many offsets are read at once of events that were looked at before.
  private static let stretch: ClosedRange<Offset> = 512...32_768
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
  private var generation: Int?
  /// Events that were looked at before, and may match only now; or, for a filter that asks for no states, events of
  /// which it is not known whether they match, and which the reader has if they do.
  private var fitting = OffsetSet()
  /// Events that the reader may have of before, and of which it is not known whether they still match.
  private var doubtful = OffsetSet()
  private var stretch = stretch.lowerBound

  /// Looks from an offset on. A reader that comes back has events of before, from the offset `first` on.
  ///
  /// Throws what `EventReader` throws.
  init(
    _ watch: LogWatch, _ filter: EventFilter, from start: Offset, first: Offset? = nil, showsSensitive: Bool
  ) throws(WeirError) {
    self.watch = watch
    self.filter = filter.limited(to: min(first ?? start, start)...Offset.max) ?? filter
    self.showsSensitive = showsSensitive
    scan = try EventScan(watch.log, from: start, filter: filter, showsSensitive: showsSensitive)
    next = start
    guard let first, first < start else { return }
    if filter.isEmpty {
      followed.add(max(first, start - min(start, Offset(Self.mostFollowed)))...start - 1)
    } else {
      fitting.insert(first...start - 1)
      if filter.needsStates { doubtful = fitting }
    }
  }

  /// The lowest offset of an event that the reader may have; `nil` if he has none.
  var first: Offset? {
    let unread = filter.needsStates ? doubtful : fitting
    return [followed.events.first?.offset, unread.ranges.first?.lowerBound].compactMap(\.self).min()
  }

  /// Where a new reader begins: without a filter with the last events; a filter looks at all of them.
  static func start(of watch: LogWatch, _ filter: EventFilter) throws(WeirError) -> Offset {
    guard filter.isEmpty else { return 0 }
    let end = try watch.log.tally(from: .max).nextOffset
    return end - min(end, Offset(EventScan.maximumRows))
  }

  /// Looks at what is new until the clock reaches `deadline`, or nothing is left.
  func look(until deadline: ContinuousClock.Instant) throws(WeirError) -> News {
    let known = try watch.refresh()
    guard known.generation == generation ?? known.generation else {
      throw WeirError(.missing, "another log has taken the place of \(watch.log.path)", path: watch.log.path)
    }
    generation = known.generation
    var news = News()
    news.isCounted = !filter.needsStates
    if providers != known.providers {
      providers = known.providers
      news.providers = known.providers
      followed.forgetFindings()
    }
    let before = next
    news.found = try scan.look(until: deadline) { watch.findings(of: $0) }
    next = news.found.next
    news.isCut = news.found.isCut
    if version != known.version || news.providers != nil {
      if filter.needsStates { judge(watch.changes(since: version), below: before, &news) }
      news.changes = followed.changes(watch)
      version = known.version
    }
    followed.removeGone()
    try readFitting(&news)
    news.rows = rows(news.found.events)
    for row in news.late + news.rows { followed.add(row) }
    news.end = news.found.isAtEnd ? next : max(next, try watch.sums().statistics.nextOffset)
    news.isLive = scan.isLive
    return news
  }

  private func rows(_ events: [StoredEvent]) -> [Row] {
    events.map { Row(event: $0, findings: watch.findings(of: $0)) }
  }

  // MARK: Events that were looked at before

  /// Finds out which of the events whose states or flags have changed match no more, and which may match now.
  private func judge(_ changed: OffsetSet, below end: Offset, _ news: inout News) {
    var gone = OffsetSet()
    for event in followed.events where !event.isGone && changed.contains(event.offset) {
      let found = watch.findings(of: event.offset, isNotice: event.isNotice)
      if !filter.matches(found) { gone.insert(event.offset...event.offset) }
    }
    followed.markGone(gone)
    news.gone = gone.ranges
    for range in watch.offsets(of: changed, below: end, where: { filter.matches($0) }) { fitting.insert(range) }
  }

  /// Reads ``fitting`` events, the newest first, and leaves to the next look what takes too long. What is older than a
  /// page full of events is not read.
  ///
  /// Of the ``doubtful`` ones that are read, those that match come again, and no others stay.
  private func readFitting(_ news: inout News) throws(WeirError) {
    let deadline = ContinuousClock.now + Self.turn
    var late: [StoredEvent] = []
    var bytes = 0
    while let range = nextFitting {
      guard followed.events.count + late.count < Self.mostFollowed else {
        news.gone += doubtful.ranges
        news.isCut = news.isCut || filter.needsStates
        (fitting, doubtful) = (OffsetSet(), OffsetSet())
        break
      }
      guard late.count < EventScan.maximumRows, bytes < EventScan.maximumBytes, ContinuousClock.now < deadline else {
        break
      }
      let found = try read(range)
      // What lies before the first event of a cut list was not found out.
      let read = (found.isCut ? found.events.first?.offset ?? range.upperBound : range.lowerBound)...range.upperBound
      fitting.remove(read)
      bytes += found.bytes
      if filter.needsStates {
        news.gone += doubtful.intersection(with: read)
        doubtful.remove(read)
        late = found.events.filter { !followed.contains($0.offset) } + late
      } else {
        for event in found.events { followed.add(event) }
        news.changes += followed.changes(watch)
      }
    }
    news.late = rows(late)
  }

  /// Reads a range, of about as many events as a frame has.
  private func read(_ range: ClosedRange<Offset>) throws(WeirError) -> EventScan.Found {
    guard let limited = filter.limited(to: range) else { return EventScan.Found() }
    let scan = try EventScan(watch.log, from: range.lowerBound, filter: limited, showsSensitive: showsSensitive)
    let found = try scan.look(until: .now + .seconds(10)) { watch.findings(of: $0) }
    let isFull = found.isCut || found.events.count > EventScan.maximumRows / 2
    stretch = isFull ? max(Self.stretch.lowerBound, stretch / 2) : min(Self.stretch.upperBound, stretch * 2)
    return found
  }

  /// The highest of the ``fitting`` events that are near to each other.
  private var nextFitting: ClosedRange<Offset>? {
    guard let last = fitting.ranges.last else { return nil }
    let most = last.upperBound - min(last.upperBound, stretch - 1)
    var first = last.lowerBound
    for near in fitting.ranges.dropLast().reversed() {
      guard first > most, first - near.upperBound <= Self.gap else { break }
      first = near.lowerBound
    }
    return max(first, most)...last.upperBound
  }
}

/// The last events that a reader has, by offset.
private struct FollowedEvents {
  struct Event {
    var offset: Offset
    var isNotice: Bool
    /// Whether the event matches no more, as of this look.
    var isGone = false
    /// What the reader knows, as a text; `nil` for nothing.
    var known: String?
  }

  private(set) var events: [Event] = []

  /// Whether the reader has an event that matches.
  func contains(_ offset: Offset) -> Bool {
    let place = place(of: offset)
    return place < events.count && events[place].offset == offset && !events[place].isGone
  }

  /// The index of the first event at or above an offset.
  private func place(of offset: Offset) -> Int { events.partitioningIndex { $0.offset >= offset } }

  mutating func add(_ row: EventFeed.Row) {
    add(
      Event(offset: row.event.offset, isNotice: row.event.isNotice, known: MonitorJSON.letters(row.findings)))
  }

  /// An event that the reader has, or never got, and what he knows of it.
  mutating func add(_ event: StoredEvent) {
    if !contains(event.offset) { add(Event(offset: event.offset, isNotice: event.isNotice, known: nil)) }
  }

  private mutating func add(_ event: Event) {
    let place = place(of: event.offset)
    if place < events.count, events[place].offset == event.offset {
      events[place] = event
    } else {
      events.insert(event, at: place)
    }
    // A reader keeps so many, and as many that wait while the list stands still.
    if events.count > 2 * EventFeed.mostFollowed { events.removeFirst(EventFeed.mostFollowed) }
  }

  /// Events of which it is not known whether the reader has them, and what he knows of them.
  mutating func add(_ offsets: ClosedRange<Offset>) {
    events += offsets.map { Event(offset: $0, isNotice: false, known: nil) }
  }

  mutating func markGone(_ offsets: OffsetSet) {
    guard !offsets.ranges.isEmpty else { return }
    for index in events.indices where offsets.contains(events[index].offset) { events[index].isGone = true }
  }

  /// Forgets the events that match no more, of which the reader knows all.
  mutating func removeGone() { events.removeAll(where: \.isGone) }

  /// The reader does not know anything of its events any more.
  mutating func forgetFindings() {
    for index in events.indices { events[index].known = nil }
  }

  /// The events whose states or flags have changed.
  mutating func changes(_ watch: LogWatch) -> [(offset: Offset, findings: EventFindings)] {
    var changes: [(offset: Offset, findings: EventFindings)] = []
    for index in events.indices {
      let findings = watch.findings(of: events[index].offset, isNotice: events[index].isNotice)
      let known = MonitorJSON.letters(findings)
      guard known != events[index].known else { continue }
      events[index].known = known
      changes.append((events[index].offset, findings))
    }
    return changes
  }
}
