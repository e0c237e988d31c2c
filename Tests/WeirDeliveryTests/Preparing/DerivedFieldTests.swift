// Derived fields by rules, and patterns of names.

import TestSupport
import Testing

@testable import Weir
@testable import WeirDelivery

struct DerivedFieldTests {
  private func derived(_ rule: DerivedField, _ fields: FieldObject, context: EventContext = EventContext())
    -> FieldValue?
  {
    EventMapper.deriving(["x": rule])(prepared("e", fields, context: context))?.fields["x"]
  }

  @Test func `a value is copied from the event and its context`() {
    let context = EventContext(
      globals: ["app": "shop"], user: EventUser(id: "u", traits: ["plan": "pro"]),
      view: EventView(id: "v", name: "Cart", parent: "w"), fields: ["campaign": 7])
    let fields: FieldObject = [
      "price": ["amount": 5], "items": [["sku": "a"], ["sku": "b"], 3], "a.b": 1, "context": ["own": 1],
    ]
    for (path, expected) in [
      ("price.amount", 5), ("items[].sku", ["a", "b"]), ("a\\.b", 1), ("context.globals.app", "shop"),
      ("context.user.id", "u"), ("context.user.traits.plan", "pro"), ("context.view.name", "Cart"),
      ("context.view.parent", "w"), ("context.fields.campaign", 7), ("none", nil), ("price.none", nil),
      ("price.amount.deep", nil), ("price[]", nil), ("context.view.none", nil), ("a..b", nil),
    ] as [(String, FieldValue?)] {
      #expect(derived(.copy(path), fields, context: context) == expected, "\(path)")
    }
    #expect(
      derived(.copy("context.view.parent"), [:], context: EventContext(view: EventView(id: "v", name: "n"))) == nil)
    #expect(derived(.copy("context.user.id"), [:]) == nil)
  }

  @Test func `elements and members are counted`() {
    #expect(derived(.count("a"), ["a": [1, 2, 3]]) == 3)
    #expect(derived(.count("a"), ["a": ["x": 1]]) == 1)
    #expect(derived(.count("a[].b"), ["a": [["b": 1], ["c": 1]]]) == 1)
    #expect(derived(.count("a"), ["a": []]) == 0)
    #expect(derived(.count("a"), ["a": "text"]) == nil)
  }

  @Test func `numbers are added and divided`() {
    #expect(derived(.sum(["a", "b[].c"]), ["a": 1, "b": [["c": 2], ["c": 3]]]) == 6)
    #expect(derived(.sum(["a", "b"]), ["a": 1, "b": 0.5]) == .double(1.5))
    #expect(derived(.sum(["a", "b"]), ["a": .int(.max), "b": 1]) == .double(9_223_372_036_854_775_808))
    #expect(derived(.sum(["a"]), ["a": "1"]) == nil)
    #expect(derived(.sum(["a", "b"]), ["a": 1]) == nil)
    #expect(derived(.ratio("a", "b"), ["a": 1, "b": 4]) == .double(0.25))
    #expect(derived(.ratio("a", "b"), ["a": 1, "b": 0]) == nil)
    #expect(derived(.ratio("a", "b"), ["a": 1, "b": "4"]) == nil)
  }

  @Test func `a text is made of values`() {
    #expect(derived(.text("{a} of {b.c}: {{x}"), ["a": 1, "b": ["c": "y"]]) == "1 of y: {x}")
    #expect(derived(.text("{a}{b}"), ["a": 1]) == nil)
    #expect(derived(.text("plain"), [:]) == "plain")
    #expect(derived(.text("{a"), ["a": 1]) == nil)
  }

  @Test func `only the named events get derived fields, and no field is replaced`() {
    let mapper = EventMapper.deriving(["n": .count("a"), "a": .copy("b")], from: "shop.*")
    #expect(mapper(prepared("shop.x", ["a": [1], "b": 2]))?.fields == ["a": [1], "b": 2, "n": 1])
    #expect(mapper(prepared("other", ["a": [1]]))?.fields == ["a": [1]])
  }
}

struct NamePatternsTests {
  @Test(arguments: [
    ("a", "a", true), ("a", "ab", false), ("a*", "a", true), ("a*", "ab", true), ("a*", "ba", false), ("*", "", true),
    ("*a", "ba", true), ("*a", "ab", false), ("a*a", "a", false), ("a*a", "aa", true), ("a*b*c", "a-b-b-c", true),
    ("a*bc*c", "abc", false), ("**", "x", true), ("*b*", "abc", true), ("*b*", "ac", false), ("é*", "éa", true),
    ("", "", true), ("", "a", false), ("a*b*b", "ab", false), ("a.b", "axb", false),
  ])
  func `an asterisk stands for any text`(_ pattern: String, _ name: String, _ expected: Bool) {
    #expect(NamePatterns([pattern]).match(name) == expected)
    #expect(NamePatterns(["no", pattern]).match(name) == expected)
  }

  @Test func `names are for people`() {
    for (name, title) in [
      ("post.liked", "Post Liked"), ("PostLiked", "Post Liked"), ("checkout_completed", "Checkout Completed"),
      ("HTTPError", "Http Error"), ("Post Liked", "Post Liked"), ("", ""),
    ] {
      #expect(EventMapper.titleCase()(prepared(name, ["aB": 1]))?.name == title)
    }
    #expect(EventMapper.titleCase(words: ["iOS"])(prepared("app.iOSStarted", ["aB": 1]))?.name == "App iOS Started")
    #expect(EventMapper.titleCase()(prepared("a", ["aB": 1]))?.fields == ["aB": 1])
  }
}
