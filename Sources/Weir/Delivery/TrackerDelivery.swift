// A tracker's delivery: what an application asks its tracker about the dispatcher that was made for it.

/// The dispatcher of a tracker, which does not keep it.
struct DispatcherReference: Sendable {
  weak var dispatcher: Dispatcher?
  /// The dispatcher's log, which is told that the tracker frees it also while the dispatcher is being released.
  var log: DeliveredLog?
}

extension Tracker {
  /// For each provider, what became of every accepted event: see ``Dispatcher/ledger``. Without a dispatcher, what the
  /// cursors on the disk say; empty if the log can't be read.
  public var ledger: Ledger {
    if let dispatcher { return dispatcher.ledger }
    return (try? LogDirectory(directory).ledger()) ?? Ledger([])
  }

  /// Has everything captured before the call delivered now: see ``Dispatcher/flush(timeout:)``. Without a dispatcher
  /// there is nobody to deliver to, and the report is empty.
  public func flush(timeout: Duration) async -> DeliveryReport {
    await dispatcher?.flush(timeout: timeout) ?? DeliveryReport([])
  }

  /// The dispatcher that was made for this tracker, while there is one.
  var dispatcher: Dispatcher? { delivery.withLock { $0.dispatcher } ?? nil }

  /// Takes a dispatcher, in the place of one that was shut down. Throws `invalid` if there is another, `closed` in a
  /// child of a fork.
  func attach(_ new: Dispatcher) throws(WeirError) {
    let isTaken = delivery.withLock { reference in
      guard reference.dispatcher?.isShutDown ?? true else { return true }
      // Nobody would tell it that the log is freed.
      reference.log?.forgetLog()
      reference.dispatcher = new
      reference.log = new.log
      return false
    }
    switch isTaken {
    case false: return
    case true:
      throw WeirError(
        .invalid, "the tracker of \(directory) has a dispatcher already; add the provider to that one", path: directory)
    default:
      throw WeirError(
        .closed, "the log \(directory) belongs to the process that opened it; open a log of its own in its fork",
        path: directory)
    }
  }
}
