// Functions and types that can't have join points, and what is said of them.

#if Macros
  import Testing

  @Suite struct JoinPointDiagnosticTests {
    @Test func `a declaration that is no function is refused`() {
      func refuse(_ declaration: String, _ message: String) {
        expectRefusal("class A { «@JoinPoint \(declaration) }", Refusal("@JoinPoint " + message), ofOther: true)
      }
      refuse("struct S {}", "is for functions and initializers")
      refuse(
        "var x: Int { 3 }",
        "is for functions; give a property's get, set, willSet or didSet a @JoinPoint(\"name\") of its own")
      refuse(
        "subscript(x: Int) -> Int { x }",
        "is for functions; give a subscript's get or set a @JoinPoint(\"name\") of its own")
      refuse(
        "deinit {}",
        "would hand a hook an object that is going, and that the hook might keep; in the deinitializer call "
          + "withJoinPoint(…) with the type for the owner")
    }

    @Test func `the macro of methods is refused at file scope, and the other one in a type`() {
      expectRefusal(
        "«@JoinPoint func f() {}",
        Refusal("@JoinPoint is for methods; for a function at file scope it is @FunctionJoinPoint"))
      expectRefusal(
        "class A { «@FunctionJoinPoint func f() {} }",
        Refusal("@FunctionJoinPoint is for functions at file scope; for a method it is @JoinPoint"))
    }

    @Test func `a generic type without @Instrumented is refused, and everything in a generic type`() {
      func outside(_ name: String) -> String {
        "'\(name)' is generic, and nothing inside of it has a static descriptor; declare a JoinPoint outside of it and "
          + "call withJoinPoint(…) in the method"
      }
      expectRefusal(
        "struct Box<T> { «@JoinPoint func f() {} }",
        Refusal(
          "'Box' is generic, and a generic type has no static descriptors; put @Instrumented on 'Box', which declares "
            + "the descriptors beside the type, in 'BoxJoinPoints'"))
      expectRefusal("struct Box<T> { struct In { «@JoinPoint func f() {} } }", Refusal(outside("Box")))
      expectRefusal("struct Box<T> { «@Instrumented class In { func f() {} } }", Refusal(outside("Box")))
      expectRefusal("struct Box<T> { «@Instrumented class In<U> { func f() {} } }", Refusal(outside("Box")))
      expectRefusal(
        "func make() { «@Instrumented struct In<T> { func f() {} } }",
        Refusal(
          "'In' is generic, and its descriptors would be beside it, where only a type or a file can have them; move "
            + "'In' out of the function"), ofOther: true)
      expectRefusal(
        "func make<T>(_ x: T) { «@Instrumented struct In { func f() {} } }", Refusal(outside("make")), ofOther: true)
    }

    @Test(arguments: [
      (
        "@Instrumented class A { var x: Int { «@JoinPoint get { 1 } } }",
        "the join point of an accessor needs a name, because a macro on an accessor does not see the property: "
          + "@JoinPoint(\"title\")"
      ),
      (
        "@Instrumented class A { var x: Int { «@JoinPoint set {} } }",
        "the join point of an accessor needs a name, because a macro on an accessor does not see the property: "
          + "@JoinPoint(\"setTitle\")"
      ),
      (
        "class A { var x: Int { «@JoinPoint(\"x\") get { 1 } } }",
        "a macro on an accessor can't declare a join point; put @Instrumented on 'A', which does"
      ),
      (
        "extension A { var x: Int { «@JoinPoint(\"x\") get { 1 } } }",
        "a macro on an accessor can't declare a join point, and here no @Instrumented type does; declare a JoinPoint "
          + "and call withJoinPoint(…) in the accessor"
      ),
      (
        "@Instrumented class A { var x: Int { «@JoinPoint(\"x\") _modify { yield &y } } }",
        "'_modify' lends a value instead of returning one; put @JoinPoint on get, set, willSet or didSet"
      ),
      (
        "@Instrumented class A { var x: Int { «@JoinPoint(\"x\") get { later { [y] in y }; return 1 } } }",
        "'get' has a closure with a capture list, which the compiler refuses in a body that a macro wrote; move the "
          + "closure into a method"
      ),
      (
        "@Instrumented class A { var x = 3 { @JoinPoint(\"x\") «didSet {} } }",
        "the join point of 'x.didSet' needs the type of the property; write the type: var x: …"
      ),
      (
        "class A { «@JoinPoint init() { later { [x] in x } } }",
        "'init' has a closure with a capture list, which the compiler refuses in a body that a macro wrote; move the "
          + "closure into a method"
      ), ("class A { @JoinPoint(root: «true) override init() {} }", "an initializer is a root; remove 'root'"),
      (
        "class A { «@JoinPoint @inlinable init() {} }",
        "'init' is @inlinable, and other modules would compile in a call "
          + "of a descriptor that they can't see; remove @inlinable"
      ),
    ])
    func `an accessor or an initialiser that can't be a join point is refused`(source: String, message: String) {
      expectRefusal(source, Refusal(message), ofOther: true)
    }

    @Test func `a protocol and an extension are refused`() {
      expectRefusal(
        "protocol P { «@JoinPoint func f() }",
        Refusal("a requirement of a protocol has no body to listen to; put @JoinPoint on the methods that meet it"))
      expectRefusal(
        "«@Instrumented protocol P { func f() }",
        Refusal("a protocol's methods have no bodies to listen to; put @Instrumented on the types that conform"))
      expectRefusal(
        "«@Instrumented extension A { func f() {} }",
        Refusal("@Instrumented belongs to the type itself; in an extension put @JoinPoint on each method"))
    }

    @Test func `a local function is refused`() {
      expectRefusal(
        "func outer() { «@JoinPoint func f() {} }",
        Refusal(
          "'f' is a local function, which nobody outside could listen to; make it a method, or call withJoinPoint(…) with "
            + "a descriptor declared outside"))
    }

    @Test(arguments: [
      (
        "@inlinable func f() {}",
        "'f' is @inlinable, and other modules would compile in a call of a descriptor that they can't see; remove "
          + "@inlinable"
      ),
      (
        "consuming func f() {}",
        "'f' is consuming, and its object can't be handed to a hook as well; leave it out, or remove 'consuming'"
      ),
      (
        "borrowing func f() {}",
        "'f' is borrowing, and its object can't be handed to a hook as well; leave it out, or remove 'borrowing'"
      ),
      ("@available(*, unavailable) func f() {}", "'f' is unavailable, so nobody calls it; leave it out"),
      (
        "@ListBuilder func f() -> [Int] { 1; 2 }",
        "'f' has @ListBuilder, a result builder, which takes every statement of the body for a part of the result; leave "
          + "it out, or return what a function of its own builds"
      ),
      (
        "func f(_ `self`: Int) {}",
        "a parameter named self hides the object that hooks are given; give it another name in the body"
      ), ("func f()", "'f' has no body to listen to"),
      (
        "static func + (a: A, b: A) -> A { a }",
        "'+' is an operator, which is called where no hook is expected; call withJoinPoint(…) in its body"
      ),
      (
        "func f(_ g: () throws -> Void) rethrows { later { [x] in print(x) }; try g() }",
        "'f' rethrows, and has a closure with a capture list, for which the compiler needs the body in a local function, "
          + "and that can't rethrow; move the closure into a method of its own"
      ),
    ])
    func `a form of function that can't be a join point is refused`(function: String, message: String) {
      expectRefusal("struct A { «@JoinPoint \(function) }", Refusal(message))
    }

    @Test func `a type that cannot be copied is refused`() {
      expectRefusal(
        "struct A: ~Copyable { «@JoinPoint func f() {} }",
        Refusal(
          "a value of 'A' can't be copied, and so not be handed to a hook; put @JoinPoint on a function that uses it"))
    }

    @Test func `an argument that is no property's name is refused`() {
      expectRefusal(
        "struct A { @JoinPoint(«\"a b\") func f() {} }",
        Refusal("'a b' can't be the name of a property; use letters, digits and _"))
      expectRefusal(
        "struct A { @JoinPoint(«name) func f() {} }",
        Refusal("the macro can't see the value of 'name'; write a text in quotation marks, without interpolation"))
      expectRefusal(
        "struct A { @JoinPoint(omit: «[\"x\", \"b\"]) func f(a b: Int) {} }",
        Refusal("there is no parameter 'x' to omit; 'omit' takes the names that the body uses"))
      expectRefusal(
        "class A { @JoinPoint(root: «true) func f() {} }",
        Refusal("'f' overrides nothing, so it is a root; remove 'root'"))
    }

    @Test func `a name of a method that there is not is refused`() {
      expectRefusal(
        "@Instrumented(only: «[\"lik\", \"open(path:)\"]) class A { func like() {}; func open(path: String) {}; init() {} }",
        Refusal("there is no method 'lik' here to instrument; the type has like(), open(path:), init()"))
      expectRefusal(
        "@Instrumented(except: «[\"init\"]) class A { init() {} }",
        Refusal("there is no method 'init' here to instrument; the type has none"))
      expectRefusal(
        "@Instrumented(only: [\"f\"], except: «[\"f\"]) class A { func f() {} }",
        Refusal("'only' says which methods already; remove 'except'"))
      expectRefusal(
        "@Instrumented(only: «names) class A { func f() {} }",
        Refusal("the macro can't see the value of 'names'; write a list of literals in brackets"))
    }

    @Test(arguments: [
      ("‹f(_ x: Int) {}", "f(_ x: String)", "'f(_:)' and 'f(_:)' would both be the join point 'f'", "f", "f(_:)"),
      ("‹f(a: Int) {}; func f() {}", "fA()", "'fA()' and 'f(a:)' would both be the join point 'fA'", "fA", "f(a:)"),
      ("‹f() {}", "f(_ x: String)", "'f(_:)' and 'f()' would both be the join point 'f'", "f", "f()"),
    ])
    func `two join points of one name are refused`(
      first: String, second: String, message: String, long: String, noted: String
    ) {
      let name = second.prefix { $0 != "(" }
      expectRefusal(
        "@Instrumented class A { func \(first); func «\(second) {} }",
        Refusal(message + "; give one a name: @JoinPoint(\"\(long)2\")", note: "'\(noted)' is here"), ofOther: true)
      // A name of its own, and it is taken.
      let mended = "@Instrumented class A { func \(first); @JoinPoint(\"other\") func \(second) {} }"
      #expect(expand(mended.replacing("‹", with: "")).contains("static var other: "), "\(name)")
    }

    @Test func `a name that no property can have is refused`() {
      expectRefusal(
        "@Instrumented class A { func «`self`() {} }",
        Refusal("no property can be called 'self'; give the join point a name: @JoinPoint(\"…\")"), ofOther: true)
    }

    /// One compiled side of #if is all that there is of the other.
    @Test func `methods in conditions do not collide`() {
      let text = expand("@Instrumented class A {\n#if DEBUG\nfunc f() {}\n#else\nfunc f() {}\n#endif\n}")
      #expect(text.contains("  #if DEBUG\n    nonisolated static var f: WeirAspects.JoinPoint<A, (), Void> {"))
      #expect(text.contains("#else\n    nonisolated static var f: WeirAspects.JoinPoint<A, (), Void> {"))
    }
  }
#endif
