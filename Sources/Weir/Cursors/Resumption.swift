// Resumption: where a follower continues in a log, given its cursor.

/// Where a follower continues, and why if it is not where its cursor stood.
///
/// A cursor is only valid for its log. A power cut can remove events that were already done, and the next opening then
/// assigns their offsets to other events. A directory may be copied, emptied, or restored from a backup. Therefore a
/// cursor names the last event that was done, and a follower continues after that event only if the event is there. A
/// follower may repeat events, but never skips an event that is not done.
package struct Resumption: Hashable, Sendable {
  package enum Reason: Hashable, Sendable {
    /// There was no cursor. Everything is new.
    case new
    /// The cursor's last event is there, or was on disk, or was removed by retention.
    case exact
    /// The cursor is damaged.
    case damaged
    /// The log ends before the cursor.
    case beyondEnd
    /// The event before the cursor is a different one, or can't be read.
    case replaced
  }

  package let offset: Offset
  package let reason: Reason

  /// Finds the place to continue in the log in `directory`, whose last event lies below `end`. Reads a block of the
  /// log.
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
    // Events that were on disk can't be missing from this log. If they are, the log was replaced.
    let fallback = position.certain <= end ? position.certain : 0
    guard position.offset <= end else { return Resumption(fallback, .beyondEnd) }
    let isCertain = position.certain == position.offset
    // No event that could identify the log was below the cursor.
    guard position.last != nil || position.counts == nil && !isCertain else {
      return Resumption(position.offset, .exact)
    }
    let lastOffset = position.lastOffset ?? position.offset - 1
    let reader = try EventReader(directory: directory, from: lastOffset)
    let event = try reader.next()
    if let event, event.offset == lastOffset {
      if event.id == position.last { return Resumption(position.offset, .exact) }
      // An event that was on disk has been replaced. All earlier events may be replaced too, as by restoring a
      // backup.
      return Resumption(isCertain ? 0 : fallback, .replaced)
    }
    if isCertain { return Resumption(position.offset, .exact) }
    // Retention removes old events, and puts nothing in their place.
    let isRemoved = reader.skipped.contains { $0.isRemoval }
    return isRemoved ? Resumption(position.offset, .exact) : Resumption(fallback, .replaced)
  }

  /// The reason as the end of a sentence for a warning; `nil` if nothing is wrong.
  package var warning: String? {
    switch reason {
    case .new, .exact: nil
    case .damaged: "its cursor is damaged, so it starts from the beginning of the log"
    case .beyondEnd: "its cursor lies beyond the end of the log (cut or restored), so it continues at \(offset)"
    case .replaced: "the last event that it had processed is no longer in the log, so it continues at \(offset)"
    }
  }
}
