// Preparation: each step, their order, what is counted, and that it depends on the events alone.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

private struct OrderEvent: Codable, Event {
  static let eventName = "order"
  var number: Int
}

private struct OrderRegistry: Registry {
  static let area = "orders"
  let tracker: Tracker
  static func derivedFields(of event: OrderEvent, in stored: StoredEvent) -> FieldObject {
    ["isLarge": .bool(event.number > 100), "price": ["amount": .int(Int64(event.number)), "rounded": true]]
  }
}

extension Preparation {
  /// What comes out for an event that must.
  fileprivate mutating func required(_ event: StoredEvent) throws -> PreparedEvent {
    let prepared = prepare(event)
    return try #require(prepared)
  }
}

struct PreparationTests {
  private let contract = Contract("shop", version: "1") {
    EventRule("order") {
      Mandatory("number", .integer, .range(0...))
      Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "EUR")
      Optionally("card", .string, .length(...4), .sensitive)
      Optionally("address", .object) {
        Optionally("street", .string, .sensitive)
        Optionally("city", .string)
      }
      Optionally("payers", .array) {
        Optionally("name", .string, .sensitive)
      }
    }
  }

  @Test func `a preparation with nothing to do leaves the event as it is`() {
    let event = stored("e", ["a": 1], context: EventContext(globals: ["app": "x"], user: EventUser(id: "u")))
    var preparation = Preparation()
    #expect(preparation.prepare(event) == PreparedEvent(event))
    var counts = Preparation.Counts()
    counts.prepared = 1
    #expect(preparation.counts == counts)
  }

  @Test func `the steps go in their order`() throws {
    var preparation = Preparation(
      contract: try contract.compiled(), registries: [OrderRegistry.self],
      enrichment: [
        EventHook("first") { event in
          #expect(event.fields["isLarge"] == true)
          #expect(event.fields["currency"] == nil)
          event.fields["steps"] = ["first"]
          return .keep
        },
        EventHook("second") { event in
          event.fields["steps"] = .array((try? event.fields["steps"]?.array()) ?? [] + ["second"])
          event.fields["number"] = -1
          return .keep
        },
      ],
      hooks: [
        EventHook("third") { event in
          // The check is of what enrichment made of the event; defaults and flags are there by now, true values still.
          #expect(event.violations.map(\.field) == ["number", "card"])
          #expect(event.violations.last?.value == "12345")
          #expect(event.flags.contains(.violating))
          #expect(event.flags.contains(.defaulted(field: "currency")))
          #expect(event.fields["currency"] == "EUR")
          #expect(event.fields["card"] == "12345")
          event.fields["hookField"] = event.fields["currency"]
          event.name = "OrderPlaced"
          return .keep
        }
      ],
      mapper: .snakeCase())
    let event = try preparation.required(stored("order", ["number": 200, "card": "12345"]))
    #expect(event.name == "order_placed")
    #expect(event.fields["hook_field"] == "EUR")
    #expect(event.fields["is_large"] == true)
    #expect(event.fields["card"] == .redacted)
    #expect(event.stored.fields["card"] == .redacted)
    #expect(event.violations.map(\.value) == [-1, .redacted])
    #expect(event.stored.fields["number"] == 200)
    let counts = preparation.counts
    #expect(counts.prepared == 1)
    #expect(counts.violating == 1)
    #expect(counts.defaulted == 1)
    #expect(counts.dropped == [:])
  }

  @Test func `a field that enrichment adds is not unknown to the contract, one that the program adds is`() throws {
    var preparation = Preparation(contract: try contract.compiled(), registries: [OrderRegistry.self])
    let fields: FieldObject = ["number": 1, "currency": "USD", "extra": ["a.b": 1], "a.b": 2]
    let event = try preparation.required(stored("order", fields))
    #expect(event.violations.map(\.field) == ["extra", #"a\.b"#])
    #expect(event.violations.allSatisfy { $0.rule == "unknown field" })
    #expect(event.fields["price"] == ["amount": 1, "rounded": true])
    let clean = try preparation.required(stored("order", ["number": 1, "currency": "USD"]))
    #expect(clean.violations == [])
    #expect(clean.flags == [])
    #expect(preparation.counts.violating == 1)
    // An event that the contract does not know is flagged, and prepared.
    #expect(preparation.prepare(stored("oder"))?.flags == [.violating])
  }

  @Test func `hooks edit and drop, counted by name`() {
    let seen = EventHook("seen") { event in
      event.fields["seen"] = true
      return .keep
    }
    func drop(_ name: String) -> EventHook { EventHook("drop \(name)") { $0.name == name ? .drop : .keep } }
    var preparation = Preparation(enrichment: [drop("a"), seen], hooks: [drop("b"), drop("c"), drop("b")])
    let names = ["a", "b", "c", "d", "a", "d", "c", "c"]
    let prepared = names.map { preparation.prepare(stored($0)) }
    #expect(prepared.map { $0?.name } == [nil, nil, nil, "d", nil, "d", nil, nil])
    #expect(prepared[3]?.fields == ["seen": true])
    #expect(preparation.counts.dropped == ["drop a": 2, "drop b": 1, "drop c": 3])
    #expect(preparation.counts.prepared == 2)
  }

  @Test func `an event that the mapper drops is counted`() {
    var preparation = Preparation(mapper: .dropEvents("a"))
    #expect(preparation.prepare(stored("a")) == nil)
    #expect(preparation.prepare(stored("b")) != nil)
    #expect(preparation.counts.filtered == 1)
    #expect(preparation.counts.prepared == 1)
  }

  @Test func `duplicates are flagged and still come out`() throws {
    func event(_ number: UInt64, at time: Int64) -> StoredEvent {
      stored("order", ["n": 1], at: time, id: EventID(opening: 1, sequence: number))
    }
    let second: Int64 = 1_000_000_000
    let hook = EventHook("adds what differs") { event in
      event.fields["time"] = .int(event.stored.time.nanosecondsSince1970)
      return .keep
    }
    var preparation = Preparation(enrichment: [hook])
    let prepared = [0, second / 2, second, second + 1, 3 * second].enumerated().map { index, time in
      preparation.prepare(event(UInt64(index), at: time))
    }
    let first = EventFlag.duplicate(of: EventID(opening: 1, sequence: 0))
    #expect(prepared.map { $0?.flags } == [[], [first], [first], [], []])
    #expect(preparation.counts.duplicates == 2)
    #expect(preparation.counts.prepared == 5)
    var off = Preparation(duplicates: nil)
    #expect((0..<3).allSatisfy { off.prepare(event($0, at: 0))?.flags == [] })
  }

  @Test func `sensitive values are replaced by declaration, contract and context`() throws {
    let declaration = EventType(
      "order",
      [
        Field("number", .int64), Field("email", .string, sensitive: true),
        Field("geo", .object([Field("lat", .double, sensitive: true), Field("zone", .string)])),
      ])
    let fields: FieldObject = [
      "number": -1, "email": "a@b.c", "geo": ["lat": 1.5, "zone": "x"], "card": "123456", "currency": "EUR",
      "address": ["street": "S", "city": "C"], "payers": [["name": "N"], ["name": nil]],
    ]
    let context = EventContext(
      globals: ["host": "h", "ip": "1.2.3.4"], user: EventUser(id: "u", traits: ["phone": 5, "plan": "pro"]),
      fields: ["ip": "5.6.7.8"], sensitive: ["ip", "phone"])
    let event = stored("order", fields, declaration: declaration, context: context)
    // A hook's other name for the event takes nothing away.
    let rename = EventHook("rename") { event in
      event.name = "renamed"
      return .keep
    }
    var preparation = Preparation(contract: try contract.compiled(), hooks: [rename])
    let prepared = try preparation.required(event)
    let redacted: FieldObject = [
      "number": -1, "email": .redacted, "geo": ["lat": .redacted, "zone": "x"], "card": .redacted, "currency": "EUR",
      "address": ["street": .redacted, "city": "C"], "payers": [["name": .redacted], ["name": nil]],
    ]
    #expect(prepared.fields == redacted)
    #expect(prepared.stored.fields == redacted)
    #expect(prepared.context.globals == ["host": "h", "ip": .redacted])
    #expect(prepared.context.fields == ["ip": .redacted])
    #expect(prepared.context.user == EventUser(id: "u", traits: ["phone": .redacted, "plan": "pro"]))
    #expect(prepared.stored.context == prepared.context)
    for violation in prepared.violations where violation.field != "number" {
      #expect(violation.value == .redacted || violation.field == "email" || violation.field.hasPrefix("geo"))
    }
    #expect(!"\(prepared)".contains("a@b.c"))
    #expect(!"\(prepared)".contains("123456"))
    #expect(!"\(prepared)".contains("6.7.8"))
    // Nor does a mapper's.
    var mapped = Preparation(contract: try contract.compiled(), mapper: .renameFields(["card": "pan", "email": "to"]))
    let provided = try mapped.required(event)
    #expect(provided.fields["pan"] == .redacted)
    #expect(provided.fields["to"] == .redacted)
    // Told otherwise, nothing is.
    var open = Preparation(contract: try contract.compiled(), redactsSensitive: false)
    #expect(open.prepare(event)?.fields == fields)
    #expect(open.prepare(event)?.context == context)
  }

  @Test func `a value of another shape is replaced whole where something sensitive is to be`() throws {
    let shapes = Contract("shapes", version: "1") {
      EventRule("e") {
        Optionally("address.street", .string, .sensitive)
        Optionally("emails[]", .string, .sensitive)
        Optionally("m[].x", .string, .sensitive)
        Optionally("pins[][]", .string, .sensitive)
        Optionally("plain", .string)
      }
    }
    var preparation = Preparation(contract: try shapes.compiled())
    let cases: [(FieldObject, FieldObject)] = [
      (["address": "12 Secret St"], ["address": .redacted]), (["address": ["12 Secret St"]], ["address": [.redacted]]),
      (["address": [["street": "s", "city": "c"]]], ["address": [["street": .redacted, "city": "c"]]]),
      (["address": ["street": ["name": "s"]]], ["address": ["street": .redacted]]),
      (["emails": "s@x"], ["emails": .redacted]), (["emails": ["home": "s@x"]], ["emails": .redacted]),
      (["emails": [["s@x"], nil]], ["emails": [.redacted, nil]]),
      (["m": ["s", 7, nil]], ["m": [.redacted, .redacted, nil]]),
      (["m": ["x": "s"]], ["m": .redacted]), (["pins": ["s", ["t"]]], ["pins": [.redacted, [.redacted]]]),
      (["address": nil, "plain": ["street": "p"]], ["address": nil, "plain": ["street": "p"]]),
    ]
    for (fields, redacted) in cases {
      let event = try preparation.required(stored("e", fields))
      #expect(event.fields == redacted, "\(fields)")
      #expect(event.stored.fields == redacted, "\(fields)")
    }
  }

  @Test func `an event of the log itself is not prepared, and one without definition is`() throws {
    var preparation = Preparation(contract: try contract.compiled(), registries: [OrderRegistry.self])
    for name in ["weir.gap", "weir.hole", "weir.associated", "weir.disassociated"] {
      #expect(preparation.prepare(stored(name)) == nil)
    }
    let undefined = stored(StoredEvent.undefinedName, ["payload": .bytes([1, 2, 3])])
    let event = try preparation.required(undefined)
    #expect(event.fields == ["payload": .redacted])
    #expect(event.violations == [])
    #expect(event.flags == [])
    #expect(preparation.counts.passed == 4)
    #expect(preparation.counts.prepared == 1)
    // One that does not fit its definition is told so, and no default is put beside its bytes.
    let declaration = EventType("order", [Field("number", .int64), Field("email", .string, sensitive: true)])
    let unread = stored("order", ["payload": .bytes([1, 2, 3])], declaration: declaration)
    let told = try preparation.required(unread)
    #expect(told.fields == ["payload": .redacted])
    #expect(told.violations.map(\.rule) == ["readable"])
    #expect(told.violations.map(\.value) == [.redacted])
    #expect(preparation.counts.underived == ["orders": 1])
  }

  @Test func `the same events come out the same`() throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["WEIR_SEED"] ?? "") ?? 14
    var random = Seeded(seed: seed)
    let events = (0..<3000).map { number in
      stored(
        ["order", "oder", "weir.gap"].randomElement(using: &random)!,
        ["number": .int(.random(in: -2...2, using: &random)), "userID": 1, "user_id": 2],
        at: .random(in: 0...10_000_000_000, using: &random), id: EventID(opening: 1, sequence: UInt64(number)))
    }
    let fresh = Preparation(
      contract: try contract.compiled(), registries: [OrderRegistry.self], duplicates: DuplicateRule(limit: 50),
      hooks: [EventHook("odd") { $0.fields["number"] == 1 ? .drop : .keep }],
      mapper: EventMapper(.snakeCase(), .flatten()))
    var one = fresh
    var other = fresh
    let first = events.map { one.prepare($0) }
    #expect(events.map { other.prepare($0) } == first, "seed \(seed)")
    #expect(one.counts == other.counts)
    #expect(one.counts.duplicates > 100)
    #expect(one.counts.renamed > 100)
    let counts = one.counts
    let dropped = counts.dropped.values.reduce(0, +)
    #expect(counts.prepared + counts.passed + counts.filtered + dropped == UInt64(events.count))
    #expect(counts.prepared == UInt64(first.count { $0 != nil }))
  }
}
