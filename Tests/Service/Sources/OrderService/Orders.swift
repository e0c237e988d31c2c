// Orders: the requests of the service, in memory. What they answer is the same with Weir and without.

import Hummingbird
import Weir

/// What must not happen without a trace.
enum Ordering: Event {
  case ordered(order: UInt64, total: Double)

  static let eventTypes = [
    EventType("ordering.ordered", [Field("order", .uint64), Field("total", .double)], kind: .pageAction)
  ]

  @inline(__always)
  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .ordered(let order, let total):
      encoder.begin(0)
      encoder.put(order)
      encoder.put(total)
    }
  }

  init?(_ stored: StoredEvent) throws {
    guard stored.index(in: Self.eventTypes) == 0 else { return nil }
    self = .ordered(order: try stored["order"], total: try stored["total"])
  }
}

struct Item: ResponseEncodable {
  var item: UInt64
  var name: String
  var price: Double
  var stock: Int
}

struct Confirmation: ResponseEncodable {
  var order: UInt64
  var total: Double
}

struct Orders: Sendable {
  /// `nil`: nothing is captured.
  let tracker: Tracker?

  func addRoutes(to router: Router<CallContext>) {
    router.get("/items/:item") { _, context in
      let item = try context.parameters.require("item", as: UInt64.self)
      return Item(item: item, name: "a thing", price: Double(item % 100) + 0.99, stock: Int(item % 7))
    }
    router.post("/orders/:order") { _, context in
      let order = try context.parameters.require("order", as: UInt64.self)
      let total = Double(order % 10_000) / 100
      // The answer has to wait for the disk, and is 503 if the order can't be recorded.
      try await tracker?.audit(Ordering.ordered(order: order, total: total), timeout: .seconds(5))
      return Confirmation(order: order, total: total)
    }
  }
}
