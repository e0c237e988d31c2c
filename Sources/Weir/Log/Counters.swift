// Counters and the other reports of the core, as Swift values.

import CCapture
import CWeir

/// Counters of one opening.
public struct Counters: Hashable, Sendable {
  /// Events accepted: those in the log and those still in the lanes.
  public var accepted: UInt64
  /// Of them, those in the log.
  public var drained: UInt64
  /// The offset after the last event of the log.
  public var nextOffset: Offset
  /// Blocks written.
  public var blocks: UInt64
  /// Segments begun.
  public var segments: UInt64
  /// Times that the thread which drains the lanes woke up.
  public var wakeups: UInt64
  /// Times that the log was synced up to its end, for those who waited or by ``Tracker/Configuration/durability``.
  public var syncs: UInt64
  /// Stretches of a lane whose checksum failed when drained: something in the process wrote where it should not.
  public var damaged: UInt64
  /// Accepted events that later ones overwrote before they were in the log: ``Tracker/OverflowPolicy/dropOldest``.
  public var overwritten: UInt64
  /// Events, of this and earlier openings, that ``Tracker/Configuration/retention`` removed before they were delivered.
  public var expired: UInt64
  /// The same, removed to make room at ``Tracker/Configuration/byteLimit``.
  public var displaced: UInt64
  /// Events that were in the log and that a failing disk lost before they were synced: readers miss their offsets.
  public var lost: UInt64
  /// Every event with an offset below it survives a power cut: ``Tracker/durableOffset``.
  public var durableOffset: Offset
  /// Events refused, for each reason that occurred.
  public var dropped: [DropReason: UInt64]
  /// Lanes that a thread has.
  public var lanesInUse: Int
  /// Event types defined.
  public var types: Int
  /// Different global contexts that were set: ``Tracker/setGlobals(_:)``, ``Tracker/associate(_:traits:sensitive:)``.
  public var contexts: Int
  /// Types that claimed a wire id or a name that another type has: ``Tracker/lastDefinitionError`` tells of the last.
  public var collidingTypes = 0
  /// Bindings of which something did not fit, by all of the process: ``Bindings``.
  public var bindingsRefused: UInt64 = 0
  /// Why the log can't grow at present; nil if it can.
  public var storage: WeirError.Code?
  /// Events that were removed after they were delivered: ``Tracker/Configuration/removeDelivered``.
  public var deliveredRemoved: UInt64
  /// Segments that became batch segments: ``Tracker/Configuration/batchThreads``.
  public var batched: UInt64
  /// Bytes of those before.
  public var batchInput: UInt64
  /// Bytes of those after.
  public var batchOutput: UInt64
  /// Sealed segments that are to become batch segments yet.
  public var batchWaiting: UInt64
  /// Segments that stay as they are, because something in them is damaged: ``LogDirectory/verify(onFinding:)`` says
  /// what.
  public var unbatched: UInt64
  /// Attempts to make a batch segment that failed: a full disk, the byte limit, an error of the disk. Tried again.
  public var batchFailures: UInt64
  /// Why the last attempt failed; nil if it did not.
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

/// The counters of reasons in a C array, without those that are 0.
func dropCounts<CArray>(_ array: CArray) -> [DropReason: UInt64] {
  withUnsafeBytes(of: array) { bytes in
    var counts: [DropReason: UInt64] = [:]
    for (code, count) in bytes.bindMemory(to: UInt64.self).enumerated() where count > 0 {
      // Counters in the ring carry no checksum: damaged ones may add up to more than there are numbers.
      let (sum, isTooMuch) = counts[DropReason(code: Int32(code)), default: 0].addingReportingOverflow(count)
      counts[DropReason(code: Int32(code))] = isTooMuch ? .max : sum
    }
    return counts
  }
}

extension DropReason {
  /// The reason in a word, as the log and the tools write it: `too_large`.
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
