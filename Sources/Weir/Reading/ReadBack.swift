// Reading a tracker's own log back.

extension Tracker {
  /// The events of the log from `from` on, at most `limit`, notices included (see ``StoredEvent/isNotice``).
  ///
  /// Drains first, so everything captured before the call is among them. Reads from the files, and takes memory for all
  /// that it answers: use ``reader(from:)`` for a large log, and to learn of damage, which is passed over here.
  public func events(from: Offset = 0, limit: Int? = nil) throws(WeirError) -> [StoredEvent] {
    let end = try endOfLog()
    let reader = try reader(from: from)
    var events: [StoredEvent] = []
    while events.count < limit ?? .max, let event = try reader.next(), event.offset < end { events.append(event) }
    return events
  }

  /// The events of type `E` in the log from `from` on, at most `limit`. Events of other types, and cases that `E` does
  /// not know, are left out. Drains first, takes memory and passes over damage as ``events(from:limit:)`` does.
  ///
  /// Throws a ``WeirError``, or what ``Event/init(_:)`` throws for an event of its own that it can't read.
  public func events<E: Event>(of type: E.Type, from: Offset = 0, limit: Int? = nil) throws -> [Recorded<E>] {
    let end = try endOfLog()
    let reader = try reader(from: from)
    var events: [Recorded<E>] = []
    while events.count < limit ?? .max, let stored = try reader.next(), stored.offset < end {
      if let event = try Recorded<E>(stored) { events.append(event) }
    }
    return events
  }

  /// A reader of this log, from an offset on. It sees what is drained.
  public func reader(from: Offset = 0) throws(WeirError) -> EventReader {
    try EventReader(directory: directory, from: from)
  }

  /// The offset after what is in the log now. What is captured meanwhile is left for the next call, or else a busy log
  /// might never be read to its end.
  private func endOfLog() throws(WeirError) -> Offset {
    do throws(WeirError) {
      return try drain()
    } catch {
      // A closed log has drained all that it could.
      guard error.code == .closed else { throw error }
      return .max
    }
  }
}
