// page: Sources/Weir/Weir.docc/Examples/FeatureModules.md

import Testing
import Weir
import WeirDelivery
import WeirTesting

// snippet
// In the module of the application: the one place where the log is opened. It names no event.
struct Shop: Sendable {
  let tracker: Tracker
}
// end

// snippet
// In the module Reviews, which knows Weir and neither the application nor other features.
enum Review: Codable, Event, Equatable {
  static let eventName = "review"

  case written(product: UInt64, stars: Int8)
  case reported(review: UInt64, reason: String)
}

struct ReviewForm {
  let tracker: Tracker

  func submit(product: UInt64, stars: Int8) {
    tracker.track(Review.written(product: product, stars: stars))
  }
}
// end

// snippet
// In the module GiftCards, written a year later.
struct GiftCardRedeemed: Codable, Event, Equatable {
  static let eventName = "giftcard.redeemed"

  var card: String
  var cents: Int64
}

extension Shop {
  func redeem(_ card: String, cents: Int64) {
    tracker.track(GiftCardRedeemed(card: card, cents: cents))
  }
}
// end

@Suite struct FeatureModulesExample {
  @Test func `the events of several modules meet in one log`() throws {
    let spy = try SpyTracker()
    let shop = Shop(tracker: spy.tracker)
    // snippet
    ReviewForm(tracker: shop.tracker).submit(product: 9, stars: 5)
    shop.redeem("GIFT-2026", cents: 2_500)
    shop.tracker.track("experiment.shown", fields: ["name": "new-cart", "variant": 2])
    // end
    #expect(spy.names == ["review.written", "giftcard.redeemed", "experiment.shown"])
    #expect(spy.events(of: Review.self) == [.written(product: 9, stars: 5)])
    #expect(spy.events(of: GiftCardRedeemed.self) == [GiftCardRedeemed(card: "GIFT-2026", cents: 2_500)])
    // Providers get them too, without anybody having registered anything.
    #expect(spy.prepared().map(\.name) == spy.names)
    #expect(spy.dropped == [:])
  }
}
