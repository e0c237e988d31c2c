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

/// Encodes one value, and not an object.
private struct Darts: Codable, DerivingEvent, Equatable {
  var points: [Int]

  init(points: [Int]) { self.points = points }
  init(from decoder: any Decoder) throws { points = try decoder.singleValueContainer().decode([Int].self) }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(points)
  }

  var derivedFields: FieldObject {
    FieldObject([
      ("total", .int(Int64(points.reduce(0, +)))), ("value", "never in its place"), ("best", ["of": ["a", 7]]),
      ("total", "never twice"),
    ])
  }
}

private enum Signal: String, Codable, DerivingEvent {
  case stop, go

  var derivedFields: FieldObject { self == .stop ? ["letters": .int(Int64(rawValue.count))] : [:] }
}

struct DerivingEventTests {
  @Test func `an event of one value has the derived values beside it`() throws {
    try withDirectory { directory throws in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let scores = [Darts(points: [3, 4]), Darts(points: [])]
      for score in scores { #expect(tracker.track(score).isAccepted) }
      for signal in [Signal.stop, .go] { #expect(tracker.track(signal).isAccepted) }
      let stored = try tracker.events()
      #expect(stored[0].fields == ["value": [3, 4], "total": 7, "best": ["of": ["a", 7]]])
      #expect(stored[1].fields == ["value": [], "total": 0, "best": ["of": ["a", 7]]])
      #expect(stored[2].fields == ["value": "stop", "letters": 4])
      #expect(stored[3].fields == ["value": "go"])
      #expect(try stored.prefix(2).map { try Darts($0) } == scores)
      #expect(try stored.suffix(2).map { try Signal($0) } == [.stop, .go])
      #expect(tracker.counters.accepted == 4)
    }
  }

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
