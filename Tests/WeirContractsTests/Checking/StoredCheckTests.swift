// That the check by bytes finds the same events clean as the check of built events, of every kind, context and
// contract.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts

struct StoredCheckTests {
  /// Events with declared fields, of which some fit the contracts of ``RandomContracts`` and some do not.
  private struct Packed: Event {
    static let eventTypes = [
      EventType("a", [Field("x", .int64), Field("y", .optional(.string)), Field("z", .double)], kind: .pageAction),
      EventType(
        "b.c",
        [
          Field("x", .string), Field("y", .optional(.int32)), Field("l", .array(.int16)), Field("q.r", .any),
          Field("z", .optional(.optional(.uint8))),
        ]),
      EventType(
        "a.b",
        [
          Field("o", .object([Field("x", .float)])), Field("x", .bool), Field("y", .uuid), Field("z", .bytes),
          Field("l", .date), Field("q.r", .float),
        ]),
      EventType("b", [Field("x", .uint64), Field("z", .string)]),
      EventType("none"),
    ]

    let type: Int
    let numbers: [Int]
    let anything: FieldValue

    init(_ random: inout RandomContracts) {
      type = Int.random(in: 0..<5, using: &random.random)
      numbers = (0..<6).map { _ in Int.random(in: 0..<6, using: &random.random) }
      anything = random.fields()["x"] ?? .null
    }

    init?(_ stored: StoredEvent) throws { return nil }

    private static let texts = ["", "a", "ab", "aé", "abc", "b"]
    private static let doubles: [Double] = [0, 1.5, .nan, -9, .infinity, 0x1p53]

    func encode(into encoder: inout EventEncoder) {
      encoder.begin(type)
      switch type {
      case 0:
        encoder.put(Int64(numbers[0]) - 3)
        encoder.put(numbers[1] == 0 ? nil : Self.texts[numbers[1]])
        encoder.put(Self.doubles[numbers[2]])
      case 1:
        encoder.put(Self.texts[numbers[0]])
        encoder.put(numbers[1] == 0 ? nil : Int32(numbers[1]) - 3)
        encoder.put((0..<numbers[2]).map { Int16($0) })
        encoder.put(anything)
        let nested: UInt8?? = numbers[3] == 0 ? .none : .some(numbers[3] == 1 ? .none : .some(2))
        encoder.put(nested)
      case 2:
        encoder.beginObject()
        encoder.put(Float(numbers[0]) / 2)
        encoder.put(numbers[1] > 2)
        encoder.put(UUID())
        encoder.put(Data(count: numbers[2]))
        encoder.put(Date(timeIntervalSinceReferenceDate: 1))
        encoder.put(Float(Self.doubles[numbers[3]]))
      case 3:
        encoder.put(numbers[0] == 0 ? UInt64.max : UInt64(numbers[0]))
        encoder.put(Self.texts[numbers[1]])
      default: break
      }
    }
  }

  /// A Codable event, which has names and kinds in its payload.
  private struct Coded: Event, Codable {
    static let eventName = "coded"
    var x: Int
    var y: String?
    var z: Double
  }

  private static func withoutContextRules(_ contract: Contract) -> Contract {
    var contract = contract
    contract.everyEvent = []
    for index in contract.events.indices {
      contract.events[index].fields.removeAll { $0.name.hasPrefix("context.") }
    }
    return contract
  }

  @Test func `clean by the bytes is clean when built, of random events and contracts`() throws {
    let seed = testSeed()
    var random = RandomContracts(seed: seed)
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      for round in 0..<600 {
        let context = random.context()
        if round % 50 == 0 {
          var globals = GlobalFields()
          globals.fields = context.globals
          try tracker.setGlobals(globals)
        }
        func capture() {
          switch round % 4 {
          case 0, 1: tracker.track(Packed(&random))
          case 2: tracker.track(Coded(x: round % 7 - 3, y: round % 8 == 0 ? nil : "ab", z: Double(round)))
          default: tracker.track(["a", "b.c", "e"][round % 3], fields: random.fields())
          }
        }
        if let user = context.user, round % 3 > 0 {
          Bindings.with(
            user: user.id, traits: user.traits, fields: context.fields, view: context.view?.name, capture)
        } else {
          Bindings.with(fields: context.fields, view: context.view?.name, capture)
        }
      }
      try tracker.drain()
      var clean = 0
      for _ in 0..<60 {
        var contract = random.contract()
        for rule in contract.events where ["a", "b.c"].contains(rule.name) {
          var copy = rule
          copy.name = rule.name == "a" ? "coded" : "a.b"
          contract.events.append(copy)
        }
        if random.chance(2) { contract.events.append(EventRule("b", open: random.chance(2), fields: [])) }
        let compiled = try contract.compiled()
        let ofFields = try Self.withoutContextRules(contract).compiled()
        var check = StoredCheck(compiled)
        let reader = try EventReader(directory: directory)
        while let raw = try reader.nextRaw() {
          let isClean = check.isClean(raw, in: reader)
          let event = reader.event(raw)
          guard !event.name.hasPrefix(EventType.reservedPrefix) else {
            #expect(!isClean, "the log's own events are not the contract's")
            continue
          }
          let whole = compiled.check(event)
          #expect(!isClean || whole.isClean, "\(event) with \(event.context), of \(contract), WEIR_SEED=\(seed)")
          // A default that stands back for a value of the other part, fields or context, shows only in the built event.
          let isEachClean =
            ofFields.check(name: event.name, fields: event.fields, declaration: event.declaration).isClean
            && compiled.isClean(event.context, of: event.name)
          #expect(isClean == isEachClean, "\(event) with \(event.context), of \(contract), WEIR_SEED=\(seed)")
          clean += isClean ? 1 : 0
        }
      }
      #expect(clean > 1000, "WEIR_SEED=\(seed)")
      try tracker.close()
    }
  }

  @Test func `names that are equal to Swift but not by their bytes are not passed over`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      // The Kelvin sign is a K, and an é of two scalars is an é.
      for name in ["K", "\u{212A}", "\u{e9}", "e\u{301}", "k"] { tracker.track("e", fields: [name: true]) }
      try tracker.close()
      for name in ["K", "\u{212A}", "\u{e9}", "e\u{301}"] {
        let contract = Contract("c", version: "1") {
          EventRule("e", open: true) { Optionally(FieldPath.member(name, of: ""), .integer) }
        }
        let compiled = try contract.compiled()
        var check = StoredCheck(compiled)
        let reader = try EventReader(directory: directory)
        var violating = 0
        while let raw = try reader.nextRaw() {
          let outcome = compiled.check(reader.event(raw))
          #expect(!check.isClean(raw, in: reader) || outcome.isClean)
          violating += outcome.isClean ? 0 : 1
        }
        #expect(violating == 2)
      }
    }
  }

  @Test func `a definition that changes with the opening is asked anew`() throws {
    try withDirectory { directory in
      let contract = Contract("c", version: "1") {
        EventRule("single") { Mandatory("value", .integer, .range(0...9)) }
      }
      var tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Single(7))
      tracker.track(Single(10))
      try tracker.close()
      tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Single("7"))
      try tracker.close()
      tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Single<Int?>(nil))
      tracker.track(Single<Int?>(9))
      try tracker.close()
      var check = StoredCheck(try contract.compiled())
      let reader = try EventReader(directory: directory)
      var clean: [Bool] = []
      while let raw = try reader.nextRaw() { clean.append(check.isClean(raw, in: reader)) }
      #expect(clean == [true, false, false, false, true])
    }
  }
}
