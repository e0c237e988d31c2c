// LogLedger: the ledger of a dispatcher, and of a log's files.

public import Weir

extension Dispatcher {
  /// The outcome of every event accepted since a provider started, for each provider. For this dispatcher's own
  /// providers, the ledger shows the state in this process. For other providers with cursors, it shows the state in
  /// their cursors.
  ///
  /// Here, an accepted event counts as acknowledged immediately. In `LogDirectory.ledger()`, the event counts as
  /// acknowledged once the cursor has moved on disk. If the log can't be read, no accepted and no pending events are
  /// shown.
  ///
  /// For each provider, this looks at the seals of all segments, and reads at most two segments: the segment that the
  /// provider has reached, and the last segment. If events are pending, this also reads the block of the oldest. All of
  /// this takes up to some tens of milliseconds. To wait until everything is delivered, use ``flush(timeout:)``.
  public var ledger: Ledger {
    guard log.isOfThisProcess else { return Ledger([]) }
    let workers = self.workers
    let names = Set(workers.map(\.orders.name))
    var entries = workers.map { worker in
      let log = LogDirectory(directory)
      let report = worker.shared.read { $0.report }
      var entry = Ledger.Entry(worker.orders.name, report, log)
      entry.countRedriven(in: log)
      entry.findOldest(in: log, from: report.position)
      return entry
    }
    for index in entries.indices {
      entries[index].durability = DurabilityFile.read(entries[index].provider, of: directory)
    }
    if let others = try? LogDirectory(directory).entries(but: names) { entries += others }
    return Ledger(entries.sorted { $0.provider < $1.provider })
  }
}

extension Dispatcher {
  /// The outcomes of events since each of this dispatcher's providers was added, and the numbers of pending events.
  ///
  /// A loss is counted when the provider passes it. A loss ahead, which the ledger already counts, is not included. So
  /// in successive deliveries, each report includes only the losses that it passed itself, and each loss is reported
  /// once. Redrives, which the ledger also counts, are not included.
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
  /// Returns the outcome of every event accepted since a provider started, for each provider with a cursor in this log.
  /// Reads the files alone, in any process.
  ///
  /// A live process may have settled more events than its cursor on disk shows; these events are pending here. Throws
  /// like ``statistics()``.
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
          entry.findOldest(in: self, from: tally.firstOffset)
          entry.error = "the provider's cursor is damaged: delivery starts over at the beginning of the log"
        case .position(let position):
          entry = Ledger.Entry(name, position, try tally(from: position.offset))
          entry.countRedriven(in: self)
          entry.findOldest(in: self, from: position.offset)
          if let reason = stop(of: name) { entry.state = .stopped(reason: reason) }
        }
      } catch {
        guard error.code == .version else { throw error }
        entry.error = error.message
      }
      entry.durability = DurabilityFile.read(name, of: path)
      entries.append(entry)
    }
    return entries
  }
}

extension LogDirectory {
  /// The number of a provider's last notes that are read. After the last call there may be notes about withheld events.
  private static let lastNotes: UInt64 = 4096

  /// Returns the provider's reason if its last call in its log of attempts stopped delivery, otherwise `nil`.
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
  /// The number of notices that are passed over to find the oldest pending event.
  private static let mostNotices = 65_536

  /// Finds the time of the oldest pending event, which is the first event at or after the first offset that is not
  /// settled.
  fileprivate mutating func findOldest(in log: LogDirectory, from offset: Offset) {
    guard pending > 0, let reader = try? EventReader(directory: log.path, from: offset) else { return }
    for _ in 0..<Self.mostNotices {
      guard let event = try? reader.next() else { return }
      if event.isNotice { continue }
      pendingSince = event.time
      return
    }
  }

  fileprivate init(_ name: String, _ report: WorkerReport, _ log: LogDirectory) {
    do throws(WeirError) {
      self.init(name, report, try log.tally(from: report.end))
    } catch {
      self.init(name, report, LogTally())
      self.error = error.message
    }
  }

  /// Creates the entry of a provider that is known only from its cursor. `tally` counts from the cursor.
  fileprivate init(_ name: String, _ cursor: CursorPosition, _ tally: LogTally) {
    var report = WorkerReport()
    report.position = cursor.offset
    report.durable = cursor.offset
    report.end = cursor.offset
    report.state = .idle
    // A follower without counts is assumed to start at its position.
    report.counts = cursor.counts ?? DeliveryCounts(from: cursor.offset, tally)
    self.init(name, report, tally)
  }

  /// Creates the entry of a provider that has read up to `report.end`. `tally` counts from there.
  fileprivate init(_ name: String, _ report: WorkerReport, _ tally: LogTally) {
    self.init(provider: name)
    let counts = report.counts
    state = report.state
    error = report.error
    from = counts.from
    if counts.rewinds > 0 { rewind = Rewind(from: counts.rewound, to: counts.from, count: counts.rewinds) }
    offset = report.durable
    let before = counts.baseline &+ counts.overwrittenBaseline &+ counts.inHolesBaseline
    accepted = tally.accepted > before ? tally.accepted - before : 0
    acknowledged = report.acknowledged
    rejected = report.rejected
    pending = tally.pending &+ UInt64(report.open)
    var lost = counts
    lost.add(report.ahead)
    // Events ahead that can't be read will not be delivered either, although the provider has not reached them yet.
    lost.damaged &+= tally.missing
    let read = counts.baseline &+ lost.settled &- tally.missing &+ UInt64(report.open)
    if tally.firstOffset > report.end, tally.removed > read { lost.removed &+= tally.removed - read }
    lost.damaged &+= tally.inHoles &- counts.inHolesBaseline
    self.lost = lost.lost
    let overwritten = tally.overwritten &- counts.overwrittenBaseline
    if overwritten > 0 { self.lost[.overwritten] = overwritten }
  }
}
