// EventMacro: @Event.
//
// The macro writes nearly all members into the type's body, where each name has the same meaning as in the declaration:
// an extension does not see the declarations beside a nested type. Only a structure's initialiser is in the extension,
// because in the body it would replace the memberwise initialiser.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct EventMacro: MemberMacro, ExtensionMacro {
    /// Disabled, because Expansion lays the text out itself, and the formatter takes longer than all other steps.
    static let formatMode: FormatMode = .disabled

    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let (event, faults) = read(node, declaration, context)
      for fault in faults.found { context.diagnose(fault) }
      return event.map(members) ?? []
    }

    /// Reports no faults, because the other role reports them.
    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      guard let event = read(node, declaration, context).event else { return [] }
      // No protocols if the type declares the conformance itself.
      return conformance(of: event, type: type.trimmedDescription, isNew: !protocols.isEmpty)
    }

    /// The type's declaration; `nil` if there is a fault.
    private static func read(
      _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, _ context: some MacroExpansionContext
    ) -> (event: EventDeclaration?, faults: Faults) {
      var faults = Faults()
      let event = DeclarationReader(node, context.lexicalContext).read(declaration, &faults)
      if let event { check(event, &faults) }
      return (faults.found.isEmpty ? event : nil, faults)
    }
  }
#endif
