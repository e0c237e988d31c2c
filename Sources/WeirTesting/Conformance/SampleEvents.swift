// SampleEvents: ordinary and extreme events for testing a provider.

import Weir
import WeirDelivery

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Makes events of one opening, each with its own id and offset.
final class SampleEvents: Sendable {
  /// The opening in the ids of these events.
  let opening = UInt64.random(in: 1 ... .max)

  private let made = Lock<UInt64>(0)

  /// Makes an event with these fields, as if it had just been captured.
  func event(_ name: String, _ fields: FieldObject) -> PreparedEvent {
    let number = made.withLock { made in
      made += 1
      return made
    }
    let nanoseconds = 1_795_000_000_000_000_000 + Int64(number) * 1_000_000
    let context = EventContext(
      globals: ["app": "conformance", "version": "1.0"], user: EventUser(id: "user-1", traits: ["plan": "pro"]),
      view: EventView(id: "view-\(number)", name: "cart"), fields: ["request": "r-1"])
    return PreparedEvent(
      StoredEvent(
        offset: number - 1, id: EventID(opening: opening, sequence: number),
        time: Timestamp(nanosecondsSince1970: nanoseconds), name: name, fields: fields, context: context))
  }

  /// Makes events as a shop might capture them.
  func ordinary(_ count: Int) -> [PreparedEvent] {
    (0..<count).map { index in
      let fields: FieldObject = [
        "order": .uint(UInt64(index)), "total": 19.9, "items": 3, "coupon": index.isMultiple(of: 2) ? "SPRING" : .null,
        "express": .bool(index.isMultiple(of: 3)), "tags": ["a", "b"],
        "price": ["amount": 1990, "currency": "EUR"],
      ]
      return event("checkout.completed", fields)
    }
  }

  /// Makes events that are possible in a log but difficult to store. Each is named after its difficulty.
  func extremes() -> [PreparedEvent] {
    (Self.texts + Self.numbers + Self.shapes).map { event($0.name, $0.fields) }
  }

  private static let texts: [(name: String, fields: FieldObject)] = [
    ("NUL", ["text": "before\u{0}after", "na\u{0}me": "value"]),
    ("control characters", ["text": "\u{1}\u{7}\u{1b}[31m\r\n\t\u{7f}\u{85}\u{2028}\u{feff}\u{fffe}"]),
    (
      "every script",
      ["text": "Straße, Ελλάδα, 東京, 한국, عربي, עברית, हिन्दी, 👩🏽‍🚀🇪🇺, e\u{301}, \u{202e}rtl", "ключ": "значение"]
    ),
    ("quotes", ["te\"xt": #"back\slash "quote" 'single' </script> ${x} %s ; DROP TABLE"#]),
    ("64 KiB of text", ["text": .string(String(repeating: "0123456789abcdef", count: 4096))]),
    ("bytes that are no text", ["bytes": .bytes(Array(0...255))]),
  ]

  private static let numbers: [(name: String, fields: FieldObject)] = [
    (
      "integers",
      ["least": .int(.min), "most": .int(.max), "unsigned": .uint(.max), "beyond": .uint(9_007_199_254_740_993)]
    ),
    ("not-a-number", ["double": .double(.nan), "float": .float(.nan), "signalling": .double(.signalingNaN)]),
    ("infinity", ["plus": .double(.infinity), "minus": .double(-.infinity), "float": .float(.infinity)]),
    (
      "edges of doubles",
      ["zero": .double(-0.0), "least": .double(.leastNonzeroMagnitude), "most": .double(.greatestFiniteMagnitude)]
    ),
    ("a time before the calendar", ["time": .date(Date(timeIntervalSinceReferenceDate: -1e18))]),
    ("a time after the calendar", ["time": .date(Date(timeIntervalSinceReferenceDate: 1e300))]),
    ("a time that is not-a-number", ["time": .date(Date(timeIntervalSinceReferenceDate: .nan))]),
  ]

  private static let shapes: [(name: String, fields: FieldObject)] = [
    ("no fields", [:]),
    ("empty values", ["text": "", "bytes": .bytes([]), "array": [], "object": [:], "none": nil]),
    ("deep nesting", ["outer": (0..<15).reduce(.int(1)) { inner, _ in .object(["inner": inner]) }]),
    ("1,000 fields", FieldObject((0..<1000).map { ("field\($0)", FieldValue.int(Int64($0))) })),
    ("a name twice", FieldObject([("name", .int(1)), ("name", .string("two"))])),
    ("an empty name", ["": "value"]),
  ]
}
