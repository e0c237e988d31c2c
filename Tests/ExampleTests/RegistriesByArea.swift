// page: Sources/Weir/Weir.docc/Examples/RegistriesByArea.md

import Testing
import Weir
import WeirDelivery
import WeirTesting

// snippet
enum Feed: Codable, Event, Equatable {
  static let eventName = "feed"

  case scrolled(from: Int, to: Int)
  case tapped(product: UInt64, position: Int)
}

struct FeedRegistry {
  let tracker: Tracker

  func scrolled(from: Int, to: Int) { tracker.track(Feed.scrolled(from: from, to: to)) }
  func tapped(_ product: UInt64, at position: Int) { tracker.track(Feed.tapped(product: product, position: position)) }
}

extension EventMapper {
  static let feed = deriving(from: Feed.self) { feed, _ in
    switch feed {
    case .scrolled(let from, let to): ["rows": .int(Int64(abs(to - from))), "direction": to >= from ? "down" : "up"]
    case .tapped(_, let position): ["aboveFold": .bool(position < 6)]
    }
  }
}
// end

// snippet
struct CheckoutRegistry {
  let tracker: Tracker

  func completed(order: UInt64, total: Double, items: Int32, coupon: String? = nil) {
    tracker.track(Checkout.completed(order: order, total: total, items: items, currency: "EUR", coupon: coupon))
  }

  func abandoned(cart: UInt64, after seconds: Double) {
    tracker.track(Checkout.abandoned(cart: cart, seconds: seconds))
  }
}

extension EventMapper {
  static let checkout = deriving(from: Checkout.self) { checkout, _ in
    switch checkout {
    case .completed(_, let total, let items, _, let coupon):
      ["average": .double(total / Double(max(items, 1))), "hasCoupon": .bool(coupon != nil)]
    case .abandoned(_, let seconds):
      // The event's own field is never replaced.
      ["minutes": .double(seconds / 60), "seconds": 0]
    default: [:]
    }
  }
}
// end

@Suite struct RegistriesByAreaExample {
  @Test func `derived fields are added when an event is prepared`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    let feed = FeedRegistry(tracker: tracker)
    let checkout = CheckoutRegistry(tracker: tracker)

    feed.scrolled(from: 3, to: 40)
    feed.tapped(9, at: 4)
    tracker.track(Profile.opened(section: "orders"))
    checkout.completed(order: 41, total: 30, items: 3)
    checkout.abandoned(cart: 8, after: 90)
    // end

    // snippet
    let prepared = spy.prepared(by: EventMapper(.feed, .checkout))
    // end
    #expect(prepared.map(\.name) == spy.names)
    #expect(prepared[0].fields == ["from": 3, "to": 40, "rows": 37, "direction": "down"])
    #expect(prepared[1].fields["aboveFold"] == true)
    #expect(prepared[2].fields == ["section": "orders"])
    #expect(prepared[3].fields["average"] == 10.0)
    #expect(prepared[3].fields["hasCoupon"] == false)
    #expect(prepared[4].fields["minutes"] == 1.5)
    #expect(prepared[4].fields["seconds"] == 90.0)
    // The log has what was captured, and nothing that can be computed from it.
    #expect(spy.all[0].fields == ["from": 3, "to": 40])
  }
}

// snippet
enum ProfileForm: Codable, DerivingEvent, Equatable {
  static let eventName = "Profile Form"

  case saved(nameChanged: Bool, photoChanged: Bool)

  var derivedFields: FieldObject {
    switch self {
    case .saved(let name, let photo): ["Total Fields Changed": .int((name ? 1 : 0) + (photo ? 1 : 0))]
    }
  }
}
// end

@Suite struct DerivingEventExample {
  @Test func `a derived value of the event is on the event that was sent`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    tracker.track(ProfileForm.saved(nameChanged: true, photoChanged: true))
    let total = spy.all.last?.fields["Total Fields Changed"]
    // end
    #expect(total == 2)
  }
}
