// WeirCodableSubject.swift: Weir's Swift interface, with a Codable enum that needs no code at all.
import Weir

/// `tracker.track(Checkout.completed(…))`, the encoding synthesized by the compiler.
final class WeirCodableSubject: Subject {
  static let name = "weir-swift-codable"
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
      let receipt = tracker.track(CodableCheckout.completed(order: order, total: 19.99, items: 3, coupon: coupon))
      if receipt.isAccepted { accepted += 1 }
    }
    return accepted
  }

  func settle() throws { try log.tracker.drain() }
  func finish() throws -> Delivery { try log.finish() }
}

/// The same event as the hand-written one.
private enum CodableCheckout: Codable, Event {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)
}
