// The compiler plugin that expands the macros of Weir and WeirAspects. Without the trait Macros it is an empty program.
//
// The way of a declaration: DeclarationReader (with Arguments) makes of the source an EventDeclaration, Checks find
// what is wrong with it, and Expansion writes the extension. What is wrong is collected in Faults, so that a programmer
// sees all of it at once.
//
// The macros for join points are in JoinPoints, and go the same way: FunctionReader and InstrumentedType read,
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
