// LogPart: a part of a log as it travels to another log, and the cutter that cuts a log into parts.

import CCapture
import CWeir

/// What a part has of one lane of its opening: every position in a range. The lane ``offsets`` is that of the log's
/// notices, where a position is eight times an offset: there the span is that of all offsets of the part.
package struct LaneSpan: Hashable, Sendable {
  package static let offsets: UInt32 = 65_535

  package var lane: UInt32
  package var positions: Range<UInt64>

  package init(lane: UInt32, positions: Range<UInt64>) {
    self.lane = lane
    self.positions = positions
  }

  /// A span of a file may end before it begins, if the file is forged.
  init?(_ core: weir_span) {
    guard core.from <= core.to else { return nil }
    self.init(lane: core.lane, positions: core.from..<core.to)
  }

  var core: weir_span {
    weir_span(from: positions.lowerBound, to: positions.upperBound, events: 0, lane: lane, reserved: 0)
  }
}

/// Consecutive events of one opening of a log, with all that belongs to them: a batch segment in memory, as the page
/// FileFormat describes under Part.
package struct LogPart: Hashable, Sendable {
  package var bytes: [UInt8]
  /// What the part says of itself.
  package var summary: SegmentSummary
  /// What the part has, by lane; the last span is that of the offsets.
  package var spans: [LaneSpan]
  /// The offset at which the part before this one ended. A lower offset than the part's first one says that the log has
  /// lost the offsets between. Senders set this property, and the next two.
  package var follows: Offset
  /// The first offset that the sender was ever to send.
  package var start: Offset = 0
  /// The number of events and notices in the log behind this part, as far as the sender knows.
  package var pending: UInt64 = 0

  /// Checks every byte of a part, down to the checksum of each capture. Throws `invalid` with the first problem, and
  /// `version` for a part that a newer version wrote.
  package init(checking bytes: [UInt8]) throws(WeirError) {
    var segment = weir_segment()
    var spans = [weir_span](repeating: weir_span(), count: Int(WEIR_MAX_LANES) + 1)
    var count: UInt32 = 0
    var finding = weir_finding()
    var error = weir_error()
    let status = bytes.withUnsafeBufferPointer { bytes in
      weir_check_part(bytes.baseAddress, UInt64(bytes.count), &segment, &spans, &count, &finding, &error)
    }
    guard Int(status) == WEIR_OK else { throw WeirError(status, error) }
    if let problem = finding.problem {
      throw WeirError(.invalid, "the part is damaged: \(String(cString: problem)), at byte \(finding.position)")
    }
    self.bytes = bytes
    summary = try SegmentSummary.checked(segment, in: "")
    self.spans = spans.prefix(Int(count)).compactMap { LaneSpan($0) }
    follows = summary.offsets.lowerBound
  }

  init(_ core: weir_part, in directory: String) throws(WeirError) {
    bytes = Array(UnsafeBufferPointer(start: core.bytes, count: Int(core.byte_count)))
    summary = try SegmentSummary.checked(core.segment, in: directory)
    spans = UnsafeBufferPointer(start: core.spans, count: Int(core.span_count)).compactMap { LaneSpan($0) }
    follows = summary.offsets.lowerBound
  }
}

/// Cuts a log into parts, in the order of their offsets, while its writer lives or after. Belongs to one thread at a time.
///
/// The events in the lanes of a dead writer are left out: the next opening brings them into segments.
package final class LogCutter {
  package enum Found: Sendable {
    case part(LogPart)
    /// Offsets were passed over: they are damaged, removed, or left out.
    case skip(EventReader.Skip)
    /// There is nothing more at present.
    case end
  }

  /// The smallest size of a part that can be asked for, in bytes.
  package static let leastBytes = 1_024
  /// The largest.
  package static let mostBytes = 16 << 20

  private let directory: String
  private let cutter: OpaquePointer

  /// Throws as `EventReader.init(directory:from:includeLanes:)` does.
  package init(directory: String, from: Offset) throws(WeirError) {
    try checkPath(directory)
    var cutter: OpaquePointer?
    try WeirError.check { weir_cutter_open(directory, from, &cutter, $0) }
    guard let cutter else { throw WeirError(.io, "opening \(directory) gave no cutter", path: directory) }
    self.directory = directory
    self.cutter = cutter
  }

  deinit { weir_cutter_close(cutter) }

  /// Returns the next part, with events below `end`, of at most so many bytes, but with at least one event.
  package func next(below end: Offset = .max, atMost bytes: Int) throws(WeirError) -> Found {
    var part = weir_part()
    var skip = weir_skip()
    var error = weir_error()
    let status = weir_cutter_next(cutter, end, UInt64(bytes), &part, &skip, &error)
    switch Int(status) {
    case WEIR_OK: return .part(try LogPart(part, in: directory))
    case WEIR_END: return .end
    case WEIR_SKIPPED: return .skip(EventReader.Skip(skip))
    default: throw WeirError(status, error)
    }
  }
}
