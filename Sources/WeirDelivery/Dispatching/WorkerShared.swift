// WorkerShared: what a dispatcher and the worker of one provider tell each other.

import Weir

/// What a worker has come to, as others may ask for it.
struct WorkerReport: Sendable {
  /// The first offset that is not settled, as far as this process knows.
  var position: Offset = 0
  /// The same on the disk.
  var durable: Offset = 0
  /// After the last offset that was read.
  var end: Offset = 0
  /// Everything below it that is in the files was read.
  var seenEnd: Offset = 0
  /// What became of the events below ``position``.
  var counts = DeliveryCounts()
  /// What became of those at or above it that are settled.
  var ahead = Outcomes()
  /// What became of the events that ``position`` has passed since the worker began.
  var passed = Outcomes()
  /// Events that were read and are not settled.
  var open = 0
  var state = Ledger.ProviderState.starting
  var error: String?
  /// What became of the events that were prepared.
  var preparation = PreparedEvent.Counts()
}

/// How a worker is to end.
enum WorkerEnding: Sendable, Hashable {
  /// Deliver what is below `target` until the deadline, then shut the provider down.
  case shutdown(target: Offset, deadline: Duration)
  /// Stop delivering, and shut the provider down.
  case removal
  /// As if the process were killed: nothing is written any more. For tests.
  case abandonment
}

/// A call of the provider that a worker waits for. Only tests ask, which move its clock.
enum WorkerCall: Sendable {
  case inProgress
  /// It was asked to end.
  case cancelled
}

/// The state that both sides see. Its alarm wakes the worker.
final class WorkerShared: Sendable {
  struct State {
    var report = WorkerReport()
    /// Signals for the flush plan that the worker has not taken up yet.
    var signals: FlushPolicy.Triggers = []
    var isToResume = false
    var ending: WorkerEnding?
    /// Its thread delivers, or did.
    var isStarted = false
    var isFinished = false
    /// What the provider was doing when the worker ended.
    var stateAtEnd: Ledger.ProviderState?
    /// Nil while it waits for none.
    var call: WorkerCall?
    /// Those who wait for news of the worker.
    var watchers: [ObjectIdentifier: Alarm] = [:]
  }

  let alarm = Alarm()
  private let state = Lock(State())

  func read<Result>(_ body: (borrowing State) -> Result) -> Result {
    state.withLock { body($0) }
  }

  /// For the worker: news, of which those who watch are told.
  func publish(_ change: (inout State) -> Void) {
    let watchers = state.withLock { state in
      change(&state)
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.ring() }
  }

  /// For the worker: it waits for a call, or does not any more.
  func wait(for call: WorkerCall?) {
    state.withLock { $0.call = call }
  }

  /// Those who wait for news. Only tests ask.
  var watchers: [Alarm] { state.withLock { Array($0.watchers.values) } }

  /// For the dispatcher: orders, of which the worker is told.
  func order(_ change: (inout State) -> Void) {
    state.withLock { change(&$0) }
    alarm.ring()
  }

  /// Takes the orders that are done once they are taken.
  func takeOrders() -> (signals: FlushPolicy.Triggers, isToResume: Bool, ending: WorkerEnding?) {
    state.withLock { state in
      defer {
        state.signals = []
        state.isToResume = false
      }
      return (state.signals, state.isToResume, state.ending)
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
  /// Waits until a condition holds, looking at each piece of news of these workers; at most until `time`. The task's
  /// cancellation is news, too, and nothing more.
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
