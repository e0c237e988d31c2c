// LogTally: how many events a log has accepted, and where they are, seen from one offset. What a ledger is made of.

/// Accepted events of a log, Weir's own notices left out: a moment's picture.
struct LogTally: Hashable, Sendable {
  /// With an offset at or above the one asked for, and readable in segments.
  var inSegments: UInt64 = 0
  /// In lanes: they have no offset yet, or will have one at or above it.
  var inLanes: UInt64 = 0
  /// With an offset at or above it, taken by damage.
  var missing: UInt64 = 0
  /// With an offset below it, in segments or missing from them.
  var below: UInt64 = 0
  /// Removed, below it or above.
  var removed: UInt64 = 0
  /// Overwritten by later ones before they had an offset.
  var overwritten: UInt64 = 0
  /// Damaged in their lane before they had an offset, as far as the log knows how many.
  var inHoles: UInt64 = 0
  /// The first offset that is not removed.
  var firstOffset: Offset = 0
  /// The offset after the last event that has one.
  var nextOffset: Offset = 0

  /// All events that the log's captures accepted.
  var accepted: UInt64 { inSegments &+ inLanes &+ missing &+ below &+ removed &+ overwritten &+ inHoles }

  /// Those below the offset asked for that had an offset. Where it lies among what was removed nobody knows any more
  /// how many of that were below it; then this is an upper bound.
  var acceptedBelow: UInt64 { below &+ removed }

  /// The same for one who begins at `offset`. Segments above it may have been removed before the tally was taken, so no
  /// more events count than there are offsets below it.
  func acceptedBelow(noMoreThan offset: Offset) -> UInt64 { min(acceptedBelow, offset) }

  /// Those at or above it that are there to be read.
  var pending: UInt64 { inSegments &+ inLanes }
}
