// Audit: events that have to be on disk before the caller goes on.

extension Tracker {
  /// Captures an event, and returns when the event is on disk and survives a power cut. Throws if the disk does not
  /// have the event.
  ///
  /// ```swift
  /// try await tracker.audit(Payment.ordered(order: 7, by: clerk), timeout: .seconds(2))
  /// try await pay(order)
  /// return Response(status: .ok)  // never sent without the event
  /// ```
  ///
  /// Call `audit` before what must leave a trace: if the call throws, nothing has been done. After an error the event
  /// may still be in the log: the error says that the event is not known to be on disk.
  ///
  /// - Parameters:
  ///   - event: The event.
  ///   - timeout: How long to wait for the disk; `nil` (the default) waits until the disk has the event or has failed.
  /// - Returns: The event's id.
  ///
  /// **Errors.** Throws a ``WeirError`` with one of these codes:
  ///
  /// | code | the event |
  /// |---|---|
  /// | `timeout` | was refused because the lanes are full, or was not on disk in time |
  /// | `noSpace` | was refused or stays in its lane: the disk is full, or ``Configuration/byteLimit`` is reached |
  /// | `io` | is in the log, but the disk failed |
  /// | `lost` | was overwritten by ``OverflowPolicy/dropOldest``, or damaged in memory, before it was in the log |
  /// | `memory` | is in the log, but there is no memory to wait |
  /// | `closed` | was refused because the log is closed or of another process; or the log was closed during the wait |
  /// | `limit` | was refused because it is larger than ``Configuration/maximumEventBytes`` |
  /// | `invalid` | was refused: it does not match its declaration, or ``Configuration/sampling`` left the event out |
  ///
  /// Throws `CancellationError` if the task is cancelled. A task that is cancelled before the call captures nothing.
  ///
  /// **Cost.** Waits for one sync of the disk, which all calls that wait at the same time share. Blocks no thread,
  /// unless ``Configuration/whenFull`` lets captures wait.
  @discardableResult
  public func audit<E: Event>(_ event: E, timeout: Duration? = nil) async throws -> EventID {
    try Task.checkCancellation()
    return try await durable(track(event), timeout, of: E.self) { "an event of \(E.self)" }
  }

  /// Captures an event that has no Swift type, and returns when the event is on disk: ``audit(_:timeout:)``.
  @discardableResult
  public func audit(_ name: String, fields: FieldObject = [:], timeout: Duration? = nil) async throws -> EventID {
    try Task.checkCancellation()
    return try await durable(track(name, fields: fields), timeout) { "the event \(name)" }
  }

  private func durable(
    _ receipt: Receipt, _ timeout: Duration?, of type: (any Event.Type)? = nil, _ what: () -> String
  ) async throws -> EventID {
    switch receipt {
    case .accepted(let id):
      try await durable(upTo: id, timeout: timeout)
      return id
    case .dropped(let reason):
      let (code, remedy) = refusal(reason, of: type)
      throw WeirError(code, "\(what()) could not be captured (\(reason)): \(remedy)", path: directory)
    }
  }

  private func refusal(_ reason: DropReason, of type: (any Event.Type)?) -> (WeirError.Code, String) {
    switch reason {
    case .closed: (.closed, "the log \(directory) is closed")
    case .detached:
      (.closed, "the log \(directory) belongs to the process that opened it; open another log in the forked process")
    case .storage: (.noSpace, "the log \(directory) can't grow; free space on the disk, or raise byteLimit")
    case .tooLarge: (.limit, "the event is too large; make it smaller, or raise maximumEventBytes")
    case .sampled: (.invalid, "a sampling rule left the event out; audited events must have no rule below 1")
    case .invalid:
      (.invalid, type.flatMap(noted)?.message ?? "names have 1 to 1,024 bytes and don't start with weir.")
    case .full, .noLane: (.timeout, "the lanes are full; try again, or let captures wait (whenFull, laneCount)")
    case .overwritten, .expired, .displaced: (.lost, "the event was lost")
    }
  }

  /// The error that was noted for a type.
  private func noted(_ type: any Event.Type) -> WeirError? {
    refusals.withLock { $0.noted[ObjectIdentifier(type)] } ?? nil
  }
}
