// BodySearch: properties of a body that decide how the body is expanded.

#if Macros
  import SwiftSyntax

  /// Whether an error may leave the body, as far as the source shows.
  func throwsByItself(_ body: CodeBlockSyntax) -> Bool {
    let search = ThrowSearch(viewMode: .sourceAccurate)
    search.walk(body.statements)
    return search.found
  }

  /// Whether a closure in the body has a capture list.
  func hasCaptureList(_ body: CodeBlockSyntax) -> Bool {
    let search = CaptureSearch(viewMode: .sourceAccurate)
    search.walk(body.statements)
    return search.found
  }

  /// Functions of the standard and the C library that never return.
  let neverReturning: Set = ["fatalError", "preconditionFailure", "exit", "_exit", "abort"]

  /// Whether statements evidently never come to their end: the last statement leaves them on all paths.
  func leaves(_ statements: CodeBlockItemListSyntax) -> Bool {
    guard let last = statements.last?.item else { return false }
    switch last {
    case .stmt(let statement):
      if let expression = statement.as(ExpressionStmtSyntax.self)?.expression { return leaves(expression) }
      if let block = statement.as(DoStmtSyntax.self) {
        return leaves(block.body.statements) && block.catchClauses.allSatisfy { leaves($0.body.statements) }
      }
      return statement.is(ReturnStmtSyntax.self) || statement.is(ThrowStmtSyntax.self)
    case .expr(let expression): return leaves(expression)
    case .decl: return false
    }
  }

  private func leaves(_ expression: ExprSyntax) -> Bool {
    if let choice = expression.as(IfExprSyntax.self) {
      let leavesOtherwise =
        switch choice.elseBody {
        case .ifExpr(let next): leaves(ExprSyntax(next))
        case .codeBlock(let block): leaves(block.statements)
        case nil: false
        }
      return leavesOtherwise && leaves(choice.body.statements)
    }
    if let choice = expression.as(SwitchExprSyntax.self) {
      return choice.cases.allSatisfy { element in
        guard case .switchCase(let one) = element else { return false }
        return leaves(one.statements)
      }
    }
    let called = expression.as(FunctionCallExprSyntax.self)?.calledExpression.as(DeclReferenceExprSyntax.self)
    return called.map { neverReturning.contains($0.baseName.text) } ?? false
  }

  private final class CaptureSearch: SyntaxVisitor {
    var found = false

    override func visit(_ node: ClosureCaptureClauseSyntax) -> SyntaxVisitorContinueKind {
      found = true
      return .skipChildren
    }

    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  }

  private final class ThrowSearch: SyntaxVisitor {
    var found = false

    override func visit(_ node: TryExprSyntax) -> SyntaxVisitorContinueKind {
      if node.questionOrExclamationMark == nil { found = true }
      return .visitChildren
    }

    override func visit(_ node: ThrowStmtSyntax) -> SyntaxVisitorContinueKind {
      found = true
      return .skipChildren
    }

    /// A `do` that catches everything throws only what its catch clauses throw.
    override func visit(_ node: DoStmtSyntax) -> SyntaxVisitorContinueKind {
      let catchesAll = node.catchClauses.contains { clause in
        clause.catchItems.isEmpty || clause.catchItems.contains { $0.pattern == nil && $0.whereClause == nil }
      }
      guard catchesAll else { return .visitChildren }
      walk(node.catchClauses)
      return .skipChildren
    }

    override func visit(_ node: ClosureExprSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
    override func visit(_ node: ActorDeclSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
  }
#endif
