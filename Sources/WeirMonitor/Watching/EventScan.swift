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
    /// How many events match.
    var matched: UInt64 = 0
    /// How many events were looked at.
    var looked: UInt64 = 0
    /// The offset behind the last event that was looked at.
    var next: Offset = 0
    /// Whether there was nothing more to look at.
    var isAtEnd = false
    /// Stretches that were passed over, as lines of text; at most 16 of one look.
    var skipped: [String] = []
  }

  /// The maximum number of events of one look.
  static let maximumRows = 500
  private static let maximumSkips = 16
  private static let blockEvents = 256
  private static let blockBytes = 64 << 10

  let filter: EventFilter
  private let reader: EventReader
  private let showsSensitive: Bool
  private var next: Offset
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

  /// Whether there may be further events. Costs five system calls.
  var mayHaveMore: Bool { reader.wait(upTo: .zero) }

  /// An event that matches, decoded only if it is shown, unless it was decoded anyway.
  private enum Match {
    case encoded(EncodedEvent)
    case stored(StoredEvent)
  }

  /// Looks at what there is until the clock reaches `deadline`, or nothing is left.
  ///
  /// - Parameter findings: what is known about the event at an offset; asked only if the filter needs it.
  func look(
    until deadline: ContinuousClock.Instant, _ findings: (StoredEvent) -> EventFindings
  ) throws(WeirError) -> Found {
    var found = Found()
    var matches: [Match] = []
    repeat {
      guard next <= filter.offsets.upperBound,
        let block = try reader.nextBlock(
          most: Self.blockEvents, bytes: Self.blockBytes)
      else {
        found.isAtEnd = true
        break
      }
      let before = matches.count
      take(block, findings, &matches)
      found.matched += UInt64(matches.count - before)
      found.looked += UInt64(block.count)
      next = block[block.count - 1].offset + 1
      decodeSparse(&matches, from: before, of: block)
      if matches.count > 2 * Self.maximumRows { matches.removeFirst(matches.count - Self.maximumRows) }
    } while ContinuousClock.now < deadline
    found.next = next
    found.events = matches.suffix(Self.maximumRows).map { match in
      switch match {
      case .encoded(let event): shown(event)
      case .stored(let event): event
      }
    }
    found.skipped = skipped
    skipped = []
    return found
  }

  private func take(_ block: EventBlock, _ findings: (StoredEvent) -> EventFindings, _ matches: inout [Match]) {
    for index in 0..<block.count {
      let event = block[index]
      guard filter.mayMatch(event) else { continue }
      if filter.isDecidedEncoded {
        matches.append(.encoded(event))
      } else {
        let event = shown(event)
        if filter.matches(event, { findings(event) }) { matches.append(.stored(event)) }
      }
    }
  }

  private func shown(_ event: EncodedEvent) -> StoredEvent {
    showsSensitive ? event.stored : event.stored.redacted()
  }

  /// An encoded event keeps the memory of its block. Where few of a block match, they are decoded, and the block goes.
  private func decodeSparse(_ matches: inout [Match], from start: Int, of block: EventBlock) {
    guard matches.count - start < block.count / 4 else { return }
    for index in start..<matches.count {
      if case .encoded(let event) = matches[index] { matches[index] = .stored(shown(event)) }
    }
  }

  private static func text(_ skip: EventReader.Skip) -> String {
    let what = skip.count == 0 ? "an unknown number of events" : skip.count == 1 ? "1 event" : "\(skip.count) events"
    return skip.isRemoval
      ? "\(what) from offset \(skip.firstOffset) on were removed"
      : "\(what) from offset \(skip.firstOffset) on can't be read: \(skip.reason) (\(skip.file), \(skip.position))"
  }
}
