// WeirCodableSubject.swift: Weir's Swift interface, with a Codable enum that needs no code at all.
import Weir

/// `tracker.track(Checkout.completed(…))`, the encoding synthesized by the compiler.
final class WeirCodableSubject: Subject {
  private let log: SwiftLog
  private let texts: [String]

  init(_ setup: Setup) throws {
    log = try SwiftLog(setup)
    texts = setup.texts
  }

  @inline(never)
  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let tracker = log.tracker
    let coupon = texts[thread]
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
enum CodableCheckout: Codable, Event {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)
}
