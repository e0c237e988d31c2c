// Types that claim the wire id or the name of another: defined all the same, told apart, noted and counted.

import TestSupport
import Testing
import Weir

struct ClaimTests {
  private enum Orders: Event {
    case paid
    static let eventTypes = [EventType("orders.paid", [Field("a", .int64)], wireID: 7)]
    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put(1)
    }
    init?(_ stored: StoredEvent) throws {
      guard stored.index(in: Self.eventTypes) != nil else { return nil }
      self = .paid
    }
  }

  /// Another module's, which knows nothing of the first.
  private enum Profile: Event {
    case saved
    static let eventTypes = [EventType("orders.saved", [Field("b", .string)], wireID: 7)]
    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put("b")
    }
    init?(_ stored: StoredEvent) throws {
      guard stored.index(in: Self.eventTypes) != nil else { return nil }
      self = .saved
    }
  }

  @Test func `a wire ID is the first type's that claims it`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<3 {
        #expect(tracker.track(Orders.paid).isAccepted)
        #expect(tracker.track(Profile.saved).isAccepted)
      }
      let error = try #require(tracker.lastDefinitionError)
      #expect(error.code == .invalid, "\(error)")
      #expect(error.message.hasPrefix("orders.saved of "), "\(error)")
      #expect(error.message.contains("has the wire id 7 of orders.paid"), "\(error)")
      // The simple names may be the same.
      #expect(error.message.contains("WeirTests.ClaimTests."), "\(error)")
      #expect(error.message.contains(".Orders"), "\(error)")
      #expect(tracker.counters.collidingTypes == 1)
      #expect(tracker.counters.dropped.isEmpty)
      let declarations = try tracker.events().map(\.declaration?.wireID)
      #expect(declarations == [7, nil, 7, nil, 7, nil])
      // The first one's events are not read as the other's by whoever goes by the log's declarations.
      #expect(try tracker.events(of: Orders.self).count == 3)
    }
  }

  private struct Twice: Event {
    let index: Int
    static let eventTypes = [EventType("e.one", wireID: 1), EventType("e.two", wireID: 1)]
    init(index: Int) { self.index = index }
    func encode(into encoder: inout EventEncoder) { encoder.begin(index) }
    init?(_ stored: StoredEvent) throws { return nil }
  }

  @Test func `a wire ID that is twice in one type is the first event's`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Twice(index: 0))
      tracker.track(Twice(index: 1))
      #expect(try tracker.events().map(\.declaration?.wireID) == [1, nil])
      #expect(tracker.counters.collidingTypes == 1)
      #expect(tracker.lastDefinitionError != nil)
    }
  }

  @Test func `two types of one name collide if declared differently, and both are captured`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      #expect(tracker.track(Single(1 as Int64)).isAccepted)
      // Declared alike: no quarrel.
      #expect(tracker.track(Single(2 as Int)).isAccepted)
      #expect(tracker.lastDefinitionError == nil)
      #expect(tracker.counters.collidingTypes == 0)
      #expect(tracker.track(Single("three")).isAccepted)
      let error = try #require(tracker.lastDefinitionError)
      #expect(error.code == .invalid, "\(error)")
      #expect(error.message.contains("the name single"), "\(error)")
      #expect(tracker.counters.collidingTypes == 1)
      #expect(try tracker.events().map(\.fields) == [["value": 1], ["value": 2], ["value": "three"]])
    }
  }

  private struct OtherLogin: Codable, Event {
    static let eventName = "login"
    var user: String
  }

  @Test func `two Codable types of one name collide, and say so`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<2 { #expect(tracker.track(Login(user: "x", attempts: 1)).isAccepted) }
      #expect(tracker.lastDefinitionError == nil)
      #expect(tracker.track(OtherLogin(user: "y")).isAccepted)
      #expect(tracker.counters.collidingTypes == 1)
      #expect(tracker.lastDefinitionError?.code == .invalid)
    }
  }

  @Test func `each tracker has claims of its own`() throws {
    try withDirectory { first in
      try withDirectory { second in
        let one = try Tracker(directory: first, configuration: quiet())
        let two = try Tracker(directory: second, configuration: quiet())
        one.track(Orders.paid)
        two.track(Profile.saved)
        #expect(one.counters.collidingTypes == 0)
        #expect(two.counters.collidingTypes == 0)
        #expect(try two.events().first?.declaration?.wireID == 7)
      }
    }
  }
}
