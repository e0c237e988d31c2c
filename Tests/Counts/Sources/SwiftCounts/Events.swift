// The events that are captured: with a hand-written encoding, and Codable.

import Weir

enum Checkout: Event {
  case paid(order: UInt64, total: Double, items: Int32)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)
  case rated(order: UInt64, stars: Int32?, comment: String?)

  static let eventTypes = [
    EventType("checkout.paid", [Field("order", .uint64), Field("total", .double), Field("items", .int32)]),
    EventType(
      "checkout.completed",
      [Field("order", .uint64), Field("total", .double), Field("items", .int32), Field("coupon", .string)]),
    EventType(
      "checkout.rated",
      [Field("order", .uint64), Field("stars", .optional(.int32)), Field("comment", .optional(.string))]),
  ]

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .paid(let order, let total, let items):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(total)
      encoder.put(items)
    case .completed(let order, let total, let items, let coupon):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(total)
      encoder.put(items)
      encoder.put(coupon)
    case .rated(let order, let stars, let comment):
      encoder.begin(2)
      encoder.put(order)
      encoder.put(stars)
      encoder.put(comment)
    }
  }

  init?(_ stored: StoredEvent) throws { return nil }
}

/// Without code of its own.
enum Codably: Codable, Event {
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)
  case rated(order: UInt64, stars: Int32?, comment: String?)
}

enum Plan: String, Codable { case free, paid }

struct Login: Codable, Event {
  var user: String
  var attempts: Int
  var plan: Plan
}
