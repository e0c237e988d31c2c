// OrderVersions: one enum of events in the versions 1 to 4 of its program, each as its source had it then. Versions 5 to
// 7 are in LaterOrderVersions. Golden logs of all of them are in Tests/Evolution.
//
// The habits that let every version read every log: events found by `index(in:)`, fields by `value(_:)`; wire ids from
// the beginning; a default wherever another version may have nothing.

import TestSupport
import Weir

/// A version of the program: its events, and what it captures into its golden log.
protocol OrderVersion: Event {
  static var captured: [Self] { get }
}

/// The first version.
enum OrderV1: OrderVersion {
  case placed(order: UInt64, total: Double, coupon: String?)
  case shipped(order: UInt64, carrier: String)
  case noted(order: UInt64, text: String)

  static let captured: [OrderV1] = [
    .placed(order: 11, total: 19.5, coupon: "SPRING"), .shipped(order: 11, carrier: "post"),
    .noted(order: 11, text: "v1"),
  ]

  static let eventTypes = [
    EventType("order.placed", [Field("order", .uint64), Field("total", .double), coupon], wireID: 1),
    EventType("order.shipped", [Field("order", .uint64), carrier], wireID: 2),
    EventType("order.noted", [Field("order", .uint64), Field("text", .string)], wireID: 3),
  ]
  private static let coupon = Field("coupon", .optional(.string))
  private static let carrier = Field("carrier", .string)

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .placed(let order, let total, let coupon):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(total)
      encoder.put(coupon)
    case .shipped(let order, let carrier):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(carrier)
    case .noted(let order, let text):
      encoder.begin(2)
      encoder.put(order)
      encoder.put(text)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0:
      self = .placed(order: try stored["order"], total: try stored["total"], coupon: try stored.value(Self.coupon))
    case 1:
      self = .shipped(order: try stored["order"], carrier: try stored.value(Self.carrier, default: "unknown"))
    case 2: self = .noted(order: try stored["order"], text: try stored["text"])
    default: return nil
    }
  }
}

/// Fields added to `placed`: one that may be missing, and one that may not, with a default for older events.
enum OrderV2: OrderVersion {
  case placed(order: UInt64, total: Double, coupon: String?, country: String?, items: Int32)
  case shipped(order: UInt64, carrier: String)
  case noted(order: UInt64, text: String)

  static let captured: [OrderV2] = [
    .placed(order: 21, total: 29.5, coupon: "SUMMER", country: "DE", items: 2), .shipped(order: 21, carrier: "post"),
    .noted(order: 21, text: "v2"),
  ]

  static let eventTypes = [
    EventType(
      "order.placed", [Field("order", .uint64), Field("total", .double), coupon, country, items], wireID: 1),
    EventType("order.shipped", [Field("order", .uint64), carrier], wireID: 2),
    EventType("order.noted", [Field("order", .uint64), Field("text", .string)], wireID: 3),
  ]
  private static let coupon = Field("coupon", .optional(.string))
  private static let country = Field("country", .optional(.string))
  private static let items = Field("items", .int32)
  private static let carrier = Field("carrier", .string)

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .placed(let order, let total, let coupon, let country, let items):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(total)
      encoder.put(coupon)
      encoder.put(country)
      encoder.put(items)
    case .shipped(let order, let carrier):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(carrier)
    case .noted(let order, let text):
      encoder.begin(2)
      encoder.put(order)
      encoder.put(text)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0:
      self = .placed(
        order: try stored["order"], total: try stored["total"], coupon: try stored.value(Self.coupon),
        country: try stored.value(Self.country), items: try stored.value(Self.items, default: 1))
    case 1:
      self = .shipped(order: try stored["order"], carrier: try stored.value(Self.carrier, default: "unknown"))
    case 2: self = .noted(order: try stored["order"], text: try stored["text"])
    default: return nil
    }
  }
}

/// A field removed: `coupon`.
enum OrderV3: OrderVersion {
  case placed(order: UInt64, total: Double, country: String?, items: Int32)
  case shipped(order: UInt64, carrier: String)
  case noted(order: UInt64, text: String)

  static let captured: [OrderV3] = [
    .placed(order: 31, total: 39.5, country: "FR", items: 3), .shipped(order: 31, carrier: "post"),
    .noted(order: 31, text: "v3"),
  ]

  static let eventTypes = [
    EventType("order.placed", [Field("order", .uint64), Field("total", .double), country, items], wireID: 1),
    EventType("order.shipped", [Field("order", .uint64), carrier], wireID: 2),
    EventType("order.noted", [Field("order", .uint64), Field("text", .string)], wireID: 3),
  ]
  private static let country = Field("country", .optional(.string))
  private static let items = Field("items", .int32)
  private static let carrier = Field("carrier", .string)

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .placed(let order, let total, let country, let items):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(total)
      encoder.put(country)
      encoder.put(items)
    case .shipped(let order, let carrier):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(carrier)
    case .noted(let order, let text):
      encoder.begin(2)
      encoder.put(order)
      encoder.put(text)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0:
      self = .placed(
        order: try stored["order"], total: try stored["total"], country: try stored.value(Self.country),
        items: try stored.value(Self.items, default: 1))
    case 1:
      self = .shipped(order: try stored["order"], carrier: try stored.value(Self.carrier, default: "unknown"))
    case 2: self = .noted(order: try stored["order"], text: try stored["text"])
    default: return nil
    }
  }
}

/// A field made optional: `carrier`. Older versions have a default for it.
enum OrderV4: OrderVersion {
  case placed(order: UInt64, total: Double, country: String?, items: Int32)
  case shipped(order: UInt64, carrier: String?)
  case noted(order: UInt64, text: String)

  static let captured: [OrderV4] = [
    .placed(order: 41, total: 49.5, country: nil, items: 4), .shipped(order: 41, carrier: nil),
    .shipped(order: 42, carrier: "bike"), .noted(order: 41, text: "v4"),
  ]

  static let eventTypes = [
    EventType("order.placed", [Field("order", .uint64), Field("total", .double), country, items], wireID: 1),
    EventType("order.shipped", [Field("order", .uint64), carrier], wireID: 2),
    EventType("order.noted", [Field("order", .uint64), Field("text", .string)], wireID: 3),
  ]
  private static let country = Field("country", .optional(.string))
  private static let items = Field("items", .int32)
  private static let carrier = Field("carrier", .optional(.string))

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .placed(let order, let total, let country, let items):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(total)
      encoder.put(country)
      encoder.put(items)
    case .shipped(let order, let carrier):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(carrier)
    case .noted(let order, let text):
      encoder.begin(2)
      encoder.put(order)
      encoder.put(text)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0:
      self = .placed(
        order: try stored["order"], total: try stored["total"], country: try stored.value(Self.country),
        items: try stored.value(Self.items, default: 1))
    case 1: self = .shipped(order: try stored["order"], carrier: try stored.value(Self.carrier))
    case 2: self = .noted(order: try stored["order"], text: try stored["text"])
    default: return nil
    }
  }
}
