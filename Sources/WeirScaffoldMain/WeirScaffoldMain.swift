// The executable that the plugin runs: `weir scaffold` alone, so that a package that uses the plugin need not build the
// whole tool for it, nor what that needs to deliver.

import ArgumentParser
import Foundation
import WeirScaffold

@main
struct WeirScaffoldMain {
  static func main() {
    do {
      var command = try ScaffoldCommand.parseAsRoot()
      try command.run()
    } catch let error as ScaffoldError {
      FileHandle.standardError.write(Data("weir: \(error.message)\n".utf8))
      exit(error.isDiskFull ? 3 : 2)
    } catch {
      ScaffoldCommand.exit(withError: error)
    }
  }
}
