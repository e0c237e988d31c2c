// page: Sources/Weir/Weir.docc/Examples/TypedEvents.md
//
// swift-format-ignore-file: OrderedImports
// What lies between "// snippet" and "// end" is what the page shows: PageTests.swift holds the two together.

import Testing
import WeirDelivery
import WeirTesting

// snippet
import Weir

enum Checkout: Codable, Event, Equatable {
  static let eventName = "checkout"

  case started(cart: UInt64)
  case completed(order: UInt64, total: Double, items: Int32, currency: String?, coupon: String?)
  case abandoned(cart: UInt64, seconds: Double)
}
// end

// snippet
enum Search: Event, Equatable {
  case submitted(query: String, results: Int32)
  case opened(product: UInt64, rank: Int32)

  static let eventTypes = [
    EventType(
      "search.submitted", [Field("query", .string, sensitive: true), Field("results", .int32)],
      wireID: 101, kind: .pageAction),
    EventType(
      "search.opened", [Field("product", .uint64), Field("rank", .int32)],
      wireID: 102, kind: .pageAction),
  ]

  func encode(into encoder: inout EventEncoder) {
    switch self {
    case .submitted(let query, let results):
      encoder.begin(0)
      encoder.put(query)
      encoder.put(results)
    case .opened(let product, let rank):
      encoder.begin(1)
      encoder.put(product)
      encoder.put(rank)
    }
  }

  init?(_ stored: StoredEvent) throws {
    switch stored.index(in: Self.eventTypes) {
    case 0: self = .submitted(query: try stored["query"], results: try stored["results"])
    case 1: self = .opened(product: try stored["product"], rank: try stored["rank"])
    default: return nil
    }
  }
}
// end

#if Macros
  // snippet

  @Event("profile", kind: .pageAction)
  enum Profile: Equatable {
    case opened(section: String)

    @Field(of: "email", sensitive: true)
    case emailChanged(email: String, verified: Bool)
  }
// end
#else
  // Without the trait Macros, what the macro writes.
  enum Profile: Codable, Event, Equatable {
    static let eventName = "profile"

    case opened(section: String)
    case emailChanged(email: String, verified: Bool)
  }
#endif

@Suite struct TypedEventsExample {
  @Test func `an event has a name, an identity and properties`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    let receipt = tracker.track(Checkout.started(cart: 7))
    tracker.track(Checkout.completed(order: 41, total: 19.90, items: 3, currency: "EUR", coupon: nil))
    // end
    #expect(receipt.isAccepted)

    var revenue: [UInt64: Double] = [:]
    // snippet
    for recorded in try tracker.events(of: Checkout.self) {
      if case .completed(let order, let total, _, _, _) = recorded.event { revenue[order] = total }
    }
    // end
    #expect(revenue == [41: 19.90])

    var lines: [String] = []
    // snippet
    for stored in try tracker.events() {
      lines.append("\(stored.id) \(stored.name) \(stored.fields)")
    }
    // end
    let id = try #require(receipt.id)
    #expect(lines.first == "\(id) checkout.started {cart: 7}")
    #expect(
      lines.last?.hasSuffix(
        #" checkout.completed {order: 41, total: 19.9, items: 3, currency: "EUR"}"#) == true)
  }

  @Test func `a hand-written event has a kind, a wire ID and sensitive fields`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Search.submitted(query: "red shoes", results: 12))
    spy.tracker.track(Search.opened(product: 9, rank: 1))
    #expect(spy.events(of: Search.self) == [.submitted(query: "red shoes", results: 12), .opened(product: 9, rank: 1)])
    let declaration = try #require(spy.all.first?.declaration)
    #expect(declaration.wireID == 101)
    #expect(declaration.kind == .pageAction)
    #expect(declaration.fields.map(\.isSensitive) == [true, false])
    // Sensitive values are replaced before they leave the process.
    #expect(spy.prepared().first?.fields["query"] == .redacted)
  }

  @Test func `an event made by the macro is named and read like the others`() throws {
    let spy = try SpyTracker()
    spy.tracker.track(Profile.opened(section: "orders"))
    spy.tracker.track(Profile.emailChanged(email: "ada@example.org", verified: true))
    #expect(
      spy.events(of: Profile.self)
        == [.opened(section: "orders"), .emailChanged(email: "ada@example.org", verified: true)])
    #expect(spy.names == ["profile.opened", "profile.emailChanged"])
    #if Macros
      #expect(spy.prepared().last?.fields["email"] == .redacted)
    #endif
  }
}
