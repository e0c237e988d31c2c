// Shopping.swift: the shop's events and their contract. Encoded by hand as `@Event` would encode them: the macro would
// cost the benchmark a build of swift-syntax.
import Weir
import WeirContracts

enum Shopping: Event {
  case opened(item: UInt64, position: Int32)
  case searched(query: String, results: Int32)
  case added(cart: UInt64, item: UInt64)
  case placed(order: UInt64, total: Double)
  case paid(order: UInt64, method: String)

  static let eventTypes = [
    EventType("shopping.opened", [Field("item", .uint64), Field("position", .int32)], kind: .pageView),
    EventType("shopping.searched", [Field("query", .string), Field("results", .int32)], kind: .pageAction),
    EventType("shopping.added", [Field("cart", .uint64), Field("item", .uint64)], kind: .pageAction),
    EventType("shopping.placed", [Field("order", .uint64), Field("total", .double)], kind: .pageAction),
    EventType("shopping.paid", [Field("order", .uint64), Field("method", .string)], kind: .systemAction),
  ]

  static let contract = Contract("shop", version: "1.0") {
    EventRule("shopping.opened") {
      Mandatory("item", .integer, .range(0...))
      Mandatory("position", .integer, .range(0...100))
    }
    EventRule("shopping.searched") {
      Mandatory("query", .string, .length(1...200))
      Mandatory("results", .integer, .range(0...))
    }
    EventRule("shopping.added") {
      Mandatory("cart", .integer, .range(0...))
      Mandatory("item", .integer, .range(0...))
    }
    EventRule("shopping.placed") {
      Mandatory("order", .integer, .range(0...))
      Mandatory("total", .number, .range(0...))
    }
    EventRule("shopping.paid") {
      Mandatory("order", .integer, .range(0...))
      Mandatory("method", .string, .length(1...40))
    }
  }

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .opened(let item, let position):
      encoder.begin(0)
      encoder.put(item)
      encoder.put(position)
    case .searched(let query, let results):
      encoder.begin(1)
      encoder.put(query)
      encoder.put(results)
    case .added(let cart, let item):
      encoder.begin(2)
      encoder.put(cart)
      encoder.put(item)
    case .placed(let order, let total):
      encoder.begin(3)
      encoder.put(order)
      encoder.put(total)
    case .paid(let order, let method):
      encoder.begin(4)
      encoder.put(order)
      encoder.put(method)
    }
  }

  /// The benchmark reads none of them back.
  init?(_ stored: StoredEvent) throws { return nil }
}
