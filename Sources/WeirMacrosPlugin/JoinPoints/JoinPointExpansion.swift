// JoinPointExpansion: the code that @JoinPoint writes. The code contains no logic: it calls functions that are tested
// in Weir.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  extension InstrumentedFunction {
    /// `JoinPoint<ItemPage, (item: Item, ()), Bool>`.
    var descriptorType: String {
      let owner =
        switch owner {
        case .instance(let type): type
        case .type(let type): "\(type).Type"
        case .none: "Void"
        }
      let result =
        switch result {
        case .nothing, .unkept: "Void"
        case .never: "Never"
        case .value(let type, _): type
        }
      return "WeirAspects.JoinPoint<\(owner), \(tuple { "\($0.label): \($0.type)" }), \(result)>"
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
      let reference = typeName.map { "\($0).\(descriptorName)" } ?? descriptorName
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

    /// The descriptor under a readable name.
    func property(_ name: String) -> String {
      """
      \(prefix)static var \(identifier(name)): \(descriptorType) {
        _read { yield \(typeName ?? "Self").\(descriptorName) }
      }
      """
    }

    private var typeName: String? {
      switch owner {
      case .instance(let type), .type(let type): type
      case .none: nil
      }
    }

    // MARK: In the body

    /// The statements around the function's own statements.
    func body(of function: FunctionDeclSyntax, in context: some MacroExpansionContext) -> [CodeBlockItemSyntax] {
      guard let body = function.body else { return [] }
      let call = freeName(in: function)
      let me = owner == .none ? "()" : "self"
      let begin = isAsync ? "beginAsync" : "begin"
      // Without labels, the labels of the overridden method apply.
      let values = tuple { isInherited ? $0.value : "\($0.label): \($0.value)" }
      let descriptor = owner == .none ? descriptorName : "Self.\(descriptorName)"
      let end = "if \(call).isObserved { \(call).end(\(me)) }"
      let text = """
        var \(call) = \(descriptor).call()
        if \(call).isObserved { \(call).\(begin)(\(me), \(values), in: \(typeName ?? "Void").self) }
        \(body.statements.isEmpty ? end : "defer { \(end) }\n\(statements(of: function, body, call, context))")
        """
      return Array(CodeBlockItemListSyntax(stringLiteral: text))
    }

    /// The function's own statements, with results and errors passed to the call.
    private func statements(
      of function: FunctionDeclSyntax, _ body: CodeBlockSyntax, _ call: String, _ context: some MacroExpansionContext
    ) -> String {
      guard hasCaptureList(body) else {
        let rewriter = BodyRewriter(call: call, result: result, in: context)
        return caught(located(rewriter.rewritten(body.statements), body, context), body, call)
      }
      // For a closure with a capture list in a body that a macro wrote, Swift 6.3 reports "failed to produce
      // diagnostic". In a local function within the body, such a closure compiles.
      let rewriter = BodyRewriter(
        call: call, result: .nothing, function: fullName, in: context)
      let statements = located(rewriter.rewritten(body.statements), body, context)
      let signature = function.signature.with(\.parameterClause.parameters, []).trimmedDescription
      let effects = (throwing == .never ? "" : "try ") + (isAsync ? "await " : "")
      let whole = "\(effects)\(call)Body()"
      let last =
        switch result {
        case .nothing, .never: whole
        case .unkept: "return \(whole)"
        case .value: "return \(call).returned(\(whole))"
        }
      return "func \(call)Body\(signature) {\n\(statements)\n}\n" + caught(last, body, call)
    }

    /// `weirCall`, with a number if the function uses the name for something else.
    private func freeName(in function: FunctionDeclSyntax) -> String {
      let taken = Set(function.tokens(viewMode: .sourceAccurate).map(\.plainName))
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
      _ statements: CodeBlockItemListSyntax, _ body: CodeBlockSyntax, _ context: some MacroExpansionContext
    ) -> String {
      let comments = body.rightBrace.leadingTrivia
      var text = statements.description + (comments.hasComments ? comments.description : "")
      while text.last?.isWhitespace == true { text.removeLast() }
      guard let first = body.statements.first,
        let place = context.location(of: first, at: .beforeLeadingTrivia, filePathMode: .filePath),
        let line = Int(place.line.trimmedDescription)
      else { return text }
      let isOnNextLine = text.hasPrefix("\n")
      return """
        #sourceLocation(file: \(place.file), line: \(isOnNextLine ? line + 1 : line))
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
