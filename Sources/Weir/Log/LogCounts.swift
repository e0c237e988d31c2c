// LogCounts: counts where the accepted events of a log are.

import CCapture
import CWeir

extension LogDirectory {
  /// Counts the accepted events below and above an offset. The result is exact, also for a live log. Reads headers,
  /// seals and lanes, and the blocks of unsealed segments and of the segment that contains the offset.
  package func tally(from offset: Offset) throws(WeirError) -> LogTally {
    try checkPath(path)
    var core = weir_tally()
    try WeirError.check { weir_count_from(path, offset, &core, $0) }
    return LogTally(
      inSegments: core.in_segments, inLanes: core.in_lanes, missing: core.missing, below: core.below,
      removed: core.removed, overwritten: core.overwritten, inHoles: core.in_holes, firstOffset: core.first_offset,
      nextOffset: core.next_offset)
  }

  /// Counts the accepted events in a range of offsets: those that can be read, and those that are lost to damage. The
  /// result is exact, also for a live log: more events come above an offset, and none below it.
  package func counts(in offsets: Range<Offset>) throws(WeirError) -> (readable: UInt64, damaged: UInt64) {
    let (start, end) = (try tally(from: offsets.lowerBound), try tally(from: offsets.upperBound))
    let accepted = end.acceptedBelow - min(start.acceptedBelow, end.acceptedBelow)
    let damaged = min(start.missing - min(start.missing, end.missing), accepted)
    return (accepted - damaged, damaged)
  }
}
