// RecoveryReport: what an opening found of the process that had the log before, in numbers.

/// What opening a log found, and did. The numbers are those of this opening alone, but that it tells of damage and
/// missing events too which an opening before it had found that failed, or was killed, before anybody had its report.
public struct RecoveryReport: Hashable, Sendable, Codable {
  /// The opening that the ring belonged to; 0 where there was none.
  public var previousOpening: UInt64
  /// The new opening's random number.
  public var opening: UInt64
  /// Files read: the segments that were not sealed, and all after the first of them.
  public var segmentsScanned: UInt64
  /// Bytes read in them.
  public var bytesScanned: UInt64
  /// Events found in them.
  public var eventsInSegments: UInt64
  /// Lanes that held events that were not yet in a segment.
  public var lanesDrained: UInt64
  /// Events moved from lanes into the log: captured by the dead process, and recovered.
  public var eventsFromLanes: UInt64
  /// Bytes cut from the ends of unsealed segments: a block half written when the process died. No event is lost with
  /// them.
  public var tornBytes: UInt64
  /// Damaged blocks in unsealed segments. Their bytes were copied to `quarantine/`.
  public var damagedBlocks: UInt64
  /// Bytes of the damaged blocks.
  public var damagedBytes: UInt64
  /// Stretches of a lane that no checksum vouches for. Their bytes were copied to `quarantine/`.
  public var damagedRecords: UInt64
  /// Of all these damaged bytes, and those of a ring that is unreadable, the ones that were not copied, because
  /// `quarantine/` is full: it takes 256 MiB, and 512 files. Remove it when you have looked into it.
  public var unkeptBytes: UInt64
  /// Events that were captured and are not there any more: exactly, as far as others that were captured after them are.
  /// Of damage in a segment, the offsets.
  public var missingEvents: UInt64
  /// Refusals by the dead process that were not yet in the log, and now are.
  public var dropped: UInt64
  /// Events that the dead process left out on purpose (``Tracker/Configuration/sampling``) and of which the log did not
  /// tell yet, and now does. They are not in ``dropped``.
  public var sampled: UInt64
  /// Events that the dead process accepted and overwrote (``Tracker/OverflowPolicy/dropOldest``) and whose loss was not
  /// yet in the log, and now is.
  public var overwritten: UInt64
  /// The first offset that this opening gives.
  public var firstOffset: Offset
  /// How long the recovery took.
  public var durationNanoseconds: UInt64
  /// The log was new, or had been closed.
  public var wasClean: Bool
  /// The ring was missing, unreadable, or that of another opening or log, which is then in `quarantine/`: what the
  /// log's own ring held is an unknown loss.
  public var ringReplaced: Bool
  /// It was missing because it lay in another directory (``Tracker/Configuration/ringDirectory``) and is not there any
  /// more: the machine was restarted, or the file removed.
  public var ringVanished: Bool
  /// The file that says what retention had removed was damaged, and is in `quarantine/`: until more is removed, what
  /// was removed counts as missing.
  public var startDamaged: Bool
  /// The machine was started anew since: what the disk had is all there is.
  public var rebooted: Bool
  /// Events may have followed the last ones that are there, of which no trace is left: always true after a new start of
  /// the machine unless the log had been closed. Nothing that was awaited durable.
  public var unknownTail: Bool

  /// Whether every event that was captured is there for sure, but for those that were overwritten by choice
  /// (``overwritten``).
  public var isComplete: Bool {
    damagedBlocks == 0 && damagedRecords == 0 && missingEvents == 0 && !ringReplaced && !unknownTail && !startDamaged
  }
}

extension RecoveryReport: CustomStringConvertible {
  /// One line.
  public var description: String {
    if wasClean && isComplete { return "nothing to recover" }
    var parts = ["recovered \(eventsInSegments) events from segments and \(eventsFromLanes) from lanes"]
    if tornBytes > 0 { parts.append("cut \(tornBytes) bytes of a half-written block") }
    if damagedBlocks > 0 { parts.append("quarantined \(damagedBlocks) damaged blocks (\(damagedBytes) bytes)") }
    if damagedRecords > 0 { parts.append("quarantined \(damagedRecords) damaged stretches of lanes") }
    if unkeptBytes > 0 { parts.append("quarantine/ is full: \(unkeptBytes) damaged bytes were not kept") }
    if missingEvents > 0 { parts.append("\(missingEvents) events are missing") }
    if ringVanished {
      parts.append("the ring is not where it was: what it held is lost, how much is unknown")
    } else if ringReplaced {
      parts.append(
        "the ring was missing, unreadable or of another opening: what it held is lost, how much is unknown")
    }
    if startDamaged { parts.append("what retention had removed is not known any more, and counts as missing") }
    if unknownTail && !ringReplaced {
      parts.append("the machine went down, and events after the last ones may be lost, how many is unknown")
    }
    if dropped > 0 { parts.append("\(dropped) events had been refused") }
    if sampled > 0 { parts.append("\(sampled) events had been left out by sampling") }
    if overwritten > 0 { parts.append("\(overwritten) events had been overwritten by later ones") }
    return parts.joined(separator: "; ")
  }
}
