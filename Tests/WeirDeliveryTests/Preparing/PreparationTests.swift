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

extension EventMapper {
  fileprivate static let orders = deriving(from: OrderEvent.self) { order, _ in
    ["isLarge": .bool(order.number > 100), "price": ["amount": .int(Int64(order.number)), "rounded": true]]
  }
}

extension Preparation {
  /// What comes out for an event that must.
  fileprivate mutating func required(_ event: StoredEvent) throws -> PreparedEvent {
    let prepared = prepare(event)
    return try #require(prepared)
  }

  /// One that holds events against a contract.
  fileprivate init(_ contract: Contract, mapper: EventMapper = EventMapper(), redactsSensitive: Bool = true) throws {
    var options = DeliveryOptions()
    options.contract = try contract.compiled()
    options.redactsSensitive = redactsSensitive
    self.init(options, mapper: mapper)
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
    var counts = PreparedEvent.Counts()
    counts.prepared = 1
    #expect(preparation.counts == counts)
  }

  @Test func `the steps go in their order`() throws {
    let mapper = EventMapper(
      .snakeCase(),
      EventMapper { event in
        // Derived fields, defaults, flags and redaction are there by now, in the names that the mapper before made.
        #expect(event.violations.map(\.field) == ["number", "card"])
        #expect(event.violations.last?.value == .redacted)
        #expect(event.flags.contains(.violating))
        #expect(event.flags.contains(.defaulted(field: "currency")))
        #expect(event.fields["currency"] == "EUR")
        #expect(event.fields["card"] == .redacted)
        #expect(event.fields["is_large"] == true)
        var changed = event
        changed.fields["own_field"] = event.fields["currency"]
        changed.name = "OrderPlaced"
        return changed
      },
      .deriving(from: OrderEvent.self) { order, stored in
        #expect(stored.fields["card"] == "12345")
        return ["isLarge": .bool(order.number < 0)]
      })
    var preparation = try Preparation(contract, mapper: mapper)
    let event = try preparation.required(stored("order", ["number": -200, "card": "12345"]))
    #expect(event.name == "OrderPlaced")
    #expect(event.fields["own_field"] == "EUR")
    #expect(event.stored.fields["card"] == .redacted)
    #expect(event.violations.map(\.value) == [-200, .redacted])
    #expect(event.stored.fields["number"] == -200)
    let counts = preparation.counts
    #expect(counts.prepared == 1)
    #expect(counts.violating == 1)
    #expect(counts.defaulted == 1)
    #expect(counts.withheld == 0)
  }

  @Test func `a field that is derived is not unknown to the contract, one that the program adds is`() throws {
    var preparation = try Preparation(contract, mapper: .orders)
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

  @Test func `an event that the mapper withholds is counted`() {
    var preparation = Preparation(mapper: .only { $0.name != "a" })
    #expect(preparation.prepare(stored("a")) == nil)
    #expect(preparation.prepare(stored("b")) != nil)
    #expect(preparation.counts.withheld == 1)
    #expect(preparation.counts.prepared == 1)
  }

  @Test func `duplicates are flagged and still come out`() throws {
    func event(_ number: UInt64, at time: Int64) -> StoredEvent {
      stored("order", ["n": 1], at: time, id: EventID(opening: 1, sequence: number))
    }
    let second: Int64 = 1_000_000_000
    let mapper = EventMapper.deriving { ["time": .int($0.time.nanosecondsSince1970)] }
    var preparation = Preparation(mapper: mapper)
    let prepared = [0, second / 2, second, second + 1, 3 * second].enumerated().map { index, time in
      preparation.prepare(event(UInt64(index), at: time))
    }
    let first = PreparedEvent.Flag.duplicate(of: EventID(opening: 1, sequence: 0))
    #expect(prepared.map { $0?.flags } == [[], [first], [first], [], []])
    #expect(preparation.counts.duplicates == 2)
    #expect(preparation.counts.prepared == 5)
    var options = DeliveryOptions()
    options.duplicateWindow = nil
    var off = Preparation(options)
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
    // Another name for the event takes nothing away.
    var preparation = try Preparation(contract, mapper: .renaming(events: ["order": "renamed"]))
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
    // Nor do other names for fields.
    var mapped = try Preparation(contract, mapper: .renaming(fields: ["card": "pan", "email": "to"]))
    let provided = try mapped.required(event)
    #expect(provided.fields["pan"] == .redacted)
    #expect(provided.fields["to"] == .redacted)
    // Told otherwise, nothing is.
    var open = try Preparation(contract, redactsSensitive: false)
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
    var preparation = try Preparation(shapes)
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
    var preparation = try Preparation(contract, mapper: .orders)
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
    #expect(preparation.counts.underived == ["OrderEvent": 1])
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
    var options = DeliveryOptions()
    options.contract = try contract.compiled()
    options.duplicateMemory = 50
    let mapper = EventMapper(.orders, .only { $0.fields["number"] != 1 }, .snakeCase(), .flattening())
    let fresh = Preparation(options, mapper: mapper)
    var one = fresh
    var other = fresh
    let first = events.map { one.prepare($0) }
    #expect(events.map { other.prepare($0) } == first, "seed \(seed)")
    #expect(one.counts == other.counts)
    #expect(one.counts.duplicates > 100)
    #expect(one.counts.renamed > 100)
    let counts = one.counts
    #expect(counts.prepared + counts.passed + counts.withheld == UInt64(events.count))
    #expect(counts.prepared == UInt64(first.count { $0 != nil }))
  }
}
