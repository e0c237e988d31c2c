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

struct FeedRegistry: Registry {
  static let area = "feed"
  let tracker: Tracker

  static func derivedFields(of event: Feed, in stored: StoredEvent) -> FieldObject {
    switch event {
    case .scrolled(let from, let to): ["rows": .int(Int64(abs(to - from))), "direction": to >= from ? "down" : "up"]
    case .tapped(_, let position): ["aboveFold": .bool(position < 6)]
    }
  }
}
// end

// snippet
struct CheckoutRegistry: Registry {
  static let area = "checkout"
  let tracker: Tracker

  static func derivedFields(of event: Checkout, in stored: StoredEvent) -> FieldObject {
    switch event {
    case .completed(_, let total, let items, _, let coupon):
      ["average": .double(total / Double(max(items, 1))), "hasCoupon": .bool(coupon != nil)]
    case .abandoned(_, let seconds):
      // The event's own field is never replaced.
      ["minutes": .double(seconds / 60), "seconds": 0]
    default: [:]
    }
  }
}

struct ProfileRegistry: Registry {
  static let area = "profile"
  let tracker: Tracker

  // No derived fields: a registry is then no more than a place for the area's tracker.
  typealias Events = Profile
}
// end

@Suite struct RegistriesByAreaExample {
  @Test func `derived fields are added when an event is prepared`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    let feed = FeedRegistry(tracker: tracker)
    let checkout = CheckoutRegistry(tracker: tracker)
    let profile = ProfileRegistry(tracker: tracker)

    feed.track(.scrolled(from: 3, to: 40))
    feed.track(.tapped(product: 9, position: 4))
    profile.track(.opened(section: "orders"))
    checkout.track(.completed(order: 41, total: 30, items: 3, currency: "EUR", coupon: nil))
    checkout.track(.abandoned(cart: 8, seconds: 90))
    // end

    // snippet
    var preparation = Preparation(registries: [FeedRegistry.self, CheckoutRegistry.self, ProfileRegistry.self])
    let prepared = try tracker.events().compactMap { preparation.prepare($0) }
    // end
    #expect(prepared.map(\.name) == spy.names)
    #expect(prepared[0].fields == ["from": 3, "to": 40, "rows": 37, "direction": "down"])
    #expect(prepared[1].fields["aboveFold"] == true)
    #expect(prepared[2].fields == ["section": "orders"])
    #expect(prepared[3].fields["average"] == 10.0)
    #expect(prepared[3].fields["hasCoupon"] == false)
    #expect(prepared[4].fields["minutes"] == 1.5)
    #expect(prepared[4].fields["seconds"] == 90.0)
    #expect(preparation.counts.collisions == ["checkout": 1])
    // The log has what was captured, and nothing that can be computed from it.
    #expect(spy.all[0].fields == ["from": 3, "to": 40])
  }
}
