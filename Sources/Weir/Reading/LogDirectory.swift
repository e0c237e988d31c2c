// LogDirectory: a log looked at as a whole, from outside.

import CCapture
import CWeir

/// A log's directory, for looking at it without opening it for capture. Writes nothing, takes no lock.
public struct LogDirectory: Hashable, Sendable {
  /// The directory.
  public let path: String

  /// The log in the directory at `path`, which is not looked at yet.
  public init(_ path: String) {
    self.path = path
  }

  /// Something that is not as it should be.
  public struct Finding: Hashable, Sendable {
    /// The file's name in the directory.
    public var file: String
    /// Where in the file.
    public var position: UInt64
    /// How many bytes.
    public var bytes: UInt64
    /// The first of the events that are not readable for it.
    public var firstOffset: Offset
    /// How many events are not readable for it.
    public var count: UInt64
    /// What is wrong, in one phrase.
    public var problem: String
  }

  /// What a check of a log covered and found.
  public struct Verification: Hashable, Sendable {
    /// Segments checked.
    public var segments: UInt64
    /// Blocks in them.
    public var blocks: UInt64
    /// Events in these.
    public var events: UInt64
    /// Bytes that a checksum or a rule was held against.
    public var bytes: UInt64
    /// Bytes after the last block of an unsealed segment. No damage: the next opening cuts them.
    public var tornBytes: UInt64
    /// Events of a dead process that are still in its lanes.
    public var laneEvents: UInt64
    /// How many findings there were. The log is intact if there was none.
    public var findings: UInt64
    /// Events that are not readable.
    public var missingEvents: UInt64
    /// Events that retention removed: they are not missing.
    public var removedEvents: UInt64
    /// A process has the log open for capture: only what is drained was checked.
    public var isLive: Bool
  }

  /// A log in numbers.
  public struct Statistics: Hashable, Sendable {
    /// Segment files.
    public var segments: UInt64
    /// Bytes of the segment files.
    public var segmentBytes: UInt64
    /// Bytes that all the files take on the disk.
    public var totalBytes: UInt64
    /// The offset of the first event.
    public var firstOffset: Offset
    /// The offset after the last event, a dead process's lanes included.
    public var nextOffset: Offset
    /// Events in segments, without notices.
    public var events: UInt64
    /// Notices: gaps and holes.
    public var notices: UInt64
    /// Events that are still in the lanes.
    public var laneEvents: UInt64
    /// Bytes of the events in the lanes.
    public var laneBytes: UInt64
    /// Accepted events that retention removed. Those of them that had not been delivered are in ``dropped`` too.
    public var removed: UInt64
    /// Events refused, overwritten, or removed undelivered, over all openings of the log, for each reason that
    /// occurred.
    public var dropped: [DropReason: UInt64]
    /// Time of the first event; nil if there is none.
    public var firstTime: Timestamp?
    /// Time of the last event; nil if there is none.
    public var lastTime: Timestamp?
    /// Lanes of the ring.
    public var lanes: Int
    /// Lanes that hold undrained events or, with a live writer, that a thread has.
    public var lanesInUse: Int
    /// A process has the log open for capture.
    public var isLive: Bool
    /// Something could not be read; ``LogDirectory/verify(onFinding:)`` says what.
    public var isDamaged: Bool
    /// The ring lay in another directory and is not there: what was in it, nobody knows how many events, is lost. Then
    /// ``isDamaged`` is true as well.
    public var ringVanished: Bool
  }

  /// Checks every byte that a checksum or a rule covers, and calls `onFinding` for whatever is wrong.
  ///
  /// Reads the whole log, at the speed of the disk. Throws only if the check can't run: `missing`, `directory`,
  /// `access`, `version`, `io` or `memory`.
  public func verify(onFinding: (Finding) -> Void = { _ in }) throws(WeirError) -> Verification {
    try checkPath(path)
    var core = weir_verification()
    var error = weir_error()
    let status = withoutActuallyEscaping(onFinding) { onFinding in
      withUnsafePointer(to: onFinding) { sink in
        weir_verify(
          path,
          { context, finding in
            guard let context, let finding else { return }
            context.assumingMemoryBound(to: ((Finding) -> Void).self).pointee(Finding(finding.pointee))
          }, UnsafeMutableRawPointer(mutating: sink), &core, &error)
      }
    }
    if Int(status) != WEIR_OK { throw WeirError(status, error) }
    return Verification(
      segments: core.segments, blocks: core.blocks, events: core.events, bytes: core.bytes, tornBytes: core.torn_bytes,
      laneEvents: core.lane_events, findings: core.findings, missingEvents: core.missing_events,
      removedEvents: core.removed_events, isLive: core.live != 0)
  }

  /// Sums the log up from headers and seals; reads blocks only where a segment is not sealed. Throws as
  /// ``verify(onFinding:)`` does.
  public func statistics() throws(WeirError) -> Statistics {
    try checkPath(path)
    var core = weir_stat()
    try WeirError.check { weir_stat_directory(path, &core, $0) }
    return Statistics(
      segments: core.segments, segmentBytes: core.segment_bytes, totalBytes: core.total_bytes,
      firstOffset: core.first_offset, nextOffset: core.next_offset, events: core.events, notices: core.notices,
      laneEvents: core.lane_events, laneBytes: core.lane_bytes, removed: core.removed,
      dropped: dropCounts(core.dropped),
      firstTime: core.first_time_ns == 0 ? nil : Timestamp(nanosecondsSince1970: core.first_time_ns),
      lastTime: core.last_time_ns == 0 ? nil : Timestamp(nanosecondsSince1970: core.last_time_ns),
      lanes: Int(core.lanes), lanesInUse: Int(core.lanes_in_use), isLive: core.live != 0, isDamaged: core.damaged != 0,
      ringVanished: core.ring_vanished != 0)
  }
}

extension LogDirectory.Finding {
  init(_ core: weir_finding) {
    self.init(
      file: text(ofCArray: core.file), position: core.position, bytes: core.bytes, firstOffset: core.first_offset,
      count: core.count, problem: core.problem.map { String(cString: $0) } ?? "")
  }
}
