// LogDirectory: a log's directory, inspected without opening the log for capture.

import CCapture
import CWeir

/// A log's directory, for inspecting a log without opening it for capture. Writes nothing and takes no lock, except for
/// ``batch(threads:onProgress:)``.
public struct LogDirectory: Hashable, Sendable {
  /// The directory's path.
  public let path: String

  /// Refers to the log in the directory at `path`, without accessing the directory.
  public init(_ path: String) {
    self.path = path
  }

  /// A problem that a check found.
  public struct Finding: Hashable, Sendable {
    /// The file's name in the log's directory.
    public var file: String
    /// The position in the file, in bytes.
    public var position: UInt64
    /// The length of the damaged stretch, in bytes.
    public var bytes: UInt64
    /// The first offset that can't be read because of the problem.
    public var firstOffset: Offset
    /// The number of events that can't be read because of the problem.
    public var count: UInt64
    /// The problem, as a phrase.
    public var problem: String
  }

  /// The coverage and the result of a check.
  public struct Verification: Hashable, Sendable {
    /// Segments checked.
    public var segments: UInt64
    /// Blocks in the checked segments.
    public var blocks: UInt64
    /// Events in the checked blocks.
    public var events: UInt64
    /// Bytes that a checksum or a rule covers.
    public var bytes: UInt64
    /// Bytes after the last block of an unsealed segment. These bytes are no damage: the next opening removes them.
    public var tornBytes: UInt64
    /// Events of a dead process that are still in the lanes.
    public var laneEvents: UInt64
    /// The number of findings. A log without findings is intact.
    public var findings: UInt64
    /// Events that can't be read.
    public var missingEvents: UInt64
    /// Events that retention removed. They don't count as missing.
    public var removedEvents: UInt64
    /// Whether a process has the log open for capture. If so, only drained events were checked.
    public var isLive: Bool
  }

  /// The size, the range and the losses of a log.
  public struct Statistics: Hashable, Sendable {
    /// Segment files.
    public var segments: UInt64
    /// Bytes of the segment files.
    public var segmentBytes: UInt64
    /// Bytes that all files of the log take on disk.
    public var totalBytes: UInt64
    /// The offset of the first event.
    public var firstOffset: Offset
    /// The offset after the last event, including the events in the lanes of a dead process.
    public var nextOffset: Offset
    /// Events in segments, without notices.
    public var events: UInt64
    /// Notices: gaps and holes.
    public var notices: UInt64
    /// Events that are still in the lanes.
    public var laneEvents: UInt64
    /// Bytes of the events in the lanes.
    public var laneBytes: UInt64
    /// Accepted events that retention removed. Those that were not delivered are also counted in ``dropped``.
    public var removed: UInt64
    /// Events that were refused, overwritten, or removed before their delivery, over all openings of the log, by
    /// reason. Reasons that did not occur are absent.
    public var dropped: [DropReason: UInt64]
    /// The time of the first event; `nil` if there is no event.
    public var firstTime: Timestamp?
    /// The time of the last event; `nil` if there is no event.
    public var lastTime: Timestamp?
    /// Lanes of the ring.
    public var lanes: Int
    /// Bytes of events that each lane holds; 0 without a ring.
    public var laneCapacity: UInt64
    /// Lanes that hold undrained events. If the log has a live writer, also lanes that a thread has taken.
    public var lanesInUse: Int
    /// Whether a process has the log open for capture.
    public var isLive: Bool
    /// Whether something could not be read. ``LogDirectory/verify(onFinding:)`` says what.
    public var isDamaged: Bool
    /// Whether the ring lay in another directory and no longer exists. The events in the ring are lost, and their
    /// number is unknown. ``isDamaged`` is also true then.
    public var ringVanished: Bool
  }

  /// Checks every byte that a checksum or a rule covers, and calls `onFinding` for each problem.
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

  /// Collects statistics from headers and seals. Reads blocks only in unsealed segments. Throws what
  /// ``verify(onFinding:)`` throws.
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
      lanes: Int(core.lanes), laneCapacity: UInt64(core.lane_kib) << 10, lanesInUse: Int(core.lanes_in_use),
      isLive: core.live != 0, isDamaged: core.damaged != 0,
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
