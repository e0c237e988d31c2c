// The compiler plugin that expands WeirMacros' macros. Without the trait Macros it is an empty program.

#if Macros
  import SwiftCompilerPlugin
  import SwiftSyntaxMacros

  @main
  struct Plugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = []
  }
#else
  @main
  struct Plugin {
    static func main() {}
  }
#endif
