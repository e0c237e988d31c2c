// Derived fields: computed from an event as it was captured, never in place of the event's own, and counted when they
// can't be.

import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery

extension EventMapper {
  fileprivate static let checkout = deriving(from: Checkout.self) { checkout, _ in
    switch checkout {
    case .started(let cart) where cart == 13: throw FieldError("unlucky")
    case .started(let cart): ["large": .bool(cart > 100), "cart": "replaced"]
    case .completed(_, let total, let items, _): ["average": .double(total / Double(max(items, 1)))]
    }
  }

  /// Derives for every event, those of `checkout` among them.
  fileprivate static let offset = deriving { stored in ["large": "second", "offset": .uint(stored.offset)] }
}

struct DerivingTests {
  @Test func `derived fields come with preparation, and the event's own field stays`() {
    var preparation = Preparation(mapper: .checkout)
    let started = preparation.prepare(stored("checkout.started", ["cart": .uint(200)]))
    #expect(started?.fields == ["cart": .uint(200), "large": true])
    #expect(started?.stored.fields == ["cart": .uint(200)])
    let completed: FieldObject = ["order": .uint(1), "total": 30.0, "items": 4, "coupon": ""]
    #expect(preparation.prepare(stored("checkout.completed", completed))?.fields["average"] == 7.5)
    #expect(preparation.prepare(stored("other"))?.fields == [:])
    #expect(preparation.counts.collisions == ["Checkout": 1])
    #expect(preparation.counts.underived == [:])
  }

  @Test func `a field that can't be derived is counted, and the event goes on`() {
    var preparation = Preparation(mapper: .checkout)
    let unlucky = stored("checkout.started", ["cart": .uint(13)])
    #expect(preparation.prepare(unlucky)?.fields == unlucky.fields)
    let unreadable = stored("checkout.started", ["cart": "many"])
    #expect(preparation.prepare(unreadable)?.fields == unreadable.fields)
    #expect(preparation.prepare(stored("checkout.unheard-of"))?.fields == [:])
    #expect(preparation.counts.underived == ["Checkout": 2])
    #expect(preparation.counts.prepared == 3)
  }

  @Test func `of two derived fields of one name the first stays`() {
    var preparation = Preparation(mapper: EventMapper(.checkout, .offset))
    let event = preparation.prepare(stored("checkout.started", ["cart": .uint(1)]))
    #expect(event?.fields == ["cart": .uint(1), "large": false, "offset": .uint(0)])
    #expect(preparation.counts.collisions == ["Checkout": 1, "StoredEvent": 1])
  }

  @Test func `derived fields come first, whatever stands before them`() {
    let late = EventMapper(.renaming(events: ["checkout.started": "begun"]), .snakeCase()).then(.checkout)
    var preparation = Preparation(mapper: late)
    let event = preparation.prepare(stored("checkout.started", ["cart": .uint(1)]))
    #expect(event?.name == "begun")
    #expect(event?.fields["large"] == false)
  }

  @Test func `what is derived has the true values, and the mappers after it have not`() {
    let type = EventType("payment", [Field("card", .string, sensitive: true)])
    let mapper = EventMapper(
      .deriving { stored in ["digits": .int(Int64((try stored["card"] as String).count))] },
      .adding("seen") { $0.fields["card"] })
    var preparation = Preparation(mapper: mapper)
    let event = preparation.prepare(stored("payment", ["card": "1234"], declaration: type))
    #expect(event?.fields == ["card": .redacted, "digits": 4, "seen": .redacted])
  }
}
