// page: Sources/Weir/Weir.docc/Guides/Contracts.md

import Foundation
import Testing
import Weir
import WeirContracts

@Suite struct ContractGuide {
  @Test func `a contract checks events and fills in defaults`() throws {
    // snippet
    let contract = Contract("shop", version: "1.2") {
      EventRule("checkout.completed") {
        Mandatory("order", .integer, .range(1...))
        Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "EUR")
        Optionally("coupon", .string, .matches("[A-Z0-9]{4,12}"))
        Optionally("email", .string, .length(3...254), .sensitive)
        Mandatory("items", .array, .length(1...)) {
          Mandatory("sku", .string)
          Mandatory("price", .number, .range(0...), .description("gross, in the order's currency"))
        }
        Optionally("tags[]", .string, .length(...32))
      }
    }
    let compiled = try contract.compiled()
    // end

    // snippet
    let fields: FieldObject = [
      "order": 41, "coupon": "spring", "items": [["sku": "a-1", "price": 19.9]], "colour": "red",
    ]
    let outcome = compiled.check(name: "checkout.completed", fields: fields)
    for violation in outcome.violations {
      print(violation)
      // checkout.completed: coupon: matches [A-Z0-9]{4,12}, found "spring"
      // checkout.completed: colour: unknown field, found "red"
    }
    let completed = outcome.completed(fields)  // with the currency "EUR", for outcome.defaults has it
    // end
    #expect(
      outcome.violations.map(\.description) == [
        "checkout.completed: coupon: matches [A-Z0-9]{4,12}, found \"spring\"",
        "checkout.completed: colour: unknown field, found \"red\"",
      ])
    #expect(completed["currency"] == "EUR")
    #expect(outcome.defaults.map(\.field) == ["currency"])
    #expect(completed.count == fields.count + 1)
  }

  @Test func `a contract checks the context and the kind`() throws {
    // snippet
    let contract = Contract("shop", version: "1.3") {
      Mandatory("context.globals.app", .string, default: "shop")
      Mandatory("context.user")
    } events: {
      EventRule("page.viewed", kind: .pageView) {
        Mandatory("context.view.name", .string)
        Mandatory("title", .string)
      }
    }
    let context = EventContext(user: EventUser(id: "ada"))
    let outcome = try contract.compiled().check(name: "page.viewed", fields: ["title": "Cart"], context: context)
    for violation in outcome.violations {
      print(violation)
      // page.viewed: kind page_view
      // page.viewed: context.view.name: mandatory
    }
    let completed = outcome.completed(context)  // with the global field app
    // end
    #expect(
      outcome.violations.map(\.description) == [
        "page.viewed: kind page_view", "page.viewed: context.view.name: mandatory",
      ])
    #expect(completed.globals == ["app": "shop"])
  }

  @Test func `a contract that contradicts itself is refused at once`() throws {
    // snippet
    let contradictory = Contract("shop", version: "1.2") {
      EventRule("checkout.completed") {
        Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "GBP")
        Mandatory("order", .integer, .range(9...1_000), .matches("[0-9]+"))
      }
    }
    do {
      _ = try contradictory.compiled()
    } catch {
      print(error)
      // checkout.completed: currency: the default "GBP" violates one of "EUR", "USD"
      // checkout.completed: order: a pattern requires the type string
    }
    // end
    #expect {
      try contradictory.compiled()
    } throws: {
      "\($0)" == """
        checkout.completed: currency: the default "GBP" violates one of "EUR", "USD"
        checkout.completed: order: a pattern requires the type string
        """
    }
  }

  /// The JSON and the table of the page, which no compiler reads.
  @Test func `the file of the page is the contract of the page`() throws {
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/Weir/Weir.docc/Guides/Contracts.md"), encoding: .utf8)
    let start = try #require(page.range(of: "```json\n"))
    let end = try #require(page.range(of: "\n```", range: start.upperBound..<page.endIndex))
    let json = Data(page[start.upperBound..<end.lowerBound].utf8)
    // snippet
    let shop = try Contract(json: json)
    let old = try Contract("shop", version: "1.1") {
      EventRule("checkout.completed") { Optionally("order", .integer) }
    }.compiled()
    for change in try old.changes(to: shop.compiled()) where change.isBreaking {
      print(change)
      // breaking: checkout.completed: order: field made mandatory: where it is missing, it is flagged now
    }
    // end
    #expect(try Contract(json: shop.json()) == shop)
    let second = try #require(page.range(of: "```json\n", range: end.upperBound..<page.endIndex))
    let secondEnd = try #require(page.range(of: "\n```", range: second.upperBound..<page.endIndex))
    let withContext = try Contract(json: Data(page[second.upperBound..<secondEnd.lowerBound].utf8))
    #expect(withContext.everyEvent.map(\.name) == ["context.globals.app", "context.user"])
    #expect(withContext.events.first?.kind == .pageView)
    #expect(
      try old.changes(to: shop.compiled()).map(\.description).contains(
        "breaking: checkout.completed: order: field made mandatory: where it is missing, it is flagged now"))
  }

  @Test func `approvals are read, added and written`() throws {
    let directory = try ScratchFolder()
    let place = URL(filePath: directory.path).appending(path: "shop.approvals.jsonl")
    let file = Data()
    let new = Contract("shop", version: "1.1") { EventRule("checkout.completed") { Optionally("gift", .bool) } }
    let changes = try Contract("shop", version: "1.1") { EventRule("checkout.completed") }.compiled()
      .changes(to: new.compiled())
    // snippet
    var approvals = try ContractApprovals(jsonLines: file)
    let unapproved = changes.filter { approvals.approvals(of: $0).isEmpty }
    try approvals.approve(unapproved.filter { !$0.isBreaking }, by: "Ada", reason: "spring campaign")
    try approvals.jsonLines().write(to: place)
    // end
    #expect(try ContractApprovals(jsonLines: Data(contentsOf: place)) == approvals)
    let page = try String(
      contentsOf: URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/Weir/Weir.docc/Guides/Contracts.md"), encoding: .utf8)
    #expect(page.contains("\n" + String(decoding: approvals.jsonLines(), as: UTF8.self)), "the line of the page")
  }
}
