// The compiler plugin that expands the macros of Weir and WeirAspects. Without the trait Macros it is an empty program.
//
// The steps of an expansion: DeclarationReader (with Arguments) reads the source into an EventDeclaration, Checks finds
// errors in the declaration, and Expansion writes the extension. Faults collects all errors, so that a programmer sees
// all of them at once.
//
// The macros for join points are in JoinPoints, and work in the same steps: FunctionReader and InstrumentedType read,
// JoinPointExpansion and BodyRewriter write.

#if Macros
  import SwiftCompilerPlugin
  import SwiftSyntaxMacros

  @main
  struct Plugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
      EventMacro.self, CaseMacro.self, FieldMacro.self, JoinPointMacro.self, FunctionJoinPointMacro.self,
      InstrumentedMacro.self,
    ]
  }
#else
  @main
  struct Plugin {
    static func main() {}
  }
#endif
