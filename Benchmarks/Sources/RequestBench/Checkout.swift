// Checkout.swift: the events of a web shop, and their contract.
import Weir
import WeirContracts

/// Four in five are completed checkouts, as in a program whose requests capture 1.25 events each.
struct Checkout: Event {
  static let eventTypes = [
    EventType(
      "checkout.completed",
      [Field("order", .uint64), Field("total", .double), Field("items", .int32), Field("coupon", .optional(.string))],
      kind: .pageAction),
    EventType("checkout.started", [Field("cart", .uint64), Field("page", .string)]),
  ]

  static let contract = Contract("shop", version: "1.0") {
    EventRule("checkout.started") {
      Mandatory("cart", .integer, .range(1...))
      Mandatory("page", .string, .length(1...200))
    }
    EventRule("checkout.completed", kind: .pageAction) {
      Mandatory("order", .integer, .range(1...))
      Mandatory("total", .number, .range(0...))
      Mandatory("items", .integer, .range(1...1000))
      Optionally("coupon", .string, .length(1...40))
    }
  }

  let order: UInt64

  init(_ order: UInt64) { self.order = order }

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    if order % 5 == 0 {
      encoder.begin(1)
      encoder.put(order)
      encoder.put("/checkout/page")
      return
    }
    encoder.begin(0)
    encoder.put(order)
    encoder.put(Double(order) * 1.25)
    encoder.put(Int32(3))
    encoder.put(Optional("SPRING-2026-DISCOUNT"))
  }

  init?(_ stored: StoredEvent) throws { return nil }
}
