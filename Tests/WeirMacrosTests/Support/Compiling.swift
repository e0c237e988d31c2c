// The compiler, run on a source with the macros as they were built.

#if Macros
  import Foundation

  /// The compiler's answer to a source; empty if it has nothing to say. `mode` says how far it goes.
  func compile(_ source: String, _ options: [String] = [], mode: String = "-typecheck") throws -> String {
    try withDirectory { directory in
      let file = directory + "/source.swift"
      try Data(source.utf8).write(to: URL(filePath: file))
      let products = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        .deletingLastPathComponent().path
      let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path
      let compiler = Process()
      compiler.executableURL = URL(filePath: "/usr/bin/env")
      compiler.arguments =
        [
          "swiftc", mode, "-parse-as-library", "-swift-version", "6", "-warnings-as-errors", file, "-I",
          products + "/Modules", "-I", root + "/include", "-I", root + "/Sources/CLZ4", "-load-plugin-executable",
          products + "/WeirMacrosPlugin-tool#WeirMacrosPlugin", "-package-name", "test",
        ] + options
      compiler.currentDirectoryURL = URL(filePath: directory)
      let output = Pipe()
      compiler.standardError = output
      compiler.standardOutput = output
      try compiler.run()
      let text = try output.fileHandleForReading.readToEnd() ?? Data()
      compiler.waitUntilExit()
      return String(decoding: text, as: UTF8.self)
    }
  }
#endif
