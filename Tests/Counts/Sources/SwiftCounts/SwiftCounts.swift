// SwiftCounts: captures a million events in each of the ways that Swift has, and counts what the capturing thread did.
//
//     swift-counts DIRECTORY
//
// Bursts fit into the lane, as in c_counts.c, which says why.

import Counting
import Weir

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

@main
enum SwiftCounts {
  static let bursts: UInt64 = 200
  static let burst: UInt64 = 5000

  static func main() throws {
    guard CommandLine.arguments.count == 2 else { fail("usage: swift-counts DIRECTORY") }
    let directory = CommandLine.arguments[1]
    let coupon = String(repeating: "c", count: 20)
    try measure("swift-numbers", directory) { straightNumbers($0, $1, 19.99, 3) }
    try measure("swift-text", directory) { straightText($0, $1, 19.99, 3, coupon) }
    try measure("swift-optional", directory) { tracker, order in
      let comment = order % 3 == 0 ? coupon : nil
      return tracker.track(Checkout.rated(order: order, stars: order % 2 == 0 ? 5 : nil, comment: comment)).isAccepted
    }
    try measure("swift-bulk", directory) { tracker, order in
      let receipt = tracker.track(contentsOf: CollectionOfOne(Checkout.paid(order: order, total: 1, items: 2)))
      return receipt.accepted == 1
    }
    try measure("swift-codable", directory) { tracker, order in
      tracker.track(Codably.completed(order: order, total: 19.99, items: 3, coupon: coupon)).isAccepted
    }
    try measure("swift-codable-optional", directory) { tracker, order in
      tracker.track(Codably.rated(order: order, stars: order % 2 == 0 ? 5 : nil, comment: coupon)).isAccepted
    }
    try measure("swift-codable-structure", directory) { tracker, order in
      tracker.track(Login(user: coupon, attempts: Int(order), plan: .paid)).isAccepted
    }
    try measureLines(directory)
    // From here on the process is one that has bound something.
    try Bindings.with(user: "user-12345", traits: ["plan": "paid"]) {
      try measure("swift-scoped", directory) { straightText($0, $1, 19.99, 3, coupon) }
      try measure("swift-codable-scoped", directory) { tracker, order in
        tracker.track(Codably.completed(order: order, total: 19.99, items: 3, coupon: coupon)).isAccepted
      }
    }
    try measure("swift-unbound", directory) { straightNumbers($0, $1, 19.99, 3) }
    try measure("swift-sampled", directory, bursts: 20, rate: 0.5) { tracker, order in
      // Left out or not, it is answered, and costs no more than that.
      _ = tracker.track(Checkout.rated(order: order, stars: nil, comment: nil))
      return straightNumbers(tracker, order, 1, 2)
    }
    measureHooks()
    try measure("swift-sinner", directory, bursts: 2) { tracker, order in
      counting_sin()
      return straightNumbers(tracker, order, 1, 2)
    }
  }

  /// Captures in bursts, and reports.
  @inline(never)
  static func measure(
    _ name: StaticString, _ directory: String, bursts: UInt64 = bursts, burst: UInt64 = burst, rate: Double? = nil,
    _ capture: (Tracker, UInt64) -> Bool
  ) throws {
    // A pointer, because to make one of a String would be an allocation.
    let subject = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.laneCount = 4
    configuration.laneBytes = 2 << 20
    configuration.drainInterval = .seconds(10)
    if let rate { configuration.sampling = [SamplingRule("checkout.rated", rate: rate)] }
    let tracker = try Tracker(directory: directory, configuration: configuration)
    var sum = counting()
    var accepted: UInt64 = 0
    for round in 0..<bursts {
      try tracker.drain()
      // The first ones define the type, take a lane, and may have to wake the drainer.
      for order in 0..<10 { _ = capture(tracker, UInt64(order)) }
      counting_begin(subject)
      for order in round * burst..<(round + 1) * burst where capture(tracker, order) { accepted += 1 }
      counting_end(subject, &sum)
    }
    guard accepted == bursts * burst, tracker.counters.dropped.keys.allSatisfy({ $0 == .sampled }) else {
      fail("\(name): a capture was refused")
    }
    try tracker.close()
    counting_report(subject, accepted, &sum)
  }

  private static func fail(_ message: String) -> Never {
    let text = "swift-counts: \(message)\n"
    _ = write(2, text, text.utf8.count)
    exit(1)
  }
}

// Each exactly one capture, to be disassembled too.

@inline(never)
private func straightNumbers(_ tracker: Tracker, _ order: UInt64, _ total: Double, _ items: Int32) -> Bool {
  tracker.track(Checkout.paid(order: order, total: total, items: items)).isAccepted
}

@inline(never)
private func straightText(_ tracker: Tracker, _ order: UInt64, _ total: Double, _ items: Int32, _ text: String) -> Bool
{
  tracker.track(Checkout.completed(order: order, total: total, items: items, coupon: text)).isAccepted
}
