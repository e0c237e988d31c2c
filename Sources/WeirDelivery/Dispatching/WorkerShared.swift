// WorkerShared: the state that a dispatcher and the worker of one provider share.

import Weir

/// The progress of a worker, as the worker publishes it.
struct WorkerReport: Hashable, Sendable {
  /// The first offset that is not settled, as far as this process knows.
  var position: Offset = 0
  /// The first offset that is not settled, on disk.
  var durable: Offset = 0
  /// The offset after the last offset that was read.
  var end: Offset = 0
  /// All events below this offset that are in the files were read.
  var seenEnd: Offset = 0
  /// The outcomes of the events below ``position``.
  var counts = DeliveryCounts()
  /// The outcomes of the settled events at or above ``position``.
  var ahead = Outcomes()
  /// The outcomes of the events that ``position`` has passed since the worker started.
  var passed = Outcomes()
  /// The number of events that were read and are not settled.
  var open = 0
  /// If all unsettled events are in the segment that another process fills: the number of orders that the worker had
  /// taken before the look that found this. Otherwise `nil`.
  var writerAwaited: UInt64?
  /// The number of notices that were read, are delivered, and are not settled.
  var openNotices = 0
  var state = Ledger.ProviderState.starting
  var error: String?
  /// The counts of prepared events.
  var preparation = PreparedEvent.Counts()
}

/// The way in which a worker must end.
enum WorkerEnding: Sendable, Hashable {
  /// Deliver the events below `target` until the deadline, then shut the provider down.
  case shutdown(target: Offset, deadline: Duration)
  /// Stop delivering, and shut the provider down.
  case removal
  /// Tests only: write nothing from now on, as if the process were killed.
  case abandonment
}

/// A call of the provider that a worker waits for. Only tests, which move the worker's clock, read it.
enum WorkerCall: Sendable {
  case inProgress
  /// The call was cancelled.
  case cancelled
}

/// The state that both sides share. The alarm wakes the worker.
final class WorkerShared: Sendable {
  struct State {
    var report = WorkerReport()
    /// The number of orders that were given.
    var orderCount: UInt64 = 0
    /// Signals for the flush plan that the worker has not taken yet.
    var signals: FlushPolicy.Triggers = []
    var isToResume = false
    /// A position to which the provider is to be set back, which the worker has not taken yet.
    var rewind: DeliveryOptions.Start?
    /// The result of the last rewind; `nil` while one is ordered.
    var rewound: Result<Rewind, WeirError>?
    var ending: WorkerEnding?
    /// Whether the worker's thread was started.
    var isStarted = false
    var isFinished = false
    /// The provider's state when the worker ended.
    var stateAtEnd: Ledger.ProviderState?
    /// The call that the worker waits for; `nil` if it waits for none.
    var call: WorkerCall?
    /// The alarms of the callers that wait for news of the worker.
    var watchers: [ObjectIdentifier: Alarm] = [:]
    /// The alarms that are rung when the report is another.
    var observers: [ObjectIdentifier: Alarm] = [:]
  }

  let alarm = Alarm()
  private let state = Lock(State())

  func read<Result>(_ body: (borrowing State) -> Result) -> Result {
    state.withLock { body($0) }
  }

  /// For the worker: changes the state, and rings the watchers.
  func publish(_ change: (inout State) -> Void) {
    let watchers = state.withLock { state in
      change(&state)
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.ring() }
  }

  /// For the worker: publishes its progress. An idle worker has the same progress again and again, which rings no
  /// observer.
  func publish(_ report: WorkerReport) {
    let observers = state.withLock { state in
      state.observers.isEmpty || state.report == report ? [] : Array(state.observers.values)
    }
    publish { $0.report = report }
    for observer in observers { observer.ring() }
  }

  /// Rings an alarm whenever the worker's report is another.
  func observe(_ alarm: Alarm) {
    state.withLock { $0.observers[ObjectIdentifier(alarm)] = alarm }
  }

  func unobserve(_ alarm: Alarm) {
    state.withLock { $0.observers[ObjectIdentifier(alarm)] = nil }
  }

  /// For the worker: notes the call that the worker waits for; `nil` for none.
  func wait(for call: WorkerCall?) {
    state.withLock { $0.call = call }
  }

  /// The alarms of the watchers. Tests only.
  var watchers: [Alarm] { state.withLock { Array($0.watchers.values) } }

  /// For the dispatcher: changes the orders, and wakes the worker.
  func order(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      state.orderCount += 1
    }
    alarm.ring()
  }

  /// The orders of a worker.
  struct Orders {
    /// The number of orders given so far.
    var count: UInt64
    var signals: FlushPolicy.Triggers
    var isToResume: Bool
    var rewind: DeliveryOptions.Start?
    var ending: WorkerEnding?
  }

  /// Returns the orders. All but the ending are returned only once.
  func takeOrders() -> Orders {
    state.withLock { state in
      defer {
        state.signals = []
        state.isToResume = false
        state.rewind = nil
      }
      return Orders(
        count: state.orderCount, signals: state.signals, isToResume: state.isToResume, rewind: state.rewind,
        ending: state.ending)
    }
  }

  func watch(_ alarm: Alarm) {
    state.withLock { $0.watchers[ObjectIdentifier(alarm)] = alarm }
  }

  func unwatch(_ alarm: Alarm) {
    state.withLock { $0.watchers[ObjectIdentifier(alarm)] = nil }
  }
}

extension DeliveryClock {
  /// Waits until a condition holds, at most until `time`. Checks the condition at each piece of news of these workers.
  /// A cancellation of the task only makes it check the condition.
  func waiting(for workers: [ProviderWorker], until time: Duration? = nil, _ condition: () -> Bool) async {
    let alarm = Alarm()
    for worker in workers { worker.shared.watch(alarm) }
    defer { for worker in workers { worker.shared.unwatch(alarm) } }
    await withTaskCancellationHandler {
      while !condition() {
        if let time, now >= time { return }
        await alarm.wait(until: time, self)
      }
    } onCancel: {
      alarm.ring()
    }
  }
}
