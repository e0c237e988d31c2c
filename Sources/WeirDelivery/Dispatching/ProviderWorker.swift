// ProviderWorker: the delivery to one provider, as the dispatcher holds it.

import Weir

/// What a worker is made of.
struct WorkerOrders: Sendable {
  var provider: any Provider
  var name: String
  var options: DeliveryOptions
  var configuration: Dispatcher.Configuration
  var clock: DeliveryClock
  var log: DeliveredLog
  /// The log is a provider's dead-letter log: the events in its letters are delivered, and what is rejected again stays
  /// where it is.
  var isRedrive = false
}

/// Delivers to one provider, on a thread of its own, from ``start()`` until it is told to end.
///
/// A provider's loop reads files and waits for the disk. On the threads that tasks share, a disk that hangs would hold
/// up the program; on a thread of its own it holds up one provider. The provider's own code runs on the shared threads.
final class ProviderWorker: Sendable {
  let orders: WorkerOrders
  let shared: WorkerShared
  /// The loop, until its thread has it.
  private let loop: Lock<DeliveryLoop?>
  /// Tests only: the loop of a worker that was abandoned. Its logs stay open, as a killed process leaves them.
  private let abandoned = Lock<Abandoned?>(nil)

  // Sendable, although the compiler can't see it: nobody uses the loop any more.
  private struct Abandoned: @unchecked Sendable { let loop: DeliveryLoop }

  /// Takes the provider's lock, and finds where to begin.
  init(_ orders: WorkerOrders) throws(WeirError) {
    self.orders = orders
    let shared = WorkerShared()
    self.shared = shared
    loop = Lock(try DeliveryLoop(orders, shared))
    orders.configuration.madeWorker?(self)
  }

  /// Delivers from now on. Does nothing if it does already. Throws `memory` if the system has no more threads: then the
  /// worker has ended.
  func start() throws(WeirError) {
    guard let loop = takeLoop() else { return }
    shared.publish { $0.isStarted = true }
    do throws(WeirError) {
      try startThread("weir-deliver") {
        loop.run()
        if loop.ending == .abandonment { self.abandoned.withLock { $0 = Abandoned(loop: loop) } }
      }
    } catch {
      shared.publish { $0.isFinished = true }
      throw error
    }
  }

  /// Orders the end, which comes at once if nothing was delivered yet.
  func end(_ ending: WorkerEnding) {
    shared.order { $0.ending = ending }
    takeLoop()?.finish()
  }

  private func takeLoop() -> sending DeliveryLoop? {
    loop.withLock { loop -> sending DeliveryLoop? in
      let taken = loop
      loop = nil
      return taken
    }
  }
}
