// InstrumentedMacro: @Instrumented, which marks the methods of a type with @JoinPoint, and lists their descriptors
// under readable names: in the type, or beside a generic type.

#if Macros
  import SwiftSyntaxBuilder
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct InstrumentedMacro: MemberMacro, MemberAttributeMacro, PeerMacro {
    static let formatMode: FormatMode = .disabled

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      let function =
        member.as(FunctionDeclSyntax.self).map { Callable($0) }
        ?? member.as(InitializerDeclSyntax.self).map { Callable($0) }
      var faults = Faults()
      guard let function, function.joinPoint == nil,
        let type = InstrumentedType(node, declaration, in: context, &faults), faults.found.isEmpty,
        type.selects(function)
      else { return [] }
      return ["@WeirAspects.JoinPoint"]
    }

    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      var faults = Faults()
      let type = InstrumentedType(node, declaration, in: context, &faults)
      let joinPoints = type?.joinPoints(&faults)
      for fault in faults.found { context.diagnose(fault) }
      guard faults.found.isEmpty, let type else { return [] }
      let enumeration: [DeclSyntax] = type.isGeneric ? [] : joinPoints.map { ["\(raw: $0)"] } ?? []
      return enumeration + MemberBlockItemListSyntax(stringLiteral: type.accessors()).map(\.decl)
    }

    /// Reports no faults, because the other role reports them.
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      guard let declaration = declaration.asProtocol((any DeclGroupSyntax).self) else { return [] }
      return beside(declaration, node, in: context)
    }

    private static func beside(
      _ declaration: some DeclGroupSyntax, _ node: AttributeSyntax, in context: some MacroExpansionContext
    ) -> [DeclSyntax] {
      var faults = Faults()
      guard let type = InstrumentedType(node, declaration, in: context, &faults), type.isGeneric else { return [] }
      let joinPoints = type.joinPoints(&faults)
      guard faults.found.isEmpty, let joinPoints else { return [] }
      return ["\(raw: joinPoints)"]
    }
  }
#endif
