// A contract as Swift code: the code of small contracts, names, and what the compiler says of random ones.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts

struct SwiftCodeTests {
  private func code(_ contract: Contract, _ access: SwiftAccess = .internal) throws -> String {
    try contract.compiled().swiftCode(access: access, command: "a test")
  }

  private func code(_ events: EventRule...) throws -> String {
    try code(Contract("c", version: "1", events: events))
  }

  @Test func `an event is a structure of the protocols of its kind and fields`() throws {
    let code = try code(
      Contract("shop", version: "1.2") {
        EventRule("checkout.completed", kind: .pageAction, description: "A purchase.\n\nOne order.") {
          Mandatory("order", .integer, .range(1...), .description("the number"))
          Mandatory("currency", .string, .oneOf("EUR", "US-$"), default: "EUR")
          Optionally("coupon", .string, .deprecated)
          Mandatory("email", .string, .sensitive)
        }
      }, .public)
    #expect(
      code
        == #"""
        // Made by a test from the contract shop 1.2.
        // Changes in this file are lost.
        // swift-format-ignore-file

        public import Weir

        /// An event of no particular kind.
        public protocol TrackedEvent: Event, Codable {}

        extension TrackedEvent {
          public static var eventTypes: [EventType] {
            [EventType(codable: eventName, sensitive: sensitiveFields(of: Self.self))]
          }
        }

        /// A page, screen or view was shown.
        public protocol PageView: TrackedEvent {}

        extension PageView {
          public static var eventTypes: [EventType] {
            [EventType(codable: eventName, kind: .pageView, sensitive: sensitiveFields(of: Self.self))]
          }
        }

        /// A user did something in a page, screen or view.
        public protocol PageAction: TrackedEvent {}

        extension PageAction {
          public static var eventTypes: [EventType] {
            [EventType(codable: eventName, kind: .pageAction, sensitive: sensitiveFields(of: Self.self))]
          }
        }

        /// The system did something without a user.
        public protocol SystemAction: TrackedEvent {}

        extension SystemAction {
          public static var eventTypes: [EventType] {
            [EventType(codable: eventName, kind: .systemAction, sensitive: sensitiveFields(of: Self.self))]
          }
        }

        /// An event with the field `order`.
        public protocol HasOrder {
          var order: Int { get }
        }

        /// An event with the field `currency`.
        public protocol HasCurrency {
          var currency: Currency { get }
        }

        /// An event with the field `coupon`.
        public protocol HasCoupon {
          var coupon: String? { get }
        }

        /// An event with the field `email`.
        public protocol HasEmail {
          var email: String { get }
        }

        public enum Currency: String, CaseIterable, Codable, Hashable, Sendable {
          case EUR
          case US = "US-$"
        }

        /// A purchase.
        ///
        /// One order.
        public struct CheckoutCompleted: PageAction, HasOrder, HasCurrency, HasCoupon, HasEmail, Hashable {
          public static let eventName = "checkout.completed"

          /// the number
          public var order: Int
          public var currency: Currency
          /// Deprecated: the field is going to be removed.
          public var coupon: String?
          public var email: String

          public init(order: Int, currency: Currency = .EUR, coupon: String? = nil, email: String) {
            self.order = order
            self.currency = currency
            self.coupon = coupon
            self.email = email
          }
        }

        /// The sensitive fields of a type, by the protocols that the type is composed of.
        private func sensitiveFields(of type: any TrackedEvent.Type) -> [String] {
          var paths: [String] = []
          if type is any HasEmail.Type { paths += ["email"] }
          return paths
        }

        """#, "\(code)")
  }

  @Test func `forms of one field are told apart`() throws {
    let code = try code(
      EventRule("a") {
        Mandatory("total", .integer)
        Mandatory("code", .string)
        Mandatory("state", .string, .oneOf("on", "off"))
      },
      EventRule("b.seen") {
        Mandatory("total", .number)
        Optionally("code", .string)
        Mandatory("state", .string, .oneOf("on"))
        Optionally("hasNews", .bool)
      })
    let protocols = code.split(separator: "\n").filter { $0.hasPrefix("protocol Has") }.map {
      $0.dropFirst(9).dropLast(2)
    }
    #expect(
      protocols == [
        "HasTotalInteger", "HasCode", "HasStateChoiceInA", "HasTotalNumber", "HasCodeOptional", "HasStateChoiceInBSeen",
        "HasNews",
      ])
    #expect(code.contains("enum StateChoiceInA: "))
    #expect(
      code.contains("struct BSeen: TrackedEvent, HasTotalNumber, HasCodeOptional, HasStateChoiceInBSeen, HasNews"))
  }

  @Test func `names that Swift does not allow, or has already, are others`() throws {
    let code = try code(
      EventRule("page.view") {
        Mandatory("default", .bool)
        Mandatory("user-id", .integer)
        Mandatory("self", .any)
        Mandatory("9 lives", .string)
        Mandatory("naïve", .string)
        Mandatory("string", .string, .oneOf("none", "default", "", "9", "a b", "A b"))
      }, EventRule("string"), EventRule("42"))
    for part in [
      "struct PageViewEvent: ", "  var `default`: Bool\n", "  var user_id: Int\n", "  case user_id = \"user-id\"\n",
      "  var self_: FieldValue\n", "  case self_ = \"self\"\n", "  var _9_lives: String\n",
      "  case naïve = \"naïve\"\n",
      "struct StringEvent: ", "struct _42: ", "enum StringValue: ", "  case none_ = \"none\"\n", "  case `default`\n",
      "  case empty = \"\"\n", "  case _9 = \"9\"\n", "  init() {}\n",
      "/// `case user_id = \"user-id\"`.\n",
    ] {
      #expect(code.contains(part), "\(part): \(code)")
    }
    #expect(code.contains(#/case aB_[0-9a-f]{8} = "a b"\n +case AB?b?_?/#) || code.contains("case aB_"), "\(code)")
  }

  @Test func `names do not depend on the order of the contract`() throws {
    let one = EventRule(
      "a.b", fields: [FieldRule("x-y", mandatory: true, .bool), FieldRule("x y", mandatory: true, .bool)])
    let other = EventRule("a_b", fields: [FieldRule("x_y", mandatory: false, .bool)])
    func declared(_ code: String) -> Set<Substring> {
      Set(code.split(separator: "\n").filter { $0.contains(#/(struct|protocol|var|case) /#) && !$0.hasPrefix("///") })
    }
    let (code, turned) = try (code(one, other), code(other, one))
    #expect(declared(code) == declared(turned))
    #expect(code.matches(of: #/struct AB_[0-9a-f]{8}: /#).count == 2, "\(code)")
    #expect(Set(code.matches(of: #/protocol HasXY[_0-9a-f]+/#).map { String($0.0) }).count == 3, "\(code)")
  }

  @Test func `code is the same each time, and an empty contract has the kinds`() throws {
    let empty = Contract("c\n1", version: "1", events: [])
    #expect(try code(empty) == code(empty))
    #expect(try code(empty).contains("protocol SystemAction: TrackedEvent {}"))
    #expect(try code(empty).hasPrefix("// Made by a test from the contract c 1 1.\n"))
    #expect(try !code(empty).contains("import Foundation"))
  }

  @Test func `every type has its Swift type`() throws {
    let code = try code(
      EventRule("e") {
        Mandatory("i", .integer, default: -1)
        Mandatory("u", .integer, .range(0...UInt64.max), default: .uint(.max))
        Mandatory("n", .number, default: .int(.max))
        Mandatory("b", .bytes)
        Mandatory("id", .uuid)
        Optionally("at", .date)
        Mandatory("v", .any, default: ["a": [-1, .uint(.max), 2.5, "x"]])
        Optionally("o", .object)
        Mandatory("l", .array, default: [])
        Mandatory("m[][]", .number)
        Mandatory("c[]", .string, .oneOf("x", "y"))
        Mandatory("s", .object) {
          Mandatory("items", .array) { Optionally("price", .number, .sensitive) }
          Mandatory("type", .string, .oneOf("t"))
        }
      })
    for part in [
      "import FoundationEssentials\n", "i: Int = -1", "u: UInt64 = 18446744073709551615",
      "n: Double = 9.223372036854776e+18", "b: [UInt8]", "id: UUID", "at: Date? = nil",
      #"v: FieldValue = .object(["a": [-1, .uint(18446744073709551615), .double(2.5), "x"]])"#,
      "o: [String: FieldValue]? = nil", "l: [FieldValue] = []", "m: [[Double]]", "c: [CElement]",
      "enum CElement: String", "s: S", "\nstruct S: Codable, Hashable, Sendable {\n  var items: [ItemsElement]\n",
      "\n  struct ItemsElement: Codable, Hashable, Sendable {\n    var price: Double?\n", "\n  enum TypeValue: String",
      #"{ paths += ["s.items.price"] }"#,
    ] {
      #expect(code.contains(part), "\(part): \(code)")
    }
  }

  // MARK: The compiler

  /// What the compiler says of these texts as the files of one module; empty if nothing.
  private func typecheck(_ texts: [String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appending(path: "weir-code-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    let files = try texts.enumerated().map { index, text in
      let file = folder.appending(path: "Code\(index).swift")
      try Data(text.utf8).write(to: file)
      return file.path
    }
    let products = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      .deletingLastPathComponent().path
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().path
    let compiler = Process()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments =
      ["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-warnings-as-errors", "-package-name", "p"]
      + ["-I", products + "/Modules", "-I", root + "/include", "-I", root + "/Sources/CLZ4"] + files
    let output = Pipe()
    compiler.standardError = output
    compiler.standardOutput = output
    try compiler.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    compiler.waitUntilExit()
    return String(decoding: text, as: UTF8.self)
  }

  /// What a program does with the code, in another file.
  private static let use = """
    import Weir

    struct Mine: PageView { static let eventName = "mine"; var a: Int }
    func use(_ tracker: Tracker) { tracker.track(Mine(a: 1)) }
    """

  @Test(arguments: SwiftAccess.allCases)
  func `the code of odd contracts compiles without warnings`(_ access: SwiftAccess) throws {
    let keywords = [
      "class", "init", "Type", "await", "copy", "Self", "_", "__", "", "é", "e\u{301}", "漢字", "a.b", "\\[x", "*/",
      "سلة", "CodingKeys",
    ]
    let fields = keywords.filter { !$0.isEmpty }.map { name in
      FieldRule(name == "a.b" ? "a\\.b" : name == "\\[x" ? "\\[x" : name, mandatory: true, .bool)
    }
    let unique = fields.reduce(into: [FieldRule]()) { list, rule in
      if !list.contains(where: { $0.name == rule.name }) { list.append(rule) }
    }
    let words = [
      "none", "some", "self", "init", "allCases", "rawValue", "hashValue", "", " ", "\"", "\\(x)", "\u{202E}", "a-b",
      "a b", "é",
    ]
    let contract = Contract("odd */ \u{2028}", version: "`") {
      EventRule("odd", kind: .systemAction, deprecated: true, description: "*/ \r\n `x` \u{0} \\(y)", fields: unique)
      for name in ["event", "codable", "has.a", "Int", "page view", "a", "A", "weird\u{1}\"\\", "type", "self"] {
        EventRule(name) {
          Mandatory("a", .string, .oneOf(words.map { .string($0) }), default: .string(words[3]))
          Optionally("hashValue", .integer)
          Optionally("eventName", .string)
          Optionally("eventTypes", .array) { Mandatory("eventTypesElement", .object) { Mandatory("x", .bool) } }
        }
      }
      // The only name without letters, and several, in one object.
      EventRule("\u{E2A}\u{E27}\u{E31}") {
        Mandatory("*/", .object) { Mandatory("سلة", .object) { Mandatory("CodingKeys") } }
      }
      EventRule("*/") { Mandatory("CodingKeys", .string, .oneOf("CodingKeys", "*/", "سلة")) }
      EventRule("many") { for index in 0..<40 { Mandatory("field\(index)", .number, default: .double(1e300)) } }
    }
    let code = try code(contract, access)
    let said = try typecheck([code, Self.use])
    #expect(said.isEmpty, "\(said)\n\(code)")
  }

  @Test func `a name without letters is a name`() throws {
    let code = try code(EventRule("*/") { Mandatory("*/", .object) { Mandatory("سلة", .string, .oneOf("x")) } })
    for part in ["struct Unnamed: ", "protocol HasUnnamed {", "struct UnnamedValue: ", "  enum Unnamed: String"] {
      #expect(code.contains(part), "\(part): \(code)")
    }
    let said = try typecheck([code])
    #expect(said.isEmpty, "\(said)\n\(code)")
  }

  @Test func `the code of random contracts compiles without warnings`() throws {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    var random = RandomContracts(seed: seed)
    for _ in 0..<6 {
      let contract = random.contract()
      let code = try code(contract, SwiftAccess.allCases.randomElement(using: &random.random) ?? .internal)
      let said = try typecheck([code, Self.use])
      #expect(said.isEmpty, "\(said)\n\(code)")
    }
  }

  @Test func `the compiler checks what is composed`() throws {
    let code = try code(EventRule("e", kind: .pageView) { Mandatory("quantity", .integer) })
    let missing = try typecheck([code, "struct Mine: PageView & HasQuantity { var other: Int }"])
    #expect(missing.contains("does not conform to protocol 'HasQuantity'"), "\(missing)")
    let wrong = try typecheck([code, "struct Mine: PageView & HasQuantity { var quantity: String }"])
    #expect(wrong.contains("does not conform to protocol 'HasQuantity'"), "\(wrong)")
    let twice = try typecheck([code, "struct Mine: PageView & PageAction { var a: Int }"])
    #expect(twice.contains("error:"), "an event has one kind")
    #expect(try typecheck([code, "struct Mine: PageView & HasQuantity { var quantity: Int }"]) == "")
  }
}
