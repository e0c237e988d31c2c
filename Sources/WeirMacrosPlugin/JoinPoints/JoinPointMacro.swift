// JoinPointMacro: @JoinPoint on a method, an initialiser or an accessor, and @FunctionJoinPoint on a function at file
// scope.
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
      // What is written beside an accessor, nobody would see.
      guard readAccessor(declaration) == nil else { return [] }
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
      if function.genericOwner != nil { return function.inheritableProperty.map { [$0] } ?? [] }
      guard !function.isInherited, !isListed else { return function.descriptor }
      let name = function.givenName ?? function.shortName
      return function.descriptor + ["\(raw: function.property(name + "JoinPoint"))"]
    }

    /// Reports the faults of accessors only, because the other role reports those of everything else.
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
    guard let callable = callable(declaration) else {
      faults.add("notAFunction", at: node, "@\(node.lastName ?? "JoinPoint") \(remedy(for: declaration))")
      return nil
    }
    guard var read = FunctionReader(node, of: callable, in: context.lexicalContext).read(callable, &faults) else {
      return nil
    }
    if let place = context.location(of: callable.position, at: .afterLeadingTrivia, filePathMode: .fileID) {
      read.place = (place.file.trimmedDescription, place.line.trimmedDescription)
    }
    return read
  }

  private func callable(_ declaration: some DeclSyntaxProtocol) -> Callable? {
    if let function = declaration.as(FunctionDeclSyntax.self) { return Callable(function) }
    return declaration.as(InitializerDeclSyntax.self).map { Callable($0) }
  }

  /// Returns the original body if there is a fault.
  private func expandBody(
    of node: AttributeSyntax, _ declaration: some DeclSyntaxProtocol & WithOptionalCodeBlockSyntax,
    in context: some MacroExpansionContext, isFree: Bool
  ) -> [CodeBlockItemSyntax] {
    if let accessor = readAccessor(declaration) { return expandBody(of: node, accessor, declaration, in: context) }
    let statements = declaration.body.map { Array($0.statements) } ?? []
    guard let declared = callable(declaration), declared.body != nil else { return statements }
    var faults = Faults()
    guard context.lexicalContext.isEmpty == isFree, let function = read(node, declaration, context, &faults),
      faults.found.isEmpty
    else { return statements }
    return function.body(of: declared, SourcePlaces(declaration, in: context))
  }

  private func expandBody(
    of node: AttributeSyntax, _ accessor: AccessorDeclSyntax, _ declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) -> [CodeBlockItemSyntax] {
    let callable = Callable(accessor, of: context.lexicalContext.first?.as(SubscriptDeclSyntax.self))
    let outer = context.lexicalContext.drop { $0.is(SubscriptDeclSyntax.self) || $0.is(PatternBindingSyntax.self) }
    var faults = Faults()
    // A node that was parsed here has no place in the file, so messages stand at the attribute that the compiler knows.
    let function = FunctionReader(node, of: callable, in: Array(outer)).read(callable, &faults)
    for fault in faults.found { context.diagnose(fault) }
    guard let function, faults.found.isEmpty else { return accessor.body.map { Array($0.statements) } ?? [] }
    return function.body(of: callable, SourcePlaces(declaration, parsedAs: Syntax(accessor), in: context))
  }

  private func remedy(for declaration: some DeclSyntaxProtocol) -> String {
    switch declaration.kind {
    case .deinitializerDecl:
      "would hand a hook an object that is going, and that the hook might keep; in the deinitializer call "
        + "withJoinPoint(…) with the type for the owner"
    case .variableDecl:
      "is for functions; give a property's get, set, willSet or didSet a @JoinPoint(\"name\") of its own"
    case .subscriptDecl: "is for functions; give a subscript's get or set a @JoinPoint(\"name\") of its own"
    default: "is for functions and initializers"
    }
  }
#endif
