// page: Sources/Weir/Weir.docc/Examples/DataModelContract.md

import Testing
import Weir
import WeirContracts
import WeirTesting

// snippet
extension Contract {
  static let shop = Contract("shop", version: "3.1") {
    EventRule("checkout.started") {
      Mandatory("cart", .integer, .range(1...))
    }
    EventRule("checkout.completed") {
      Mandatory("order", .integer, .range(1...))
      Mandatory("total", .number, .range(0...10_000), .finite)
      Mandatory("items", .integer, .range(1...500))
      Mandatory("currency", .string, .oneOf("EUR", "USD", "GBP"), default: "EUR")
      // The optional fields are a list too: whatever else an event has is flagged.
      Optionally("coupon", .string, .matches("[A-Z0-9]{4,12}"))
    }
    EventRule("checkout.abandoned") {
      Mandatory("cart", .integer)
      Mandatory("seconds", .number, .range(0...))
    }
    EventRule("newsletter.signup", open: true) {
      Mandatory("email", .string, .matches("[^@ ]+@[^@ ]+"), .length(3...254), .sensitive)
    }
  }
}
// end

@Suite struct DataModelContractExample {
  @Test func `violations are found and nothing is discarded`() throws {
    // snippet
    let spy = try SpyTracker(contract: .shop)
    let tracker = spy.tracker

    tracker.track(Checkout.completed(order: 41, total: 19.90, items: 3, currency: "EUR", coupon: "SPRING26"))
    tracker.track(Checkout.completed(order: 42, total: -1, items: 0, currency: "DM", coupon: "spring"))
    tracker.track("checkout.started", fields: ["cart": "seven", "source": "mail"])
    tracker.track("newsletter.signup", fields: ["email": "not an address", "page": "home"])
    tracker.track("chekout.started", fields: ["cart": 7])
    // end

    let found = spy.violations.map { "\($0.event) \($0.field)" }
    #expect(
      found == [
        "checkout.completed total", "checkout.completed items", "checkout.completed currency",
        "checkout.completed coupon", "checkout.started cart", "checkout.started source", "newsletter.signup email",
        "chekout.started ",
      ])
    #expect(spy.violations[2].value == "DM")
    #expect(spy.accepted == 5)
    #expect(spy.all.count == 5)
  }

  @Test func `an inspector checks, off the path of the capture`() throws {
    let alarms = Alarms()
    let spy = try SpyTracker()
    let tracker = spy.tracker
    // snippet
    let inspector = try Inspector(tracker, contract: .shop) { event, violation in
      alarms.raise("\(event.id): \(violation.redacted())")
    }
    tracker.track("newsletter.signup", fields: ["email": "not an address"])
    tracker.track(Checkout.started(cart: 7))

    let counts = try inspector.inspect()
    // end
    #expect(counts.inspected == 2)
    #expect(counts.violating == 1)
    #expect(spy.accepted == 2)
    #expect(alarms.raised.count == 1)
    #expect(alarms.raised.first?.contains("newsletter.signup: email") == true)
    #expect(alarms.raised.first?.contains("not an address") == false)
  }
}
