// How an event of one version is found by a reader of another: by wire id, name, former names, each before the next.

import TestSupport
import Testing
import Weir

struct EvolutionTests {
  private func stored(_ declaration: EventType?, _ fields: FieldObject = [:], name: String? = nil) -> StoredEvent {
    StoredEvent(
      offset: 0, id: EventID(opening: 1, sequence: 2), time: Timestamp(nanosecondsSince1970: 0),
      name: name ?? declaration?.name ?? "none", fields: fields, declaration: declaration)
  }

  @Test func `an event is found by its name`() {
    let types = [EventType("a"), EventType("b")]
    #expect(stored(EventType("b")).index(in: types) == 1)
    #expect(stored(nil, name: "b").index(in: types) == 1)
    #expect(stored(EventType("c")).index(in: types) == nil)
    #expect(stored(EventType("a")).index(in: []) == nil)
  }

  @Test func `a wire ID is more than a name`() {
    let types = [EventType("e.old", wireID: 1), EventType("e.new", wireID: 2)]
    // Renamed, and neither knows the other's name.
    #expect(stored(EventType("e.other", wireID: 2)).index(in: types) == 1)
    // Renamed to what another one was called.
    #expect(stored(EventType("e.new", wireID: 1)).index(in: types) == 0)
    // The name was used anew for an event that this reader does not know.
    #expect(stored(EventType("e.old", wireID: 3)).index(in: types) == nil)
  }

  @Test func `a wire ID counts among names that begin alike`() {
    let types = [EventType("cart.opened", wireID: 7), EventType("a.b.c", wireID: 8), EventType("bare", wireID: 9)]
    #expect(stored(EventType("profile.deleted", wireID: 7)).index(in: types) == nil)
    #expect(stored(EventType("a.c", wireID: 8)).index(in: types) == nil)
    #expect(stored(EventType("a.b.d", wireID: 8)).index(in: types) == 1)
    #expect(stored(EventType("nude", wireID: 9)).index(in: types) == nil)
    // With the former name, prefixes and bare names change too.
    #expect(stored(EventType("profile.opened", wireID: 7, formerNames: ["cart.opened"])).index(in: types) == 0)
    #expect(stored(EventType("basket.begun", wireID: 7, formerNames: ["cart.begun"])).index(in: types) == 0)
    #expect(stored(EventType("nude", wireID: 9, formerNames: ["bare"])).index(in: types) == 2)
  }

  @Test func `a wire ID on one side only leaves the name to count`() {
    #expect(stored(EventType("a", wireID: 1)).index(in: [EventType("a")]) == 0)
    #expect(stored(EventType("a")).index(in: [EventType("a", wireID: 1)]) == 0)
    #expect(stored(nil, name: "a").index(in: [EventType("b"), EventType("a", wireID: 1)]) == 1)
  }

  @Test func `an event is found by the former names that the reader knows`() {
    let types = [EventType("a"), EventType("paid", formerNames: ["bought", "purchased"])]
    #expect(stored(EventType("bought")).index(in: types) == 1)
    #expect(stored(EventType("purchased", wireID: 9)).index(in: types) == 1)
    // A name is more than a former one.
    #expect(stored(EventType("bought")).index(in: types + [EventType("bought")]) == 2)
    // Of another id, it is another event.
    let ids = [EventType("paid", wireID: 1, formerNames: ["bought"])]
    #expect(stored(EventType("bought", wireID: 2)).index(in: ids) == nil)
  }

  @Test func `an event is found by the former names that the log knows`() {
    let types = [EventType("a"), EventType("bought")]
    #expect(stored(EventType("paid", formerNames: ["purchased", "bought"])).index(in: types) == 1)
    // What the reader knows is more than what the log knows.
    let both = [EventType("bought"), EventType("buys", formerNames: ["paid"])]
    #expect(stored(EventType("paid", formerNames: ["bought"])).index(in: both) == 1)
    let other = stored(EventType("paid", wireID: 2, formerNames: ["bought"]))
    #expect(other.index(in: [EventType("bought", wireID: 1)]) == nil)
  }

  @Test func `an old reader finds renamed fields`() throws {
    let event = stored(
      EventType("paid", [Field("amount", .double, formerNames: ["sum", "total"]), Field("total_items", .int64)]),
      ["amount": 19.5, "total_items": 3])
    #expect(try event["total"] == 19.5)
    #expect(try event["sum"] == 19.5)
    #expect(try event["amount"] == 19.5)
    #expect(try event["total_items"] == 3)
    #expect(try event["missing"] as Int? == nil)
    let error = #expect(throws: FieldError.self) { try event["missing"] as Int }
    #expect(error?.field == "missing")
  }

  /// A field that has the name is more than one that had it.
  @Test func `a name that is used anew is that of the new field`() throws {
    let event = stored(
      EventType("paid", [Field("amount", .double, formerNames: ["total"]), Field("total", .int64)]),
      ["amount": 19.5, "total": 3])
    #expect(try event["total"] == 3)
  }

  @Test func `a new reader finds former fields`() throws {
    let field = Field("amount", .double, formerNames: ["sum", "total"])
    #expect(try stored(nil, ["amount": 1.0, "total": 2.0, "sum": 3.0]).value(field) == 1.0)
    #expect(try stored(nil, ["total": 2.0, "sum": 3.0]).value(field) == 2.0)
    #expect(try stored(nil, ["sum": 3.0]).value(field) == 3.0)
    #expect(try stored(nil).value(field) as Double? == nil)
    // By what only the log knows.
    let renamed = stored(EventType("x", [Field("price", .double, formerNames: ["amount"])]), ["price": 4.0])
    #expect(try renamed.value(field) == 4.0)
    let error = #expect(throws: FieldError.self) { try stored(nil, ["sum": "x"]).value(field) as Double }
    #expect(error?.field == "amount")
  }

  @Test func `a default stands for a field that is missing`() throws {
    let field = Field("currency", .string, formerNames: ["unit"])
    #expect(try stored(nil).value(field, default: "EUR") == "EUR")
    #expect(try stored(nil, ["currency": "USD"]).value(field, default: "EUR") == "USD")
    #expect(try stored(nil, ["unit": "GBP"]).value(field, default: "EUR") == "GBP")
    // It was optional, and is not any more.
    #expect(try stored(nil, ["currency": nil]).value(field, default: "EUR") == "EUR")
    // It is optional still.
    #expect(try stored(nil, ["currency": nil]).value(field, default: "EUR" as String?) == nil)
    #expect(throws: FieldError.self) { try stored(nil, ["currency": 1]).value(field, default: "EUR") }
  }

  @Test func `page events come back with their kinds`() throws {
    let view = try roundTrip(PageView(page: "/cart", referrer: nil))
    #expect(view.event == PageView(page: "/cart"))
    #expect(try roundTrip(PageView(page: "/cart", referrer: "/")).event.referrer == "/")
    let exit = PageExit(page: "/cart", interaction: "back", seconds: 1.5)
    #expect(try roundTrip(exit).event == exit)
    #expect(try capture(PageView(page: "")).stored.first?.declaration?.kind == .pageView)
    #expect(try capture(exit).stored.first?.declaration?.kind == .pageAction)
    #expect(try PageView(stored(EventType("page.exited"))) == nil)
    #expect(try PageExit(stored(EventType("page.viewed"))) == nil)
  }
}
