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
    /// Whether events match that are not in ``events``.
    var isCut: Bool { matched > UInt64(events.count) }
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

  /// The events of a block that match, decoded only if they are shown, unless they were decoded anyway.
  private struct Piece {
    enum Events {
      case encoded(EventBlock, places: [Int])
      case stored([StoredEvent])
    }

    var events: Events
    var count: Int
    var bytes: Int
  }

  /// The newest pieces, as many as have the events of one look.
  private struct Pieces {
    private(set) var all: [Piece] = []
    private var count = 0
    private var bytes = 0

    mutating func append(_ piece: Piece) {
      all.append(piece)
      count += piece.count
      bytes += piece.bytes
      while let first = all.first, all.count > 1,
        count - first.count >= EventScan.maximumRows || bytes > EventScan.maximumBytes
      {
        count -= first.count
        bytes -= first.bytes
        all.removeFirst()
      }
    }
  }

  /// Looks at what there is until the clock reaches `deadline`, or nothing is left.
  ///
  /// - Parameter findings: what is known about the event at an offset; asked only if the filter needs it.
  func look(
    until deadline: ContinuousClock.Instant, _ findings: (StoredEvent) -> EventFindings
  ) throws(WeirError) -> Found {
    var found = Found()
    var pieces = Pieces()
    repeat {
      guard next <= filter.offsets.upperBound,
        let block = try reader.nextBlock(
          most: Self.blockEvents, bytes: Self.blockBytes)
      else {
        found.isAtEnd = true
        break
      }
      found.matched += take(block, findings, &pieces)
      found.looked += UInt64(block.count)
      next = block[block.count - 1].offset + 1
      last = block[block.count - 1].id
    } while ContinuousClock.now < deadline
    found.next = next
    found.last = last
    for piece in pieces.all {
      found.bytes += piece.bytes
      switch piece.events {
      case .encoded(let block, let places): found.events += places.map { shown(block[$0]) }
      case .stored(let events): found.events += events
      }
    }
    found.events = found.events.suffix(Self.maximumRows)
    found.skipped = skipped
    skipped = []
    return found
  }

  /// Takes the events of a block that match. Returns how many.
  private func take(
    _ block: EventBlock, _ findings: (StoredEvent) -> EventFindings, _ pieces: inout Pieces
  ) -> UInt64 {
    var places: [Int] = []
    var stored: [StoredEvent] = []
    var bytes = 0
    places.reserveCapacity(block.count)
    for index in 0..<block.count where filter.mayMatch(block[index]) {
      if !filter.isDecidedEncoded {
        let event = shown(block[index])
        guard filter.matches(event, { findings(event) }) else { continue }
        stored.append(event)
      }
      places.append(index)
      bytes += block.entries[index].byteCount
    }
    guard !places.isEmpty else { return 0 }
    // An encoded event keeps the memory of its block. Where few of a block match, they are decoded, and the block goes.
    if filter.isDecidedEncoded, places.count < block.count / 4 { stored = places.map { shown(block[$0]) } }
    let events: Piece.Events = stored.isEmpty ? .encoded(block, places: places) : .stored(stored)
    pieces.append(Piece(events: events, count: places.count, bytes: bytes))
    return UInt64(places.count)
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
