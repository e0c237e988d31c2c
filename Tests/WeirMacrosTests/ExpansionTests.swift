// What @Event writes, letter by letter.

#if Macros
  import Foundation
  import Testing

  @Suite struct ExpansionTests {
    @Test func `an enum becomes an event`() {
      expectExpansion(
        """
        @Event("checkout", kind: .systemAction, formerly: ["basket"])
        enum Checkout {
          case started(cart: UInt64)
          @Case("finished", id: 3, kind: .pageAction, formerly: ["completed"])
          @Field("amount", of: "total", formerly: ["sum"])
          @Field(of: "email", sensitive: true)
          case done(total: Double, email: String?, items: Int32 = 1, `in`: [UInt8])
          case `default`
        }
        """,
        """
        enum Checkout {
          case started(cart: UInt64)
          case done(total: Double, email: String?, items: Int32 = 1, `in`: [UInt8])
          case `default`

          nonisolated static var eventName: Swift.String {
            "checkout"
          }

          nonisolated static let eventTypes: [Weir.EventType] = {
            func type0() -> Weir.EventType {
              Weir.EventType("checkout.started", [
                Weir.Field("cart", of: (UInt64).self),
              ], wireID: 0x\(hex("basket.started")), kind: .systemAction, formerNames: ["basket.started"])
            }
            func type1() -> Weir.EventType {
              Weir.EventType("checkout.finished", [
                Weir.Field("amount", of: (Double).self, formerNames: ["sum"]),
                Weir.Field("email", of: (String?).self, sensitive: true),
                Weir.Field("items", of: (Int32).self),
                Weir.Field("in", of: ([UInt8]).self),
              ], wireID: 0x00000003, kind: .pageAction, formerNames: \
        ["basket.completed", "basket.finished", "checkout.completed"])
            }
            func type2() -> Weir.EventType {
              Weir.EventType("checkout.default", [], wireID: 0x\(hex("basket.default")), kind: .systemAction, \
        formerNames: ["basket.default"])
            }
            return [type0(), type1(), type2()]
          }()

          @inline(__always)
          nonisolated func encode(into encoder: inout Weir.EventEncoder) {
            switch self {
            case .started(cart: let value0):
              encoder.begin(0)
              encoder.put(value0)
            case .done(total: let value0, email: let value1, items: let value2, in: let value3):
              encoder.begin(1)
              encoder.put(value0)
              encoder.put(value1)
              encoder.put(value2)
              encoder.put(value3)
            case .`default`:
              encoder.begin(2)
            }
          }

          nonisolated init?(_ weirStored: Weir.StoredEvent) throws {
            let weirTypes = Self.eventTypes
            switch weirStored.index(in: weirTypes) {
            case 0:
              self = .started(
                cart: try weirStored.value(weirTypes[0].fields[0]))
            case 1:
              self = .done(
                total: try weirStored.value(weirTypes[1].fields[0]),
                email: try weirStored.value(weirTypes[1].fields[1]),
                items: try weirStored.value(weirTypes[1].fields[2], default: 1),
                in: try weirStored.value(weirTypes[1].fields[3]))
            case 2:
              self = .`default`
            default:
              return nil
            }
          }
        }

        extension Checkout: Weir.Event {
        }
        """)
    }

    @Test func `a structure becomes an event`() {
      expectExpansion(
        """
        @Event(kind: .pageView, id: 7, formerly: ["Purchase", "Order"])
        public struct Sale {
          public var order: UInt64
          @Field("amount", formerly: ["sum"], sensitive: true) public private(set) var total: Double = 0
          public let a, b: String?
          public var twice: Double { total * 2 }
          public var watched: Bool { didSet {} }
          static var count = 0
        }
        """,
        """
        public struct Sale {
          public var order: UInt64
          public private(set) var total: Double = 0
          public let a, b: String?
          public var twice: Double { total * 2 }
          public var watched: Bool { didSet {} }
          static var count = 0

          public nonisolated static var eventName: Swift.String {
            "Sale"
          }

          public nonisolated static let eventTypes: [Weir.EventType] = {
            func type0() -> Weir.EventType {
              Weir.EventType("Sale", [
                Weir.Field("order", of: (UInt64).self),
                Weir.Field("amount", of: (Double).self, sensitive: true, formerNames: ["sum"]),
                Weir.Field("a", of: (String?).self),
                Weir.Field("b", of: (String?).self),
                Weir.Field("watched", of: (Bool).self),
              ], wireID: 0x00000007, kind: .pageView, formerNames: ["Purchase", "Order"])
            }
            return [type0()]
          }()

          @inlinable @inline(__always)
          public nonisolated func encode(into encoder: inout Weir.EventEncoder) {
            encoder.begin(0)
            encoder.put(self.order)
            encoder.put(self.total)
            encoder.put(self.a)
            encoder.put(self.b)
            encoder.put(self.watched)
          }
        }

        extension Sale: Weir.Event {
          public nonisolated init?(_ weirStored: Weir.StoredEvent) throws {
            let weirTypes = Self.eventTypes
            guard weirStored.index(in: weirTypes) != nil else {
              return nil
            }
            self.order = try weirStored.value(weirTypes[0].fields[0])
            let default1 = self.total
            self.total = try weirStored.value(weirTypes[0].fields[1], default: default1)
            self.a = try weirStored.value(weirTypes[0].fields[2])
            self.b = try weirStored.value(weirTypes[0].fields[3])
            self.watched = try weirStored.value(weirTypes[0].fields[4])
          }
        }
        """)
    }

    @Test func `a type that says that it conforms is not made to conform again`() {
      let enumeration = expand("@Event enum Tick: Event { case a }", isConforming: true)
      #expect(enumeration.contains("nonisolated init?"))
      #expect(!enumeration.contains("extension"))
      let structure = expand("@Event struct Tick: Event {}", isConforming: true)
      #expect(structure.contains("\nextension Tick {\n  nonisolated init?"))
    }

    /// How visible the members are, and whether other modules may compile them in.
    @Test(arguments: [
      ("@Event public enum E { case a }", "public ", true),
      ("@Event package enum E { case a }", "package ", false),
      ("@Event internal enum E { case a }", "", false),
      ("@Event fileprivate enum E { case a }", "", false),
      ("public struct S { @Event public enum E { case a } }", "public ", true),
      ("struct S { @Event public enum E { case a } }", "public ", false),
      ("extension S { @Event public enum E { case a } }", "public ", false),
      ("public extension S { @Event enum E { case a } }", "public ", true),
      ("public extension S { @Event internal enum E { case a } }", "", false),
      ("@Event public struct E { public var a: Int }", "public ", true),
      ("@Event public struct E { public var a: Int; private var b: Int }", "public ", false),
      ("@Event public struct E {}", "public ", true),
    ])
    func `the members are as visible as the type`(source: String, access: String, isInlinable: Bool) {
      let written = expand(source)
      #expect(written.contains("  \(access)nonisolated static let eventTypes"))
      #expect(written.contains("  \(access)nonisolated init?"))
      #expect(written.contains("  \(access)nonisolated func encode"))
      #expect(written.contains("@inlinable") == isInlinable)
      #expect(written.contains("@inline(__always)"))
    }

    @Test func `members that touch what is deprecated are deprecated themselves`() {
      let mark = "@available(*, deprecated)\n"
      let enumeration = expand("@Event enum E { @available(*, deprecated) case a; case b }")
      #expect(enumeration.contains(mark + "  nonisolated init?"))
      #expect(!enumeration.contains(mark + "  @inline"))
      #expect(!enumeration.contains(mark + "extension"))
      let structure = expand("@Event struct E { @available(*, deprecated) var a: Int }")
      #expect(structure.contains(mark + "  nonisolated init?"))
      #expect(structure.contains(mark + "  @inline(__always)\n  nonisolated func encode"))
      #expect(expand("@available(*, deprecated) @Event enum E { case a }").contains(mark + "extension E"))
    }

    @Test func `names that literals cannot hold are escaped`() {
      let written = expand(#"@Event("a \"quoted\" \\ name") enum E { case a }"#)
      #expect(written.contains(##"#"a "quoted" \ name"#"##))
    }

    /// The event that the benchmark measures is what the macro makes of it.
    @Test func `the benchmark measures what the macro writes`() throws {
      let text = try text(of: "Benchmarks/Sources/CaptureBench/Subjects/MacroCheckoutExpansion.swift")
      let start = try #require(text.range(of: "enum MacroCheckout")?.lowerBound)
      let written = expand(
        """
        @Event("checkout")
        enum MacroCheckout {
          case started(cart: UInt64)
          case completed(order: UInt64, total: Double, items: Int32, coupon: String)
        }
        """)
      #expect(lines(written) == lines(String(text[start...])))
    }

    @Test func `the guide shows what the macro writes`() throws {
      let blocks = try text(of: "Sources/Weir/Weir.docc/Guides/Macro.md").components(separatedBy: "```")
      let source = try #require(blocks.first { $0.hasPrefix("swift\n") && $0.contains("@Event(\"basket\"") })
      let shown = try #require(blocks.first { $0.hasPrefix("\nenum Basket") })
      let written = expand(String(source.dropFirst("swift\n".count)))
      let start = try #require(written.range(of: "enum Basket")?.lowerBound)
      #expect(lines(String(written[start...])) == lines(shown))
    }

    private func text(of file: String) throws -> String {
      let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
      return try String(contentsOf: root.appending(path: file), encoding: .utf8)
    }

    /// Without the empty ones around.
    private func lines(_ text: String) -> [String] {
      text.trimmingCharacters(in: .newlines).components(separatedBy: "\n")
    }
  }

  private func hex(_ name: String) -> String {
    let digits = String(name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
#endif
