// EventMacro: @Event.
//
// Nearly all that it writes are members in the type's body, where each name means what it means in the declaration: an
// extension does not see what lies beside a nested type. Only a structure's initialiser is in the extension, for in the
// body it would take the place of the memberwise one.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct EventMacro: MemberMacro, ExtensionMacro {
    /// Expansion lays the text out itself: the formatter takes longer than all else here.
    static let formatMode: FormatMode = .disabled

    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      let (event, faults) = read(node, declaration, context)
      for fault in faults.found { context.diagnose(fault) }
      return event.map(members) ?? []
    }

    /// Reports nothing, for the other role does.
    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      guard let event = read(node, declaration, context).event else { return [] }
      // No protocols if the type says itself that it conforms.
      return conformance(of: event, type: type.trimmedDescription, isNew: !protocols.isEmpty)
    }

    /// What the type says; nil if there is a fault.
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
