// BodyRewriter: rewrites a function's statements, so that the call gets each result before the function returns it.
//
// Everything else stays as it was written, line for line. Results of closures, local functions and local types are not
// rewritten.

#if Macros
  import SwiftSyntaxBuilder
  import SwiftSyntax
  import SwiftSyntaxMacros

  extension FunctionResult {
    /// The statement that passes the object of an initialiser to the call, before a `return`, which may return `nil`.
    /// `nil` for other functions.
    func object(in call: String, returning expression: ExprSyntax? = nil) -> String? {
      guard case .object(let type, let isFailable) = self else { return nil }
      if expression != nil { return "_ = \(call).returned(nil as \(type))" }
      return "_ = \(call).returned(\(isFailable ? "self as \(type)" : "self"))"
    }
  }

  final class BodyRewriter: SyntaxRewriter {
    private let call: String
    private let result: FunctionResult
    private let places: SourcePlaces

    /// The current depth of nested closures, local functions and types.
    private var depth = 0

    /// The function's name, if `#function` would give another name.
    private let function: String?

    /// `call`: the name of the variable that holds the call.
    init(call: String, result: FunctionResult, function: String? = nil, places: SourcePlaces) {
      self.call = call
      self.result = result
      self.function = function
      self.places = places
      super.init()
    }

    /// The statements of a body.
    func rewritten(_ statements: CodeBlockItemListSyntax) -> CodeBlockItemListSyntax {
      guard isTold else { return visit(statements) }
      if case .object = result { return visit(statements) }
      return implicitResult(statements) ?? visit(statements)
    }

    /// Whether results are rewritten at this depth.
    private var isTold: Bool { result != .nothing && result != .never }

    // MARK: Results that are returned

    override func visit(_ node: ReturnStmtSyntax) -> StmtSyntax {
      guard depth == 0, isTold else { return super.visit(node) }
      if let object = result.object(in: call, returning: node.expression) {
        let statement: StmtSyntax = "do { \(raw: object); \(node.trimmed) }"
        return statement.with(\.leadingTrivia, node.leadingTrivia).with(\.trailingTrivia, node.trailingTrivia)
      }
      guard let expression = node.expression else { return super.visit(node) }
      if let branches = branches(expression) {
        // `return if …`: each branch returns by itself.
        return StmtSyntax(ExpressionStmtSyntax(expression: branches).with(\.leadingTrivia, node.leadingTrivia))
      }
      return returning(visit(expression), node)
    }

    /// The statements of a block whose only expression is the result; `nil` for other blocks.
    private func implicitResult(_ statements: CodeBlockItemListSyntax) -> CodeBlockItemListSyntax? {
      guard let only = statements.first, statements.count == 1 else { return nil }
      switch only.item {
      case .expr(let expression):
        if let branches = branches(expression) { return replacing(only, by: .expr(branches), in: statements) }
        guard !expression.is(IfExprSyntax.self), !expression.is(SwitchExprSyntax.self) else { return nil }
        return implicitly(expression).map { replacing(only, by: .stmt($0), in: statements) }
      case .stmt(let statement):
        guard let expression = statement.as(ExpressionStmtSyntax.self)?.expression,
          let branches = branches(expression)
        else { return nil }
        return replacing(only, by: .expr(branches), in: statements)
      case .decl(let declaration):
        guard let conditional = declaration.as(IfConfigDeclSyntax.self), let new = clauses(conditional) else {
          return nil
        }
        return replacing(only, by: .decl(DeclSyntax(new)), in: statements)
      }
    }

    private func replacing(
      _ old: CodeBlockItemSyntax, by item: CodeBlockItemSyntax.Item, in statements: CodeBlockItemListSyntax
    ) -> CodeBlockItemListSyntax {
      statements.with(\.[statements.startIndex], old.with(\.item, item))
    }

    /// `return weirCall.returned(…)`, with the line breaks and comments of the visited expression outside.
    private func returning(_ inner: ExprSyntax, _ statement: ReturnStmtSyntax) -> StmtSyntax {
      guard case .value(_, let spelling) = result else { return StmtSyntax(statement.with(\.expression, inner)) }
      let text = inner.trimmedDescription
      guard let type = spelling.type else {
        // The property's type is in the descriptor.
        let new = ExprSyntax(stringLiteral: "\(call).returned(as: \(text))").with(\.leadingTrivia, inner.leadingTrivia)
          .with(\.trailingTrivia, inner.trailingTrivia)
        return StmtSyntax(statement.with(\.expression, new))
      }
      // Through a generic function, the compiler could not infer the type of a closure or a tuple.
      if spelling.isStructural || inner.is(ClosureExprSyntax.self) {
        return typed(text, type, around: inner, leading: statement.leadingTrivia + inner.leadingTrivia)
      }
      let new = ExprSyntax(stringLiteral: told(text)).with(\.leadingTrivia, inner.leadingTrivia)
        .with(\.trailingTrivia, inner.trailingTrivia)
      return StmtSyntax(statement.with(\.expression, new))
    }

    /// The same for an expression that is the result without a `return`; `nil` for an expression that evidently never
    /// returns.
    ///
    /// A function call may have the type Never, which the source does not show. The compiler would then warn that a
    /// call around the function call is never executed. The compiler does not warn for the value of a one-sided switch.
    private func implicitly(_ expression: ExprSyntax) -> StmtSyntax? {
      let called = calledFunction(expression)
      if let called, neverReturning.contains(called) { return nil }
      // Visited in its place, because a detached expression has no line.
      let inner = visit(expression)
      if called != nil, case .value(_, let spelling) = result, let type = spelling.type {
        let value = "switch () { case (): \(inner.trimmedDescription) }"
        return typed(value, type, around: inner, leading: inner.leadingTrivia)
      }
      let statement = ReturnStmtSyntax(
        returnKeyword: .keyword(.return, leadingTrivia: inner.leadingTrivia, trailingTrivia: .space))
      return returning(inner.with(\.leadingTrivia, []), statement)
    }

    private func typed(_ value: String, _ type: String, around inner: ExprSyntax, leading: Trivia) -> StmtSyntax {
      let name = "\(call)Result"
      let statement: StmtSyntax = "do { let \(raw: name): \(raw: type) = \(raw: value); return \(raw: told(name)) }"
      return statement.with(\.leadingTrivia, leading).with(\.trailingTrivia, inner.trailingTrivia)
    }

    private func told(_ value: String) -> String { "\(call).returned(\(value))" }

    /// The function that an expression calls by its bare name, or through `self` or a module; `nil` for all other
    /// expressions, including initialisers.
    private func calledFunction(_ expression: ExprSyntax) -> String? {
      if let marked = expression.as(TryExprSyntax.self) { return calledFunction(marked.expression) }
      if let marked = expression.as(AwaitExprSyntax.self) { return calledFunction(marked.expression) }
      guard let function = expression.as(FunctionCallExprSyntax.self)?.calledExpression else { return nil }
      let name: String
      if let reference = function.as(DeclReferenceExprSyntax.self) {
        name = reference.baseName.plainName
      } else if let member = function.as(MemberAccessExprSyntax.self),
        let base = member.base?.as(DeclReferenceExprSyntax.self)?.baseName.text,
        base == "self" || base.first?.isUppercase == true
      {
        name = member.declName.baseName.plainName
      } else {
        return nil
      }
      return name.first?.isUppercase == true || name == "init" ? nil : name
    }

    // MARK: if and switch as expressions

    /// An `if` or `switch` whose branches are values, with a `return` in each branch; `nil` for other expressions.
    private func branches(_ expression: ExprSyntax) -> ExprSyntax? {
      if let node = expression.as(IfExprSyntax.self) { return branches(of: node).map { ExprSyntax($0) } }
      guard let node = expression.as(SwitchExprSyntax.self), let cases = cases(node.cases) else { return nil }
      return ExprSyntax(node.with(\.subject, visit(node.subject)).with(\.cases, cases))
    }

    private func branches(of node: IfExprSyntax) -> IfExprSyntax? {
      guard let body = branch(node.body.statements), let other = node.elseBody else { return nil }
      let otherwise: IfExprSyntax.ElseBody
      switch other {
      case .ifExpr(let next):
        guard let next = branches(of: next) else { return nil }
        otherwise = .ifExpr(next)
      case .codeBlock(let block):
        guard let statements = branch(block.statements) else { return nil }
        otherwise = .codeBlock(block.with(\.statements, statements))
      }
      return node.with(\.conditions, visit(node.conditions)).with(\.body.statements, body).with(\.elseBody, otherwise)
    }

    private func cases(_ list: SwitchCaseListSyntax) -> SwitchCaseListSyntax? {
      var new: [SwitchCaseListSyntax.Element] = []
      for element in list {
        switch element {
        case .switchCase(let node):
          guard let statements = branch(node.statements) else { return nil }
          new.append(.switchCase(visit(node).with(\.statements, statements)))
        case .ifConfigDecl: return nil
        }
      }
      return new.isEmpty ? nil : SwitchCaseListSyntax(new)
    }

    /// One branch: a value, a `throw`, or another `if` or `switch`.
    private func branch(_ statements: CodeBlockItemListSyntax) -> CodeBlockItemListSyntax? {
      if let only = statements.first, statements.count == 1, case .stmt(let statement) = only.item,
        statement.is(ThrowStmtSyntax.self)
      {
        return visit(statements)
      }
      if let only = statements.first, statements.count == 1, case .expr(let expression) = only.item,
        calledFunction(expression).map(neverReturning.contains) == true
      {
        return visit(statements)
      }
      return implicitResult(statements)
    }

    private func clauses(_ conditional: IfConfigDeclSyntax) -> IfConfigDeclSyntax? {
      var clauses: [IfConfigClauseSyntax] = []
      for clause in conditional.clauses {
        guard case .statements(let statements)? = clause.elements else {
          clauses.append(clause)
          continue
        }
        // A side that is not a single expression is left to the compiler, if the side is compiled at all.
        clauses.append(clause.with(\.elements, .statements(implicitResult(statements) ?? visit(statements))))
      }
      return conditional.with(\.clauses, IfConfigClauseListSyntax(clauses))
    }

    // MARK: Code that stays as it is

    private func inside<Node: SyntaxProtocol>(_ node: Node, _ visit: (Node) -> DeclSyntax) -> DeclSyntax {
      depth += 1
      defer { depth -= 1 }
      return visit(node)
    }

    override func visit(_ node: ClosureExprSyntax) -> ExprSyntax {
      depth += 1
      defer { depth -= 1 }
      return super.visit(node)
    }

    override func visit(_ node: AccessorBlockSyntax) -> AccessorBlockSyntax {
      depth += 1
      defer { depth -= 1 }
      return super.visit(node)
    }

    override func visit(_ node: FunctionDeclSyntax) -> DeclSyntax { inside(node) { super.visit($0) } }
    override func visit(_ node: StructDeclSyntax) -> DeclSyntax { inside(node) { super.visit($0) } }
    override func visit(_ node: ClassDeclSyntax) -> DeclSyntax { inside(node) { super.visit($0) } }
    override func visit(_ node: EnumDeclSyntax) -> DeclSyntax { inside(node) { super.visit($0) } }
    override func visit(_ node: ActorDeclSyntax) -> DeclSyntax { inside(node) { super.visit($0) } }

    // MARK: Places

    /// In an expansion, `#line` is the line of the attribute.
    override func visit(_ node: MacroExpansionExprSyntax) -> ExprSyntax {
      let name = node.macroName.text
      if name == "function", let function, node.arguments.isEmpty {
        return ExprSyntax(StringLiteralExprSyntax(content: function))
          .with(\.leadingTrivia, node.leadingTrivia).with(\.trailingTrivia, node.trailingTrivia)
      }
      guard name == "line" || name == "column", node.arguments.isEmpty,
        let place = places.place(of: node, at: .afterLeadingTrivia)
      else { return super.visit(node) }
      let value = ExprSyntax(stringLiteral: "\(name == "line" ? place.line : place.column)")
      return value.with(\.leadingTrivia, node.leadingTrivia).with(\.trailingTrivia, node.trailingTrivia)
    }
  }
#endif
