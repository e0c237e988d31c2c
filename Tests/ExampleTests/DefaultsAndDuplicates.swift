// page: Sources/Weir/Weir.docc/Examples/DefaultsAndDuplicates.md

import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

@Suite struct DefaultsAndDuplicatesExample {
  @Test func `a default is filled in and flagged`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    // The contract of the shop says: currency, one of EUR, USD, GBP, by default EUR.
    tracker.track(Checkout.completed(order: 41, total: 19.90, items: 3, currency: nil, coupon: nil))

    var options = DeliveryOptions()
    options.contract = try Contract.shop.compiled()
    let prepared = spy.prepared(options: options)
    // end
    // snippet
    #expect(prepared[0].fields["currency"] == "EUR")
    #expect(prepared[0].flags == [.defaulted(field: "currency")])
    #expect(prepared[0].violations.isEmpty)
    // end
    // In the log the event is as it was captured.
    #expect(spy.last(of: Checkout.self) == .completed(order: 41, total: 19.90, items: 3, currency: nil, coupon: nil))
  }

  @Test func `a duplicate is flagged and still delivered`() throws {
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    let first = tracker.track(Feed.tapped(product: 9, position: 4))
    tracker.track(Feed.tapped(product: 9, position: 4))  // a double tap
    tracker.track(Feed.tapped(product: 10, position: 5))
    Bindings.with(user: "ada") {
      tracker.track(Feed.tapped(product: 9, position: 4))  // somebody else's
    }

    var options = DeliveryOptions()
    options.duplicateWindow = .seconds(60)
    let prepared = spy.prepared(options: options)
    // end
    let original = try #require(first.id)
    // snippet
    #expect(prepared.count == 4)
    #expect(prepared.map(\.flags) == [[], [.duplicate(of: original)], [], []])
    // end

    // snippet
    // The mapper of a provider that wants none.
    let once = EventMapper.only { event in
      !event.flags.contains { if case .duplicate = $0 { true } else { false } }
    }
    let delivered = spy.prepared(by: once, options: options)
    // end
    #expect(delivered.count == 3)
  }
}
