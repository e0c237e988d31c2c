// Names and ids that are refused.

#if Macros
  import SwiftDiagnostics
  import SwiftSyntax
  import Testing

  @Suite struct NameDiagnosticTests {
    // MARK: Ids

    @Test func `two cases of one id are refused`() {
      expectRefusal(
        """
        @Event enum E {
          @Case(id: 3) case ‹a
          @Case(id: 3) case «b
        }
        """,
        Refusal("'b' and 'a' both have the id 3", note: "'a' is here"))
    }

    @Test func `two ids that happen to be equal are refused`() {
      expectRefusal(
        """
        @Event enum E {
          case ‹shutRedoLate
          case «keptStartedUserLast
        }
        """,
        Refusal(
          "the ids of 'keptStartedUserLast' and 'shutRedoLate' happen to be equal (3005682964); give one an id of its "
            + "own: @Case(id: …)",
          note: "'shutRedoLate' is here"))
      #expect(
        expand("@Event enum E { case shutRedoLate; @Case(id: 1) case keptStartedUserLast }").contains("extension"))
    }

    @Test func `an id that is the hash of another's name is refused`() {
      expectRefusal(
        """
        @Event enum E {
          case ‹a
          @Case(id: 3421769169) case «b
        }
        """,
        Refusal(
          "the ids of 'b' and 'a' happen to be equal (3421769169); give one an id of its own: @Case(id: …)",
          note: "'a' is here"))
    }

    @Test func `an id that is retired is refused`() {
      func refusal(_ event: String, _ id: UInt32, _ entry: String) -> Refusal {
        Refusal(
          "the id of '\(event)' is \(id), which is retired (\(entry)): logs have events of that id that mean something "
            + "else; choose another id")
      }
      expectRefusal(
        """
        @Event(retired: [3, 3421769169, "gone"]) enum E {
          @Case(id: 3) case «x
          case «a
          @Case(id: 2404825109) case «y
          @Case(id: 4) case z
        }
        """,
        refusal("x", 3, "3"), refusal("a", 3_421_769_169, "3421769169"), refusal("y", 2_404_825_109, "\"gone\""))
    }

    @Test func `a name that is retired is refused`() {
      expectRefusal(
        "@Event(retired: [\"gone\"]) enum E { case «gone }",
        Refusal("\"gone\" is retired: logs have events of that name that mean something else; choose another name"))
    }

    @Test func `a retired name is refused under another id, too`() {
      expectRefusal(
        "@Event(retired: [\"gone\"]) enum E { @Case(«\"gone\", id: 5) case z }",
        Refusal("\"gone\" is retired: logs have events of that name that mean something else; choose another name"))
    }

    @Test(arguments: ["4294967296", "-1", "99999999999999999999"])
    func `an id out of range is refused`(id: String) {
      expectRefusal(
        "@Event enum E { @Case(id: «\(id)) case a }",
        Refusal("\(id) is no wire id; choose a number from 0 to 4294967295"))
      expectRefusal(
        "@Event(id: «\(id)) struct E { var a: Int }",
        Refusal("\(id) is no wire id; choose a number from 0 to 4294967295"))
      expectRefusal(
        "@Event(retired: [1, «\(id)]) enum E { case a }",
        Refusal("\(id) is no wire id; choose a number from 0 to 4294967295"))
    }

    @Test(arguments: ["0", "4294967295", "0xffff_ffff"])
    func `an id at an end of the range is taken`(id: String) {
      #expect(isTaken("@Event enum E { @Case(id: \(id)) case a }"))
    }

    // MARK: Names of events

    @Test func `two cases of one name are refused`() {
      expectRefusal(
        """
        @Event enum E {
          case ‹a
          @Case(«"a") case b
        }
        """,
        Refusal("two cases are stored as 'E.a'; give one another name", note: "'a' is here"))
    }

    @Test func `two cases that differ in labels alone are refused`() {
      expectRefusal(
        """
        @Event enum E {
          case ‹a(x: Int)
          @Case("b") case «a(y: Int)
        }
        """,
        Refusal(
          "there are two cases 'a', which no switch can tell apart by labels alone; give one another name",
          note: "'a' is here"))
    }

    @Test func `a former name that is taken again is refused`() {
      let message =
        "'a' and 'b' both are or were stored as 'E.a', so logs could not tell them apart; give the newer one an id: "
        + "@Case(id: …)"
      expectRefusal(
        """
        @Event enum E {
          @Case(formerly: ["a"]) case ‹b
          case «a
        }
        """,
        Refusal(message, note: "'b' is here"))
      expectRefusal(
        """
        @Event enum E {
          @Case(formerly: ["c", "a"]) case ‹b
          case «a
        }
        """,
        Refusal(message, note: "'b' is here"))
      #expect(isTaken("@Event enum E { @Case(formerly: [\"a\"]) case b; @Case(id: 1) case a }"))
    }

    @Test func `a former name that is the present one is refused`() {
      expectRefusal(
        "@Event enum E { @Case(formerly: [\"x\", \"a\"]) case «a }",
        Refusal("'a' is the name that the event has, not a former one"))
      expectRefusal(
        "@Event(«\"s\", formerly: [\"s\"]) struct E { var a: Int }",
        Refusal("'s' is the name that the event has, not a former one"))
      expectRefusal(
        "@Event(«\"s\", formerly: [\"r\", \"s\"]) enum E { case a }",
        Refusal("'s' is the prefix that the events have, not a former one"))
    }

    @Test(arguments: [
      "@Event(«\"\") enum E { case a }", "@Event(«\"\") struct E { var a: Int }",
      "@Event enum E { @Case(«\"\") case a }", "@Event enum E { @Case(formerly: «[\"\"]) case a }",
      "@Event(formerly: «[\"\"]) enum E { case a }", "@Event(formerly: «[\"x\", \"\"]) struct E { var a: Int }",
      "@Event enum E { @Field(«\"\", of: \"x\") case a(x: Int) }",
      "@Event struct E { @Field(formerly: «[\"\"]) var a: Int }",
    ])
    func `an empty name is refused`(source: String) {
      expectRefusal(
        source, Refusal("a name can't be empty; leave the argument out for the name in the source"))
    }

    @Test func `a name of more than 1024 bytes is refused`() {
      let longest = String(repeating: "n", count: 1024)
      func refusal(_ bytes: Int) -> Refusal {
        Refusal("a name of \(bytes) bytes is too long; a log takes names of 1024 bytes")
      }
      // The prefix and the dot count.
      expectRefusal("@Event enum E { @Case(«\"\(longest.dropFirst())\") case a }", refusal(1025))
      #expect(isTaken("@Event enum E { @Case(\"\(longest.dropFirst(2))\") case a }"))
      expectRefusal("@Event(«\"\(longest)n\") struct E { var a: Int }", refusal(1025))
      #expect(isTaken("@Event(\"\(longest)\") struct E { var a: Int }"))
      expectRefusal("@Event struct E { @Field(«\"\(longest)é\") var a: Int }", refusal(1026))
      #expect(isTaken("@Event struct E { @Field(\"\(longest)\") var a: Int }"))
    }

    @Test func `a name with a zero byte is refused`() {
      let refusal = Refusal("a name can't hold a zero byte, where C would end it; choose another")
      expectRefusal(#"@Event enum E { @Case(«"a\0") case a }"#, refusal)
      expectRefusal(#"@Event struct E { @Field(«"a\u{0}b") var a: Int }"#, refusal)
    }

    @Test func `a name of the log itself is refused`() {
      expectRefusal(
        "@Event(«\"weir\") enum E { case a; case b }",
        Refusal("names that begin with weir. are the log's own; choose another prefix"))
      expectRefusal(
        "@Event enum «weir { case a }",
        Refusal("names that begin with weir. are the log's own; choose another prefix"))
      expectRefusal(
        "@Event(«\"weir.gap\") struct E {}",
        Refusal("names that begin with weir. are the log's own; choose another name"))
      #expect(isTaken("@Event(\"weird\") enum E { case a }"))
      #expect(isTaken("@Event(\"weir\") struct E {}"))
    }

    // MARK: Names of fields

    @Test func `two fields of one name are refused`() {
      expectRefusal(
        "@Event enum E { @Field(\"b\", of: \"a\") case x(a: Int, «b: Int) }",
        Refusal("'a' and 'b' are both stored as 'b'; give one another name"))
      expectRefusal(
        "@Event struct E { var a: Int; @Field(«\"a\") var b: Int }",
        Refusal("'a' and 'b' are both stored as 'a'; give one another name"))
    }

    @Test func `a former name of a field that is taken again is refused`() {
      let rest = ": older logs would be read wrongly; store one under a name that is new"
      expectRefusal(
        "@Event struct E { @Field(formerly: [\"b\"]) var «a: Int; var b: Int }",
        Refusal("'a' was stored as 'b', and so is or was 'b'" + rest))
      expectRefusal(
        "@Event struct E { @Field(formerly: [\"c\"]) var a: Int; @Field(formerly: [\"c\"]) var «b: Int }",
        Refusal("'b' was stored as 'c', and so is or was 'a'" + rest))
      expectRefusal(
        "@Event struct E { @Field(formerly: [\"a\"]) var «a: Int }",
        Refusal("'a' is the name that the field has, not a former one"))
      expectRefusal(
        "@Event struct E { @Field(«\"x\", formerly: [\"q\", \"q\"]) var a: Int }",
        Refusal("'q' is listed twice as a former name; remove one"))
    }

    @Test func `an attribute of a value that there is not is refused`() {
      expectRefusal(
        "@Event enum E { @Field(of: «\"emial\", sensitive: true) case a(email: String, x: Int) }",
        Refusal("'a' has no value labelled 'emial'; it has 'email', 'x'"))
      expectRefusal(
        "@Event enum E { @Field(of: «\"x\") case a }", Refusal("'a' has no value labelled 'x'; it has none"))
      expectRefusal(
        "@Event enum E { «@Field(\"x\") case a(y: Int) }",
        Refusal("say which value of the case this is about: @Field(of: \"label\")"))
    }

    /// Of the check alone: so many fields would be most of the time of all these tests.
    @Test(arguments: [1024, 1025]) func `more fields than a log takes are refused`(count: Int) {
      let node = Syntax(TokenSyntax.identifier("a"))
      let fields = (0..<count).map { number in
        EventField(position: node, code: "f\(number)", label: "f\(number)", name: "f\(number)", type: "Int")
      }
      let event = EventCase(
        position: node, namePosition: node, code: "a", name: "E.a", formerNames: [], id: 1, hasOwnID: true,
        fields: fields)
      var faults = Faults()
      check(
        EventDeclaration(
          form: .enumeration, position: node, namePosition: node, name: "E", isInlinable: false, events: [event],
          retired: []), &faults)
      #expect(faults.found.map(\.message) == (count > 1024 ? ["'a' has 1025 fields; a log takes 1024"] : []))
    }
  }
#endif
