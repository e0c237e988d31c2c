// Arguments that the macro can't read, and attributes where nothing reads them.

#if Macros
  import Testing

  @Suite struct ArgumentDiagnosticTests {
    @Test(arguments: [
      ("@Event(«name) enum E { case a }", "name", "a text in quotation marks, without interpolation"),
      (#"@Event(«"\(x)") enum E { case a }"#, #""\(x)""#, "a text in quotation marks, without interpolation"),
      ("@Event(formerly: «names) enum E { case a }", "names", "a list of literals in brackets"),
      ("@Event(formerly: [«name]) enum E { case a }", "name", "a text in quotation marks, without interpolation"),
      ("@Event(retired: [«old]) enum E { case a }", "old", "a number"),
      ("@Event(kind: «kind) enum E { case a }", "kind", ".pageView, .pageAction, .systemAction"),
      ("@Event(kind: «.other) enum E { case a }", ".other", ".pageView, .pageAction, .systemAction"),
      ("@Event enum E { @Case(id: «first) case a }", "first", "a number"),
      ("@Event enum E { @Case(id: «1 + 1) case a }", "1 + 1", "a number"),
      ("@Event struct E { @Field(sensitive: «flag) var a: Int }", "flag", "true or false"),
      (
        "@Event enum E { @Field(of: «label) case a(x: Int) }", "label",
        "a text in quotation marks, without interpolation"
      ),
    ])
    func `an argument that is no literal is refused`(source: String, argument: String, wanted: String) {
      expectRefusal(source, Refusal("the macro can't see the value of '\(argument)'; write \(wanted)"))
    }

    @Test func `nil and a qualified kind are literals`() {
      let written = expand("@Event(nil, kind: EventKind.pageView) enum E { @Case(nil, id: nil) case a }")
      #expect(written.contains("\"E.a\", [], wireID: 0xcbf40dd1, kind: .pageView"))
    }

    @Test func `an attribute that is there twice is refused`() {
      expectRefusal(
        "@Event enum E { @Case(\"x\") «@Case(\"y\") case a }",
        Refusal("a case has one @Case; put all that is to be said into it"))
      expectRefusal(
        "@Event enum E { @Field(\"y\", of: \"x\") «@Field(of: \"x\", sensitive: true) case a(x: Int) }",
        Refusal("'x' has one @Field; put all that is to be said into it"))
      expectRefusal(
        "@Event struct E { @Field(\"y\") «@Field(sensitive: true) var a: Int }",
        Refusal("a property has one @Field; put all that is to be said into it"))
    }

    @Test func `an attribute of several cases is refused`() {
      expectRefusal(
        "@Event enum E { «@Case(\"x\") case a, b }",
        Refusal("@Case would be about 2 cases; write a 'case' for each of them"))
      expectRefusal(
        "@Event enum E { «@Field(of: \"x\", sensitive: true) case a(x: Int), b }",
        Refusal("@Field would be about 2 cases; write a 'case' for each of them"))
    }

    @Test func `an argument of the other form is refused`() {
      expectRefusal(
        "@Event(id: «3) enum E { case a }",
        Refusal("an enum has no id of its own; give it to the case: @Case(id: 3)"))
      expectRefusal(
        "@Event(retired: «[3]) struct E {}",
        Refusal("a structure is one event, of which none can be retired; remove 'retired'"))
      expectRefusal(
        "@Event struct E { @Field(of: «\"a\") var a: Int }",
        Refusal("@Field is about the property that it stands before; remove 'of'"))
    }

    @Test func `an attribute that nothing reads is refused`() {
      let ofCase = "@Case belongs to a case of an enum with @Event; nothing reads it here"
      let ofField =
        "@Field belongs to a stored property of a structure with @Event, or to a case of an enum with it; nothing "
        + "reads it here"
      expectRefusal("enum E { «@Case(\"x\") case a }", Refusal(ofCase))
      expectRefusal("@Event enum E { case a; «@Case(\"x\") func f() {} }", Refusal(ofCase), ofOther: true)
      expectRefusal("struct E { «@Field(\"x\") var a: Int }", Refusal(ofField))
      expectRefusal("@Event enum E { case a; «@Field(\"x\") var b: Int { 1 } }", Refusal(ofField), ofOther: true)
      expectRefusal("@Event struct E { var a: Int; «@Field(\"x\") func f() {} }", Refusal(ofField), ofOther: true)
      let notStored = "the property is not stored in the structure, so it is no field"
      expectRefusal("@Event struct E { var a: Int; «@Field(\"x\") var b: Int { 1 } }", Refusal(notStored))
      expectRefusal("@Event struct E { var a: Int; «@Field(\"x\") static var b = 1 }", Refusal(notStored))
    }

    @Test func `an attribute may name its module`() {
      #expect(expand("@Event enum E { @Weir.Case(\"x\") case a }").contains("\"E.x\""))
    }
  }
#endif
