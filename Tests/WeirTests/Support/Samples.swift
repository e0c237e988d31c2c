// The events that the tests capture.

import Foundation

@testable import Weir

/// Hand-written, as in the documentation of Event.
enum Checkout: Event, Equatable {
  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, coupon: String)

  static let eventTypes = [
    EventType("checkout.started", [Field("cart", .uint64)]),
    EventType(
      "checkout.completed",
      [Field("order", .uint64), Field("total", .double), Field("items", .int32), Field("coupon", .string)]),
  ]

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
    default: return nil
    }
  }
}

/// One event with one field of any type.
struct Single<Value: EventValue>: Event {
  var value: Value

  static var eventTypes: [EventType] { [EventType("single", [Field("value", Value.fieldKind)])] }

  init(_ value: Value) { self.value = value }

  func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(value)
  }

  init?(_ stored: StoredEvent) throws {
    guard stored.name == "single" else { return nil }
    value = try stored["value"]
  }
}

/// An event whose declaration and encoding the test chooses, to make them disagree.
struct Loose: Event {
  var encoding: @Sendable (inout EventEncoder) -> Void

  static let eventTypes = [
    EventType("loose.two", [Field("a", .int32), Field("b", .string)]),
    EventType("loose.nested", [Field("a", .array(.optional(.int8))), Field("b", .object([Field("c", .bool)]))]),
    EventType("loose.none"),
  ]

  init(_ encoding: @escaping @Sendable (inout EventEncoder) -> Void) { self.encoding = encoding }
  func encode(into encoder: inout EventEncoder) { encoding(&encoder) }
  init?(_ stored: StoredEvent) throws { return nil }
}

struct Price: EventValue, Hashable {
  var amount: Int64
  var currency: String
  var discounts: [Float?]

  static let fieldKind = FieldKind.object([
    Field("amount", .int64), Field("currency", .string), Field("discounts", .array(.optional(.float))),
  ])

  init(amount: Int64, currency: String, discounts: [Float?] = []) {
    self.amount = amount
    self.currency = currency
    self.discounts = discounts
  }

  func encode(into encoder: inout EventEncoder) {
    encoder.beginObject()
    encoder.put(amount)
    encoder.put(currency)
    encoder.put(discounts)
  }

  init(fieldValue: FieldValue) throws {
    let object = try fieldValue.object()
    amount = try object.value("amount")
    currency = try object.value("currency")
    discounts = try object.value("discounts")
  }
}

enum Plan: String, EventValue, Codable { case free, paid }

/// Without code of its own.
enum Visit: Codable, Event, Equatable {
  struct Page: Codable, Equatable {
    var path: String
    var query: [String: String]
    var children: [Page]
  }

  case opened
  case viewed(page: Page, at: Date, by: UUID?, tags: [String], body: Data, raw: [UInt8])
  case numbers(a: Int8, b: Int16, c: Int32, d: Int64, e: Int, f: UInt8, g: UInt16, h: UInt32, i: UInt64, j: UInt)
  case floats(x: Float, y: Double, flag: Bool)
  case optionals(one: Int?, two: String?, list: [Int?], nested: [[Double]])
  case plan(plan: Plan)
}

/// A structure as an event.
struct Login: Codable, Event, Equatable {
  static let eventName = "login"
  var user: String
  var attempts: Int
}

/// A type that encodes itself as the test says.
struct Scripted: Codable, Event {
  typealias Script = @Sendable (any Encoder) throws -> Void
  let script: Script
  init(_ script: @escaping Script) { self.script = script }
  func encode(to encoder: any Encoder) throws { try script(encoder) }
  init(from decoder: any Decoder) throws { script = { _ in } }
}

/// SplitMix64: the same numbers for the same seed on every machine.
struct Seeded: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
    return mixed ^ mixed >> 31
  }
}
