// Declarations that can't be events, and attributes that say nothing.

#if Macros
  import Testing

  @Suite struct ShapeDiagnosticTests {
    @Test func `a value without a label is refused`() {
      expectRefusal(
        "@Event enum E { case a(«Int) }",
        Refusal(
          "the value of 'a' has no label, and the field would have no name; give it one", fix: "name it 'value'",
          fixed: "@Event enum E { case a(value: Int) }"))
      expectRefusal(
        "@Event enum E { case a(x: Int, «_ y: String) }",
        Refusal(
          "value 2 of 'a' has no label, and the field would have no name; give it one", fix: "name it 'value2'",
          fixed: "@Event enum E { case a(x: Int, value2: String) }"))
    }

    @Test(arguments: [
      ("(Int, Int)", "a tuple; make it a structure that conforms to EventValue"),
      ("[(Int, Int)]", "a tuple; make it a structure that conforms to EventValue"),
      ("() -> Void", "a function, which can't be stored; store what it would answer"),
      ("(@Sendable () -> Void)?", "a function, which can't be stored; store what it would answer"),
      (
        "any Sendable",
        "a protocol, whose values have no kind of their own; use a type that conforms to EventValue, or FieldValue"
      ),
      (
        "A & B",
        "a protocol, whose values have no kind of their own; use a type that conforms to EventValue, or FieldValue"
      ),
      ("Any", "of no particular type; use a type that conforms to EventValue, or FieldValue"),
      ("AnyObject", "of no particular type; use a type that conforms to EventValue, or FieldValue"),
      ("Int.Type", "a type; store its name, a String"),
      (
        "[String: Int]",
        "a dictionary; use an array of structures that conform to EventValue, or FieldValue, which takes any object"
      ),
      (
        "Swift.Dictionary<String, Int>",
        "a dictionary; use an array of structures that conform to EventValue, or FieldValue, which takes any object"
      ),
      (
        "Array<Optional<[String: Int]>>",
        "a dictionary; use an array of structures that conform to EventValue, or FieldValue, which takes any object"
      ),
      ("inout Int", "inout, which no stored value can be; leave it out"),
      ("Int!", "unwrapped without a check; write ? in place of !"),
      ("Void", "nothing to store; leave it out"),
      ("()", "nothing to store; leave it out"),
      ("[3 of Int]", "an inline array; use an array"),
      ("Int??", "an optional of an optional, and a log has one nil; remove one of the two"),
      ("[(Int?)?]", "an optional of an optional, and a log has one nil; remove one of the two"),
      ("Swift.Optional<Optional<Int>>", "an optional of an optional, and a log has one nil; remove one of the two"),
      ("Optional<() -> Void>", "a function, which can't be stored; store what it would answer"),
      ("Self", "the event itself; an event can't hold another one"),
    ])
    func `a type that no field can have is refused`(type: String, why: String) {
      let refusal = Refusal("'x' can't be a field: '\(type)' is \(why)")
      expectRefusal("@Event enum E { case a(x: «\(type)) }", refusal)
      if !type.hasPrefix("inout") { expectRefusal("@Event struct E { var x: «\(type) }", refusal) }
    }

    @Test func `conditional compilation is refused`() {
      let message =
        "@Event can't see which side of #if is compiled, and logs would differ from build to build; declare it without "
        + "a condition, and put #if around the code that captures it"
      expectRefusal(
        """
        @Event enum E {
          case a
          «#if DEBUG
            case b
          #endif
        }
        """, Refusal(message))
      expectRefusal(
        """
        @Event struct E {
          «#if DEBUG
            #if os(Linux)
              var b: Int
            #endif
          #endif
        }
        """, Refusal(message))
      expectRefusal(
        """
        @Event enum E {
          «#if DEBUG
            @available(*, deprecated)
          #endif
          case a
        }
        """, Refusal(message))
      // What is no part of an event may depend on it.
      #expect(
        isTaken(
          """
          @Event enum E {
            case a
            #if DEBUG
              func print() {}
              static var b = 1
            #endif
          }
          """))
    }

    @Test func `a generic type is refused`() {
      expectRefusal(
        "@Event enum E«<T> { case a(x: T) }",
        Refusal(
          "'E' is generic, and an event has one declaration; write an event for each type, or give the field the type "
            + "FieldValue"))
      expectRefusal(
        "struct Box<T> { @Event enum «E { case a } }",
        Refusal(
          "'E' is declared in 'Box', which is generic, so it would be many types of one name; declare it outside"))
    }

    @Test(arguments: [
      ("class E {}", "a class"), ("actor E {}", "an actor"), ("protocol E {}", "a protocol"),
      ("extension E {}", "an extension"),
    ])
    func `a type that is neither enum nor structure is refused`(declaration: String, word: String) {
      expectRefusal(
        "«@Event \(declaration)",
        Refusal(
          "@Event is for enums and structures: \(word) can't be an event, whose value must stay as it was captured"))
    }

    @Test func `a private type in a type is refused`() {
      expectRefusal(
        "struct S { @Event «private enum E { case a } }",
        Refusal(
          "'E' is private in a type and can't be extended; make it fileprivate", fix: "make it fileprivate",
          fixed: "struct S { @Event fileprivate enum E { case a } }"))
      expectRefusal(
        "struct S { private struct T { @Event enum «E { case a } } }",
        Refusal("'E' can't be extended, for 'T' is private in a type; make that fileprivate"))
      #expect(isTaken("@Event private enum E { case a }"))
      #expect(isTaken("private struct S { @Event fileprivate enum E { case a } }"))
    }

    @Test func `an indirect case is refused`() {
      let message =
        "an event can't be indirect: its values would be allocated at each capture, and an event can't hold another "
        + "one; remove 'indirect'"
      expectRefusal("@Event «indirect enum E { case a(x: Int) }", Refusal(message))
      expectRefusal("@Event enum E { «indirect case a(x: Int) }", Refusal(message))
    }

    @Test func `a type without events is refused`() {
      expectRefusal("@Event enum «E {}", Refusal("'E' has no cases, so it has no events"))
      expectRefusal(
        "@Event struct E { «var a: Int { 1 } }",
        Refusal(
          "'E' stores nothing: properties that are computed are no fields; store what the event is to carry"))
      // An event may have nothing to say but that it happened.
      #expect(isTaken("@Event struct E {}"))
    }

    @Test func `a property that cannot be read is refused`() {
      expectRefusal(
        "@Event struct E { let «a: Int = 1 }",
        Refusal(
          "'a' always is 1, and can't be given what was stored; make it a var, or remove the initial value",
          fix: "make it a var", fixed: "@Event struct E { var a: Int = 1 }"))
      expectRefusal(
        "@Event struct E { «lazy var a: Int = 1 }",
        Refusal("a lazy property may have no value yet when the event is captured; remove 'lazy'"))
      expectRefusal(
        "@Event struct E { var «(a, b): (Int, Int) }",
        Refusal("a field needs a name of its own; write a property for each value"))
    }

    @Test(arguments: [("1", "Int"), ("1.5", "Double"), ("\"x\"", "String"), ("true", "Bool")])
    func `a property without a type is refused`(value: String, type: String) {
      expectRefusal(
        "@Event struct E { var «a = \(value) }",
        Refusal(
          "the macro can't see the type of 'a'; write it: 'a: Type'", fix: "write ': \(type)'",
          fixed: "@Event struct E { var a: \(type) = \(value) }"))
    }

    @Test func `a property whose type only the compiler knows is refused`() {
      expectRefusal(
        "@Event struct E { var «a = make() }", Refusal("the macro can't see the type of 'a'; write it: 'a: Type'"))
    }

    @Test func `a member that the macro writes is refused where it is written already`() {
      expectRefusal(
        """
        @Event enum E {
          case a
          «static var eventName: String { "e" }
          «static let eventTypes: [EventType] = []
          «func encode(into encoder: inout EventEncoder) {}
          «init?(_ stored: Weir.StoredEvent) throws { nil }
          func encode(to encoder: any Encoder) {}
          «init(_ stored: StoredEvent) throws {}
          init(from stored: StoredEvent) {}
          init(_ stored: StoredEvent, at: Int) {}
        }
        """,
        Refusal("@Event writes 'eventName'; remove this one; give the name to @Event"),
        Refusal("@Event writes 'eventTypes'; remove this one, or do without @Event"),
        Refusal("@Event writes 'encode(into:)'; remove this one, or do without @Event"),
        Refusal("@Event writes 'init(_:)'; remove this one, or do without @Event"),
        Refusal("@Event writes 'init(_:)'; remove this one, or do without @Event"))
      expectRefusal(
        """
        @Event enum E {
          «case a, eventTypes
          «case eventName(x: Int)
        }
        """,
        Refusal(
          "@Event writes 'eventTypes'; give the case another name in the source: @Case(\"eventTypes\") keeps it in the "
            + "log"),
        Refusal(
          "@Event writes 'eventName'; give the case another name in the source: @Case(\"eventName\") keeps it in the "
            + "log"))
    }

    @Test(arguments: ["enum E: Int, «EventValue { case a }", "struct E: Codable, «EventValue { var a: Int }"])
    func `an event that would be a field is refused`(declaration: String) {
      expectRefusal(
        "@Event \(declaration)",
        Refusal(
          "an event can't be the value of a field, too: each event that held it would be refused; make that a type of "
            + "its own"))
    }

    @Test(arguments: [
      "enum E { case b; «@available(*, unavailable) case a(x: Int) }",
      "enum E { case b; «@available(swift, obsoleted: 5) case a }",
      "struct E { var b: Int; «@available(*, unavailable, message: \"gone\") var a: Int }",
    ])
    func `a case or property that is unavailable is refused`(declaration: String) {
      expectRefusal(
        "@Event \(declaration)",
        Refusal(
          "what is unavailable can't be read back; deprecate it, or remove it (a case's id goes into 'retired')"))
    }
  }
#endif
