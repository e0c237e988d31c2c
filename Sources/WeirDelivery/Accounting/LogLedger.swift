// LogLedger: the ledger, of a dispatcher as it is now and of a log from its files.

public import Weir

extension Dispatcher {
  /// For each provider, what became of every event that was accepted since it began. Those that are delivered to by
  /// this dispatcher are as this process knows them; others that have a cursor are as that says.
  ///
  /// What a provider accepted counts as acknowledged at once here, and in `LogDirectory.ledger()` when its cursor was
  /// moved on the disk. A log that can't be read shows no accepted and no pending events.
  ///
  /// Costs for each provider a look at the seals of all segments and a reading of at most two of them: that which the
  /// provider has come to, and the last. So up to some tens of milliseconds; to wait until all is delivered, use
  /// ``flush(timeout:)``.
  public var ledger: Ledger {
    guard log.isOfThisProcess else { return Ledger([]) }
    let workers = self.workers
    let names = Set(workers.map(\.orders.name))
    var entries = workers.map { worker in
      let log = LogDirectory(directory)
      var entry = Ledger.Entry(worker.orders.name, worker.shared.read { $0.report }, log)
      entry.countRedriven(in: log)
      return entry
    }
    if let others = try? LogDirectory(directory).entries(but: names) { entries += others }
    return Ledger(entries.sorted { $0.provider < $1.provider })
  }
}

extension Dispatcher {
  /// For each provider that this dispatcher delivers to, what became of events since it was added, and what is pending.
  ///
  /// A loss is counted when the provider passes it: one that lies ahead, which the ledger knows of already, is not
  /// among them. So of deliveries that follow one another each tells of what it passed over itself, and each loss is
  /// told once. Redrives, which the ledger counts too, are no part of it.
  package var report: DeliveryReport {
    DeliveryReport(
      workers.map { worker in
        let report = worker.shared.read { $0.report }
        let entry = Ledger.Entry(worker.orders.name, report, LogDirectory(directory))
        let settled = report.passed + report.ahead
        return DeliveryReport.Entry(
          provider: worker.orders.name, acknowledged: settled.acknowledged, rejected: settled.rejected,
          pending: entry.pending, state: entry.state, error: entry.error, lost: report.passed.lost)
      })
  }
}

extension LogDirectory {
  /// For each provider that has a cursor in this log, what became of every event that was accepted since it began, from
  /// the files alone, in any process.
  ///
  /// A live process may have settled more than its cursor on the disk says: that is pending here. Throws as
  /// ``statistics()`` does.
  public func ledger() throws(WeirError) -> Ledger {
    try checkPath(path)
    return Ledger(try entries(but: []))
  }

  fileprivate func entries(but others: Set<String>) throws(WeirError) -> [Ledger.Entry] {
    let calls = SystemCalls()
    var entries: [Ledger.Entry] = []
    for name in try Pins.names(path, calls: calls) where !others.contains(name) {
      var entry = Ledger.Entry(provider: name)
      do throws(WeirError) {
        switch try Cursor.read(name, of: path, calls: calls) {
        case .nothing: continue
        case .damaged:
          let tally = try tally(from: 0)
          entry = Ledger.Entry(name, CursorPosition(offset: tally.firstOffset), tally)
          entry.error = "its cursor is damaged: it starts over from the log's beginning"
        case .position(let position):
          entry = Ledger.Entry(name, position, try tally(from: position.offset))
          entry.countRedriven(in: self)
          if let reason = stop(of: name) { entry.state = .stopped(reason: reason) }
        }
      } catch {
        guard error.code == .version else { throw error }
        entry.error = error.message
      }
      entries.append(entry)
    }
    return entries
  }
}

extension LogDirectory {
  /// So many of the last notes about a provider are looked at: after the last call there may be some about events that
  /// were kept back.
  private static let lastNotes: UInt64 = 4096

  /// What the provider said if it stopped delivery with the last call that its log of attempts has; nil if it did not.
  private func stop(of provider: String) -> String? {
    let path = AttemptLog.path(in: path, provider: provider)
    guard let end = try? LogDirectory(path).tally(from: .max).nextOffset,
      let reader = try? EventReader(directory: path, from: end - min(end, Self.lastNotes))
    else { return nil }
    var reason: String?
    while let stored = try? reader.next() {
      guard case .attempt(let call)? = try? LoggedAttempt(stored) else { continue }
      reason = call.outcome == Attempt.Outcome.stopped.rawValue ? call.answer : nil
    }
    return reason
  }
}

extension Ledger.Entry {
  fileprivate init(_ name: String, _ report: WorkerReport, _ log: LogDirectory) {
    do throws(WeirError) {
      self.init(name, report, try log.tally(from: report.end))
    } catch {
      self.init(name, report, LogTally())
      self.error = error.message
    }
  }

  /// Of a provider that is known by its cursor only, where `tally` counts from.
  fileprivate init(_ name: String, _ cursor: CursorPosition, _ tally: LogTally) {
    var report = WorkerReport()
    report.position = cursor.offset
    report.durable = cursor.offset
    report.end = cursor.offset
    report.state = .idle
    // A follower that counts nothing is taken to begin where it stands.
    report.counts = cursor.counts ?? DeliveryCounts(from: cursor.offset, tally)
    self.init(name, report, tally)
  }

  /// Of a provider that has read up to `report.end`, where `tally` counts from.
  fileprivate init(_ name: String, _ report: WorkerReport, _ tally: LogTally) {
    self.init(provider: name)
    let counts = report.counts
    state = report.state
    error = report.error
    from = counts.from
    offset = report.durable
    let before = counts.baseline &+ counts.overwrittenBaseline &+ counts.inHolesBaseline
    accepted = tally.accepted > before ? tally.accepted - before : 0
    acknowledged = report.acknowledged
    rejected = report.rejected
    pending = tally.pending &+ UInt64(report.open)
    var lost = counts
    lost.add(report.ahead)
    // What lies ahead and can't be read will not be delivered either, though nobody has come by it yet.
    lost.damaged &+= tally.missing
    let read = counts.baseline &+ lost.settled &- tally.missing &+ UInt64(report.open)
    if tally.firstOffset > report.end, tally.removed > read { lost.removed &+= tally.removed - read }
    lost.damaged &+= tally.inHoles &- counts.inHolesBaseline
    self.lost = lost.lost
    let overwritten = tally.overwritten &- counts.overwrittenBaseline
    if overwritten > 0 { self.lost[.overwritten] = overwritten }
  }
}
