// LogTally: how many events a log has accepted, and where they are, seen from one offset. What a ledger is made of.

/// Accepted events of a log, Weir's own notices left out: a moment's picture.
package struct LogTally: Hashable, Sendable {
  /// With an offset at or above the one asked for, and readable in segments.
  package var inSegments: UInt64 = 0
  /// In lanes: they have no offset yet, or will have one at or above it.
  package var inLanes: UInt64 = 0
  /// With an offset at or above it, taken by damage.
  package var missing: UInt64 = 0
  /// With an offset below it, in segments or missing from them.
  package var below: UInt64 = 0
  /// Removed, below it or above.
  package var removed: UInt64 = 0
  /// Overwritten by later ones before they had an offset.
  package var overwritten: UInt64 = 0
  /// Damaged in their lane before they had an offset, as far as the log knows how many.
  package var inHoles: UInt64 = 0
  /// The first offset that is not removed.
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

  /// All events that the log's captures accepted.
  package var accepted: UInt64 { inSegments &+ inLanes &+ missing &+ below &+ removed &+ overwritten &+ inHoles }

  /// Those below the offset asked for that had an offset. Where it lies among what was removed nobody knows any more
  /// how many of that were below it; then this is an upper bound.
  package var acceptedBelow: UInt64 { below &+ removed }

  /// The same for one who begins at `offset`. Segments above it may have been removed before the tally was taken, so no
  /// more events count than there are offsets below it.
  package func acceptedBelow(noMoreThan offset: Offset) -> UInt64 { min(acceptedBelow, offset) }

  /// Those at or above it that are there to be read.
  package var pending: UInt64 { inSegments &+ inLanes }
}
