// The events that the tests capture.

package import Foundation

package import Weir

/// Hand-written, as in the documentation of Event.
package enum Checkout: Event, Equatable {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)

  package static let eventTypes = [
    EventType("checkout.started", [Field("cart", .uint64)]),
    EventType(
      "checkout.completed",
      [Field("order", .uint64), Field("total", .double), Field("items", .int32), Field("coupon", .string)]),
  ]

  package func encode(into encoder: inout EventEncoder) {
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

  package init?(_ stored: StoredEvent) throws {
    switch stored.name {
    case "checkout.started":
      self = .started(cart: try stored["cart"])
    case "checkout.completed":
      self = .completed(
        order: try stored["order"], total: try stored["total"], items: try stored["items"],
        coupon: try stored["coupon"])
    default: return nil
    }
  }
}

/// One event with one field of any type.
package struct Single<Value: EventValue>: Event {
  package var value: Value

  package static var eventTypes: [EventType] { [EventType("single", [Field("value", Value.fieldKind)])] }

  package init(_ value: Value) { self.value = value }

  package func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(value)
  }

  package init?(_ stored: StoredEvent) throws {
    guard stored.name == "single" else { return nil }
    value = try stored["value"]
  }
}

/// An event whose declaration and encoding the test chooses, to make them disagree.
package struct Loose: Event {
  package var encoding: @Sendable (inout EventEncoder) -> Void

  package static let eventTypes = [
    EventType("loose.two", [Field("a", .int32), Field("b", .string)]),
    EventType("loose.nested", [Field("a", .array(.optional(.int8))), Field("b", .object([Field("c", .bool)]))]),
    EventType("loose.none"),
  ]

  package init(_ encoding: @escaping @Sendable (inout EventEncoder) -> Void) { self.encoding = encoding }
  package func encode(into encoder: inout EventEncoder) { encoding(&encoder) }
  package init?(_ stored: StoredEvent) throws { return nil }
}

package struct Price: EventValue, Hashable {
  package var amount: Int64
  package var currency: String
  package var discounts: [Float?]

  package static let fieldKind = FieldKind.object([
    Field("amount", .int64), Field("currency", .string), Field("discounts", .array(.optional(.float))),
  ])

  package init(amount: Int64, currency: String, discounts: [Float?] = []) {
    self.amount = amount
    self.currency = currency
    self.discounts = discounts
  }

  package func encode(into encoder: inout EventEncoder) {
    encoder.beginObject()
    encoder.put(amount)
    encoder.put(currency)
    encoder.put(discounts)
  }

  package init(fieldValue: FieldValue) throws {
    let object = try fieldValue.object()
    amount = try object.value("amount")
    currency = try object.value("currency")
    discounts = try object.value("discounts")
  }
}

package enum Plan: String, EventValue, Codable { case free, paid }

/// Without code of its own.
package enum Visit: Codable, Event, Equatable {
  package struct Page: Codable, Equatable {
    package var path: String
    package var query: [String: String]
    package var children: [Page]

    package init(path: String, query: [String: String], children: [Page]) {
      self.path = path
      self.query = query
      self.children = children
    }
  }

  case opened
  case viewed(page: Page, at: Date, by: UUID?, tags: [String], body: Data, raw: [UInt8])
  case numbers(a: Int8, b: Int16, c: Int32, d: Int64, e: Int, f: UInt8, g: UInt16, h: UInt32, i: UInt64, j: UInt)
  case floats(x: Float, y: Double, flag: Bool)
  case optionals(one: Int?, two: String?, list: [Int?], nested: [[Double]])
  case plan(plan: Plan)
}

/// A structure as an event.
package struct Login: Codable, Event, Equatable {
  package static let eventName = "login"
  package var user: String
  package var attempts: Int

  package init(user: String, attempts: Int) {
    self.user = user
    self.attempts = attempts
  }
}

/// A type that encodes itself as the test says.
package struct Scripted: Codable, Event {
  package typealias Script = @Sendable (any Encoder) throws -> Void
  package let script: Script
  package init(_ script: @escaping Script) { self.script = script }
  package func encode(to encoder: any Encoder) throws { try script(encoder) }
  package init(from decoder: any Decoder) throws { script = { _ in } }
}

/// SplitMix64: the same numbers for the same seed on every machine.
package struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}
