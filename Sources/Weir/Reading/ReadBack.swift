// Reading back: all events of a log, of one type or of any, with or without a tracker.

extension Tracker {
  /// Returns the events of the log from offset `from` on, at most `limit`, including notices
  /// (``StoredEvent/isNotice``).
  ///
  /// Drains first, so all events captured before the call are included. Reads from the files, and holds all returned
  /// events in memory. Damage is skipped. For a large log, and to learn about damage, use ``reader(from:)``.
  public func events(from: Offset = 0, limit: Int? = nil) throws(WeirError) -> [StoredEvent] {
    try LogDirectory(directory).events(from: from, below: try endOfLog(), limit: limit)
  }

  /// Returns the events of type `E` from offset `from` on, at most `limit`. Events of other types, and cases that `E`
  /// does not know, are left out. Drains first, holds all returned events in memory, and skips damage, like
  /// ``events(from:limit:)``.
  ///
  /// Throws a ``WeirError``, or what ``Event/init(_:)`` throws for an event of type `E` that can't be read.
  /// ``results(of:from:)`` continues after such an event.
  public func events<E: Event>(of type: E.Type, from: Offset = 0, limit: Int? = nil) throws -> [Recorded<E>] {
    try LogDirectory(directory).events(of: type, from: from, below: try endOfLog(), limit: limit)
  }

  /// Returns the events of type `E` from offset `from` on, read one by one. An event that `E` can't read is a failure,
  /// and the loop continues after it. Drains first, and leaves out events that are captured after the call.
  public func results<E: Event>(of type: E.Type, from: Offset = 0) -> EventResults<Recorded<E>> {
    let end: Result<Offset?, WeirError>
    do throws(WeirError) { end = .success(try endOfLog()) } catch { end = .failure(error) }
    return EventResults(directory: directory, from: from, end: end) { try Recorded<E>($0) }
  }

  /// Returns a reader of this log from an offset on. The reader sees drained events.
  public func reader(from: Offset = 0) throws(WeirError) -> EventReader {
    try EventReader(directory: directory, from: from)
  }

  /// Drains the log and returns the offset after its last event. Reading stops there, because the end of a busy log
  /// might never be reached.
  private func endOfLog() throws(WeirError) -> Offset {
    do throws(WeirError) {
      return try drain()
    } catch {
      // A closed log has drained all events that it could.
      guard error.code == .closed else { throw error }
      return .max
    }
  }
}

extension LogDirectory {
  /// Returns the events of the log from offset `from` on, at most `limit`, including notices
  /// (``StoredEvent/isNotice``).
  ///
  /// If a process is writing the log, returns the drained events. If the writer is dead, also returns the events in the
  /// lanes. Holds all returned events in memory. Damage is skipped. For a large log use ``results(from:)``, and to
  /// learn about damage an ``EventReader``.
  public func events(from: Offset = 0, limit: Int? = nil) throws(WeirError) -> [StoredEvent] {
    try events(from: from, below: .max, limit: limit)
  }

  /// Returns the events of type `E` from offset `from` on, at most `limit`, like ``Tracker/events(of:from:limit:)``,
  /// but in any process and without a tracker.
  public func events<E: Event>(of type: E.Type, from: Offset = 0, limit: Int? = nil) throws -> [Recorded<E>] {
    try events(of: type, from: from, below: .max, limit: limit)
  }

  /// Returns the events of the log from offset `from` on, read one by one.
  public func results(from: Offset = 0) -> EventResults<StoredEvent> {
    EventResults(directory: path, from: from) { $0 }
  }

  /// Returns the events of type `E` from offset `from` on, read one by one. An event that `E` can't read is a failure,
  /// and the loop continues after it.
  public func results<E: Event>(of type: E.Type, from: Offset = 0) -> EventResults<Recorded<E>> {
    EventResults(directory: path, from: from) { try Recorded<E>($0) }
  }

  fileprivate func events(from: Offset, below end: Offset, limit: Int?) throws(WeirError) -> [StoredEvent] {
    let reader = try EventReader(directory: path, from: from)
    var events: [StoredEvent] = []
    while events.count < limit ?? .max, let event = try reader.next(), event.offset < end { events.append(event) }
    return events
  }

  fileprivate func events<E: Event>(
    of type: E.Type, from: Offset, below end: Offset, limit: Int?
  ) throws -> [Recorded<E>] {
    let reader = try EventReader(directory: path, from: from)
    var events: [Recorded<E>] = []
    while events.count < limit ?? .max, let stored = try reader.next(), stored.offset < end {
      if let event = try Recorded<E>(stored) { events.append(event) }
    }
    return events
  }
}
