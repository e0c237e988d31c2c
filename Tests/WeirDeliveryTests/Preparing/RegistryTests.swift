// Registries: events of an area, and fields that are derived when they are prepared.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

private struct CheckoutRegistry: Registry {
  static let area = "checkout"
  let tracker: Tracker

  static func derivedFields(of event: Checkout, in stored: StoredEvent) throws -> FieldObject {
    switch event {
    case .started(let cart) where cart == 13: throw FieldError("unlucky")
    case .started(let cart): ["large": .bool(cart > 100), "cart": "replaced"]
    case .completed(_, let total, let items, _): ["average": .double(total / Double(max(items, 1)))]
    }
  }
}

/// Of a Codable type, with no derived fields.
private struct VisitRegistry: Registry {
  static let area = "visit"
  let tracker: Tracker
  typealias Events = Visit
}

/// Derives for the same events as CheckoutRegistry.
private struct SecondRegistry: Registry {
  static let area = "second"
  let tracker: Tracker
  static func derivedFields(of event: Checkout, in stored: StoredEvent) -> FieldObject {
    ["large": "second", "offset": .uint(stored.offset)]
  }
}

struct RegistryTests {
  @Test func `the events of an area are captured as any others, and derived fields come with preparation`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let checkout = CheckoutRegistry(tracker: tracker)
      let id = checkout.track(.started(cart: 200)).id
      checkout.track(.completed(order: 1, total: 30, items: 4, coupon: ""))
      VisitRegistry(tracker: tracker).track(.opened)
      #expect(checkout.track(contentsOf: [.started(cart: 1), .started(cart: 2)]).accepted == 2)
      let events = try tracker.events()
      try #require(events.count == 5)
      #expect(events[0].id == id)
      #expect(events[0].fields == ["cart": .uint(200)])

      var with = Preparation(registries: [CheckoutRegistry.self, VisitRegistry.self])
      let prepared = events.map { with.prepare($0)?.fields }
      #expect(prepared[0] == ["cart": .uint(200), "large": true])
      #expect(prepared[1]?["average"] == 7.5)
      #expect(prepared[1]?["order"] == .uint(1))
      #expect(prepared[2] == [:])
      // The event's own field stays.
      #expect(with.counts.collisions == ["checkout": 3])
      #expect(with.counts.underived == [:])

      var without = Preparation()
      #expect(events.map { without.prepare($0)?.fields } == events.map(\.fields))
      try tracker.close()
    }
  }

  @Test func `a field that can't be derived is counted, and the event goes on`() {
    var preparation = Preparation(registries: [VisitRegistry.self, CheckoutRegistry.self])
    let unlucky = stored("checkout.started", ["cart": .uint(13)])
    #expect(preparation.prepare(unlucky)?.fields == unlucky.fields)
    let unreadable = stored("checkout.started", ["cart": "many"])
    #expect(preparation.prepare(unreadable)?.fields == unreadable.fields)
    let other = stored("checkout.unheard-of")
    #expect(preparation.prepare(other)?.fields == [:])
    #expect(preparation.counts.underived == ["checkout": 2])
    #expect(preparation.counts.prepared == 3)
  }

  @Test func `the first of two registries' fields stays`() {
    var preparation = Preparation(registries: [CheckoutRegistry.self, SecondRegistry.self])
    let event = preparation.prepare(stored("checkout.started", ["cart": .uint(1)]))
    #expect(event?.fields == ["cart": .uint(1), "large": false, "offset": .uint(0)])
    #expect(preparation.counts.collisions == ["checkout": 1, "second": 1])
  }
}
