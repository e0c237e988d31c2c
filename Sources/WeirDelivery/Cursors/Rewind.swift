// Rewind: sets a provider's cursor back, so that events are delivered again.

import Logging
public import Weir

/// A rewind of a provider: the events from ``to`` up to ``from`` are delivered again.
public struct Rewind: Hashable, Sendable {
  /// The first offset that was not settled before the rewind.
  public var from: Offset

  /// The offset at which delivery continues.
  public var to: Offset

  /// How often the provider was rewound, this rewind included.
  public var count: UInt64
}

extension LogDirectory {
  /// Sets a provider back to a position, while nobody delivers to the provider. The next delivery begins there: the
  /// events from the position on are delivered again, with the same ids. The new position is on disk when this returns.
  ///
  /// ```swift
  /// // The warehouse was restored from the backup of the morning.
  /// let rewind = try log.rewind("warehouse", to: .time(morning))
  /// print("\(rewind.from - rewind.to) offsets are delivered again")
  /// ```
  ///
  /// The ledger counts anew from the position, and says so (`Ledger.Entry.rewind`). Dead letters stay. Events that
  /// were removed from the log can't be delivered again; if the position is before the log's first event, delivery
  /// continues at the first event.
  ///
  /// If the provider was told of a change of the default user after the position, the log is read backwards up to the
  /// change before, and the provider is told of that change first. If there is none, or if it was removed from the log,
  /// the provider is told that there is no default user; after a restart, nothing.
  ///
  /// To rewind a provider while a dispatcher delivers to the provider, use `Dispatcher.rewind(_:to:)`.
  ///
  /// Throws `missing` (no such provider), `locked` (somebody delivers to the provider), `invalid` (the position is
  /// after the first event that is not settled, so events would never be delivered), `version`, and the errors of the
  /// system.
  @discardableResult
  public func rewind(_ provider: String, to position: DeliveryOptions.Start) throws(WeirError) -> Rewind {
    try rewind(provider, to: position, calls: SystemCalls())
  }

  func rewind(
    _ provider: String, to position: DeliveryOptions.Start, calls: SystemCalls
  ) throws(WeirError) -> Rewind {
    try checkPath(path)
    let unknown = WeirError(.missing, "\(path) has no provider named \(provider.debugDescription)", path: path)
    guard Cursor.isProviderName(provider), try Cursor.read(provider, of: path, calls: calls) != .nothing else {
      throw unknown
    }
    let lock = try CursorLock(provider, of: path, calls: calls)
    defer { withExtendedLifetime(lock) {} }
    let cursor = try Cursor(provider, of: path, calls: calls)
    let before: CursorPosition
    switch cursor.found {
    case .nothing: throw unknown
    case .damaged:
      throw WeirError(
        .invalid, "the cursor of \(provider) in \(path) is damaged: delivery starts over at the log's beginning anyway",
        path: path)
    case .position(let found): before = found
    }
    let end = try tally(from: .max).nextOffset
    let resumption = try Resumption(cursor.found, in: path, end: end)
    let settled = min(before.offset, resumption.offset)
    var associations = try AssociationFile(provider, of: path, calls: calls)
    let (after, rewind) = try rewound(before, settled: settled, to: position, end: end, &associations)
    try cursor.move(to: after)
    return rewind
  }

  /// Returns a cursor's position after a rewind. Everything below `settled` is settled. Writes the change of the default
  /// user that the new position names.
  fileprivate func rewound(
    _ before: CursorPosition, settled: Offset, to position: DeliveryOptions.Start, end: Offset,
    _ associations: inout AssociationFile
  ) throws(WeirError) -> (CursorPosition, Rewind) {
    let wanted = try offset(of: position, end: end)
    guard wanted <= settled else {
      throw WeirError(
        .invalid,
        "the events from offset \(settled) to \(wanted) are not settled, and a rewind to \(wanted) would skip them; "
          + "rewind to \(settled) at the latest", path: path)
    }
    let tally = try tally(from: wanted)
    // Removed events that are not settled are a loss, which delivery counts when it passes them.
    guard tally.firstOffset <= settled else {
      throw WeirError(
        .invalid,
        "every event below offset \(settled), up to which all events are settled, was removed from \(path); none can "
          + "be delivered again", path: path)
    }
    var counts = DeliveryCounts(from: max(wanted, tally.firstOffset), tally)
    let counted = before.counts ?? DeliveryCounts(from: before.offset)
    counts.restarts = counted.restarts
    counts.rewinds = counted.rewinds &+ 1
    counts.rewound = settled
    counts.origin = counted.firstFrom
    // The event before the position is not looked up: like a new provider, this provider has settled nothing here.
    let after = CursorPosition(
      offset: counts.from, last: nil, certain: min(before.certain, counts.from), counts: counts,
      association: try associations.back(
        from: before.association, before: counts.from, first: max(counts.firstFrom, tally.firstOffset)))
    return (after, Rewind(from: settled, to: counts.from, count: counts.rewinds))
  }
}

extension CursorKeeper {
  /// Sets the cursor back on disk. Returns the rewind, and the default user of the new position, of whom the provider
  /// must be told first; `nil` if the provider knows of no default user.
  mutating func rewind(
    to position: DeliveryOptions.Start
  ) throws(WeirError) -> (rewind: Rewind, change: HeldAssociation?) {
    let directory = LogDirectory(log.directory)
    let end = try directory.tally(from: .max).nextOffset
    let before = durable
    let (after, rewind) = try directory.rewound(
      before, settled: before.offset, to: position, end: end, &associations)
    try restart(at: after)
    guard before.association != nil else { return (rewind, nil) }
    let nobody = HeldAssociation(offset: after.offset, bytes: 0, user: nil, isRepeated: true)
    return (rewind, associationToRepeat ?? nobody)
  }
}

extension DeliveryLoop {
  /// Carries out a rewind that was ordered, between two calls of the provider. A call in progress is waited for, and
  /// its answer counts.
  func rewindIfOrdered() {
    guard let position = rewindOrder, overdue == nil else { return }
    rewindOrder = nil
    shared.publish { [result = rewind(to: position)] in $0.rewound = result }
  }

  /// Begins again at a position: forgets the events that are held, which are read again.
  func rewind(to position: DeliveryOptions.Start) -> Result<Rewind, WeirError> {
    do throws(WeirError) {
      nextBurial = .zero
      bury([])
      guard unburied.isEmpty else {
        throw WeirError(
          .io,
          "the rejected events of \(orders.name) can't be written to its dead letters; rewind again when they can",
          path: orders.log.directory)
      }
      // The cursor on disk then knows of everything that is settled, and of the last user.
      moveCursor()
      guard keeper.durable.offset == span.position else {
        throw keeper.error ?? WeirError(.io, "the cursor of \(orders.name) can't be moved", path: orders.log.directory)
      }
      let (rewind, change) = try keeper.rewind(to: position)
      let options = orders.options
      span = SettledSpan(keeper.start)
      // The provider may not have been told yet of what an earlier rewind brought back.
      let owed = change ?? queue.repeated
      queue = DeliveryQueue(options.flush)
      if let owed { queue.putBack(owed) }
      plan = FlushPlan(options.flush, rule: options.flushRule)
      preparation = Preparation(orders)
      reader = WorkerReader(orders.log.directory)
      letters = LetterParts()
      isAtEnd = false
      plan.signal(.start)
      signal(.demand)
      configuration.logger?.notice(
        "\(orders.name) was rewound from offset \(rewind.from) to \(rewind.to) in \(orders.log.directory)")
      publish()
      return .success(rewind)
    } catch {
      return .failure(error)
    }
  }
}

extension Dispatcher {
  /// Sets a provider back to a position: the events from the position on are delivered again, with the same ids. Like
  /// `LogDirectory.rewind(_:to:)`, which has the details, while this dispatcher delivers to the provider, or has a
  /// cursor of a provider to which nobody delivers.
  ///
  /// Waits for the call in progress, whose answer counts. The new position is on disk when this returns. A flush in
  /// progress also waits for the events that are delivered again.
  ///
  /// Throws `invalid` (the position is after the first event that is not settled, or the provider is being added or
  /// removed), `missing` (no such provider), `locked` (another process delivers under this name), `closed`, and the
  /// errors of the system.
  @discardableResult
  public func rewind(_ name: String, to position: DeliveryOptions.Start) async throws(WeirError) -> Rewind {
    try claim(name, "is being added, removed or rewound") { _ in true }
    defer { unclaim(name) }
    guard let worker = worker(named: name) else {
      return try LogDirectory(directory).rewind(name, to: position, calls: configuration.calls)
    }
    if let done = worker.rewind(to: position) { return try done.get() }
    await clock.waiting(for: [worker]) { worker.shared.read { $0.rewound != nil || $0.isFinished } }
    guard let result = worker.shared.read({ $0.rewound }) else { throw closed }
    return try result.get()
  }
}
