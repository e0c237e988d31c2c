// Events of Codable types: names, fields, and reading back.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct CodableEventTests {
  @Test func `cases become events`() throws {
    let page = Visit.Page(path: "/", query: ["a": "b"], children: [.init(path: "/x", query: [:], children: [])])
    let events: [Visit] = [
      .opened,
      .viewed(page: page, at: Date(), by: UUID(), tags: ["x", ""], body: Data([1, 2]), raw: [0, 255]),
      .viewed(page: page, at: .distantFuture, by: nil, tags: [], body: Data(), raw: []),
      .numbers(
        a: .min, b: .min, c: .min, d: .min, e: .min, f: .max, g: .max, h: .max, i: .max, j: .max),
      .floats(x: -.infinity, y: .leastNonzeroMagnitude, flag: true),
      .optionals(one: nil, two: "x", list: [nil, 1, nil], nested: [[], [1.5], [-0.0, 2]]),
      .plan(plan: .paid),
    ]
    for event in events { #expect(try roundTrip(event).event == event) }
  }

  @Test func `names and fields are readable without the type`() throws {
    let visit = Visit.optionals(one: 1, two: nil, list: [nil, 2], nested: [[1.5]])
    let stored = try capture(visit).stored
    #expect(stored.count == 1)
    #expect(stored[0].name == "Visit.optionals")
    #expect(stored[0].fields == ["one": 1, "list": [nil, 2], "nested": [[1.5]]])
    #expect(try capture(Visit.opened).stored[0].fields.isEmpty)
    #expect(try capture(Visit.plan(plan: .free)).stored[0].fields == ["plan": "free"])
    let raw = try capture(
      Visit.viewed(
        page: .init(path: "p", query: [:], children: []), at: Date(timeIntervalSinceReferenceDate: 1), by: nil,
        tags: [], body: Data([7]), raw: [8])
    ).stored[0]
    #expect(
      raw.fields == [
        "page": ["path": "p", "query": .object([:]), "children": []],
        "at": .date(Date(timeIntervalSinceReferenceDate: 1)), "tags": [], "body": .bytes([7]), "raw": .bytes([8]),
      ])
  }

  @Test func `a structure is one event`() throws {
    let login = Login(user: "ada", attempts: 3)
    #expect(try roundTrip(login).event == login)
    #expect(try capture(login).stored[0].name == "login")
    #expect(try capture(login).stored[0].fields == ["user": "ada", "attempts": 3])
  }

  /// Types whose own code for Codable writes parts that only Swift makes sense of.
  private struct Quote: Codable, Event, Equatable {
    var link: URL
    var price: Decimal
    var took: Duration
    var links: [URL]
    var discount: Decimal?
    var steps: [String: Duration]
  }

  @Test func `URLs and decimals are texts, and durations are numbers`() throws {
    let quote = Quote(
      link: try #require(URL(string: "https://shop.example/a?b=c%20d#e")),
      price: try #require(Decimal(string: "19.99")),
      took: .milliseconds(1500), links: [URL(filePath: "/tmp/a b")], discount: Decimal(1) / 3,
      steps: ["pay": .seconds(-2)])
    #expect(
      try capture(quote).stored.first?.fields == [
        "link": "https://shop.example/a?b=c%20d#e", "price": "19.99", "took": .double(1.5),
        "links": ["file:///tmp/a%20b"], "discount": "0.33333333333333333333333333333333333333",
        "steps": ["pay": .double(-2)],
      ])
    #expect(try roundTrip(quote).event == quote)
  }

  /// A type with one part.
  private struct Holding<Value: Codable & Equatable & Sendable>: Codable, Event, Equatable {
    var part: Value
    init(_ part: Value) { self.part = part }
    static var eventName: String { "holding" }
  }

  /// What comes back of values that are captured one after the other.
  private func comingBack<Value: Codable & Equatable & Sendable>(_ values: [Value]) throws -> [Value] {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      for value in values { #expect(tracker.track(Holding(value)).isAccepted, "\(value)") }
      return try tracker.events(of: Holding<Value>.self).map(\.event.part)
    }
  }

  @Test func `decimals are exact`() throws {
    let texts = ["0", "-0.01", "12345678901234567890123456789012345678", "-0.\(String(repeating: "0", count: 89))7"]
    var values = texts.compactMap { Decimal(string: $0) }
    values += [.greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude, .nan]
    values.append(Decimal(sign: .minus, exponent: 127, significand: 1))
    #expect(values.count == 9)
    #expect(try comingBack(values) == values)
    #expect(try capture(Holding(Decimal.nan)).stored[0].fields == ["part": "NaN"])
  }

  /// To the nanosecond where that is what a clock tells; beyond, as near as a double is.
  @Test func `durations are seconds`() throws {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    var values = (0..<10_000).map { _ in
      let bits = Int.random(in: 1...50, using: &random)
      return Duration.nanoseconds(Int64.random(in: -1 << bits...1 << bits, using: &random))
    }
    values += [
      .zero, .nanoseconds(1), .seconds(Int64(Int32.max)), Duration(secondsComponent: 0, attosecondsComponent: -1),
    ]
    #expect(try zip(comingBack(values), values).first { $0 != $1 }.map { "\($0)" } == nil)
    let extremes = [
      Duration(secondsComponent: -3, attosecondsComponent: -1),
      Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999),
      Duration(secondsComponent: .min, attosecondsComponent: 0),
    ]
    for (found, value) in try zip(comingBack(extremes), extremes) { #expect(abs((found - value) / value) < 1e-15) }
  }

  @Test func `a URL loses its base, as in JSON`() throws {
    let base = try #require(URL(string: "https://shop.example/x/y"))
    let link = try #require(URL(string: "../a?b", relativeTo: base))
    let found = try roundTrip(Holding(link)).event.part
    #expect(found.absoluteString == "https://shop.example/a?b")
    #expect(found == link.absoluteURL)
  }

  @Test func `a text that is no URL, decimal or duration is an error`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let event = try #require(tracker.track("holding", fields: ["part": "1.5x"]).id)
      let stored = try #require(tracker.events().first)
      #expect(stored.id == event)
      #expect(throws: DecodingError.self) { try Holding<Decimal>(stored) }
      #expect(throws: DecodingError.self) { try Holding<Duration>(stored) }
      tracker.track("holding", fields: ["part": ""])
      tracker.track("holding", fields: ["part": .double(.nan)])
      tracker.track("holding", fields: ["part": .double(1e300)])
      for stored in try tracker.events().dropFirst() {
        #expect(throws: DecodingError.self) { try Holding<URL>(stored) }
        #expect(throws: DecodingError.self) { try Holding<Duration>(stored) }
      }
    }
  }

  /// Logs that were written before these types had a form of their own.
  @Test func `the forms of earlier versions are read`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let mantissa: FieldValue = .array([1999, 0, 0, 0, 0, 0, 0, 0].map { .uint($0) })
      let price: FieldValue = [
        "exponent": -2, "length": 1, "isNegative": true, "isCompact": true, "mantissa": mantissa,
      ]
      let fields: FieldObject = [
        "link": ["relative": "a?b", "base": ["relative": "https://shop.example/"]], "price": price,
        "took": [-1, .uint(UInt64.max)], "links": [["relative": "https://shop.example/"]], "steps": .object([:]),
      ]
      #expect(tracker.track("Quote", fields: fields).isAccepted)
      let found = try #require(tracker.events(of: Quote.self).first).event
      #expect(found.link.absoluteString == "https://shop.example/a?b")
      #expect(found.price == Decimal(string: "-19.99"))
      #expect(found.took == Duration(secondsComponent: 0, attosecondsComponent: -1))
      #expect(found.links.map(\.absoluteString) == ["https://shop.example/"])
    }
  }

  /// An enum with raw values encodes a single value.
  private enum Signal: String, Codable, Event { case start, stop }
  private struct Line: Codable, Event, Equatable {
    var words: [String]
    init(words: [String]) { self.words = words }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      for word in words { try container.encode(word) }
    }
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      words = []
      while !container.isAtEnd { words.append(try container.decode(String.self)) }
    }
  }

  @Test func `a type that encodes no fields has a value`() throws {
    #expect(try roundTrip(Signal.stop).event == .stop)
    #expect(try capture(Signal.stop).stored[0].name == "Signal")
    #expect(try capture(Signal.stop).stored[0].fields == ["value": "stop"])
    #expect(try roundTrip(Line(words: ["a", "b"])).event == Line(words: ["a", "b"]))
    #expect(try roundTrip(Line(words: [])).event == Line(words: []))
  }

  private enum Unlabelled: Codable, Event {
    case good(a: Int)
    case bad(Int)
    case half(a: Int, String)
  }

  @Test func `values without labels are refused`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<3 {
        #expect(tracker.track(Unlabelled.bad(1)) == .dropped(.invalid))
        #expect(tracker.track(Unlabelled.half(a: 1, "x")) == .dropped(.invalid))
        #expect(tracker.track(Unlabelled.good(a: 1)).isAccepted)
      }
      let message = try #require(tracker.lastDefinitionError?.message)
      #expect(message.contains("case bad has an associated value without a label"), "\(message)")
      #expect(tracker.counters.dropped == [.invalid: 6])
      #expect(try tracker.events(of: Unlabelled.self).count == 3)
    }
  }

  private struct Failing: Codable, Event {
    struct Failure: Error {}
    var fails = true
    init() {}
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: TextKey.self)
      try container.encode(1, forKey: TextKey("a"))
      if fails { throw Failure() }
    }
  }

  /// Catches the error of a part, which leaves the part half-written.
  private struct Swallowing: Codable, Event {
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: TextKey.self)
      try? container.encode(Failing(), forKey: TextKey("part"))
    }
  }

  @Test func `an error of encoding refuses the event`() throws {
    let (receipt, error, stored) = try capture(Failing())
    #expect(receipt == .dropped(.invalid))
    #expect(error?.message.contains("Failure") == true)
    #expect(stored.allSatisfy { $0.isNotice })
    #expect(try capture(Swallowing()).receipt == .dropped(.invalid))
  }

  private enum Large: Codable, Event { case text(text: String) }

  @Test func `an event that is too large is refused, and the largest comes back`() throws {
    let fits = String(repeating: "x", count: 64 << 10)
    guard case .text(let text) = try roundTrip(Large.text(text: fits)).event else { return }
    #expect(text == fits)
    for count in [68 << 10, 80 << 10, 4 << 20] {
      #expect(try capture(Large.text(text: String(repeating: "x", count: count))).receipt == .dropped(.tooLarge))
    }
  }

  private struct Deep: Codable, Event {
    var levels: Int
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      for _ in 1..<levels { container = container.nestedUnkeyedContainer() }
    }
  }

  @Test func `nesting has a limit`() throws {
    #expect(try capture(Deep(levels: 17)).receipt.isAccepted)
    let (receipt, error, _) = try capture(Deep(levels: 18))
    #expect(receipt == .dropped(.invalid))
    #expect(error?.message.contains("nested deeper than 16") == true)
  }

  /// An older and a newer version of one type.
  private enum Old: Codable, Event, Equatable {
    static let eventName = "Order"
    case placed(id: Int)
  }
  private enum New: Codable, Event, Equatable {
    static let eventName = "Order"
    case placed(id: Int, note: String?)
    case cancelled(id: Int)
  }
  private enum Stricter: Codable, Event {
    static let eventName = "Order"
    case placed(id: Int, total: Double)
  }

  @Test
  func `case 44: a case that a type does not know is left out, and a newer version reads an older one`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Old.placed(id: 1))
      tracker.track(New.placed(id: 2, note: "n"))
      tracker.track(New.cancelled(id: 3))
      tracker.track("Order.placed.other", fields: [:])
      tracker.track("Orders", fields: [:])
      #expect(try tracker.events(of: Old.self).map(\.event) == [.placed(id: 1), .placed(id: 2)])
      #expect(
        try tracker.events(of: New.self).map(\.event)
          == [.placed(id: 1, note: nil), .placed(id: 2, note: "n"), .cancelled(id: 3)])
      #expect(throws: DecodingError.self) { try tracker.events(of: Stricter.self) }
    }
  }

  private enum Narrow: Codable, Event {
    static let eventName = "Wide"
    case number(n: Int8)
  }
  private enum Wide: Codable, Event {
    case number(n: Int)
  }

  @Test func `integers are range checked`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Wide.number(n: 127))
      #expect(try tracker.events(of: Narrow.self).count == 1)
      tracker.track(Wide.number(n: 128))
      do {
        _ = try tracker.events(of: Narrow.self)
        Issue.record("128 was read as an Int8")
      } catch DecodingError.dataCorrupted(let context) {
        #expect(context.debugDescription == "128 does not fit in Int8")
        #expect(context.codingPath.map(\.stringValue) == ["number", "n"])
      }
    }
  }

  /// An event whose encoding captures another event on the same thread.
  private struct Reentrant: Codable, Event {
    let tracker: Tracker?
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: TextKey.self)
      try container.encode("before", forKey: TextKey("a"))
      tracker?.track(Login(user: "inner", attempts: 1))
      tracker?.track(Checkout.started(cart: 9))
      try container.encode("after", forKey: TextKey("b"))
    }
    init(tracker: Tracker?) { self.tracker = tracker }
    init(from decoder: any Decoder) throws { tracker = nil }
  }

  @Test func `an encoding may capture other events`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for _ in 0..<10 { #expect(tracker.track(Reentrant(tracker: tracker)).isAccepted) }
      let events = try tracker.events()
      #expect(events.count == 30)
      #expect(events.filter { $0.name == "Reentrant" }.allSatisfy { $0.fields == ["a": "before", "b": "after"] })
      #expect(events.filter { $0.name == "login" }.allSatisfy { $0.fields == ["user": "inner", "attempts": 1] })
      #expect(events.filter { $0.name == "checkout.started" }.count == 10)
    }
  }
}
