// LaterOrderVersions: the versions 5 to 7 of what OrderVersions begins with.

import TestSupport
import Weir

/// A case added: `returned`.
enum OrderV5: OrderVersion {
  case placed(order: UInt64, total: Double, country: String?, items: Int32)
  case shipped(order: UInt64, carrier: String?)
  case noted(order: UInt64, text: String)
  case returned(order: UInt64, reason: String)

  static let captured: [OrderV5] = [
    .placed(order: 51, total: 59.5, country: "NL", items: 5), .shipped(order: 51, carrier: "bike"),
    .noted(order: 51, text: "v5"), .returned(order: 51, reason: "too small"),
  ]

  static let eventTypes = [
    EventType("order.placed", [Field("order", .uint64), Field("total", .double), country, items], wireID: 1),
    EventType("order.shipped", [Field("order", .uint64), carrier], wireID: 2),
    EventType("order.noted", [Field("order", .uint64), Field("text", .string)], wireID: 3),
    EventType("order.returned", [Field("order", .uint64), Field("reason", .string)], wireID: 4),
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
    case .returned(let order, let reason):
      encoder.begin(3)
      encoder.put(order)
      encoder.put(reason)
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
    case 3: self = .returned(order: try stored["order"], reason: try stored["reason"])
    default: return nil
    }
  }
}

/// Renamed: the event `order.placed`, which is `order.created` now, and its field `total`, which is `amount`.
enum OrderV6: OrderVersion {
  case created(order: UInt64, amount: Double, country: String?, items: Int32)
  case shipped(order: UInt64, carrier: String?)
  case noted(order: UInt64, text: String)
  case returned(order: UInt64, reason: String)

  static let captured: [OrderV6] = [
    .created(order: 61, amount: 69.5, country: "BE", items: 6), .shipped(order: 61, carrier: "bike"),
    .noted(order: 61, text: "v6"), .returned(order: 61, reason: "too big"),
  ]

  static let eventTypes = [
    EventType(
      "order.created", [Field("order", .uint64), amount, country, items], wireID: 1, formerNames: ["order.placed"]),
    EventType("order.shipped", [Field("order", .uint64), carrier], wireID: 2),
    EventType("order.noted", [Field("order", .uint64), Field("text", .string)], wireID: 3),
    EventType("order.returned", [Field("order", .uint64), Field("reason", .string)], wireID: 4),
  ]
  private static let amount = Field("amount", .double, formerNames: ["total"])
  private static let country = Field("country", .optional(.string))
  private static let items = Field("items", .int32)
  private static let carrier = Field("carrier", .optional(.string))

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .created(let order, let amount, let country, let items):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(amount)
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
    case .returned(let order, let reason):
      encoder.begin(3)
      encoder.put(order)
      encoder.put(reason)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0:
      self = .created(
        order: try stored["order"], amount: try stored.value(Self.amount), country: try stored.value(Self.country),
        items: try stored.value(Self.items, default: 1))
    case 1: self = .shipped(order: try stored["order"], carrier: try stored.value(Self.carrier))
    case 2: self = .noted(order: try stored["order"], text: try stored["text"])
    case 3: self = .returned(order: try stored["order"], reason: try stored["reason"])
    default: return nil
    }
  }
}

/// A case retired: `noted`. Its wire id, 3, is not to be used again.
enum OrderV7: OrderVersion {
  case created(order: UInt64, amount: Double, country: String?, items: Int32)
  case shipped(order: UInt64, carrier: String?)
  case returned(order: UInt64, reason: String)

  static let captured: [OrderV7] = [
    .created(order: 71, amount: 79.5, country: "LU", items: 7), .shipped(order: 71, carrier: "bike"),
    .returned(order: 71, reason: "broken"),
  ]

  static let eventTypes = [
    EventType(
      "order.created", [Field("order", .uint64), amount, country, items], wireID: 1, formerNames: ["order.placed"]),
    EventType("order.shipped", [Field("order", .uint64), carrier], wireID: 2),
    EventType("order.returned", [Field("order", .uint64), Field("reason", .string)], wireID: 4),
  ]
  private static let amount = Field("amount", .double, formerNames: ["total"])
  private static let country = Field("country", .optional(.string))
  private static let items = Field("items", .int32)
  private static let carrier = Field("carrier", .optional(.string))

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .created(let order, let amount, let country, let items):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(amount)
      encoder.put(country)
      encoder.put(items)
    case .shipped(let order, let carrier):
      encoder.begin(1)
      encoder.put(order)
      encoder.put(carrier)
    case .returned(let order, let reason):
      encoder.begin(2)
      encoder.put(order)
      encoder.put(reason)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0:
      self = .created(
        order: try stored["order"], amount: try stored.value(Self.amount), country: try stored.value(Self.country),
        items: try stored.value(Self.items, default: 1))
    case 1: self = .shipped(order: try stored["order"], carrier: try stored.value(Self.carrier))
    case 2: self = .returned(order: try stored["order"], reason: try stored["reason"])
    default: return nil
    }
  }
}
