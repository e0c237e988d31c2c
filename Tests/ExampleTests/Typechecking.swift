// Typechecking: what the compiler says of some files by themselves.

#if Macros
  import Foundation

  /// What the compiler says of these files alone; empty if nothing.
  func typecheck(_ files: [URL]) throws -> String {
    let products = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
      .deletingLastPathComponent().path
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().path
    let compiler = Process()
    compiler.executableURL = URL(filePath: "/usr/bin/env")
    compiler.arguments =
      ["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-warnings-as-errors", "-D", "Macros"]
      + ["-I", products + "/Modules", "-I", root + "/include", "-I", root + "/Sources/CLZ4"]
      + ["-load-plugin-executable", products + "/WeirMacrosPlugin-tool#WeirMacrosPlugin"] + files.map(\.path)
    let output = Pipe()
    compiler.standardError = output
    compiler.standardOutput = output
    try compiler.run()
    let text = try output.fileHandleForReading.readToEnd() ?? Data()
    compiler.waitUntilExit()
    return String(decoding: text, as: UTF8.self)
  }
#endif
