// What differs between two contracts: a table of single changes, and that no change which breaks is called fine.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirJSON

struct ContractChangeTests {
  private func changes(
    _ old: [FieldRule], _ new: [FieldRule], open: Bool = false, newOpen: Bool? = nil
  ) throws -> [String] {
    let before = Contract("c", version: "1", events: [EventRule("e", open: open, fields: old)])
    let after = Contract("c", version: "1", events: [EventRule("e", open: newOpen ?? open, fields: new)])
    return try before.compiled().changes(to: after.compiled()).map { change in
      #expect(change.event == "e")
      #expect(!change.why.isEmpty)
      return "\(change.isBreaking ? "!" : "")\(change.field) \(change.what.words)"
    }
  }

  private func one(_ old: FieldRule, _ new: FieldRule) throws -> [String] { try changes([old], [new]) }

  private func field(
    _ type: FieldRule.ValueType = .any, _ clauses: FieldRule.Clause..., mandatory: Bool = true,
    default value: FieldValue? = nil
  ) -> FieldRule {
    FieldRule("f", mandatory: mandatory, type, clauses, default: value)
  }

  @Test func `changes of the contract and its events are told`() throws {
    let old = Contract("shop", version: "1") {
      EventRule("a", kind: .pageView)
      EventRule("gone", deprecated: true)
      EventRule("b")
    }
    let new = Contract("store", version: "2", allowsUnknownEvents: true) {
      EventRule("b", open: true, deprecated: true, description: "new")
      EventRule("a", kind: .pageAction)
      EventRule("c") { Mandatory("x") }
    }
    func text(_ old: Contract, _ new: Contract) throws -> [String] {
      try old.compiled().changes(to: new.compiled()).map {
        "\($0.isBreaking ? "!" : "")\($0.event) \($0.what.rawValue)"
      }
    }
    #expect(
      try text(old, new) == [
        " contract_renamed", " version_changed", " unknown_events_changed", "!a event_kind_changed",
        "gone event_removed",
        "b event_opened", "b deprecation_changed", "b description_changed", "c event_added",
      ])
    #expect(
      try text(new, old) == [
        " contract_renamed", " version_changed", "! unknown_events_changed", "!b event_closed", "b deprecation_changed",
        "b description_changed", "!a event_kind_changed", "!c event_removed", "!gone event_added",
      ])
    #expect(try text(old, old) == [])
  }

  @Test func `fields that come and go are told`() throws {
    let x = FieldRule("x", mandatory: true)
    #expect(try changes([x], [x, field()]) == ["!f field added"])
    #expect(try changes([x], [x, field(default: 1)]) == ["f field added"])
    #expect(try changes([x], [x, field(mandatory: false)]) == ["f field added"])
    #expect(try changes([x, field()], [x]) == ["!f field removed"])
    #expect(try changes([x, field()], [x], open: true) == ["f field removed"])
    #expect(try changes([x, field(.any, .sensitive)], [x], open: true) == ["!f field removed"])
    #expect(try changes([x], [x, field(.string, mandatory: false)], open: true) == ["!f field added"])
    #expect(try changes([x], [x, field(mandatory: false)], open: true) == ["f field added"])
    #expect(try changes([x], [x, FieldRule("o.p", mandatory: false)], open: true) == ["!o.p field added"])
    #expect(
      try changes([], [FieldRule("o.p", mandatory: false), FieldRule("o.q", mandatory: true)])
        == ["o.p field added", "!o.q field added"])
    let object = FieldRule("f", mandatory: true, .object)
    let closed = FieldRule("f", mandatory: true, .object, fields: [FieldRule("p", mandatory: false)])
    #expect(try one(object, closed) == ["f.p field added", "!f type changed"])
    #expect(try one(closed, object) == ["f.p field removed"])
  }

  @Test func `changes of mandatory, optional and default are told with what they break`() throws {
    #expect(try one(field(mandatory: false), field()) == ["!f field made mandatory"])
    #expect(try one(field(mandatory: false), field(default: 1)) == ["f field made mandatory"])
    #expect(try one(field(), field(mandatory: false)) == ["f field made optional"])
    #expect(try one(field(default: 1), field(mandatory: false)) == ["f field made optional", "f default changed"])
    #expect(try one(field(default: 1), field()) == ["!f default changed"])
    #expect(try one(field(), field(default: 1)) == ["f default changed"])
    #expect(try one(field(default: 1), field(default: 2)) == ["f default changed"])
    let implied = FieldRule("o.p", mandatory: true, default: 1)
    let explicit = FieldRule("o", mandatory: true, .object, fields: [FieldRule("p", mandatory: true, default: 1)])
    #expect(try one(implied, explicit) == ["!o field made mandatory"], "it was made, and is flagged now")
    #expect(try one(explicit, implied) == [])
  }

  @Test func `changes of types and clauses are told with what they break`() throws {
    #expect(try one(field(.integer), field(.number)) == ["f type changed"])
    #expect(try one(field(.integer), field(.any)) == ["f type changed"])
    #expect(try one(field(.number), field(.integer)) == ["!f type changed"])
    #expect(try one(field(.any), field(.string)) == ["!f type changed"])
    #expect(try one(field(.string), field(.bytes)) == ["!f type changed"])
    #expect(
      try one(field(.string, .oneOf("a", "b")), field(.string, .oneOf("b", "c")))
        == ["!f values removed", "f values added"])
    #expect(try one(field(.string), field(.string, .oneOf("a"))) == ["!f values removed"])
    #expect(try one(field(.string, .oneOf("a")), field(.string)) == ["f values added"])
    #expect(try one(field(.number, .oneOf(1)), field(.number, .oneOf(1.0))) == [])
    #expect(try one(field(.integer, .range(1...)), field(.integer, .range(0...9))) == ["!f range changed"])
    #expect(try one(field(.integer, .range(1...9)), field(.integer, .range(0...))) == ["f range changed"])
    #expect(try one(field(.integer, .range(1...)), field(.integer)) == ["f range changed"])
    #expect(try one(field(.number), field(.number, .range(1...))) == ["!f range changed"])
    #expect(try one(field(.number, .range(0...1)), field(.number, .range(0..<1))) == ["!f range changed"])
    #expect(try one(field(.number, .range(0..<1)), field(.number, .range(0...1))) == ["f range changed"])
    #expect(try one(field(.number), field(.number, .finite)) == ["!f finite changed"])
    #expect(try one(field(.integer), field(.number, .finite)) == ["f type changed", "f finite changed"])
    #expect(try one(field(.number, .finite), field(.number)) == ["f finite changed"])
    #expect(try one(field(.string, .length(1...)), field(.string, .length(2...))) == ["!f length changed"])
    #expect(try one(field(.string, .length(1...5)), field(.string, .length(...6))) == ["f length changed"])
    #expect(try one(field(.string), field(.string, .length(0...))) == ["f length changed"])
    #expect(try one(field(.string, .matches("a")), field(.string, .matches("a|b"))) == ["!f pattern changed"])
    #expect(try one(field(.string, .matches("a")), field(.string)) == ["f pattern changed"])
    #expect(
      try one(field(.string, .oneOf("a")), field(.string, .oneOf("a", "b"), .matches("a|b")))
        == ["f values added", "f pattern changed"])
  }

  @Test func `changes of marks and words are told with what they break`() throws {
    #expect(try one(field(), field(.any, .sensitive)) == ["f marked sensitive"])
    #expect(try one(field(.any, .sensitive), field()) == ["!f unmarked sensitive"])
    #expect(try one(field(), field(.any, .deprecated)) == ["f deprecation changed"])
    #expect(try one(field(), field(.any, .description("d"))) == ["f description changed"])
    let inner = FieldRule("f", mandatory: true, .object, fields: [FieldRule("p", mandatory: true, .any, [.sensitive])])
    let outer = FieldRule("f", mandatory: true, .object, [.sensitive], fields: [FieldRule("p", mandatory: true)])
    #expect(try one(inner, outer) == ["f marked sensitive"])
    #expect(try one(outer, inner) == ["!f unmarked sensitive"])
  }

  private func contextChanges(_ old: [FieldRule], _ new: [FieldRule]) throws -> [String] {
    let one = try changes(old, new)
    let before = Contract("c", version: "1", everyEvent: old, events: [EventRule("e")])
    let after = Contract("c", version: "1", everyEvent: new, events: [EventRule("e")])
    let every = try before.compiled().changes(to: after.compiled()).map { change in
      #expect(change.event.isEmpty)
      return "\(change.isBreaking ? "!" : "")\(change.field) \(change.what.words)"
    }
    #expect(one == every, "for every event as for one")
    return every
  }

  @Test func `changes of what is asked of the context are told with what they break`() throws {
    func rule(
      _ name: String, _ type: FieldRule.ValueType = .any, mandatory: Bool = true, default value: FieldValue? = nil
    ) -> FieldRule { FieldRule("context.\(name)", mandatory: mandatory, type, default: value) }
    let app = rule("globals.app")
    #expect(try contextChanges([], [app]) == ["!context.globals.app field added"])
    #expect(try contextChanges([app], []) == ["context.globals.app field removed"])
    #expect(try contextChanges([], [rule("globals.app", default: "x")]) == ["context.globals.app field added"])
    #expect(
      try contextChanges([], [rule("globals.app", .string, default: "x")]) == ["!context.globals.app field added"])
    #expect(try contextChanges([], [rule("globals.app", mandatory: false)]) == ["context.globals.app field added"])
    #expect(try contextChanges([rule("globals.app", default: "x")], [app]) == ["!context.globals.app default changed"])
    #expect(try contextChanges([app], [app, rule("globals.version")]) == ["!context.globals.version field added"])
    #expect(try contextChanges([], [rule("user")]) == ["!context.user field added"])
    #expect(
      try contextChanges([rule("user", mandatory: false)], [rule("user")]) == ["!context.user field made mandatory"])
    #expect(
      try contextChanges([rule("view")], [rule("view", mandatory: false)]) == ["context.view field made optional"])
    #expect(
      try contextChanges([rule("user")], [rule("user"), rule("user.traits.plan")])
        == ["!context.user.traits.plan field added"])
    #expect(
      try contextChanges([rule("user")], [rule("user"), rule("user.traits.plan", mandatory: false)])
        == ["context.user.traits.plan field added"])
    let change = try Contract("c", version: "1", everyEvent: [], events: []).compiled()
      .changes(to: Contract("c", version: "1", everyEvent: [app], events: []).compiled())
    #expect(
      change.map(\.description) == [
        "breaking: context.globals.app: field added: it is mandatory and has no default"
      ])
  }

  @Test func `a kind that is asked for is breaking`() throws {
    func text(_ old: EventKind?, _ new: EventKind?) throws -> [Bool] {
      let before = Contract("c", version: "1", events: [EventRule("e", kind: old, fields: [])])
      let after = Contract("c", version: "1", events: [EventRule("e", kind: new, fields: [])])
      return try before.compiled().changes(to: after.compiled()).map(\.isBreaking)
    }
    #expect(try text(nil, .pageView) == [true])
    #expect(try text(.pageView, nil) == [false])
    #expect(try text(.pageView, .pageView) == [])
    let free = try Contract("c", version: "1", events: []).compiled()
    let bound = try Contract("c", version: "1", requiresKind: true, events: []).compiled()
    #expect(
      free.changes(to: bound).map(\.description) == [
        "breaking: required kind changed: events without a kind are flagged now"
      ])
    #expect(bound.changes(to: free).map(\.isBreaking) == [false])
  }

  @Test func `changes of arrays are told`() throws {
    let array = field(.array)
    let strings = FieldRule("f[]", mandatory: false, .string)
    #expect(try one(array, strings).contains("!f[] field added"))
    #expect(try changes([array, strings], [array]) == ["f[] field removed"])
    #expect(
      try changes([array, strings], [array, FieldRule("f[]", mandatory: true, .string)])
        == ["!f[] field made mandatory"])
  }

  /// A default of a field of each element can't be filled in where the array itself is missing.
  @Test func `changes of arrays that have to be there are told`() throws {
    let inner = FieldRule("l[].x", mandatory: true, .integer, default: 7)
    #expect(try changes([], [inner]) == ["!l[].x field added"])
    #expect(try changes([FieldRule("l[].x", mandatory: false, .integer)], [inner]).contains("!l field made mandatory"))
  }

  /// Random pairs of contracts and random events: what is right under the old one and flagged by the new one is broken.
  @Test func `nothing that breaks is called fine`() throws {
    let seed = testSeed()
    print("ContractChangeTests.random: WEIR_SEED=\(seed)")
    var random = RandomContracts(seed: seed)
    var (broken, fine) = (0, 0)
    for _ in 0..<1_500 {
      let (before, after) = (random.contract(), random.contract())
      let (old, new) = (try before.compiled(), try after.compiled())
      let changes = old.changes(to: new)
      #expect(old.changes(to: old).isEmpty)
      for _ in 0..<25 {
        let fields = random.fields()
        let name = ["a", "b.c", "d\u{1}\"", "unknown"].randomElement(using: &random.random) ?? ""
        let context = random.context()
        let kind = random.chance(4) ? nil : EventKind.allCases.randomElement(using: &random.random)
        let declaration = EventType(name, kind: kind)
        func violations(of contract: CompiledContract) -> [Violation] {
          contract.check(name: name, fields: fields, context: context, declaration: declaration).violations
        }
        guard violations(of: old).isEmpty else { continue }
        let violations = violations(of: new)
        guard let violation = violations.first else {
          fine += 1
          continue
        }
        broken += 1
        let isTold = changes.contains { $0.isBreaking && ($0.event == name || $0.event.isEmpty) }
        #expect(
          isTold,
          "WEIR_SEED=\(seed): \(violation), of \(fields) in \(context)\n\(changes.map(\.description))"
        )
      }
    }
    #expect(broken > 100, "\(broken) and \(fine): enough of each for this to say something")
    #expect(fine > 100, "\(broken) and \(fine): enough of each for this to say something")
  }
}
