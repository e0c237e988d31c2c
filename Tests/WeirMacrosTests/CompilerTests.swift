// What the compiler itself makes of the macro: that what it writes gives no warning wherever it stands, and what is
// said of types that the macro can't judge.

#if Macros
  import Testing

  @Suite struct CompilerTests {
    /// Every place that a type may be declared in, and every name.
    private static let accepted = """
      public import Weir

      @Event public enum Words: Event {
        case a(`in`: Int, `inout`: Int, `self`: Int, _x: Int, `let`: Int, `var`: Int)
        case `self`(encoder: Int, stored: Int, types: String), `default`
        case `init`(é: Int, value0: Int)
      }
      public struct Outer {
        @Event enum Inner { case a(x: Int); case b }
        @Event fileprivate struct Hidden { var x: Int; private var y: Int = 3 }
        @Event public struct Visible { public var x: Int; var z: Int; private var y: Int = 3 }
      }
      public extension Outer { @Event enum InPublicExtension { case a(x: Int) } }
      extension Outer { @Event public enum InExtension { case a(x: Int) } }
      struct Internal { @Event public enum Nested { case a(x: Int) } }
      extension Internal { @Event public enum NestedToo { case a(x: Int) } }
      private struct Private { @Event fileprivate enum Nested { case a(x: Int) } }
      @Event enum AlsoCodable: Codable, Event { case a(x: Int) }
      @Event package enum InPackage { case a(x: Int) }
      @MainActor struct Isolated { @Event enum Nested { case a(x: Int) } }
      @MainActor @Event enum OnMain { case a(x: Int) }
      enum Area {
        struct Part: EventValue {
          static let none = Part()
          static let fieldKind = FieldKind.bool
          func encode(into encoder: inout EventEncoder) { encoder.put(true) }
          init() {}
          init(fieldValue: FieldValue) throws {}
        }
        @Event enum Sides { case a(part: Part, other: Part = Part(), third: [Part]? = [.none]) }
        @Event struct Whole {
          var part: Part
          var other: Part = .none
          var third: [Part]? = [Part()]
        }
        static let memberwise = Whole(part: .none, third: nil)
      }
      @Event public struct Nothing {}
      @Event public enum Retiring { @available(*, deprecated) case a(x: Int); case b }
      @Event public struct RetiringField { @available(*, deprecated) public var x: Int; public var y: Int = 3 }
      @available(*, deprecated) @Event public enum Retired { case a(x: Int) }
      @available(*, deprecated) @Event public struct RetiredToo { public var x: Int }

      func capture(_ tracker: Tracker) { tracker.track(Outer.Inner.b) }
      """

    @Test(arguments: [
      [], ["-enable-upcoming-feature", "InternalImportsByDefault", "-enable-upcoming-feature", "ExistentialAny"],
      ["-default-isolation", "MainActor"],
    ])
    func `the code that the macro writes gives no warning`(options: [String]) throws {
      #expect(try compile(Self.accepted, options) == "")
    }

    /// The type checker has let pass what the compiler then could not lower.
    @Test func `the code that the macro writes is lowered`() throws {
      #expect(try compile(Self.accepted, mode: "-emit-silgen").hasPrefix("sil_stage raw"))
    }

    @Test func `a message of the macro is all that is said of an event in use`() throws {
      let answer = try compile(
        """
        import Weir
        @Event("") enum Sale { case paid(x: Int) }
        func capture(_ tracker: Tracker) { tracker.track(Sale.paid(x: 1)) }
        """, mode: "-c")
      #expect(answer.contains("error: a name can't be empty"))
    }

    @Test(arguments: ["enum Sale { case paid(price: Money) }", "struct Sale { var price: Money }"])
    func `a type that is no event value is named`(declaration: String) throws {
      let answer = try compile("import Weir\nstruct Money {}\n@Event \(declaration)\n")
      #expect(
        answer.contains("initializer 'init(_:of:sensitive:formerNames:)' requires that 'Money' conform to 'EventValue'")
      )
    }

    @Test func `a message stands where the source is wrong`() throws {
      let answer = try compile(
        """
        import Weir
        @Event enum Sale {
          #if DEBUG
            case tried
          #endif
          case paid(Int)
        }
        """)
      #expect(answer.contains("source.swift:3:3: error: @Event can't see which side of #if is compiled"))
      #expect(answer.contains("source.swift:6:13: error: the value of 'paid' has no label"))
    }
  }
#endif
