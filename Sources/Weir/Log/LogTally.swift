// LogTally: the number of events that a log has accepted, and where they are, relative to an offset. Ledgers use it.

/// The accepted events of a log at one moment, without Weir's notices, relative to a given offset.
package struct LogTally: Hashable, Sendable {
  /// Events in segments, at or above the offset.
  package var inSegments: UInt64 = 0
  /// Events in lanes. They have no offset yet, or will get one at or above the offset.
  package var inLanes: UInt64 = 0
  /// Events at or above the offset that are lost to damage.
  package var missing: UInt64 = 0
  /// Events below the offset, in segments or lost from them.
  package var below: UInt64 = 0
  /// Events that were removed, below or above the offset.
  package var removed: UInt64 = 0
  /// Events that later ones overwrote before they had an offset.
  package var overwritten: UInt64 = 0
  /// Events damaged in their lane before they had an offset, as far as their number is known.
  package var inHoles: UInt64 = 0
  /// The lowest offset that is not removed.
  package var firstOffset: Offset = 0
  /// The offset after the last event that has one.
  package var nextOffset: Offset = 0

  package init(
    inSegments: UInt64 = 0, inLanes: UInt64 = 0, missing: UInt64 = 0, below: UInt64 = 0, removed: UInt64 = 0,
    overwritten: UInt64 = 0, inHoles: UInt64 = 0, firstOffset: Offset = 0, nextOffset: Offset = 0
  ) {
    self.inSegments = inSegments
    self.inLanes = inLanes
    self.missing = missing
    self.below = below
    self.removed = removed
    self.overwritten = overwritten
    self.inHoles = inHoles
    self.firstOffset = firstOffset
    self.nextOffset = nextOffset
  }

  /// All events that the log has accepted.
  package var accepted: UInt64 { inSegments &+ inLanes &+ missing &+ below &+ removed &+ overwritten &+ inHoles }

  /// Events below the offset that had an offset. An upper bound if the offset lies among removed events: how many of
  /// those lay below it is unknown.
  package var acceptedBelow: UInt64 { below &+ removed }

  /// The same for a follower that begins at `offset`. Segments above `offset` may have been removed before the tally
  /// was taken, so the result is limited to the number of offsets below it.
  package func acceptedBelow(noMoreThan offset: Offset) -> UInt64 { min(acceptedBelow, offset) }

  /// Events at or above the offset that can be read.
  package var pending: UInt64 { inSegments &+ inLanes }
}
