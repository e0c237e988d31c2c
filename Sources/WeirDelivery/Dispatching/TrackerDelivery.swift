// A tracker's delivery: what an application asks its tracker about the dispatcher that was made for it.

public import Weir

extension Tracker {
  /// For each provider, what became of every accepted event: see `Dispatcher.ledger`. Without a dispatcher, what the
  /// cursors on the disk say; empty if the log can't be read.
  public var ledger: Ledger {
    if let dispatcher { return dispatcher.ledger }
    return (try? LogDirectory(directory).ledger()) ?? Ledger([])
  }

  /// Has everything captured before the call delivered now: see `Dispatcher.flush(timeout:)`. Without a dispatcher
  /// there is nobody to deliver to, and the report is empty.
  public func flush(timeout: Duration) async -> DeliveryReport {
    await dispatcher?.flush(timeout: timeout) ?? DeliveryReport([])
  }

  /// The dispatcher that was made for this tracker, while there is one.
  var dispatcher: Dispatcher? { companions.first(DeliveredLog.self)?.dispatcher }
}

extension DeliveredLog {
  /// Makes this the log of the tracker's dispatcher, in the place of one that was shut down. Throws `invalid` if there
  /// is another dispatcher, `closed` in a child of a fork.
  func attach(_ dispatcher: Dispatcher, to tracker: Tracker) throws(WeirError) {
    self.dispatcher = dispatcher
    if let former = tracker.companions.first(DeliveredLog.self), former.dispatcher?.isShutDown ?? true {
      tracker.companions.remove(former)
      // Nobody would tell it that the log is freed.
      former.forgetLog()
    }
    switch tracker.companions.add(self) {
    case true?: return
    case false?:
      throw WeirError(
        .invalid, "the tracker of \(directory) has a dispatcher already; add the provider to that one", path: directory)
    case nil:
      throw WeirError(
        .closed, "the log \(directory) belongs to the process that opened it; open a log of its own in its fork",
        path: directory)
    }
  }
}

extension DeliveredLog: LogCompanion {
  package func logWillBeFreed() {
    dispatcher?.warnIfNeverRun()
    forgetLog()
  }
}
