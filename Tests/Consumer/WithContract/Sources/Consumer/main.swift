// Captures an event of the contract and reads it back as an event that is composed of the contract's protocols.

import Weir

struct Composed: PageAction & HasOrder & HasTotal {
  static let eventName = "checkout.completed"
  var order: Int
  var total: Double
}

let tracker = try Tracker(directory: CommandLine.arguments[1])
tracker.track(CheckoutCompleted(order: 7, total: 19.9))
for recorded in try tracker.events(of: Composed.self) {
  print("completed(order: \(recorded.event.order), total: \(recorded.event.total))")
}
try tracker.close()
