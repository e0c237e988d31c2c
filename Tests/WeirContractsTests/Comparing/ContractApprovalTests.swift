// Approvals of changes: what an approval covers, what it does not, and the file.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts

struct ContractApprovalTests {
  private static let old = Contract("shop", version: "1") {
    EventRule("checkout.completed", kind: .pageAction, description: "a purchase") {
      Mandatory("order", .integer, .range(1...))
      Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "EUR")
      Optionally("note", .string, .length(...30), .sensitive)
      Mandatory("items", .array) { Mandatory("sku", .string) }
    }
    EventRule("gone") { Optionally("a") }
  }

  private func changes(_ old: Contract = Self.old, to new: Contract) throws -> [ContractChange] {
    try old.compiled().changes(to: new.compiled())
  }

  /// The old contract with other fields of its first event.
  private func contract(_ change: (inout Contract) -> Void) -> Contract {
    var contract = Self.old
    change(&contract)
    return contract
  }

  private func approving(_ changes: [ContractChange]) throws -> ContractApprovals {
    var approvals = ContractApprovals()
    try approvals.approve(changes, by: "Ada", reason: "asked for")
    return approvals
  }

  @Test func `an approved change is approved, also after writing and reading`() throws {
    let new = contract {
      $0.version = "2"
      $0.events[0].fields.append(FieldRule("coupon", mandatory: false, .string))
      $0.events.append(EventRule("new", fields: [FieldRule("x", mandatory: true, .number, [.range(0.5..<1)])]))
    }
    let changes = try changes(to: new)
    #expect(changes.count == 3)
    #expect(changes.allSatisfy { ContractApprovals().approvals(of: $0).isEmpty })
    let approvals = try approving(changes)
    let read = try ContractApprovals(jsonLines: approvals.jsonLines())
    #expect(read == approvals)
    #expect(read.jsonLines() == approvals.jsonLines())
    for change in changes {
      #expect(read.approvals(of: change).map(\.by) == ["Ada"], "\(change)")
      #expect(read.approvals(of: change).map(\.reason) == ["asked for"])
    }
  }

  /// Pairs of new contracts whose changes have the same event, field and kind, and mostly the same words.
  @Test(arguments: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  func `a different change of the same kind is not covered`(_ index: Int) throws {
    func field(_ rule: FieldRule) -> Contract { contract { $0.events[0].fields.append(rule) } }
    func first(_ change: (inout FieldRule) -> Void) -> Contract { contract { change(&$0.events[0].fields[0]) } }
    let many = (0..<20).map { FieldValue.string("C\($0)") }
    func values(_ last: FieldValue) -> Contract {
      contract { $0.events[0].fields[1].allowedValues = ["EUR", "USD"] + many + [last] }
    }
    // The checks of another type are not compared with the old ones.
    func text(_ clauses: [FieldRule.Clause] = []) -> Contract {
      contract { $0.events[0].fields[0] = FieldRule("order", mandatory: true, .string, clauses) }
    }
    let pairs: [(Contract, Contract)] = [
      (
        field(FieldRule("coupon", mandatory: false, .string)),
        field(FieldRule("coupon", mandatory: false, .string, [.sensitive]))
      ),
      (
        contract { $0.events.append(EventRule("new", fields: [FieldRule("a", mandatory: false)])) },
        contract { $0.events.append(EventRule("new", fields: [FieldRule("b", mandatory: false)])) }
      ),
      (contract { $0.events[0].description = "one" }, contract { $0.events[0].description = "two" }),
      (first { $0.range = NumberRange(lower: .including(0)) }, first { $0.range = NumberRange(lower: .including(-1)) }),
      (values("X"), values("Y")),
      (contract { $0.version = "2" }, contract { $0.version = "3" }),
      (
        first { $0.type = .number },
        first {
          $0.type = .any
          $0.range = nil
        }
      ),
      (
        contract { $0.events[0].fields[3].fields.append(FieldRule("price", mandatory: false, .number)) },
        contract { $0.events[0].fields[3].fields.append(FieldRule("price", mandatory: false, .integer)) }
      ),
      (
        field(FieldRule("tags[]", mandatory: false, .string)),
        field(FieldRule("tags[]", mandatory: false, .integer))
      ),
      (text(), text([.oneOf("a", "b")])), (text([.length(...9)]), text([.length(...5)])),
    ]
    let (one, other) = pairs[index]
    let approvals = try approving(changes(to: one))
    let different = try changes(to: other)
    let sameKinds = try changes(to: one).map { [$0.what.rawValue, $0.event, $0.field] }
    #expect(different.map { [$0.what.rawValue, $0.event, $0.field] }.contains { sameKinds.contains($0) })
    #expect(different.contains { approvals.approvals(of: $0).isEmpty }, "\(different)")
  }

  @Test func `an unrelated change does not withdraw an approval`() throws {
    let one = contract { $0.events[0].fields[0].range = nil }
    let more = contract {
      $0.events[0].fields[0].range = nil
      $0.events[0].fields[0].description = "the order's number"
    }
    let approvals = try approving(changes(to: one))
    let open = try changes(to: more).filter { approvals.approvals(of: $0).isEmpty }
    #expect(open.map(\.what) == [.descriptionChanged])
  }

  @Test func `a rule has one content, nested or with a path`() throws {
    let nested = contract {
      $0.events[0].fields.append(
        FieldRule("to", mandatory: false, .object, fields: [FieldRule("city", mandatory: false)]))
    }
    let path = contract {
      $0.events[0].fields.append(FieldRule("to", mandatory: false, .object))
      $0.events[0].fields.append(FieldRule("to.city", mandatory: false))
    }
    let approvals = try approving(changes(to: nested))
    #expect(try changes(to: path).allSatisfy { !approvals.approvals(of: $0).isEmpty })
  }

  /// The same event is added in both: only where unknown events were allowed, this is breaking.
  @Test func `an approval of what is not breaking does not cover what is`() throws {
    let new = contract { $0.events.append(EventRule("new")) }
    let open = contract { $0.allowsUnknownEvents = true }
    let newAndOpen = contract {
      $0.allowsUnknownEvents = true
      $0.events.append(EventRule("new"))
    }
    let fine = try changes(to: new)
    let breaking = try changes(open, to: newAndOpen)
    #expect(fine.map(\.isBreaking) == [false])
    #expect(breaking.map(\.isBreaking) == [true])
    #expect(try approving(fine).approvals(of: breaking[0]).isEmpty)
    #expect(try !approving(breaking).approvals(of: fine[0]).isEmpty)
  }

  @Test func `approvals are those of one contract`() throws {
    let approvals = try approving(changes(to: contract { $0.version = "2" }))
    let renamed = contract { $0.name = "store" }
    let other = contract {
      $0.name = "store"
      $0.version = "2"
    }
    #expect(try changes(renamed, to: other).allSatisfy { approvals.approvals(of: $0).isEmpty })
  }

  @Test func `the file is sorted, whatever the order of approvals, and merges by lines`() throws {
    let changes = try changes(to: Contract("shop", version: "2", events: []))
    #expect(changes.count == 3)
    var one = ContractApprovals()
    var other = ContractApprovals()
    for change in changes { try one.approve([change], by: "Ada") }
    for change in changes.reversed() { try other.approve([change, change], by: "Ada") }
    #expect(one.jsonLines() == other.jsonLines())
    let lines = String(decoding: one.jsonLines(), as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 3)
    #expect(lines.map { Array($0.utf8) }.isSortedByBytes)
    #expect(
      lines.last == """
        {"contract": "shop", "event": "gone", "field": "", "change": "event_removed", "breaking": true, \
        "was": {"fields": {"a": {}}}, "is": null, "by": "Ada"}
        """)
    try other.approve(changes.prefix(1), by: "Bob")
    // What git's union merge makes of both, with a line twice, in disorder.
    let union = one.jsonLines() + Data("\r\n\n".utf8) + other.jsonLines()
    let merged = try ContractApprovals(jsonLines: union)
    #expect(merged == other)
    #expect(merged.approvals(of: changes[0]).map(\.by) == ["Ada", "Bob"])
  }

  @Test func `nobody is no name`() throws {
    var approvals = ContractApprovals()
    #expect(throws: WeirError.self) { try approvals.approve([], by: "") }
  }

  @Test func `a damaged file is an error with its lines`() throws {
    let approvals = try approving(changes(to: contract { $0.version = "2" }))
    let good = String(decoding: approvals.jsonLines(), as: UTF8.self)
    func problems(_ text: String) -> [String] {
      do {
        _ = try ContractApprovals(jsonLines: Data(text.utf8))
        return []
      } catch {
        return error.problems.map(\.description)
      }
    }
    #expect(problems(good) == [])
    #expect(problems("") == [])
    let conflict = problems("<<<<<<< ours\n\(good)=======\n\(good)>>>>>>> theirs\n")
    #expect(conflict.map { $0.prefix(7) } == ["line 1:", "line 3:", "line 5:"])
    #expect(conflict.allSatisfy { $0.contains("conflict") })
    #expect(problems(good + good.dropLast(20) + "\n").map { $0.prefix(7) } == ["line 2:"])
    #expect(problems("\n[]\n").first?.hasPrefix("line 2: an approval is a list; write a map with the keys") == true)
    #expect(
      problems(good.replacing("\"version_changed\"", with: "\"version_chnged\"")) == [
        "line 1: there is no change \"version_chnged\"; did you mean version_changed?"
      ])
    #expect(
      problems(good.replacing("\"by\": \"Ada\", ", with: "")) == [
        "line 1: the key by is missing; restore the line, or approve the change again"
      ])
    #expect(
      problems(good.replacing("\"Ada\"", with: "\"\"")) == ["line 1: by is empty; write who approved the change"])
    #expect(problems(good.replacing("\"breaking\": false", with: "\"breaking\": 0")).count == 1)
    #expect(problems(good.replacing("\"by\"", with: "\"buy\"")).count == 2)
    // Whoever changes what was approved has an approval of something else.
    let changed = try ContractApprovals(jsonLines: Data(good.replacing("\"2\"", with: "\"3\"").utf8))
    #expect(try changed.approvals(of: changes(to: contract { $0.version = "2" })[0]).isEmpty)
  }

  @Test func `a file has a limit`() throws {
    let largest = Data(repeating: UInt8(ascii: " "), count: 16 << 20)
    #expect(try ContractApprovals(jsonLines: largest) == ContractApprovals())
    #expect(throws: ContractError.self) { try ContractApprovals(jsonLines: largest + Data(" ".utf8)) }
  }

  @Test func `approvals of random changes survive the file`() throws {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    var random = RandomContracts(seed: seed)
    for _ in 0..<300 {
      let (one, other) = (random.contract(), random.contract())
      let changes = try changes(one, to: other)
      let read = try ContractApprovals(jsonLines: approving(changes).jsonLines())
      for change in changes { #expect(!read.approvals(of: change).isEmpty, "\(change)") }
    }
  }
}

extension [[UInt8]] {
  fileprivate var isSortedByBytes: Bool {
    zip(self, dropFirst()).allSatisfy { !$1.lexicographicallyPrecedes($0) }
  }
}
