// page: Sources/Weir/Weir.docc/Examples/MappersByProvider.md

import Testing
import Weir
import WeirDelivery
import WeirTesting

// snippet
extension EventMapper {
  // A warehouse that wants flat rows in snake_case, with the context among the columns, as JSON.
  static let warehouse = EventMapper(
    .joiningContext(),
    .snakeCase(),
    .flattening(),
    .jsonValues())

  // An advertising service that takes purchases alone, under its own names, and nothing that it need not know.
  static let advertising = EventMapper(
    .only { $0.name == "checkout.completed" },
    .renaming(events: ["checkout.completed": "Purchase"]),
    .only(fields: "total", "currency"),
    .renaming(fields: ["total": "value"]),
    .adding(["source": "web"]))

  // A product team that reads the events itself, under names in words.
  static let people = EventMapper(.titleCase(words: ["HTTP"]))
}
// end

@Suite struct MappersByProviderExample {
  @Test func `each provider gets its own form`() throws {
    let spy = try SpyTracker { $0.globals = GlobalFields(app: "shop", fields: ["buildSHA": "4f2a"]) }
    let tracker = spy.tracker
    // snippet
    tracker.track(Feed.tapped(product: 9, position: 4))
    tracker.track(
      "api.HTTPStatus", fields: ["userID": 7, "requestURL": ["hostName": "shop.example"], "bytes": .uint(.max)])
    tracker.track(Checkout.completed(order: 41, total: 19.90, items: 3, currency: "EUR", coupon: nil))
    tracker.track("post.liked", fields: ["totalLikes": 3])
    // end

    // snippet
    let rows = spy.prepared(by: .warehouse)
    let purchases = spy.prepared(by: .advertising)
    let words = spy.prepared(by: .people)
    // end
    #expect(rows.map(\.name) == ["feed_tapped", "api_http_status", "checkout_completed", "post_liked"])
    #expect(rows[1].fields["user_id"] == 7)
    #expect(rows[1].fields["request_url_host_name"] == "shop.example")
    #expect(rows[1].fields["bytes"] == "18446744073709551615")
    #expect(rows[1].fields["build_sha"] == "4f2a")
    #expect(rows[1].fields["app"] == "shop")
    #expect(purchases.map(\.name) == ["Purchase"])
    #expect(purchases.first?.fields == ["value": 19.9, "currency": "EUR", "source": "web"])
    #expect(words.map(\.name) == ["Feed Tapped", "Api HTTP Status", "Checkout Completed", "Post Liked"])
    #expect(words.last?.fields == ["totalLikes": 3])
    // What is delivered can always be traced to what was captured.
    #expect(purchases.first?.stored.name == "checkout.completed")
  }

  @Test func `a mapper is attached to its provider`() async throws {
    let spy = try SpyTracker()
    let (lake, ads) = (ScriptedProvider(name: "lake"), ScriptedProvider(name: "ads"))
    // snippet
    let dispatcher = try Dispatcher(spy.tracker)
    try dispatcher.add(contentsOf: [lake.mapped(by: .warehouse), ads.mapped(by: .advertising)])
    // end
    spy.tracker.track(Feed.tapped(product: 9, position: 4))
    spy.tracker.track(Checkout.completed(order: 41, total: 19.90, items: 3, currency: "EUR", coupon: nil))
    let delivery = Task { try await dispatcher.run(budget: .seconds(600)) }
    delivery.cancel()
    #expect(try await delivery.value.isComplete)
    #expect(lake.delivered.map(\.name) == ["feed_tapped", "checkout_completed"])
    #expect(ads.delivered.map(\.name) == ["Purchase"])
    // snippet
    #expect(dispatcher.ledger["ads"]?.lost == [.withheld: 1])
    // end
  }
}
