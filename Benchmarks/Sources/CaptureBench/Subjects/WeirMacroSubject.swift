// WeirMacroSubject.swift: Weir's Swift interface, with an event whose encoding the macro @Event wrote.
import Weir

/// The same as `weir-swift`, whose encoding is written by hand: the macro's must cost as much.
final class WeirMacroSubject: Subject {
  private let log: SwiftLog
  private let texts: [String]

  init(_ setup: Setup) throws {
    log = try SwiftLog(setup)
    texts = setup.texts
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    captureMacroCheckouts(log.tracker, coupon: texts[thread], first: first, count: count)
  }

  func settle() throws { try log.tracker.drain() }
  func finish() throws -> Delivery { try log.finish() }
}

@inline(never)
private func captureMacroCheckouts(_ tracker: Tracker, coupon: String, first: UInt64, count: Int) -> Int {
  var accepted = 0
  for order in first..<first + UInt64(count) {
    let receipt = tracker.track(MacroCheckout.completed(order: order, total: 19.99, items: 3, coupon: coupon))
    if receipt.isAccepted { accepted += 1 }
  }
  return accepted
}
