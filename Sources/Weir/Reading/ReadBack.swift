// Reading a log back: the whole of it, typed or not, with the tracker that writes it or without a tracker.

extension Tracker {
  /// The events of the log from `from` on, at most `limit`, notices included (see ``StoredEvent/isNotice``).
  ///
  /// Drains first, so everything captured before the call is among them. Reads from the files, and takes memory for all
  /// that it returns: use ``reader(from:)`` for a large log, and to learn of damage, which is passed over here.
  public func events(from: Offset = 0, limit: Int? = nil) throws(WeirError) -> [StoredEvent] {
    try LogDirectory(directory).events(from: from, below: try endOfLog(), limit: limit)
  }

  /// The events of type `E` in the log from `from` on, at most `limit`. Events of other types, and cases that `E` does
  /// not know, are left out. Drains first, takes memory and passes over damage as ``events(from:limit:)`` does.
  ///
  /// Throws a ``WeirError``, or what ``Event/init(_:)`` throws for an event of its own that it can't read;
  /// ``results(of:from:)`` goes on after such an event.
  public func events<E: Event>(of type: E.Type, from: Offset = 0, limit: Int? = nil) throws -> [Recorded<E>] {
    try LogDirectory(directory).events(of: type, from: from, below: try endOfLog(), limit: limit)
  }

  /// The events of type `E` in the log from `from` on, read one by one; an event that `E` can't read is a failure, and
  /// the loop goes on after it. Drains first: what is captured after the call is not among them.
  public func results<E: Event>(of type: E.Type, from: Offset = 0) -> EventResults<Recorded<E>> {
    let end: Result<Offset?, WeirError>
    do throws(WeirError) { end = .success(try endOfLog()) } catch { end = .failure(error) }
    return EventResults(directory: directory, from: from, end: end) { try Recorded<E>($0) }
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

extension LogDirectory {
  /// The events of the log from `from` on, at most `limit`, notices included (see ``StoredEvent/isNotice``).
  ///
  /// Takes memory for all that it returns: use ``results(from:)`` for a large log, and an ``EventReader`` to learn of
  /// damage, which is passed over here. Of a living process's log it gives what is drained, of a dead process's log
  /// what is in the lanes too.
  public func events(from: Offset = 0, limit: Int? = nil) throws(WeirError) -> [StoredEvent] {
    try events(from: from, below: .max, limit: limit)
  }

  /// The events of type `E` in the log from `from` on, at most `limit`, as ``Tracker/events(of:from:limit:)`` returns
  /// them: without a tracker, in any process.
  public func events<E: Event>(of type: E.Type, from: Offset = 0, limit: Int? = nil) throws -> [Recorded<E>] {
    try events(of: type, from: from, below: .max, limit: limit)
  }

  /// The events of the log from `from` on, read one by one.
  public func results(from: Offset = 0) -> EventResults<StoredEvent> {
    EventResults(directory: path, from: from) { $0 }
  }

  /// The events of type `E` in the log from `from` on, read one by one; an event that `E` can't read is a failure, and
  /// the loop goes on after it.
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
