// Captures an event and reads it back, beside the modules of the traits.

import Weir
import WeirConfiguration
import WeirLifecycle
import WeirMetrics

enum Checkout: Codable, Event {
  case completed(order: UInt64, total: Double)
}

let tracker = try Tracker(directory: CommandLine.arguments[1])
let receipt = tracker.track(Checkout.completed(order: 7, total: 19.9))
for recorded in try tracker.events(of: Checkout.self) where recorded.id == receipt.id { print(recorded.event) }
try tracker.close()
