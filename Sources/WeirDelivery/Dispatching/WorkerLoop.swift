// WorkerLoop: what a worker's thread runs: the delivery of events, or of batch segments.

import Logging
import Weir

/// The delivery to one provider, on the worker's thread. Not `Sendable`: the loop is sent to the thread.
protocol WorkerLoop: AnyObject {
  var orders: WorkerOrders { get }
  var shared: WorkerShared { get }
  var keeper: CursorKeeper { get set }
  /// The end that was ordered, and when; `nil` before.
  var ending: WorkerEnding? { get }
  var endingSince: Duration { get }
  var isSetUp: Bool { get }
  /// Set while the provider has stopped delivery.
  var stop: StopState? { get }
  var backoff: BackoffState { get }
  var breaker: BreakerState { get }
  /// A call that was given up and has not returned.
  var overdue: ProviderCall? { get }
  /// The current problems, by kind.
  var troubles: [String: String] { get set }
  /// Delivers until the end is ordered.
  func run()
  /// Begins again at a position.
  func rewind(to position: DeliveryOptions.Start) -> Result<Rewind, WeirError>
}

extension DeliveryLoop: WorkerLoop {}

extension WorkerLoop {
  /// Publishes the place where delivery starts.
  func publishStart() {
    let start = keeper.start
    shared.publish { state in
      state.report.position = start.offset
      state.report.durable = start.offset
      state.report.end = start.offset
      state.report.counts = start.counts ?? DeliveryCounts()
    }
  }

  /// Releases the provider's lock, and publishes the end.
  func finish() {
    keeper.letGo()
    shared.publish { state in
      state.isFinished = true
      state.stateAtEnd = state.report.state == .running ? .idle : state.report.state
      if case .stopped = state.report.state { return }
      state.report.state = .idle
    }
  }

  /// The time at which a call in progress is cancelled because delivery ends; `nil` if delivery does not end.
  var endOfCalls: Duration? {
    switch ending {
    case .abandonment: .zero
    case .removal: endingSince + orders.configuration.closingTime
    case .shutdown(_, let end): end
    case nil: nil
    }
  }

  var currentState: Ledger.ProviderState {
    if let stop { return .stopped(reason: stop.reason) }
    if overdue != nil { return .backingOff }
    if case .open = breaker.phase { return .open }
    if backoff.failures > 0 { return isSetUp ? .backingOff : .starting }
    return isSetUp ? .running : .starting
  }

  /// Keeps a problem until it is over, and logs it once.
  func report(_ problem: String, _ kind: String) {
    let isNew = troubles.updateValue(problem.inOneLine(of: LoggedAttempt.answerBytes), forKey: kind) == nil
    guard isNew else { return }
    orders.configuration.logger?.warning("delivery to \(orders.name) from \(orders.log.directory): \(problem)")
  }

  func report(_ error: WeirError, _ kind: String) {
    report("\(kind): \(error.message)", kind)
  }

  /// Ends a kind of problem.
  func clear(_ kind: String) {
    guard troubles.removeValue(forKey: kind) != nil else { return }
    orders.configuration.logger?.info("delivery to \(orders.name) from \(orders.log.directory): \(kind) works again")
  }
}
