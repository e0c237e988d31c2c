// LogCounts: where the accepted events of a log are, counted by the core.

import CCapture
import CWeir

extension LogDirectory {
  /// Counts accepted events around an offset, exactly, of a live log too. Reads headers and seals, the lanes, and
  /// blocks of the segment that the offset lies in and of what is not sealed.
  package func tally(from offset: Offset) throws(WeirError) -> LogTally {
    try checkPath(path)
    var core = weir_tally()
    try WeirError.check { weir_count_from(path, offset, &core, $0) }
    return LogTally(
      inSegments: core.in_segments, inLanes: core.in_lanes, missing: core.missing, below: core.below,
      removed: core.removed, overwritten: core.overwritten, inHoles: core.in_holes, firstOffset: core.first_offset,
      nextOffset: core.next_offset)
  }
}
