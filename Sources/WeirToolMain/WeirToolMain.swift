// The executable `weir`: WeirTool with an entry point. Without the trait Tool there is no WeirTool, and the executable
// says how the tool is built: a package that depends on this one builds all products, and this one shall not break it.

#if Tool
  import WeirTool
#elseif canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

@main
struct WeirToolMain {
  static func main() {
    #if Tool
      runTool()
    #else
      let text = "weir: built without the tool. Build the tool with: swift build -c release --traits Tool\n"
      _ = text.withCString { write(STDERR_FILENO, $0, strlen($0)) }
      exit(2)
    #endif
  }
}
