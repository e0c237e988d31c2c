// AccessorReading: the accessor that @JoinPoint stands on, and the places of its source.
//
// Up to Swift 6.3 the compiler hands a plugin an accessor as the text of a declaration. swift-syntax knows no
// declaration that begins with `get`, and hands over a declaration that is missing, or a function without `func`:
// https://github.com/swiftlang/swift/issues/75715. The text is whole, so it is parsed here once more, as an accessor.

#if Macros
  public import SwiftSyntax
  import SwiftSyntaxBuilder
  import SwiftSyntaxMacros

  /// A missing declaration has a body, so that swift-syntax passes the declaration to a body macro at all. Nobody reads
  /// the body. The conformance says nothing of swift-syntax that a later version could say otherwise: swift-syntax
  /// makes a missing declaration only from a text that it can't parse.
  // swift-format-ignore: AvoidRetroactiveConformances
  extension MissingDeclSyntax: @retroactive WithOptionalCodeBlockSyntax {
    public var body: CodeBlockSyntax? {
      get { nil }
      set { _ = newValue }
    }
  }

  /// The accessor that a declaration is; `nil` for other declarations.
  func readAccessor(_ declaration: some DeclSyntaxProtocol) -> AccessorDeclSyntax? {
    if let accessor = declaration.as(AccessorDeclSyntax.self) { return accessor }
    guard
      declaration.is(MissingDeclSyntax.self)
        || declaration.as(FunctionDeclSyntax.self)?.funcKeyword.presence == .missing
    else { return nil }
    let accessor = AccessorDeclSyntax(stringLiteral: declaration.description)
    return accessor.accessorSpecifier.presence == .present && accessor.body != nil ? accessor : nil
  }

  /// The places of a declaration's nodes in its file.
  struct SourcePlaces {
    private let context: any MacroExpansionContext
    /// The declaration as the compiler handed it over, and as it was parsed once more.
    private let original: Syntax
    private let parsed: Syntax

    init(_ original: some SyntaxProtocol, parsedAs parsed: Syntax? = nil, in context: some MacroExpansionContext) {
      self.context = context
      self.original = Syntax(original)
      self.parsed = parsed ?? Syntax(original)
    }

    /// The line and the column of a node, and the file as a literal of its path.
    func place(
      of node: some SyntaxProtocol, at position: PositionInSyntaxNode
    ) -> (file: String, line: Int, column: Int)? {
      guard parsed != original else {
        guard let place = context.location(of: node, at: position, filePathMode: .filePath),
          let line = Int(place.line.trimmedDescription), let column = Int(place.column.trimmedDescription)
        else { return nil }
        return (place.file.trimmedDescription, line, column)
      }
      guard let start = context.location(of: original, at: .beforeLeadingTrivia, filePathMode: .filePath),
        let line = Int(start.line.trimmedDescription), let column = Int(start.column.trimmedDescription)
      else { return nil }
      let absolute = position == .beforeLeadingTrivia ? node.position : node.positionAfterSkippingLeadingTrivia
      let inside = SourceLocationConverter(fileName: "", tree: parsed).location(for: absolute)
      return (
        start.file.trimmedDescription, line + inside.line - 1,
        inside.line == 1 ? column + inside.column - 1 : inside.column
      )
    }
  }
#endif
