// EventScan: looks through a log for the events that match a filter, from an offset on, and follows the log.

import Weir

/// Finds the events of a log that match a filter, some at a time, in order of offset.
///
/// More events may match than anybody can read. So of those found in one ``look(until:_:)`` the newest are kept, and
/// all are counted. Nothing is kept beyond that: the next look goes on behind the last event that was looked at.
///
/// **Threads.** Belongs to one task at a time.
///
/// **Memory.** An `EventReader`, and the events of one look: at most ``maximumRows``, and the blocks that hold them.
final class EventScan {
  /// What one look found.
  struct Found {
    /// The newest events that match, by offset.
    var events: [StoredEvent] = []
    /// The size of these events, in bytes of the log.
    var bytes = 0
    /// How many events match.
    var matched: UInt64 = 0
    /// How many events were looked at.
    var looked: UInt64 = 0
    /// The offset behind the last event that was looked at.
    var next: Offset = 0
    /// The id of the last event that was looked at; `nil` before the first.
    var last: EventID?
    /// Whether there was nothing more to look at.
    var isAtEnd = false
    /// Stretches that were passed over, as lines of text; at most 16 of one look.
    var skipped: [String] = []
  }

  /// The maximum number of events of one look.
  static let maximumRows = 500
  /// The maximum size of the events of one look, in bytes of the log.
  static let maximumBytes = 4 << 20
  private static let maximumSkips = 16
  private static let blockEvents = 256
  private static let blockBytes = 64 << 10

  let filter: EventFilter
  private let reader: EventReader
  private let showsSensitive: Bool
  private var next: Offset
  private var last: EventID?
  private var skipped: [String] = []

  /// Looks from an offset on, or from the filter's first offset if that is higher. Throws what `EventReader` throws.
  init(
    _ log: LogDirectory, from: Offset, filter: EventFilter, showsSensitive: Bool
  ) throws(WeirError) {
    next = max(from, filter.offsets.lowerBound)
    reader = try EventReader(directory: log.path, from: next)
    self.filter = filter
    self.showsSensitive = showsSensitive
    reader.onSkip = { [unowned self] skip in
      if skipped.count < Self.maximumSkips { skipped.append(Self.text(skip)) }
    }
  }

  /// Whether a process has the log open for capture.
  var isLive: Bool { reader.isLive }

  /// An event that matches, decoded only if it is shown, unless it was decoded anyway.
  private struct Match {
    enum Event {
      case encoded(EncodedEvent)
      case stored(StoredEvent)
    }

    var event: Event
    var bytes: Int
  }

  /// The newest events that match, limited in number and in bytes.
  private struct Matches {
    private(set) var all: [Match] = []
    private var bytes = 0

    mutating func append(_ match: Match) {
      all.append(match)
      bytes += match.bytes
      guard all.count > 2 * EventScan.maximumRows || bytes > EventScan.maximumBytes else { return }
      var count = max(0, all.count - EventScan.maximumRows)
      var left = bytes - all.prefix(count).reduce(0) { $0 + $1.bytes }
      while left > EventScan.maximumBytes / 2, count < all.count - 1 {
        left -= all[count].bytes
        count += 1
      }
      all.removeFirst(count)
      bytes = left
    }

    /// Decodes the events from this place on, as `shown` does.
    mutating func decode(from start: Int, _ shown: (EncodedEvent) -> StoredEvent) {
      for index in all.indices.dropFirst(start) {
        if case .encoded(let event) = all[index].event { all[index].event = .stored(shown(event)) }
      }
    }

    var newest: ArraySlice<Match> { all.suffix(EventScan.maximumRows) }
  }

  /// Looks at what there is until the clock reaches `deadline`, or nothing is left.
  ///
  /// - Parameter findings: what is known about the event at an offset; asked only if the filter needs it.
  func look(
    until deadline: ContinuousClock.Instant, _ findings: (StoredEvent) -> EventFindings
  ) throws(WeirError) -> Found {
    var found = Found()
    var matches = Matches()
    repeat {
      guard next <= filter.offsets.upperBound,
        let block = try reader.nextBlock(
          most: Self.blockEvents, bytes: Self.blockBytes)
      else {
        found.isAtEnd = true
        break
      }
      found.matched += take(block, findings, &matches)
      found.looked += UInt64(block.count)
      next = block[block.count - 1].offset + 1
      last = block[block.count - 1].id
    } while ContinuousClock.now < deadline
    found.next = next
    found.last = last
    found.events = matches.newest.map { match in
      switch match.event {
      case .encoded(let event): shown(event)
      case .stored(let event): event
      }
    }
    found.bytes = matches.newest.reduce(0) { $0 + $1.bytes }
    found.skipped = skipped
    skipped = []
    return found
  }

  /// Takes the events of a block that match. Returns how many.
  private func take(
    _ block: EventBlock, _ findings: (StoredEvent) -> EventFindings, _ matches: inout Matches
  ) -> UInt64 {
    var count: UInt64 = 0
    for index in 0..<block.count {
      let event = block[index]
      guard filter.mayMatch(event) else { continue }
      if filter.isDecidedEncoded {
        matches.append(Match(event: .encoded(event), bytes: event.byteCount))
      } else {
        let stored = shown(event)
        guard filter.matches(stored, { findings(stored) }) else { continue }
        matches.append(Match(event: .stored(stored), bytes: event.byteCount))
      }
      count += 1
    }
    // An encoded event keeps the memory of its block. Where few of a block match, they are decoded, and the block goes.
    if count < block.count / 4 { matches.decode(from: max(0, matches.all.count - Int(count)), shown) }
    return count
  }

  private func shown(_ event: EncodedEvent) -> StoredEvent {
    showsSensitive ? event.stored : event.stored.redacted()
  }

  private static func text(_ skip: EventReader.Skip) -> String {
    let what = skip.count == 0 ? "an unknown number of events" : skip.count == 1 ? "1 event" : "\(skip.count) events"
    return skip.isRemoval
      ? "\(what) from offset \(skip.firstOffset) on were removed"
      : "\(what) from offset \(skip.firstOffset) on can't be read: \(skip.reason) (\(skip.file), \(skip.position))"
  }
}
