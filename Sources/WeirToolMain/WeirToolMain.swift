// The executable `weir`: WeirTool with an entry point.

import WeirTool

@main
struct WeirToolMain {
  static func main() {
    runTool()
  }
}
