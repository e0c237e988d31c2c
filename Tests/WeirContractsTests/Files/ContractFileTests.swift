// Contracts in JSON: what is read and written, what is refused and on which line, and files meant to do harm.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirJSON

struct ContractFileTests {
  private func read(_ text: String) throws -> Contract { try Contract(json: Data(text.utf8)) }

  private func problems(_ text: String) -> [String] {
    do {
      _ = try Contract(json: Data(text.utf8))
      return []
    } catch {
      return error.problems.map(\.description)
    }
  }

  @Test func `a file with everything in it is read`() throws {
    let contract = try read(
      """
      {
        "contract": "shop",
        "version": "1.2",
        "allows_unknown_events": true,
        "requires_kind": true,
        "every_event": {
          "context.globals.app": {"type": "string", "mandatory": true, "default": "shop"},
          "context.user": {"mandatory": true}
        },
        "events": {
          "checkout.completed": {
            "kind": "page_action",
            "description": "An order was paid.",
            "fields": {
              "order": {"type": "integer", "mandatory": true, "min": 1},
              "total": {"type": "number", "mandatory": true, "above": 0, "below": 1e4, "description": "gross"},
              "currency": {"type": "string", "mandatory": true, "one_of": ["EUR", "USD"], "default": "EUR"},
              "coupon": {"type": "string", "matches": "[A-Z0-9]{4,12}", "deprecated": true},
              "email": {"type": "string", "min_length": 3, "max_length": 10, "sensitive": true},
              "ratio": {"type": "number", "finite": true, "max": 18446744073709551615},
              "items": {"type": "array", "mandatory": true, "min_length": 1, "fields": {
                "sku": {"mandatory": true}
              }},
              "tags[]": {"type": "string"},
              "session": {"type": "uuid", "one_of": ["6BA7B810-9DAD-11D1-80B4-00C04FD430C8"]},
              "context.view.name": {"mandatory": true, "max_length": 40}
            }
          },
          "opened": {"open": true, "deprecated": true},
          "closed": null
        }
      }
      """)
    let id = try #require(UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"))
    var ratio = FieldRule("ratio", mandatory: false, .number, [.finite])
    ratio.range = NumberRange(upper: .including(.uint(.max)))
    var view = FieldRule("context.view.name", mandatory: true)
    view.length = LengthRange(max: 40)
    let expected = Contract("shop", version: "1.2", allowsUnknownEvents: true, requiresKind: true) {
      Mandatory("context.globals.app", .string, default: "shop")
      Mandatory("context.user")
    } events: {
      EventRule("checkout.completed", kind: .pageAction, description: "An order was paid.") {
        Mandatory("order", .integer, .range(1...))
        Mandatory(
          "total", .number, .range(NumberRange(lower: .excluding(0), upper: .excluding(1e4))), .description("gross"))
        Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "EUR")
        Optionally("coupon", .string, .matches("[A-Z0-9]{4,12}"), .deprecated)
        Optionally("email", .string, .length(3...10), .sensitive)
        ratio
        Mandatory("items", .array, .length(1...)) { Mandatory("sku") }
        Optionally("tags[]", .string)
        Optionally("session", .uuid, .oneOf(.uuid(id)))
        view
      }
      EventRule("opened", open: true, deprecated: true)
      EventRule("closed")
    }
    #expect(contract == expected)
    #expect(try Contract(json: contract.json()) == contract)
  }

  @Test func `problems of rules for every event have their lines`() {
    let text = """
      {"contract": "c", "version": "1", "events": {"e": {"fields": {
        "context.app": {"mandatory": true},
        "context.user.id": {"sensitive": true}}}},
       "every_event": {
        "context.globals.app": {"default": "x"},
        "app": {},
        "context.user": {"mandatory": true, "default": {"id": "u"}},
        "context.user.id": {},
        "context.view": {"typ": "object"}
      }}
      """
    #expect(
      problems(text) == [
        "line 2: e: context.app: the context has no part \"app\"; its parts are context.globals, context.fields, "
          + "context.user and context.view, and a global field is such as context.globals.app",
        "line 3: e: context.user.id: the same part of the context has a rule for every event; remove one of the two",
        "line 3: e: context.user.id: a contract can't mark a part of the context as sensitive; use "
          + "GlobalFields.sensitive",
        "line 5: context.globals.app: only a mandatory field can have a default; remove the default, or make the field "
          + "mandatory",
        "line 6: app: a rule for every event is about its context; begin the name with context.",
        "line 7: context.user: only fields of context.globals and context.fields can have a default; remove the "
          + "default",
        "line 9: context.view: a field has no key \"typ\"; did you mean type?",
      ])
    #expect(
      problems(#"{"contract": "c", "version": "1", "events": {}, "every_event": []}"#) == [
        "line 1: every_event is a list; write the fields' names as keys"
      ])
  }

  @Test func `random contracts come back as they were`() throws {
    let seed = testSeed()
    print("ContractFileTests.random: WEIR_SEED=\(seed)")
    var random = RandomContracts(seed: seed)
    for _ in 0..<400 {
      let contract = random.contract()
      let text = String(decoding: contract.json(), as: UTF8.self)
      #expect(try read(text) == contract, "WEIR_SEED=\(seed)\n\(text)")
      // What Foundation reads as JSON is JSON.
      _ = try JSONSerialization.jsonObject(with: contract.json())
    }
  }

  @Test func `problems come at once, each with its line`() {
    let text = """
      {
        "contract": "shop",
        "version": 1.2,
        "event": {},
        "events": {
          "a": {"kind": "pageview", "fields": {
            "x": {"type": "int", "mandatroy": true},
            "y": {"type": "integer", "min": 5,
                  "max": 1},
            "y": {"required": 1, "matches": 7},
            "z": {"type": "array", "fields": {"q": {"type": "string", "default": 1, "mandatory": true}}}
          }},
          "a": 7,
          "b": {"fields": {"s": {"type": "string", "one_of": "x", "min_length": 1.5}}}
        }
      }
      """
    #expect(
      problems(text) == [
        "line 3: version is a number; write a text, in quotation marks",
        "line 4: the contract has no key \"event\"; did you mean events?",
        "line 6: a: there is no kind \"pageview\"; did you mean page_view?",
        "line 6: a: the event appears twice; merge the two",
        "line 7: a: x: a field has no key \"mandatroy\"; did you mean mandatory?",
        "line 7: a: x: there is no type \"int\"; did you mean integer?",
        "line 8: a: y: the field appears twice; merge the two",
        "line 8: a: y: no number lies in the range 5...1",
        "line 10: a: y: a field has no key \"required\"; did you mean mandatory?",
        "line 10: a: y: matches is a number; write a text, in quotation marks",
        "line 11: a: z[].q: the default 1 violates type string",
        "line 13: a: an event is a number; write a map with the keys kind, open, deprecated, description, fields",
        "line 14: b: s: min_length is a number; write a whole number",
        "line 14: b: s: one_of is a text; write a list of values",
      ])
  }

  @Test func `a problem with a key has the line of the key`() {
    let text = "{\n\"contract\": \"c\",\n\"version\": \"1\",\n\"events\": {},\n\"bogus\":\n1\n}"
    #expect(problems(text).first?.hasPrefix("line 5: the contract has no key \"bogus\"; ") == true)
    #expect(problems(text).count == 1)
  }

  @Test func `minus zero is zero`() throws {
    let contract = try read(
      """
      {"contract": "c", "version": "1", "events": {"e": {"fields": {
        "a": {"type": "integer", "mandatory": true, "default": -0},
        "b": {"type": "string", "min_length": -0}
      }}}}
      """)
    #expect(contract.events[0].fields[0].defaultValue == .int(0))
    #expect(contract.events[0].fields[1].length?.min == 0)
  }

  @Test(arguments: [
    ("", "the text ends too early"), ("{", "the text ends too early"), ("{}", "the key events is missing"),
    ("[]", "the contract is a list"), ("{\"a\" 1}", "expected :"), ("{\"a\":1,}", "a name in quotation marks"),
    ("{\"a\":01}", "a number begins with 0"), ("{\"a\":1.}", "with a decimal point"), ("{\"a\":1e}", "empty exponent"),
    ("{\"a\":+1}", "expected a value"), ("{\"a\":tru}", "expected a value"), ("{\"a\":[1,]}", "expected a value"),
    ("{\"a\":1e999}", "out of range for a field"), ("{\"a\":1e-999}", "out of range for a field"),
    ("{\"a\":18446744073709551616}", "out of range for a field"), ("{\"a\":\"\\x\"}", "follows a backslash"),
    ("{\"a\":\"\\ud800\"}", "half of a surrogate"), ("{\"a\":\"\\ud800\\u0041\"}", "half of a surrogate"),
    ("{\"a\":\"\\udc00\"}", "half of a surrogate"), ("{\"a\":\"\\u12g4\"}", "hexadecimal"),
    ("{\"a\":\"\n\"}", "a line end or control character"), ("{\"a\":\"", "no closing quotation mark"),
    ("{\"a\":1} x", "text after the end"), ("{\"a\":NaN}", "expected a value"), ("// a", "expected a value"),
    ("{\"events\":{\"e\":{\"fields\":{\"f\":{\"min\":1,\"above\":1}}}}}", "min and above are both given"),
    ("{\"events\":{},\"events\":{}}", "the key \"events\" appears twice"),
    (
      "{\"events\":{\"e\":{\"fields\":{\"f\":{\"type\":\"any\",\"default\":{\"a\":1,\"a\":2}}}}}}",
      "\"a\" appears twice"
    ),
    ("{\"events\":[]}", "write the events' names as keys"),
    ("{\"events\":{\"e\":{\"open\":1}}}", "write true or false"),
  ])
  func `a text that is no contract is refused`(_ text: String, _ reason: String) {
    #expect(problems(text).contains { $0.contains(reason) }, "\(problems(text))")
  }

  @Test func `a byte order mark is passed over, at the beginning only`() throws {
    let text = "{\"contract\":\"c\",\"version\":\"1\",\"events\":{}}"
    #expect(try Contract(json: Data("\u{FEFF}\(text)".utf8)) == Contract(json: Data(text.utf8)))
    #expect(problems("\u{FEFF}\n1.").first?.hasPrefix("line 2: ") == true)
    #expect(problems("\u{FEFF}\u{FEFF}\(text)").first?.contains("expected a value") == true)
    #expect(problems("\u{FEFF}").first?.contains("the text ends too early") == true)
  }

  @Test func `files meant to do harm are refused`() {
    let limit = DocumentNode.maximumBytes
    #expect(problems(String(repeating: " ", count: limit + 1)).first?.contains("larger than 16 MiB") == true)
    #expect(problems(String(repeating: "[", count: limit)).first?.contains("nest more than 64") == true)
    #expect(problems(String(repeating: "{\"a\":", count: 1 << 20)).first?.contains("nest more than 64") == true)
    func lists(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    #expect(problems(lists(65)).first?.contains("the contract is a list") == true)
    #expect(problems(lists(66)).first?.contains("nest more than 64") == true)
    let many = "[" + String(repeating: "0,", count: 1_100_000) + "0]"
    #expect(problems(many).first?.contains("more than 1000000 values") == true)
    #expect((try? Contract(json: Data([0x7B, 0x22, 0xFF, 0x22, 0x7D]))) == nil)
    let fields = (0..<40).reduce("{}") { inner, _ in "{\"fields\":{\"x\":\(inner)}}" }
    let nested = "{\"contract\":\"c\",\"version\":\"1\",\"events\":{\"e\":\(fields)}}"
    #expect(problems(nested).allSatisfy { $0.contains("at most 16 deep") || $0.contains("nest more") })
    #expect(!problems(nested).isEmpty)
    let wrong = (0..<1000).map { "\"f\($0)\":1" }.joined(separator: ",")
    let text = "{\"contract\":\"c\",\"version\":\"1\",\"events\":{\"e\":{\"fields\":{\(wrong)}}}}"
    #expect(problems(text).count == ContractError.maximumProblems)
  }

  /// Files with bytes changed: read or refused, never a trap; what is read compiles, and comes back the same.
  @Test func `changed files are read or refused`() throws {
    let seed = testSeed()
    print("ContractFileTests.changed: WEIR_SEED=\(seed)")
    var contracts = RandomContracts(seed: seed)
    var random = Seeded(seed: seed &+ 1)
    var read = 0
    for _ in 0..<300 {
      let good = Array(contracts.contract().json())
      for _ in 0..<10 {
        var bytes = good
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let at = Int.random(in: 0..<bytes.count, using: &random)
          switch Int.random(in: 0..<3, using: &random) {
          case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
          case 1: bytes.remove(at: at)
          default: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &random)], at: at)
          }
        }
        guard let contract = try? Contract(json: Data(bytes)) else { continue }
        read += 1
        _ = try contract.compiled()
        #expect(try Contract(json: contract.json()) == contract, "WEIR_SEED=\(seed)")
      }
    }
    #expect(read > 100)
  }
}
