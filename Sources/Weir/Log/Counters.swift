// Counters: the core's counters, as Swift values.

import CCapture
import CWeir

/// The counters of one opening.
public struct Counters: Hashable, Sendable {
  /// Accepted events: those in the log and those still in the lanes.
  public var accepted: UInt64
  /// Accepted events that are in the log.
  public var drained: UInt64
  /// The offset after the last event of the log.
  public var nextOffset: Offset
  /// Blocks written.
  public var blocks: UInt64
  /// Segments begun.
  public var segments: UInt64
  /// Wake-ups of the draining thread.
  public var wakeups: UInt64
  /// Syncs of the log up to its end, for callers that waited or because of ``Tracker/Configuration/durability``.
  public var syncs: UInt64
  /// Stretches of a lane with a wrong checksum when drained. Some code of the process wrote to memory that is not its
  /// own.
  public var damaged: UInt64
  /// Accepted events that later events overwrote before they were in the log: ``Tracker/OverflowPolicy/dropOldest``.
  public var overwritten: UInt64
  /// Events, of this and earlier openings, that ``Tracker/Configuration/retention`` removed before their delivery.
  public var expired: UInt64
  /// Events, of this and earlier openings, that were removed before their delivery to make room at
  /// ``Tracker/Configuration/byteLimit``.
  public var displaced: UInt64
  /// Events in the log that a failing disk lost before they were synced. Readers miss their offsets.
  public var lost: UInt64
  /// The durable watermark: see ``Tracker/durableOffset``.
  public var durableOffset: Offset
  /// Refused events, by reason. Reasons that did not occur are absent.
  public var dropped: [DropReason: UInt64]
  /// Lanes that a thread has taken.
  public var lanesInUse: Int
  /// Event types that are defined.
  public var types: Int
  /// Distinct global contexts that were set, by ``Tracker/setGlobals(_:)`` and
  /// ``Tracker/associate(_:traits:sensitive:)``.
  public var contexts: Int
  /// Types that claimed a wire id or a name of another type. ``Tracker/lastDefinitionError`` describes the last one.
  public var collidingTypes = 0
  /// Bindings of the whole process that did not fit, entirely or in part: see ``Bindings``.
  public var bindingsRefused: UInt64 = 0
  /// The reason why the log can't grow at present; `nil` if it can.
  public var storage: WeirError.Code?
  /// Events that were removed after their delivery: ``Tracker/Configuration/removeDelivered``.
  public var deliveredRemoved: UInt64
  /// Segments that became batch segments: ``Tracker/Configuration/batchThreads``.
  public var batched: UInt64
  /// Bytes of these segments before the conversion.
  public var batchInput: UInt64
  /// Bytes of these segments after the conversion.
  public var batchOutput: UInt64
  /// Sealed segments that wait for their conversion to batch segments.
  public var batchWaiting: UInt64
  /// Segments that stay raw, because they are damaged (``LogDirectory/verify(onFinding:)`` reports the damage), or
  /// because a foreign file has the name of their batch segment.
  public var unbatched: UInt64
  /// Failed attempts to make a batch segment: a full disk, the byte limit, a disk error. They are repeated.
  public var batchFailures: UInt64
  /// The reason why the last attempt failed; `nil` if it did not fail.
  public var batching: WeirError.Code?

  init(_ core: weir_counters) {
    accepted = core.accepted
    drained = core.drained
    nextOffset = core.next_offset
    blocks = core.blocks
    segments = core.segments
    wakeups = core.wakeups
    syncs = core.syncs
    damaged = core.damaged
    overwritten = core.overwritten
    expired = core.expired
    displaced = core.displaced
    lost = core.lost
    durableOffset = core.durable_offset
    dropped = dropCounts(core.dropped)
    lanesInUse = Int(core.lanes_in_use)
    types = Int(core.types)
    contexts = Int(core.contexts)
    storage = WeirError.Code(core.storage)
    deliveredRemoved = core.delivered_removed
    batched = core.batched
    batchInput = core.batch_input
    batchOutput = core.batch_output
    batchWaiting = core.batch_waiting
    unbatched = core.unbatched
    batchFailures = core.batch_failures
    batching = WeirError.Code(core.batching)
  }
}

/// Returns the counters of reasons in a C array, without those that are 0.
func dropCounts<CArray>(_ array: CArray) -> [DropReason: UInt64] {
  withUnsafeBytes(of: array) { bytes in
    var counts: [DropReason: UInt64] = [:]
    for (code, count) in bytes.bindMemory(to: UInt64.self).enumerated() where count > 0 {
      // Counters in the ring have no checksum: damaged counters may overflow.
      let (sum, isTooMuch) = counts[DropReason(code: Int32(code)), default: 0].addingReportingOverflow(count)
      counts[DropReason(code: Int32(code))] = isTooMuch ? .max : sum
    }
    return counts
  }
}

extension DropReason {
  /// The reason in one word, as the log and the tools write it, such as `too_large`.
  public var name: String { String(cString: weir_drop_name(rawValue)) }
}

extension RecoveryReport {
  init(_ core: weir_recovery) {
    self.init(
      previousOpening: core.previous_opening, opening: core.opening, segmentsScanned: core.segments_scanned,
      bytesScanned: core.bytes_scanned, eventsInSegments: core.events_in_segments, lanesDrained: core.lanes_drained,
      eventsFromLanes: core.events_from_lanes, tornBytes: core.torn_bytes, damagedBlocks: core.damaged_blocks,
      damagedBytes: core.damaged_bytes, damagedRecords: core.damaged_records, unkeptBytes: core.unkept_bytes,
      missingEvents: core.missing_events, dropped: core.dropped, sampled: core.sampled,
      overwritten: core.overwritten, firstOffset: core.first_offset,
      durationNanoseconds: core.duration_ns, wasClean: core.was_clean != 0, ringReplaced: core.ring_replaced != 0,
      ringVanished: core.ring_vanished != 0, startDamaged: core.start_damaged != 0,
      rebooted: core.rebooted != 0, unknownTail: core.unknown_tail != 0)
  }
}
