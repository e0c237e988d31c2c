// Resumption: where in a log a follower goes on, given what its cursor says.

/// Where a follower goes on, and why if it is not where its cursor stood.
///
/// A cursor is only as good as the log beside it. A power cut can take events that were done already, and the next
/// opening then gives their offsets to others; a directory may be copied, emptied or put back from a backup. So a
/// cursor names the last event that was done, and a follower goes on after it only if it is there. It may do events
/// again; it never passes over one that it has not done.
package struct Resumption: Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    /// There was no cursor: everything is new.
    case new
    /// The cursor's last event is there, or was on the disk, or retention removed it.
    case exact
    /// The cursor was damaged.
    case damaged
    /// The log ends below the cursor.
    case beyondEnd
    /// The event below the cursor is another one, or can't be read.
    case replaced
  }

  package let offset: Offset
  package let reason: Reason

  /// Where to go on in the log in `directory`, whose last event lies below `end`. Reads a block of it.
  package init(_ found: Cursor.Found, in directory: String, end: Offset) throws(WeirError) {
    switch found {
    case .nothing: self.init(0, .new)
    case .damaged: self.init(0, .damaged)
    case .position(let position): self = try Self.after(position, in: directory, end: end)
    }
  }

  private init(_ offset: Offset, _ reason: Reason) {
    self.offset = offset
    self.reason = reason
  }

  private static func after(
    _ position: CursorPosition, in directory: String, end: Offset
  ) throws(WeirError) -> Resumption {
    // What was on the disk can't be gone from this log: another one is in its place.
    let fallback = position.certain <= end ? position.certain : 0
    guard position.offset <= end else { return Resumption(fallback, .beyondEnd) }
    let isCertain = position.certain == position.offset
    // Nothing readable was below it: there is nothing to recognise the log by.
    guard position.last != nil || position.counts == nil && !isCertain else {
      return Resumption(position.offset, .exact)
    }
    let lastOffset = position.lastOffset ?? position.offset - 1
    let reader = try EventReader(directory: directory, from: lastOffset)
    let event = try reader.next()
    if let event, event.offset == lastOffset {
      if event.id == position.last { return Resumption(position.offset, .exact) }
      // What was on the disk is another event now: so may be all that is below it, as after a backup was put back.
      return Resumption(isCertain ? 0 : fallback, .replaced)
    }
    if isCertain { return Resumption(position.offset, .exact) }
    // Retention removes what is old, and only that: nothing was put in its place.
    let isRemoved = reader.skipped.contains { $0.isRemoval }
    return isRemoved ? Resumption(position.offset, .exact) : Resumption(fallback, .replaced)
  }

  /// The reason as the end of a sentence, to be said aloud; nil if nothing is out of order.
  package var warning: String? {
    switch reason {
    case .new, .exact: nil
    case .damaged: "its cursor is damaged, so it starts over from the log's beginning"
    case .beyondEnd: "its cursor lies beyond the log's end, which was cut or put back, so it goes on from \(offset)"
    case .replaced: "the last event that it had done is not in the log any more, so it goes on from \(offset)"
    }
  }
}
