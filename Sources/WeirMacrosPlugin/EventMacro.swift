// EventMacro: @Event.

#if Macros
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct EventMacro: ExtensionMacro {
    /// Expansion lays the text out itself: the formatter takes longer than all else here.
    static let formatMode: FormatMode = .disabled

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
      in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
      var faults = Faults()
      let event = DeclarationReader(node, context.lexicalContext).read(declaration, &faults)
      if let event { check(event, &faults) }
      for fault in faults.found { context.diagnose(fault) }
      guard let event, faults.found.isEmpty else { return [] }
      // Empty if the type says itself that it conforms.
      return [try eventExtension(of: event, type: type.trimmedDescription, conforms: protocols.isEmpty)]
    }
  }
#endif
