// MarkerMacros: @Case and @Field, which @Event reads. The macros expand to nothing. They are refused where @Event does
// not read them.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct CaseMacro: PeerMacro {
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      var faults = Faults()
      if !declaration.is(EnumCaseDeclSyntax.self) || !isInEvent(context, EnumDeclSyntax.self) {
        faults.add("misplaced", at: node, "@Case belongs to a case of an enum with @Event; nothing reads it here")
      }
      for fault in faults.found { context.diagnose(fault) }
      return []
    }
  }

  struct FieldMacro: PeerMacro {
    static func expansion(
      of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
      in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      var faults = Faults()
      let isRead =
        declaration.is(EnumCaseDeclSyntax.self) && isInEvent(context, EnumDeclSyntax.self)
        || declaration.is(VariableDeclSyntax.self) && isInEvent(context, StructDeclSyntax.self)
      if !isRead {
        faults.add(
          "misplaced", at: node,
          "@Field belongs to a stored property of a structure with @Event, or to a case of an enum with it; nothing "
            + "reads it here")
      }
      for fault in faults.found { context.diagnose(fault) }
      return []
    }
  }

  private func isInEvent<Group: DeclGroupSyntax>(_ context: some MacroExpansionContext, _ form: Group.Type) -> Bool {
    guard let group = context.lexicalContext.first?.as(form) else { return false }
    return !group.attributes.named("Event").isEmpty
  }
#endif
