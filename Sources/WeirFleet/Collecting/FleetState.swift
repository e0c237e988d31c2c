// FleetState: what was collected of each opening and each log.

package import Weir

/// What was collected: the ranges of positions by opening and lane, and the offsets by log. A pure value.
///
/// Memory: some 600 bytes for an opening of four lanes, whatever the number of events.
package struct FleetState: Hashable, Sendable {
  /// An opening of a host's log.
  package struct Opening: Hashable, Sendable {
    package var logID: UInt64
    package var lanes: [UInt32: LaneRanges] = [:]
  }

  /// A host's log.
  package struct Log: Hashable, Sendable {
    package var host: String
    /// The first offset that was ever to come, as the sender says.
    package var start: Offset
    /// The offset after the last one that came, or that will never come.
    package var expected: Offset
    /// Events that came, each counted once.
    package var events: UInt64 = 0
    /// Offsets that were passed over, and have not come since.
    package var missing = LaneRanges()

    /// Notes an earlier beginning: what lies before what came had been passed over.
    mutating func begins(at offset: Offset) {
      guard offset < start else { return }
      missing.insert(offset..<start)
      start = offset
    }
  }

  package private(set) var openings: [UInt64: Opening] = [:]
  package private(set) var logs: [UInt64: Log] = [:]

  package init() {}

  /// What a message is, by its headers.
  package enum Standing: Hashable, Sendable {
    /// Everything in it is known.
    case known
    /// It comes next, or late.
    case next
    /// An earlier message of the log has not come yet.
    case early
  }

  package func standing(of message: PartMessage) -> Standing {
    if isKnown(message) { return .known }
    let expected = logs[message.logID]?.expected ?? message.start
    return message.follows > expected ? .early : .next
  }

  private func isKnown(_ message: PartMessage) -> Bool {
    guard let opening = openings[message.opening] else { return false }
    return message.spans.allSatisfy { span in opening.lanes[span.lane]?.contains(span.positions) ?? false }
  }

  /// What is known of the positions in a message.
  package func known(in message: PartMessage) -> [LaneSpan] {
    guard let opening = openings[message.opening] else { return [] }
    return message.spans.flatMap { span in
      (opening.lanes[span.lane]?.known(in: span.positions) ?? []).map { LaneSpan(lane: span.lane, positions: $0) }
    }
  }

  /// Notes what was collected, and what is missing before it. How many events were new is for ``count(_:ofLog:)``.
  package mutating func collected(_ message: PartMessage) {
    collected(message.spans, opening: message.opening, logID: message.logID)
    came(
      message.offsets, follows: message.follows, ofLog: message.logID, host: message.host, start: message.start)
  }

  /// Whether a message whose events are known says something new of its log: that there is this log, where the log begins,
  /// which the segments do not say, or that offsets have come.
  package func isNews(_ message: PartMessage) -> Bool {
    guard let log = logs[message.logID] else { return true }
    return message.start < log.start || message.offsets.upperBound > log.expected
      || !log.missing.known(in: message.offsets).isEmpty
  }

  /// Counts events of a log that is known.
  package mutating func count(_ events: UInt64, ofLog id: UInt64) { logs[id]?.events &+= events }

  /// Notes what a segment of the collecting log has.
  package mutating func collected(_ segment: LogCollection.Segment) {
    collected(segment.spans, opening: segment.opening, logID: segment.logID)
    guard let offsets = segment.spans.last?.positions else { return }
    let (first, end) = (offsets.lowerBound >> 3, offsets.upperBound >> 3)
    came(first..<end, follows: first, ofLog: segment.logID, host: segment.host, start: first)
    count(segment.events, ofLog: segment.logID)
  }

  private mutating func came(
    _ offsets: Range<Offset>, follows: Offset, ofLog id: UInt64, host: String, start: Offset
  ) {
    var log = logs[id] ?? Log(host: host, start: start, expected: start)
    log.host = host
    log.begins(at: start)
    // After a power cut a log leaves offsets out, which no event had.
    let gap = offsets.lowerBound > log.expected ? offsets.lowerBound - log.expected : 0
    let end = gap < Self.leftOut ? offsets.lowerBound : min(follows, offsets.lowerBound)
    if end > log.expected, end - log.expected < Self.leftOut { log.missing.insert(log.expected..<end) }
    log.missing.remove(offsets)
    log.expected = max(log.expected, offsets.upperBound)
    logs[id] = log
  }

  /// How many offsets a log leaves out after a power cut.
  private static let leftOut: UInt64 = 1 << 32

  private mutating func collected(_ spans: [LaneSpan], opening: UInt64, logID: UInt64) {
    for span in spans {
      openings[opening, default: Opening(logID: logID)].lanes[span.lane, default: LaneRanges()].insert(span.positions)
    }
  }

  /// The offsets of a log that have not come, below the last one that has.
  package func missing(ofLog id: UInt64) -> [Range<Offset>] { logs[id]?.missing.ranges ?? [] }

  init(openings: [UInt64: Opening], logs: [UInt64: Log]) {
    self.openings = openings
    self.logs = logs
  }
}
