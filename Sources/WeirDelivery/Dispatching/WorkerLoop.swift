// WorkerLoop: what a worker's thread runs: the delivery of events, or of batch segments.

import Weir

/// The delivery to one provider, on the worker's thread. Not `Sendable`: the loop is sent to the thread.
protocol WorkerLoop: AnyObject {
  /// The end that was ordered; `nil` before.
  var ending: WorkerEnding? { get }
  /// Delivers until the end is ordered.
  func run()
  /// Releases the provider's lock, and publishes the end.
  func finish()
  /// Begins again at a position.
  func rewind(to position: DeliveryOptions.Start) -> Result<Rewind, WeirError>
}

extension DeliveryLoop: WorkerLoop {}
