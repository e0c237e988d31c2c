// RecoveryReport: the result of a recovery, in numbers.

/// What an opening found, and what it did. All numbers are for this opening. Damage and missing events found by an
/// earlier opening that never returned its report are included.
public struct RecoveryReport: Hashable, Sendable, Codable {
  /// The opening that the ring belonged to; 0 if there was no ring.
  public var previousOpening: UInt64
  /// The random number of this opening.
  public var opening: UInt64
  /// Segments read: the first unsealed segment and all later ones.
  public var segmentsScanned: UInt64
  /// Bytes read in these segments.
  public var bytesScanned: UInt64
  /// Events found in these segments.
  public var eventsInSegments: UInt64
  /// Lanes that held events which were not yet in a segment.
  public var lanesDrained: UInt64
  /// Events of the dead process that were moved from lanes into the log.
  public var eventsFromLanes: UInt64
  /// Bytes removed from the ends of unsealed segments: blocks that were half written when the process died. No event is
  /// lost with them.
  public var tornBytes: UInt64
  /// Damaged blocks in unsealed segments. Their bytes were copied to `quarantine/`.
  public var damagedBlocks: UInt64
  /// Bytes of the damaged blocks.
  public var damagedBytes: UInt64
  /// Damaged stretches of lanes. Their bytes were copied to `quarantine/`.
  public var damagedRecords: UInt64
  /// Damaged bytes, including those of an unreadable ring, that were not copied because `quarantine/` is full. It holds
  /// at most 256 MiB and 512 files. Remove it after you have examined it.
  public var unkeptBytes: UInt64
  /// Captured events that are lost. The number is exact if later events are present. For damage in a segment, it is the
  /// number of offsets.
  public var missingEvents: UInt64
  /// Refusals of the dead process that were not yet in the log. This opening has written them to the log.
  public var dropped: UInt64
  /// Events that the dead process left out by ``Tracker/Configuration/sampling``, whose number was not yet in the log.
  /// This opening has written it to the log. They are not counted in ``dropped``.
  public var sampled: UInt64
  /// Events that the dead process accepted and overwrote (``Tracker/OverflowPolicy/dropOldest``), whose loss was not
  /// yet in the log. This opening has written it to the log.
  public var overwritten: UInt64
  /// The first offset that this opening assigns.
  public var firstOffset: Offset
  /// The duration of the recovery, in nanoseconds.
  public var durationNanoseconds: UInt64
  /// Whether the log was new, or had been closed.
  public var wasClean: Bool
  /// Whether the ring was missing or unreadable, or belonged to another opening or another log. A ring that was found
  /// is now in `quarantine/`. The events in the log's own ring are lost, and their number is unknown.
  public var ringReplaced: Bool
  /// Whether the ring lay in another directory (``Tracker/Configuration/ringDirectory``) and no longer exists: the
  /// machine was restarted, or the file was removed.
  public var ringVanished: Bool
  /// Whether the file that records removals by retention was damaged. The file is now in `quarantine/`. Until the next
  /// removal, removed events count as missing.
  public var startDamaged: Bool
  /// Whether the machine was restarted since the log was last open. Only what was on disk is left.
  public var rebooted: Bool
  /// Whether events after the last recovered one may be lost without a trace. Always true after a machine's restart,
  /// unless the log had been closed. Events that were awaited with ``Tracker/durable(upTo:)`` are not lost.
  public var unknownTail: Bool

  /// Whether it is certain that no captured event is lost, except for events that were ``overwritten`` by policy.
  public var isComplete: Bool {
    damagedBlocks == 0 && damagedRecords == 0 && missingEvents == 0 && !ringReplaced && !unknownTail && !startDamaged
  }
}

extension RecoveryReport: CustomStringConvertible {
  /// One line of text.
  public var description: String {
    if wasClean && isComplete { return "nothing to recover" }
    var parts = ["recovered \(eventsInSegments) events from segments and \(eventsFromLanes) from lanes"]
    if tornBytes > 0 { parts.append("removed \(tornBytes) bytes of a half-written block") }
    if damagedBlocks > 0 { parts.append("quarantined \(damagedBlocks) damaged blocks (\(damagedBytes) bytes)") }
    if damagedRecords > 0 { parts.append("quarantined \(damagedRecords) damaged stretches of lanes") }
    if unkeptBytes > 0 { parts.append("quarantine/ is full: \(unkeptBytes) damaged bytes were not kept") }
    if missingEvents > 0 { parts.append("\(missingEvents) events are missing") }
    if ringVanished {
      parts.append("the ring no longer exists: an unknown number of events is lost with it")
    } else if ringReplaced {
      parts.append(
        "the ring was missing, unreadable or of another opening: an unknown number of events is lost with it")
    }
    if startDamaged { parts.append("the record of removals by retention is damaged: removed events count as missing") }
    if unknownTail && !ringReplaced {
      parts.append("the machine was restarted: an unknown number of events at the end may be lost")
    }
    if dropped > 0 { parts.append("\(dropped) events had been refused") }
    if sampled > 0 { parts.append("\(sampled) events had been left out by sampling") }
    if overwritten > 0 { parts.append("\(overwritten) events had been overwritten by later ones") }
    return parts.joined(separator: "; ")
  }
}
