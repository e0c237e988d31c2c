// Derived values of events, which are in the log from the capture on.

import TestSupport
import Testing
import Weir

private enum Profile: Codable, DerivingEvent, Equatable {
  static let eventName = "Profile"

  case saved(name: String, photo: Bool)
  case closed

  var derivedFields: FieldObject {
    switch self {
    case .saved(let name, let photo):
      ["totalFieldsChanged": .int(Int64((name.isEmpty ? 0 : 1) + (photo ? 1 : 0))), "name": "never in its place"]
    case .closed: [:]
    }
  }
}

private struct Order: Codable, DerivingEvent, Equatable {
  var prices: [Int]
  var tags: [String: String] = ["a": "b"]

  var derivedFields: FieldObject {
    ["total": .int(Int64(prices.reduce(0, +))), "by": ["prices": .array(prices.map { .int(Int64($0)) })]]
  }
}

struct DerivingEventTests {
  @Test func `derived values are fields of the event in the log`() throws {
    try withDirectory { directory throws in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let events: [Profile] = [.saved(name: "ada", photo: true), .closed, .saved(name: "", photo: false)]
      for event in events { #expect(tracker.track(event).isAccepted) }
      let order = Order(prices: [3, 4])
      #expect(tracker.track(order).isAccepted)
      let stored = try tracker.events()
      #expect(stored.map(\.name) == ["Profile.saved", "Profile.closed", "Profile.saved", "Order"])
      #expect(stored[0].fields == ["name": "ada", "photo": true, "totalFieldsChanged": 2])
      #expect(stored[1].fields == [:])
      #expect(stored[2].fields["totalFieldsChanged"] == 0)
      #expect(stored[3].fields["total"] == 7)
      #expect(stored[3].fields["by"] == ["prices": [3, 4]])
      // A reader of the type passes over derived fields.
      #expect(try stored.prefix(3).map { try Profile($0) } == events)
      #expect(try Order(stored[3]) == order)
      #expect(tracker.counters.accepted == 4)
    }
  }
}
