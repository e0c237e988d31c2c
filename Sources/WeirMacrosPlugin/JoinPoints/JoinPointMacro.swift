// JoinPointMacro: @JoinPoint on a method, @FunctionJoinPoint on a function at file scope.
//
// There are two macros because the names that a macro adds at file scope must follow from the function's name alone,
// while labels distinguish methods.

#if Macros
  import SwiftSyntaxBuilder
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct JoinPointMacro: PeerMacro, BodyMacro {
    /// Disabled, so that the source keeps its layout.
    static let formatMode: FormatMode = .disabled

    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      var faults = Faults()
      defer { for fault in faults.found { context.diagnose(fault) } }
      if context.lexicalContext.isEmpty, declaration.is(FunctionDeclSyntax.self) {
        faults.add(
          "free", at: node, "@JoinPoint is for methods; for a function at file scope it is @FunctionJoinPoint")
        return []
      }
      guard let function = read(node, declaration, context, &faults), faults.found.isEmpty else { return [] }
      let type = context.lexicalContext.first?.asProtocol((any WithAttributesSyntax).self)
      let isListed = type.map { !$0.attributes.named("Instrumented").isEmpty } ?? false
      guard !function.isInherited, !isListed else { return function.descriptor }
      let name = function.givenName ?? function.name
      return function.descriptor + ["\(raw: function.property(name + "JoinPoint"))"]
    }

    /// Reports no faults, because the other role reports them.
    static func expansion(
      of node: AttributeSyntax,
      providingBodyFor declaration: some DeclSyntaxProtocol & WithOptionalCodeBlockSyntax,
      in context: some MacroExpansionContext
    ) throws -> [CodeBlockItemSyntax] {
      expandBody(of: node, declaration, in: context, isFree: false)
    }
  }

  struct FunctionJoinPointMacro: PeerMacro, BodyMacro {
    static let formatMode: FormatMode = .disabled

    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      var faults = Faults()
      defer { for fault in faults.found { context.diagnose(fault) } }
      if context.lexicalContext.first?.asProtocol((any DeclGroupSyntax).self) != nil {
        faults.add(
          "method", at: node, "@FunctionJoinPoint is for functions at file scope; for a method it is @JoinPoint")
        return []
      }
      guard let function = read(node, declaration, context, &faults), faults.found.isEmpty else { return [] }
      return function.descriptor
    }

    static func expansion(
      of node: AttributeSyntax,
      providingBodyFor declaration: some DeclSyntaxProtocol & WithOptionalCodeBlockSyntax,
      in context: some MacroExpansionContext
    ) throws -> [CodeBlockItemSyntax] {
      expandBody(of: node, declaration, in: context, isFree: true)
    }
  }

  private func read(
    _ node: AttributeSyntax, _ declaration: some DeclSyntaxProtocol, _ context: some MacroExpansionContext,
    _ faults: inout Faults
  ) -> InstrumentedFunction? {
    guard let function = declaration.as(FunctionDeclSyntax.self) else {
      faults.add(
        "notAFunction", at: node,
        "@\(node.lastName ?? "JoinPoint") is for functions; in \(word(for: declaration)) call withJoinPoint(…) by hand")
      return nil
    }
    let reader = FunctionReader(node, of: function, in: context.lexicalContext)
    guard var read = reader.read(function, &faults) else { return nil }
    if let place = context.location(of: function.name, at: .afterLeadingTrivia, filePathMode: .fileID) {
      read.place = (place.file.trimmedDescription, place.line.trimmedDescription)
    }
    return read
  }

  /// Returns the original body if there is a fault.
  private func expandBody(
    of node: AttributeSyntax, _ declaration: some DeclSyntaxProtocol & WithOptionalCodeBlockSyntax,
    in context: some MacroExpansionContext, isFree: Bool
  ) -> [CodeBlockItemSyntax] {
    guard let declared = declaration.as(FunctionDeclSyntax.self), let body = declared.body else {
      return declaration.body.map { Array($0.statements) } ?? []
    }
    var faults = Faults()
    guard context.lexicalContext.isEmpty == isFree, let function = read(node, declaration, context, &faults),
      faults.found.isEmpty
    else { return Array(body.statements) }
    return function.body(of: declared, in: context)
  }

  private func word(for declaration: some DeclSyntaxProtocol) -> String {
    switch declaration.kind {
    case .initializerDecl: "an initializer"
    case .deinitializerDecl: "a deinitializer"
    case .accessorDecl: "an accessor"
    case .subscriptDecl: "a subscript"
    case .variableDecl: "a property"
    default: "anything else"
    }
  }
#endif
