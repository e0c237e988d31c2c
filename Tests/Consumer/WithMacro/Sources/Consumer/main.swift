// Captures an event that the macro made and reads it back.

import Weir

@Event enum Checkout {
  case completed(order: UInt64, total: Double)
}

let tracker = try Tracker(directory: CommandLine.arguments[1])
let receipt = tracker.track(Checkout.completed(order: 7, total: 19.9))
for recorded in try tracker.events(of: Checkout.self) where recorded.id == receipt.id { print(recorded.event) }
try tracker.close()
