// ProviderWorker: the dispatcher's handle for the delivery to one provider.

import Weir

/// The parameters of a worker.
struct WorkerOrders: Sendable {
  var provider: any Provider
  var name: String
  var options: DeliveryOptions
  var configuration: Dispatcher.Configuration
  var clock: DeliveryClock
  var log: DeliveredLog
  /// Told of events that were settled.
  var feed = SettlementFeed()
  /// Whether the log is a provider's dead-letter log. Then the events in the letters are delivered, and the letters of
  /// events that are rejected again stay.
  var isRedrive = false
}

extension Preparation {
  /// Creates the preparation for the provider of these orders.
  init(_ orders: WorkerOrders) {
    self.init(orders.options, mapper: orders.provider.attachedMapper, takesBytes: orders.provider.takesBytes)
    isOfLetters = orders.isRedrive
  }
}

/// Delivers to one provider, on a separate thread, from ``start()`` until the end is ordered.
///
/// A provider's loop reads files and waits for the disk. On the threads that tasks share, a hanging disk would block
/// the program. On a separate thread, a hanging disk blocks one provider. The provider's own code runs on the shared
/// threads.
final class ProviderWorker: Sendable {
  let orders: WorkerOrders
  let shared: WorkerShared
  /// The loop, until the worker's thread takes it.
  private let loop: Lock<(any WorkerLoop)?>
  /// Tests only: the loop of a worker that was abandoned. Its logs stay open, as a killed process leaves them.
  private let abandoned = Lock<Abandoned?>(nil)

  // Sendable, although the compiler can't see it: nobody uses the loop any more.
  private struct Abandoned: @unchecked Sendable { let loop: any WorkerLoop }

  /// Takes the provider's lock, and finds the place to start.
  init(_ orders: WorkerOrders) throws(WeirError) {
    self.orders = orders
    let shared = WorkerShared()
    self.shared = shared
    if let batches = orders.provider.asBatchDelivery {
      loop = Lock(try BatchLoop(orders, shared, batches.segments))
    } else {
      loop = Lock(try DeliveryLoop(orders, shared))
    }
    orders.configuration.madeWorker?(self)
  }

  /// Starts delivering to all of these providers or, if the system has no thread for one of them, to none. Leaves
  /// workers out that already deliver. Throws `memory`; then the workers have ended.
  static func start(_ workers: [ProviderWorker]) throws(WeirError) {
    // The threads wait here until all of them are there.
    let gate = ConditionLock<Bool?>(nil)
    do throws(WeirError) {
      for worker in workers { try worker.start(behind: gate) }
      gate.change { $0 = true }
    } catch {
      gate.change { $0 = false }
      for worker in workers { worker.takeLoop()?.finish() }
      throw error
    }
  }

  private func start(behind gate: ConditionLock<Bool?>) throws(WeirError) {
    guard let loop = takeLoop() else { return }
    let niceness = orders.configuration.niceness
    do throws(WeirError) {
      try startThread("weir-deliver") {
        _ = gate.wait(until: MonotonicTime(nanoseconds: .max)) { $0 != nil }
        guard gate.read({ $0 == true }) else { return loop.finish() }
        // Best effort: the system refuses only a higher priority.
        if niceness > 0 { lowerThreadPriority(to: min(niceness, 19)) }
        loop.run()
        if loop.ending == .abandonment { self.abandoned.withLock { $0 = Abandoned(loop: loop) } }
      }
    } catch {
      shared.publish { $0.isFinished = true }
      throw error
    }
    shared.publish { $0.isStarted = true }
  }

  /// Orders the end. A worker that has not started ends immediately.
  func end(_ ending: WorkerEnding) {
    shared.order { $0.ending = ending }
    takeLoop()?.finish()
  }

  /// Rewinds a worker that has not started, and returns the result. Orders the rewind of any other worker, and returns
  /// `nil`.
  func rewind(to position: DeliveryOptions.Start) -> Result<Rewind, WeirError>? {
    let done = loop.withLock { $0?.rewind(to: position) }
    if done == nil {
      shared.order { state in
        state.rewind = position
        state.rewound = nil
      }
    }
    return done
  }

  private func takeLoop() -> sending (any WorkerLoop)? {
    loop.withLock { loop -> sending (any WorkerLoop)? in
      let taken = loop
      loop = nil
      return taken
    }
  }
}
