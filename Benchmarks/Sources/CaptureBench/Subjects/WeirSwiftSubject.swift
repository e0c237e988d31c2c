// WeirSwiftSubject.swift: Weir's Swift interface, with events whose encoding is written by hand.
import CaptureSubjects
import Weir

/// `tracker.track(Checkout.completed(…))`, the string held by the caller.
final class WeirSwiftSubject: TimedSubject {
  private let log: SwiftLog
  private let texts: [String]

  init(_ setup: Setup) throws {
    log = try SwiftLog(setup)
    texts = setup.texts
  }

  var ring: String { log.directory + "/ring" }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    captureCheckouts(log.tracker, coupon: texts[thread], first: first, count: count)
  }

  func timedBurst(thread: Int, first: UInt64, count: Int, gap: UInt64, into ticks: UnsafeMutablePointer<UInt32>) -> Int
  {
    timeCheckouts(log.tracker, coupon: texts[thread], first: first, count: count, gap: gap, into: ticks)
  }

  func settle() throws { try log.tracker.drain() }
  func finish() throws -> Delivery { try log.finish() }
}

// As functions, because a parameter is what the caller holds: with the string in a local variable, here a copy from an
// array, the compiler retains and releases it at each event.

@inline(never)
private func captureCheckouts(_ tracker: Tracker, coupon: String, first: UInt64, count: Int) -> Int {
  var accepted = 0
  for order in first..<first + UInt64(count) {
    let receipt = tracker.track(Checkout.completed(order: order, total: 19.99, items: 3, coupon: coupon))
    if receipt.isAccepted { accepted += 1 }
  }
  return accepted
}

@inline(never)
private func timeCheckouts(
  _ tracker: Tracker, coupon: String, first: UInt64, count: Int, gap: UInt64, into ticks: UnsafeMutablePointer<UInt32>
) -> Int {
  var accepted = 0
  var next = support_ticks()
  for index in 0..<count {
    support_wait_until(next)
    let start = support_ticks()
    let receipt = tracker.track(
      Checkout.completed(order: first + UInt64(index), total: 19.99, items: 3, coupon: coupon))
    ticks[index] = UInt32(clamping: support_ticks() - start)
    if receipt.isAccepted { accepted += 1 }
    next += gap
  }
  return accepted
}

/// The same with a string fetched from an array for each event: a retain and a release more.
final class WeirSwiftArraySubject: Subject {
  private let log: SwiftLog
  private let texts: [[String]]

  init(_ setup: Setup) throws {
    log = try SwiftLog(setup)
    texts = (0..<setup.threads).map { thread in (0..<64).map { "SPRING-SALE-2026-\(100 + (thread * 64 + $0) % 900)" } }
  }

  @inline(never)
  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    let tracker = log.tracker
    let coupons = texts[thread]
    var accepted = 0
    for order in first..<first + UInt64(count) {
      let coupon = coupons[Int(order & 63)]
      let receipt = tracker.track(Checkout.completed(order: order, total: 19.99, items: 3, coupon: coupon))
      if receipt.isAccepted { accepted += 1 }
    }
    return accepted
  }

  func settle() throws { try log.tracker.drain() }
  func finish() throws -> Delivery { try log.finish() }
}

/// An event that is one string, of any length.
final class WeirSwiftTextSubject: Subject {
  private let log: SwiftLog
  private let texts: [String]

  init(_ setup: Setup) throws {
    log = try SwiftLog(setup)
    texts = setup.texts
  }

  func burst(thread: Int, first: UInt64, count: Int) -> Int {
    captureMessages(log.tracker, text: texts[thread], count: count)
  }

  func settle() throws { try log.tracker.drain() }
  func finish() throws -> Delivery { try log.finish() }
}

@inline(never)
private func captureMessages(_ tracker: Tracker, text: String, count: Int) -> Int {
  var accepted = 0
  for _ in 0..<count {
    if tracker.track(Message(text: text)).isAccepted { accepted += 1 }
  }
  return accepted
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

/// A text and nothing else.
private struct Message: Event {
  var text: String

  static let eventTypes = [EventType("message", [Field("text", .string)])]

  init(text: String) { self.text = text }

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(text)
  }

  init?(_ stored: StoredEvent) throws {
    guard stored.name == "message" else { return nil }
    text = try stored["text"]
  }
}

/// A log opened through Swift.
struct SwiftLog: Sendable {
  let tracker: Tracker
  let directory: String

  init(_ setup: Setup) throws {
    directory = setup.directory + "/log"
    var configuration = Tracker.Configuration()
    configuration.logger = nil  // dozens of openings would each report that there was nothing to recover
    configuration.laneCount = max(configuration.laneCount, setup.threads + configuration.spareLanes)
    tracker = try Tracker(directory: directory, configuration: configuration)
  }

  func finish() throws -> Delivery {
    try tracker.close()
    let counters = tracker.counters
    return Delivery(
      accepted: Int(counters.accepted), refused: Int(counters.dropped.values.reduce(0, +)),
      delivered: Int(weir_count_events(directory)))
  }
}
