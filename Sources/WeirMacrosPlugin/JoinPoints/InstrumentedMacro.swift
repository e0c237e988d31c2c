// InstrumentedMacro: @Instrumented, which marks the methods of a type with @JoinPoint, and lists their descriptors
// under readable names.

#if Macros
  import SwiftSyntaxBuilder
  import SwiftSyntax
  import SwiftSyntaxMacros

  struct InstrumentedMacro: MemberMacro, MemberAttributeMacro {
    static let formatMode: FormatMode = .disabled

    static func expansion(
      of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
      providingAttributesFor member: some DeclSyntaxProtocol, in context: some MacroExpansionContext
    ) throws -> [AttributeSyntax] {
      var faults = Faults()
      guard let type = InstrumentedType(node, declaration, context.lexicalContext, &faults), faults.found.isEmpty,
        let function = member.as(FunctionDeclSyntax.self), function.joinPoint == nil, type.selects(function)
      else { return [] }
      return ["@WeirAspects.JoinPoint"]
    }

    static func expansion(
      of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
      conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
      var faults = Faults()
      let type = InstrumentedType(node, declaration, context.lexicalContext, &faults)
      let members = type.flatMap { $0.joinPoints(&faults) }
      for fault in faults.found { context.diagnose(fault) }
      guard faults.found.isEmpty, let members else { return [] }
      return ["\(raw: members)"]
    }
  }

  extension FunctionDeclSyntax {
    /// The function's attribute @JoinPoint.
    var joinPoint: AttributeSyntax? { attributes.named("JoinPoint").first }
  }
#endif
