// WeirSwiftSubject.swift: Weir's Swift interface, with an event whose encoding is written by hand.
import CaptureSubjects
import Weir

/// `tracker.track(Checkout.completed(…))`, the encoding written by hand.
final class WeirSwiftSubject: Subject {
  static let name = "weir-swift"
  static let eventBytes = 44

  private let log: SwiftLog
  private let coupons: [String]

  init(directory: String, threads: Int) throws {
    log = try SwiftLog(directory: directory)
    coupons = makeCoupons(threads: threads)
  }

  @inline(never)
  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let tracker = log.tracker
    let coupon = coupons[thread]
    var accepted = 0
    for order in first..<first + UInt64(count) {
      let receipt = tracker.track(Checkout.completed(order: order, total: 19.99, items: 3, coupon: coupon))
      if receipt.isAccepted { accepted += 1 }
    }
    return accepted
  }

  func settle() throws { try log.tracker.drain() }
  func finish() throws -> Delivery { try log.finish() }
}

/// A shop's checkout, as a program would declare it for speed.
private enum Checkout: Event {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)

  static let eventTypes = [
    EventType("checkout.started", [Field("cart", .uint64)]),
    EventType(
      "checkout.completed",
      [Field("order", .uint64), Field("total", .double), Field("items", .int32), Field("coupon", .string)]),
  ]

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .started(let cart):
      encoder.begin(0)
      encoder.put(cart)
    case .completed(let order, let total, let items, let coupon):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(total)
      encoder.put(items)
      encoder.put(coupon)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.name {
    case "checkout.started":
      self = .started(cart: try stored["cart"])
    case "checkout.completed":
      self = .completed(
        order: try stored["order"], total: try stored["total"], items: try stored["items"],
        coupon: try stored["coupon"])
    default:
      return nil
    }
  }
}

/// A log opened through Swift.
struct SwiftLog: Sendable {
  let tracker: Tracker
  private let directory: String

  init(directory: String) throws {
    self.directory = directory + "/log"
    var configuration = Tracker.Configuration()
    configuration.logger = nil  // dozens of openings would each report that there was nothing to recover
    tracker = try Tracker(directory: self.directory, configuration: configuration)
  }

  func finish() throws -> Delivery {
    try tracker.close()
    let counters = tracker.counters
    return Delivery(
      accepted: Int(counters.accepted), dropped: Int(counters.dropped.values.reduce(0, +)),
      delivered: Int(weir_count_events(directory)))
  }
}
