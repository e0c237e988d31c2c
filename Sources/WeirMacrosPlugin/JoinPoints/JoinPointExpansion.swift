// JoinPointExpansion: the code that @JoinPoint writes. The code contains no logic: it calls functions that are tested
// in Weir.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  extension InstrumentedFunction {
    /// `JoinPoint<ItemPage, (item: Item, ()), Bool>`.
    var descriptorType: String {
      let result =
        switch result {
        case .nothing, .unkept: "Void"
        case .never: "Never"
        case .value(let type, _), .object(let type, _): type
        }
      return "WeirAspects.JoinPoint<\(ownerType), \(tuple { "\($0.label): \($0.type)" }), \(result)>"
    }

    private var ownerType: String {
      switch owner {
      case .instance(let type): genericOwner?.type ?? type
      case .type(let type): genericOwner == nil ? "\(type).Type" : "Any.Type"
      case .none: "Void"
      }
    }

    /// Swift has no one-element tuple, so a single parameter has an empty tuple beside it.
    private func tuple(_ element: (KeptParameter) -> String) -> String {
      let elements = parameters.map(element) + (parameters.count == 1 ? ["()"] : [])
      return "(" + elements.joined(separator: ", ") + ")"
    }

    private var prefix: String {
      (deprecation.map { $0 + "\n" } ?? "") + (access.map { $0 + " " } ?? "") + "nonisolated "
    }

    // MARK: Beside the function

    /// The descriptor, with its record in the list of all descriptors. Nothing for an override, which uses the
    /// overridden method's descriptor.
    var descriptor: [DeclSyntax] {
      guard !isInherited else { return [] }
      let name = StringLiteralExprSyntax(content: listedName).description
      let place = place.map { ", file: \($0.file), line: \($0.line)" } ?? ""
      let keyword = owner == .none ? "let" : "static let"
      let reference = home.map { "\($0).\(descriptorName)" } ?? descriptorName
      // Before Swift 6.3, a descriptor is listed once the descriptor was used.
      let record = """
        #if compiler(>=6.3)
        @section("weir_join_points") @used
        #endif
        \(deprecation.map { $0 + "\n" } ?? "")private nonisolated \(keyword) \(recordName): \
        @convention(c) (UnsafeMutableRawPointer?) -> Void = { list in \(reference).add(to: list) }
        """
      return [
        "\(raw: prefix)\(raw: keyword) \(raw: descriptorName) = \(raw: descriptorType)(\(raw: name)\(raw: place))",
        "\(raw: record)",
      ]
    }

    /// The type that has the descriptor.
    private var home: String? { genericOwner?.home ?? typeName }

    /// The descriptor under another name.
    func property(_ name: String) -> String {
      """
      \(prefix)static var \(identifier(name)): \(descriptorType) {
        _read { yield \(home ?? "Self").\(descriptorName) }
      }
      """
    }

    /// In a generic class, the descriptor under its own name as a member of the class, where an override in a subclass
    /// finds the descriptor. `nil` for everything that nobody overrides.
    var inheritableProperty: DeclSyntax? {
      guard genericOwner?.isClass == true, !isInherited else { return nil }
      if case .initializer = kind { return nil }
      return "\(raw: property(descriptorName))"
    }

    // MARK: In the body

    /// The statements around the function's own statements.
    func body(of function: Callable, _ places: SourcePlaces) -> [CodeBlockItemSyntax] {
      guard let body = function.body else { return [] }
      let call = freeName(in: function)
      let begin = isAsync ? "beginAsync" : "begin"
      // Without labels, the labels of the overridden method apply.
      let values = tuple { isInherited || kind == .accessor ? $0.passed(by: call) : "\($0.label): \($0.value)" }
      // An initialiser has no object yet, and after an error has none any more. So the class is read at the beginning.
      let me = owner == .none ? "()" : isInitializer ? "\(call)Type" : "self"
      let end = "if \(call).isObserved { \(call).end(\(me)) }"
      let type = isInitializer ? "\nvar \(me): \(ownerType) = \(typeName ?? "").self" : ""
      let text = """
        var \(call) = \(reference).call()\(type)
        if \(call).isObserved { \(isInitializer ? "\(me) = Self.self; " : "")\
        \(call).\(begin)(\(me), \(values), in: \(implementer))\(failed(call)) }
        \(body.statements.isEmpty && !isInitializer
          ? end : "defer { \(end) }\n\(statements(of: function, body, call, places))")
        """
      return Array(CodeBlockItemListSyntax(stringLiteral: text))
    }

    private var isInitializer: Bool { if case .initializer = kind { true } else { false } }

    /// The descriptor, as the body names it.
    private var reference: String {
      guard let typeName else { return descriptorName }
      // In an initialiser of a class, `Self` would read the object's class at each call.
      // A macro on an accessor does not see whether the accessor overrides another, whose descriptor is a member above.
      let mayOverride = isInherited || kind == .accessor && genericOwner?.isClass == true
      if isInitializer || genericOwner != nil && !mayOverride { return "\(home ?? typeName).\(descriptorName)" }
      return "Self.\(descriptorName)"
    }

    /// The type that contains the running body. For what overrides nothing, the type of the owner in the descriptor
    /// says so at once.
    private var implementer: String {
      guard genericOwner != nil, !isInherited else { return "\(typeName ?? "Void").self" }
      return "\(ownerType).self"
    }

    /// The function's own statements, with results and errors passed to the call.
    private func statements(
      of function: Callable, _ body: CodeBlockSyntax, _ call: String, _ places: SourcePlaces
    ) -> String {
      guard hasCaptureList(body), let signature = function.signature else {
        let rewriter = BodyRewriter(call: call, result: result, places: places)
        let statements = located(rewriter.rewritten(body.statements), body, places)
        return caught(statements + whole(body, call), body, call)
      }
      // For a closure with a capture list in a body that a macro wrote, Swift 6.3 reports "failed to produce
      // diagnostic" (https://github.com/swiftlang/swift/issues/80050). In a local function within the body, such a
      // closure compiles.
      let rewriter = BodyRewriter(call: call, result: .nothing, function: fullName, places: places)
      let statements = located(rewriter.rewritten(body.statements), body, places)
      let local = signature.with(\.parameterClause.parameters, []).trimmedDescription
      let effects = (throwing == .never ? "" : "try ") + (isAsync ? "await " : "")
      let whole = "\(effects)\(call)Body()"
      let last =
        switch result {
        case .nothing, .never, .object: whole
        case .unkept: "return \(whole)"
        case .value: "return \(call).returned(\(whole))"
        }
      return "func \(call)Body\(local) {\n\(statements)\n}\n" + caught(last, body, call)
    }

    /// At the end of an initialiser, the object. In a `defer`, because the compiler warns of other statements behind a
    /// call that never returns. The compiler warns of a `defer` that is the last statement of a `do`.
    private func whole(_ body: CodeBlockSyntax, _ call: String) -> String {
      guard case .object = result, let object = result.object(in: call), !leaves(body.statements) else { return "" }
      return "\ndefer { \(object) }" + (throwing == .never ? "" : "\n_ = ()")
    }

    /// At the beginning of an initialiser that may return nil, nil: where the initialiser calls another initialiser,
    /// and that returns nil, the compiler leaves both at once.
    private func failed(_ call: String) -> String {
      guard case .object(let type, isFailable: true) = result else { return "" }
      return "; _ = \(call).returned(nil as \(type))"
    }

    /// `weirCall`, with a number if the function uses the name for something else.
    private func freeName(in function: Callable) -> String {
      let taken = Set(function.source.tokens(viewMode: .sourceAccurate).map(\.plainName))
      var name = "weirCall"
      var number = 2
      while taken.contains(name) {
        name = "weirCall\(number)"
        number += 1
      }
      return name
    }

    /// Passes thrown errors to the call.
    private func caught(_ statements: String, _ body: CodeBlockSyntax, _ call: String) -> String {
      let begin: String
      switch throwing {
      case .never: return statements
      case .anyError: begin = "do {\ntry \(call).mayThrow()"
      case .typed(let type): begin = "do throws(\(type)) {\ntry \(call).mayThrow((\(type)).self)"
      case .rethrowing:
        // A function may rethrow only errors of its parameters. If the body throws nothing, there is nothing to catch.
        guard throwsByItself(body) else { return statements }
        begin = "do {"
      }
      return "\(begin)\n\(statements)\n} catch {\n\(call).threw(error)\nthrow error\n}"
    }

    /// The statements as text with their location in the source, so that errors, breakpoints and stack traces point
    /// there.
    private func located(
      _ statements: CodeBlockItemListSyntax, _ body: CodeBlockSyntax, _ places: SourcePlaces
    ) -> String {
      let comments = body.rightBrace.leadingTrivia
      var text = statements.description + (comments.hasComments ? comments.description : "")
      while text.last?.isWhitespace == true { text.removeLast() }
      guard let first = body.statements.first, let place = places.place(of: first, at: .beforeLeadingTrivia) else {
        return text
      }
      let isOnNextLine = text.hasPrefix("\n")
      return """
        #sourceLocation(file: \(place.file), line: \(isOnNextLine ? place.line + 1 : place.line))
        \(isOnNextLine ? String(text.dropFirst()) : text)
        #sourceLocation()
        """
    }
  }

  extension Trivia {
    var hasComments: Bool {
      contains { piece in
        switch piece {
        case .lineComment, .blockComment, .docLineComment, .docBlockComment: true
        default: false
        }
      }
    }
  }
#endif
