// Tracker, delivery: the ledger and the flush of the dispatcher that belongs to a tracker.

public import Weir

extension Tracker {
  /// The outcome of every accepted event, for each provider: see `Dispatcher.ledger`. Without a dispatcher, the ledger
  /// of the cursors on disk; empty if the log can't be read.
  public var ledger: Ledger {
    if let dispatcher { return dispatcher.ledger }
    return (try? LogDirectory(directory).ledger()) ?? Ledger([])
  }

  /// Delivers all events captured before the call now: see `Dispatcher.flush(timeout:)`. Without a dispatcher, nothing
  /// is delivered, and the report is empty.
  public func flush(timeout: Duration) async -> DeliveryReport {
    await dispatcher?.flush(timeout: timeout) ?? DeliveryReport([])
  }

  /// The dispatcher of this tracker, or `nil`.
  package var dispatcher: Dispatcher? { companions.first(DeliveredLog.self)?.dispatcher }
}

extension DeliveredLog {
  /// Makes this the log of the tracker's dispatcher, in place of a dispatcher that was shut down. Throws `invalid` if
  /// there is another dispatcher, `closed` in a forked child.
  func attach(_ dispatcher: Dispatcher, to tracker: Tracker) throws(WeirError) {
    self.dispatcher = dispatcher
    if let former = tracker.companions.first(DeliveredLog.self), former.dispatcher?.isShutDown ?? true {
      tracker.companions.remove(former)
      // From now on, nobody tells the former log that the log is freed.
      former.forgetLog()
    }
    switch tracker.companions.add(self) {
    case true?: return
    case false?:
      throw WeirError(
        .invalid, "the tracker of \(directory) already has a dispatcher; add the provider to that dispatcher",
        path: directory)
    case nil:
      throw WeirError(
        .closed, "a forked process can't use its parent's log \(directory); open another log in the forked process",
        path: directory)
    }
  }
}

extension DeliveredLog: LogCompanion {
  package func logWillBeFreed() { forgetLog() }
  package func processSuspends() { signal(.suspend) }
  package func processResumes() { signal(.resume) }

  private func signal(_ trigger: FlushPolicy.Triggers) {
    for worker in dispatcher?.workers ?? [] where worker.orders.options.flush.triggers.contains(trigger) {
      worker.shared.order { $0.signals.insert(trigger) }
    }
  }
}
