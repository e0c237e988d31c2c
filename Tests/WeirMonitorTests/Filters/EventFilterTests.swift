// EventFilter: what each term of the language finds, and what a wrong one is told.

import Foundation
import TestSupport
import Testing
import WeirContracts
import WeirDelivery

@testable import Weir
@testable import WeirMonitor

@Suite struct EventFilterTests {
  private func event(
    _ name: String = "checkout.completed", _ fields: FieldObject = [:], context: EventContext = EventContext(),
    kind: EventKind? = nil
  ) -> StoredEvent {
    StoredEvent(
      offset: 4711, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: name,
      fields: fields, declaration: kind.map { EventType(name, [], kind: $0) }, context: context)
  }

  private func matches(_ filter: String, _ event: StoredEvent, _ found: EventFindings = EventFindings()) throws -> Bool
  {
    try EventFilter(filter).matches(event) { found }
  }

  @Test(arguments: [
    ("total>=100", true), ("total>100.5", false), ("total=100", true), ("total=100.0", true), ("total!=100", false),
    ("total<101", true), ("total<=99", false), ("large=9007199254740993", true), ("large=9007199254740992", false),
    ("large>9007199254740992", true), ("coupon=SPRING*", true), ("coupon=*ING", true), ("coupon=S*R*G", true),
    ("coupon=SPRIN", false), ("coupon=\"SPRING 26\"", false), ("coupon!=AUTUMN", true), ("gift=true", true),
    ("nothing=1", false), ("nothing!=1", true), ("cart.items=3", true), ("cart.items=4", false), ("rows.price>5", true),
    ("rows[].price>5", true), ("rows.price>50", false), ("none=null", true), ("coupon>=SP", true),
  ])
  func `fields are compared by value`(_ filter: String, _ expected: Bool) throws {
    let shop = event(
      "checkout.completed",
      [
        "total": .int(100), "large": .uint(9_007_199_254_740_993), "coupon": "SPRING", "gift": true, "none": nil,
        "cart": .object(["items": .int(3)]),
        "rows": .array([.object(["price": .double(9.5)]), .object(["price": .double(1)])]),
      ])
    #expect(try matches(filter, shop) == expected)
  }

  @Test func `names, users, views and kinds`() throws {
    var context = EventContext()
    context.user = EventUser(id: "u7")
    context.view = EventView(id: "v1", name: "Cart")
    let shop = event("checkout.completed", context: context, kind: .pageAction)
    for filter in [
      "name:checkout.*", "name:a,checkout.completed", "user:u7", "view:Cart", "view:v1", "kind:page_action",
    ] {
      #expect(try matches(filter, shop), "\(filter)")
      #expect(try !matches("-" + filter, shop), "-\(filter)")
    }
    for filter in ["name:checkout", "name:\"a,checkout.completed\"", "user:u", "kind:page_view"] {
      #expect(try !matches(filter, shop), "\(filter)")
    }
    #expect(try !matches("user:*", event()))
  }

  @Test func `a text is found anywhere, upper and lower case alike`() throws {
    var context = EventContext()
    context.globals = ["app": "Kiosk"]
    let shop = event(
      "checkout.completed", ["note": "Grüße AUS Köln", "deep": .object(["Inner": .int(42)])], context: context)
    for text in ["CHECKOUT", "grüße", "\"aus köln\"", "inner", "42", "kiosk"] {
      #expect(try matches(text, shop), "\(text)")
    }
    #expect(try !matches("berlin", shop))
    #expect(try matches("-berlin grüße", shop))
    #expect(try !matches("grüße berlin", shop))
    // The context has its own prefix for comparisons.
    #expect(try matches("context.app=Kiosk", shop))
  }

  @Test func `flags and states of delivery`() throws {
    let found = EventFindings(flags: [.violating], states: [("http", .pending), ("warehouse", .rejected)])
    #expect(try !EventFilter("is:gap").needsStates)
    #expect(try matches("-is:gap", event(), found))
    for filter in ["is:violating", "at:http=pending", "at:*=rejected", "-at:http=rejected"] {
      let parsed = try EventFilter(filter)
      #expect(parsed.needsStates)
      #expect(parsed.matches(event()) { found }, "\(filter)")
      #expect(parsed.matches(found), "\(filter)")
    }
    #expect(try EventFilter("name:other at:http=pending").matches(found))
    #expect(try !EventFilter("-at:http=pending").matches(found))
    #expect(try !matches("at:*=acknowledged", event(), found))
  }

  @Test func `offsets and times bound what is looked at`() throws {
    let filter = try EventFilter("from:10 to:20 from:12")
    #expect(filter.offsets == 12...20)
    #expect(!filter.isEmpty)
    #expect(try EventFilter("").isEmpty)
    #expect(try EventFilter("since:2026-11-21 until:2026-11-22T00:00:00Z").isDecidedEncoded)
  }

  @Test func `a value that is replaced can't be found out by asking for it`() throws {
    let hidden = event("signup", ["email": .redacted])
    #expect(try !matches("email=bob@example.org", hidden))
    #expect(try !matches("email=b*", hidden))
    #expect(try !matches("bob", hidden))
    #expect(try matches("email=[redacted]", hidden))
  }

  @Test(arguments: [
    ("name:", "name"), ("is:wrong", "violating"), ("at:http", "PROVIDER=STATE"), ("at:http=done", "acknowledged"),
    ("kind:x", "page_view"), ("since:yesterday", "2026"), ("from:x", "offset"), ("from:-1", "offset"),
    ("from:20 to:10", "below"), ("\"open", "quotation mark"), ("a[=1", "field"), ("-since:2026-11-21", "until"),
    ("\"\"", "empty"),
    ("a..b=1", "field"),
  ])
  func `a wrong term is named, with what to write`(_ filter: String, _ word: String) {
    let error = #expect(throws: FilterError.self) { try EventFilter(filter) }
    #expect(error?.message.contains(word) == true, "\(error?.message ?? "")")
  }

  @Test func `a filter without end is refused`() {
    #expect(throws: FilterError.self) { try EventFilter(String(repeating: "x", count: FilterWord.maximumBytes + 1)) }
    #expect(throws: Never.self) { try EventFilter(String(repeating: "x", count: FilterWord.maximumBytes)) }
  }

  @Test func `any text is a filter or an error, and nothing else`() {
    let seed = testSeed()
    print("EventFilterTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    let pieces = [
      "name:", "at:", "=", "!=", ">", "\"", "\\", "-", " ", "*", ",", ".", "[", "]", "é", "\u{202e}", "1", "x", "\0",
      ":",
    ]
    for _ in 0..<5_000 {
      let text = (0..<Int.random(in: 0..<12, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        .joined()
      guard let filter = try? EventFilter(text) else { continue }
      _ = filter.matches(event("x", ["x": "1", "é": .array([nil, .double(.nan)])])) { EventFindings() }
    }
  }
}
