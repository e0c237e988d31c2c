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
