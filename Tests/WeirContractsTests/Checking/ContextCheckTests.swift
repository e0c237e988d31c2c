// What a contract says of the context: user, view, bound and global fields, for one event and for every event, and
// defaults that take nobody's place.

import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts

struct ContextCheckTests {
  private static let shop = Contract("shop", version: "1") {
    Mandatory("context.globals.app", .string, .length(1...))
    Mandatory("context.globals.environment", .string, .oneOf("production", "staging"), default: "production")
    Optionally("context.user.traits.plan", .string, .oneOf("free", "pro"))
  } events: {
    EventRule("page.viewed") {
      Mandatory("context.view")
      Mandatory("title", .string)
    }
    EventRule("order.placed") {
      Mandatory("context.user.id", .string, .length(...8))
      Mandatory("context.fields.request", .string)
      Optionally("context.globals.regions[]", .string)
    }
    EventRule("note")
  }

  private static let full = EventContext(
    globals: ["app": "shop", "environment": "staging", "other": 1], user: EventUser(id: "ada", traits: ["plan": "pro"]),
    view: EventView(id: "v", name: "/cart"), fields: ["request": "r-1", "other": 2])

  private func check(_ name: String, _ fields: FieldObject, _ change: (inout EventContext) -> Void = { _ in }) throws
    -> ContractOutcome
  {
    var context = Self.full
    change(&context)
    return try Self.shop.compiled().check(name: name, fields: fields, context: context)
  }

  private func found(_ name: String, _ fields: FieldObject, _ change: (inout EventContext) -> Void) throws -> [String] {
    try check(name, fields, change).violations.map { violation in
      #expect(violation.event == name)
      return "\(violation.field): \(violation.rule)" + (violation.value.map { " = \($0)" } ?? "")
    }
  }

  @Test func `an event with the context that it should have is clean`() throws {
    for (name, fields): (String, FieldObject) in [
      ("page.viewed", ["title": "t"]), ("order.placed", [:]), ("note", [:]),
    ] {
      #expect(try check(name, fields).isClean, "\(name)")
    }
  }

  @Test func `a missing user, view, bound or global field is found`() throws {
    #expect(try found("note", [:]) { $0.globals["app"] = nil } == ["context.globals.app: mandatory"])
    #expect(try found("note", [:]) { $0.globals["app"] = .null } == ["context.globals.app: mandatory"])
    #expect(try found("note", [:]) { $0.user = nil } == [], "a trait that may be missing asks for no user")
    #expect(try found("page.viewed", ["title": "t"]) { $0.view = nil } == ["context.view: mandatory"])
    #expect(
      try found("order.placed", [:]) { ($0.user, $0.fields) = (nil, [:]) }
        == ["context.user.id: mandatory", "context.fields.request: mandatory"])
    #expect(
      try found("page.viewed", [:]) { ($0.view, $0.globals["app"]) = (nil, nil) }
        == ["title: mandatory", "context.globals.app: mandatory", "context.view: mandatory"],
      "the event's own fields first, then what is asked of every event")
  }

  @Test func `a value of the context against its rule is found`() throws {
    #expect(try found("note", [:]) { $0.globals["app"] = 7 } == ["context.globals.app: type string = 7"])
    #expect(try found("note", [:]) { $0.globals["app"] = "" } == ["context.globals.app: length 1... = \"\""])
    #expect(
      try found("note", [:]) { $0.user?.traits["plan"] = "gold" }
        == ["context.user.traits.plan: one of \"free\", \"pro\" = \"gold\""])
    #expect(
      try found("order.placed", [:]) { $0.user?.id = "ada@example" }
        == ["context.user.id: length ...8 = \"ada@example\""])
    #expect(
      try found("order.placed", [:]) { $0.globals["regions"] = ["eu", 7] }
        == ["context.globals.regions[]: type string = 7"])
  }

  @Test func `rules for every event are for unknown events too, and not for those of the log`() throws {
    #expect(try found("note.misspelt", [:]) { _ in } == [": unknown event"])
    #expect(
      try found("nte", [:]) { $0.globals["app"] = nil } == [": unknown event", "context.globals.app: mandatory"])
    #expect(try found("weir.gap", [:]) { $0 = EventContext() } == [])
    var open = Self.shop
    open.allowsUnknownEvents = true
    #expect(open.events.count == 3)
    let outcome = try open.compiled().check(name: "nte", fields: [:])
    #expect(outcome.violations.map(\.field) == ["context.globals.app"])
    #expect(outcome.defaults.map(\.field) == ["context.globals.environment"])
  }

  @Test func `a default of a global field is filled in where it is absent`() throws {
    let outcome = try check("note", ["x": nil]) { $0.globals["environment"] = nil }
    #expect(outcome.violations.isEmpty)
    #expect(outcome.defaults.map { "\($0.field) \($0.value)" } == ["context.globals.environment \"production\""])
    var context = Self.full
    context.globals["environment"] = nil
    var expected = context
    expected.globals["environment"] = "production"
    #expect(outcome.completed(context) == expected)
    #expect(outcome.completed(["a": 1] as FieldObject) == ["a": 1], "the event's own fields stay as they are")
    #expect(try check("note", [:]).completed(Self.full) == Self.full)
    let nested = try Contract("c", version: "1") {
      Mandatory("context.globals.build.number", .integer, default: 0)
      Mandatory("context.fields.tenant", default: "none")
    } events: {
      EventRule("e")
    }.compiled()
    let found = nested.check(name: "e", fields: [:], context: EventContext(globals: ["build": ["host": "h"]]))
    #expect(
      found.completed(EventContext(globals: ["build": ["host": "h"]]))
        == EventContext(globals: ["build": ["host": "h", "number": 0]], fields: ["tenant": "none"]))
  }

  /// A provider with one place for own, bound and global fields would get the default in the place of the value.
  @Test func `a default never stands beside a value of its name`() throws {
    let own = try Contract("c", version: "1") {
      EventRule("e") {
        Mandatory("app", .string, default: "unknown")
        Mandatory("build.number", .integer, default: 0)
      }
    }.compiled()
    func defaults(_ contract: CompiledContract, _ fields: FieldObject, _ context: EventContext) -> [String] {
      let outcome = contract.check(name: "e", fields: fields, context: context)
      #expect(outcome.violations.isEmpty)
      return outcome.defaults.map(\.field)
    }
    #expect(defaults(own, [:], EventContext()) == ["app", "build.number"])
    #expect(defaults(own, [:], EventContext(globals: ["app": "shop"])) == ["build.number"])
    #expect(defaults(own, ["app": nil], EventContext(globals: ["app": "shop"])) == ["build.number"])
    #expect(defaults(own, [:], EventContext(globals: ["app": nil])) == ["app", "build.number"], "null is absent")
    #expect(defaults(own, [:], EventContext(fields: ["app": "shop", "build": 7])) == [])
    #expect(
      defaults(own, ["app": "a", "build": [:]], EventContext(globals: ["app": "shop", "build": 7])) == ["build.number"],
      "the object is the event's own")

    let global = try Contract("c", version: "1") {
      Mandatory("context.globals.app", default: "unknown")
    } events: {
      EventRule("e", open: true)
    }.compiled()
    #expect(defaults(global, [:], EventContext()) == ["context.globals.app"])
    #expect(defaults(global, ["app": "own"], EventContext()) == [])
    #expect(defaults(global, [:], EventContext(fields: ["app": "bound"])) == [])
    #expect(defaults(global, ["app": "own"], EventContext(globals: ["app": "shop"])) == [])

    let bound = try Contract("c", version: "1") {
      Mandatory("context.fields.tenant", default: "none")
    } events: {
      EventRule("e", open: true)
    }.compiled()
    #expect(defaults(bound, [:], EventContext(globals: ["tenant": "t"])) == [])
    #expect(defaults(bound, ["tenant": "t"], EventContext()) == [])
  }

  @Test func `what was lost to damage is not held against the event, and not made up`() throws {
    var lost = EventContext(view: EventView(id: "v", name: "n"), fields: ["request": "r"])
    lost.isGlobalPartLost = true
    let contract = try Self.shop.compiled()
    #expect(contract.check(name: "order.placed", fields: [:], context: lost).isClean)
    lost.view = nil
    #expect(contract.check(name: "page.viewed", fields: ["title": "t"], context: lost).violations.count == 1)
    let unread = EventContext(fields: ["scope": .bytes([1])])
    #expect(contract.check(name: "order.placed", fields: [:], context: unread).isClean)
  }

  @Test func `a value that the context marks as sensitive is marked so`() throws {
    func marks(_ sensitive: Set<String>) throws -> [Bool] {
      let outcome = try check("note", [:]) { context in
        context.globals["app"] = 7
        context.user?.traits["plan"] = "gold"
        context.sensitive = sensitive
      }
      return outcome.violations.map(\.isSensitive)
    }
    #expect(try marks([]) == [false, false])
    #expect(try marks(["app"]) == [true, false])
    #expect(try marks(["plan"]) == [false, true])
    #expect(try marks([EventContext.allSensitive]) == [true, true])
  }

  @Test func `what no context can keep is refused`() throws {
    func problems(_ rules: FieldRule...) -> [String] {
      do {
        _ = try Contract("c", version: "1", everyEvent: rules, events: []).compiled()
        return []
      } catch {
        return error.problems.map(\.description)
      }
    }
    func rule(_ name: String, _ type: FieldRule.ValueType = .any) -> FieldRule {
      FieldRule(name, mandatory: true, type)
    }
    #expect(problems(rule("context.user.id", .string), rule("context.user.traits", .object)) == [])
    #expect(
      problems(rule("context.user.name"), rule("context.view.nam"), rule("context.user.id.x")) == [
        "context.user.name: context.user has no \"name\"; there are id, traits",
        "context.user.id: this part of the context is a string, and has no fields",
        "context.view.nam: context.view has no \"nam\"; did you mean name?",
      ])
    #expect(
      problems(rule("context.user.id", .integer)) == [
        "context.user.id: the type of this part of the context is string, not integer"
      ])
    #expect(problems(rule("context[]")).count == 1)
    #expect(problems(rule("context.globals[]")) == ["context.globals: this part of the context is no array"])
    #expect(
      problems(FieldRule("context.globals.n", mandatory: true, .integer, default: "x")) == [
        "context.globals.n: the default \"x\" violates type integer"
      ])
  }

  @Test func `a field named context is the event's own, and has no rules within`() throws {
    let contract = Contract("c", version: "1") { EventRule("e") { Mandatory("context", .object) } }
    #expect(try contract.compiled().check(name: "e", fields: ["context": ["a": 1]]).isClean)
    #expect(try contract.compiled().check(name: "e", fields: [:]).violations.map(\.field) == ["context"])
    let within = Contract("c", version: "1") {
      EventRule("e") { Mandatory("context", .object) { Mandatory("a") } }
    }
    #expect {
      try within.compiled()
    } throws: {
      "\($0)" == "e: context: paths below context are about the event's context; give this field no fields of its own"
    }
  }

  @Test func `an inspector checks the context of captured events`() throws {
    let contract = Contract("c", version: "1") {
      Mandatory("context.globals.app")
    } events: {
      EventRule("order") { Mandatory("context.user") }
    }
    try withDirectory { directory in
      let configuration = quiet { $0.globals = GlobalFields(app: "shop") }
      let tracker = try Tracker(directory: directory, configuration: configuration)
      let inspector = try Inspector(tracker, contract: contract) { _, _ in }
      Bindings.with(user: "ada") { _ = tracker.track("order") }
      tracker.track("order")
      let counts = try inspector.inspect()
      #expect(counts.inspected == 2)
      #expect(counts.kinds.keys.map(\.field) == ["context.user"])
      try tracker.close()
    }
  }
}
