// Codable events that declare a kind or sensitive fields, and those that declare what a Codable event can't have.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct DeclaredCodableTests {
  private struct Address: Codable, Hashable {
    var street: String
    var city: String
  }

  private struct Order: Codable, Event, Equatable {
    var email: String?
    var to: Address
    var stops: [Address]
    var total: Double

    static let eventName = "order"
    static let eventTypes = [
      EventType(codable: eventName, kind: .pageAction, sensitive: ["email", "to.street", "stops.street"])
    ]
  }

  private let order = Order(
    email: "ada@example.com", to: Address(street: "A 1", city: "X"),
    stops: [Address(street: "B 2", city: "Y"), Address(street: "C 3", city: "Z")], total: 19.9)

  @Test func `kind and sensitive fields are in the log`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      #expect(tracker.track(order).isAccepted)
      try tracker.close()
      let reader = try EventReader(directory: directory)
      let stored = try #require(try reader.next())
      #expect(stored.declaration == Order.eventTypes[0])
      #expect(stored.declaration?.kind == .pageAction)
      #expect(try Order(stored) == order)
      #expect(
        stored.redacted().fields == [
          "email": .redacted, "to": ["street": .redacted, "city": "X"],
          "stops": [["street": .redacted, "city": "Y"], ["street": .redacted, "city": "Z"]], "total": .double(19.9),
        ])
      #expect(stored.redacted().redacted() == stored.redacted())
      var missing = order
      missing.email = nil
      #expect(try capture(missing).stored[0].redacted().fields["email"] == nil)
    }
  }

  @Test func `the declaration of a Codable type without any is as before`() throws {
    struct Plain: Codable, Event { var a: Int }
    #expect(Plain.eventTypes == [EventType(codable: "Plain")])
    #expect(try capture(Plain(a: 1)).stored[0].declaration == nil)
  }

  @Test func `a path that may be read in several ways hides all of them`() throws {
    let type = EventType(codable: "e", sensitive: ["a.b.c"])
    let redacted: FieldValue = .redacted
    let hidden: FieldObject = [
      "a.b.c": redacted, "a": ["b": ["c": redacted, "d": 2], "b.c": redacted], "a.b": ["c": redacted], "c": 3,
    ]
    let shown: FieldObject = [
      "a.b.c": 1, "a": ["b": ["c": 1, "d": 2], "b.c": 1], "a.b": ["c": 1], "c": 3,
    ]
    #expect(shown.redacted(as: type) == hidden)
    #expect(EventType(tagged: "e").with(type.attributes) == type)
    // Beyond a number of names, whole objects are hidden.
    let long = EventType(codable: "e", sensitive: ["a.b.c.d.e.f"])
    #expect((["a": ["x": 1], "b": 2] as FieldObject).redacted(as: long) == ["a": redacted, "b": 2])
    #expect(EventType(codable: "e", sensitive: ["", "."]).fields.allSatisfy { $0.name != "a" })
  }

  private enum Checkout: Codable, Event, Equatable {
    case started(cart: Int)
    case completed(order: Int, email: String)

    static let eventName = "checkout"
    static let eventTypes = [EventType(codable: "checkout.completed", kind: .pageAction, sensitive: ["email"])]
  }

  @Test func `cases of an enum may be declared`() throws {
    let completed = try capture(Checkout.completed(order: 1, email: "x")).stored[0]
    #expect(completed.declaration?.kind == .pageAction)
    #expect(completed.redacted().fields == ["order": 1, "email": .redacted])
    #expect(try Checkout(completed) == .completed(order: 1, email: "x"))
    #expect(try capture(Checkout.started(cart: 1)).stored[0].declaration == nil)
  }

  // MARK: Declarations of fields that the type does not write

  private struct Packed: Codable, Event {
    var a = 1
    static let eventTypes = [EventType("packed", kind: .pageView)]
  }

  private struct PackedFields: Codable, Event {
    var a = 1
    static let eventTypes = [EventType("packed.fields", [Field("a", .int64)])]
  }

  private enum PackedCase: Codable, Event {
    case seen(a: Int)
    static let eventName = "packed"
    static let eventTypes = [EventType("packed.seen", kind: .pageView)]
  }

  /// The values would be stored with their names under a declaration that has none, and could not be read.
  private func refuses(_ event: some Event, _ name: String) throws {
    let (receipt, error, stored) = try capture(event)
    #expect(receipt == .dropped(.invalid))
    #expect(
      error?.message.contains(
        "eventTypes declares \(name) with fields that encode(into:) would have to write; declare the event of a Codable "
          + "type with EventType(codable:kind:sensitive:)") == true, "\(error?.message ?? "no error")")
    #expect(stored.allSatisfy { $0.isNotice }, "\(stored)")
  }

  @Test func `a Codable type with a declaration of fields is refused, and counted`() throws {
    try refuses(Packed(), "packed")
    try refuses(PackedFields(), "packed.fields")
    try refuses(PackedCase.seen(a: 1), "packed.seen")
  }

  @Test func `the same of a type that is sampled`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(
        directory: directory,
        configuration: quiet { $0.sampling = [SamplingRule("packed", rate: 1), SamplingRule("order", rate: 1)] })
      #expect(tracker.track(Packed()) == .dropped(.invalid))
      #expect(tracker.track(order).isAccepted)
      #expect(tracker.counters.dropped == [.invalid: 1])
      #expect(try tracker.events(of: Order.self).map(\.event) == [order])
    }
  }

  /// A hand-written encoding under the declaration of a Codable type.
  private struct ByHand: Event {
    static let eventTypes = [EventType(codable: "by.hand")]
    func encode(into encoder: inout EventEncoder) { encoder.begin(0) }
    init?(_ stored: StoredEvent) throws { nil }
    init() {}
  }

  @Test func `a hand-written encoding has no declaration of a Codable type`() throws {
    let (receipt, error, stored) = try capture(ByHand())
    #expect(receipt == .dropped(.invalid))
    #expect(error?.message.contains("put other kinds of fields than eventTypes declares for by.hand") == true)
    #expect(stored.allSatisfy { $0.isNotice })
  }

  // MARK: Values of any kind

  private struct Anything: Codable, Event, Equatable {
    var value: FieldValue
    var more: [String: FieldValue]
    var none: FieldValue?
  }

  @Test func `a field may hold any value`() throws {
    let values: [FieldValue] = [
      .null, true, .int(.min), .uint(.max), .float(0.5), .double(-0.0), "é\0", .bytes([0, 255]), .uuid(UUID()),
      .date(.distantPast), [], [1, nil, ["a"]], .object([:]), ["b": ["a": 1], "a": nil],
    ]
    for value in values {
      let event = Anything(value: value, more: ["x": value], none: nil)
      let stored = try capture(event).stored[0]
      #expect(stored.fields == ["value": value, "more": ["x": value]])
      #expect(try Anything(stored) == event)
    }
  }

  @Test func `a value is JSON as JSONEncoder has it`() throws {
    let value: FieldValue = ["b": [1, .uint(.max), 2.5, "x", true, nil], "a": .object([:])]
    let data = try JSONEncoder().encode(value)
    let found = try JSONDecoder().decode(FieldValue.self, from: data)
    #expect(found == ["a": .object([:]), "b": [1, .uint(.max), 2.5, "x", true, nil]])
  }

  @Test func `a value that is nested too deep is refused`() throws {
    var value: FieldValue = 1
    for _ in 0..<40 { value = [value] }
    #expect(try capture(Anything(value: value, more: [:])).receipt == .dropped(.invalid))
  }
}
