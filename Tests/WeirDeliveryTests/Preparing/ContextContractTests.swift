// The contract over the event as it goes out: context, globals and kind are checked, defaults take nobody's place at a
// provider, and unknown fields are left out where the options say so.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct ContextContractTests {
  private func preparation(
    _ contract: Contract, omitting: Bool = false, mapper: EventMapper = EventMapper()
  ) throws -> Preparation {
    var options = DeliveryOptions()
    options.contract = try contract.compiled()
    options.omitsUnknownFields = omitting
    return Preparation(options, mapper: mapper)
  }

  private func prepared(
    _ contract: Contract, _ event: StoredEvent, omitting: Bool = false, mapper: EventMapper = EventMapper()
  ) throws -> PreparedEvent {
    var preparation = try preparation(contract, omitting: omitting, mapper: mapper)
    let event = preparation.prepare(event)
    return try #require(event)
  }

  @Test func `what is missing in the context is flagged, and defaults of global fields are filled in and flagged`()
    throws
  {
    let contract = Contract("shop", version: "1") {
      Mandatory("context.globals.app", default: "shop")
      Mandatory("context.user")
    } events: {
      EventRule("page.viewed", kind: .pageView) { Mandatory("context.view") }
    }
    let declaration = EventType("page.viewed", kind: .pageView)
    let event = try prepared(contract, stored("page.viewed", declaration: declaration))
    #expect(event.violations.map(\.field) == ["context.user", "context.view"])
    #expect(event.flags == [.violating, .defaulted(field: "context.globals.app")])
    #expect(event.context.globals == ["app": "shop"])
    #expect(event.fields.isEmpty)
    #expect(event.stored.context.globals.isEmpty, "as it was captured")
    let json = String(decoding: EventJSON.object(event), as: UTF8.self)
    #expect(json.contains(#""violations":["context.user: mandatory","context.view: mandatory"]"#))
    #expect(json.contains(#""defaulted":["context.globals.app"]"#))

    let context = EventContext(
      globals: ["app": "x"], user: EventUser(id: "u"), view: EventView(id: "v", name: "/"))
    #expect(try prepared(contract, stored("page.viewed", declaration: declaration, context: context)).flags == [])
    let byName = try prepared(contract, stored("page.viewed", context: context))
    #expect(byName.violations.map(\.rule) == ["kind page_view"])
  }

  /// The false value of a contract that asks for a global field as if it were the event's own.
  @Test func `a default does not hide the value of a global or bound field at a provider with one place for all`()
    throws
  {
    let own = Contract("shop", version: "1") {
      EventRule("order") { Mandatory("app", .string, default: "unknown") }
    }
    let global = Contract("shop", version: "1") {
      Mandatory("context.globals.app", default: "unknown")
    } events: {
      EventRule("order", open: true)
    }
    let contexts = [EventContext(globals: ["app": "shop"]), EventContext(fields: ["app": "shop"])]
    for contract in [own, global] {
      for context in contexts {
        let flat = try prepared(contract, stored("order", context: context), mapper: .joiningContext())
        #expect(flat.fields == ["app": "shop"])
        #expect(flat.flags == [])
        #expect(try prepared(contract, stored("order", context: context)).context == context)
      }
      let absent = try prepared(contract, stored("order"), mapper: .joiningContext())
      #expect(absent.fields == ["app": "unknown"])
      #expect(absent.flags == [.defaulted(field: contract == own ? "app" : "context.globals.app")])
    }
    let event = try prepared(global, stored("order", ["app": "own"]), mapper: .joiningContext())
    #expect(event.fields == ["app": "own"])
    #expect(event.flags == [])
  }

  @Test func `a derived field is checked as a field of the event`() throws {
    let contract = Contract("shop", version: "1") {
      EventRule("order") {
        Mandatory("items", .array)
        Mandatory("count", .integer, .range(1...))
      }
    }
    let mapper = EventMapper.deriving(["count": .count("items")])
    #expect(try prepared(contract, stored("order", ["items": [1]]), mapper: mapper).flags == [])
    let empty = try prepared(contract, stored("order", ["items": []]), mapper: mapper)
    #expect(empty.violations.map(\.rule) == ["range 1..."])
  }

  @Test func `sensitive values of the context are redacted in violations too`() throws {
    let contract = Contract("shop", version: "1") {
      Optionally("context.globals.ip", .integer)
    } events: {
      EventRule("order")
    }
    let context = EventContext(globals: ["ip": "1.2.3.4"], sensitive: ["ip"])
    let event = try prepared(contract, stored("order", context: context))
    #expect(event.violations.map(\.value) == [.redacted])
    #expect(!"\(event)".contains("1.2.3.4"))
  }

  private let nested = Contract("shop", version: "1") {
    EventRule("order") {
      Optionally("number", .integer)
      Optionally("address", .object) { Optionally("city", .string) }
      Optionally("lines", .array) { Optionally("sku", .string) }
      Optionally("free", .object)
      Mandatory("currency", .string, default: "EUR")
    }
    EventRule("open", open: true)
  }

  @Test func `unknown fields are flagged, and left out where the options say so`() throws {
    let fields: FieldObject = [
      "number": 1, "colour": "red", "address": ["city": "Bonn", "zip": 5], "empty": nil,
      "lines": [["sku": "a", "x": 1], 7, nil], "free": ["any": 1],
    ]
    let kept = try prepared(nested, stored("order", fields))
    #expect(kept.violations.count(where: { $0.rule == "unknown field" }) == 3)
    #expect(kept.fields.count == fields.count + 1)

    var preparation = try preparation(nested, omitting: true, mapper: .deriving { _ in ["derived": ["x": 1]] })
    let prepared = preparation.prepare(stored("order", fields))
    let event = try #require(prepared)
    let known: FieldObject = [
      "number": 1, "address": ["city": "Bonn"], "lines": [["sku": "a"], 7, nil], "free": ["any": 1],
      "derived": ["x": 1], "currency": "EUR",
    ]
    #expect(event.fields == known)
    #expect(event.violations == kept.violations)
    #expect(event.flags.contains(.violating))
    #expect(event.stored.fields == fields)
    #expect(preparation.counts.omitted == 4)
    #expect(preparation.counts.prepared == 1)
    var own = known
    own["derived"] = nil
    #expect(preparation.prepare(stored("order", known))?.fields == own, "a field of the event itself is not derived")
    #expect(preparation.counts.omitted == 5)
  }

  @Test func `more unknown fields than a check lists are left out`() throws {
    let many = FieldObject((0..<300).map { ("f\($0)", FieldValue.int($0)) })
    #expect(try prepared(nested, stored("order", many), omitting: true).fields == ["currency": "EUR"])
  }

  @Test func `an open event, an unknown event and a payload that can't be read keep their fields`() throws {
    for name in ["open", "oder"] {
      #expect(try prepared(nested, stored(name, ["x": 1]), omitting: true).fields == ["x": 1], "\(name)")
    }
    let declaration = EventType("order", [Field("number", .int64)])
    let unread = stored("order", ["payload": .bytes([1])], declaration: declaration)
    #expect(try prepared(nested, unread, omitting: true).fields == ["payload": .redacted])
    var options = DeliveryOptions()
    options.omitsUnknownFields = true
    var without = Preparation(options)
    #expect(without.prepare(stored("order", ["x": 1]))?.fields == ["x": 1], "without a contract nothing is unknown")
  }
}
