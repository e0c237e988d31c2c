// Tool.swift: finds the `weir` executable under test and runs it.
import Foundation
import Testing

enum Tool {
  /// The executable: WEIR_TOOL, or the one in the folder of the running test bundle. Tests have no other way to it, so
  /// that what they see is what a user sees.
  static let path: String = {
    if let given = Run.environment["WEIR_TOOL"] { return given }
    var candidates: [URL] = []
    if let running = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
      candidates.append(URL(fileURLWithPath: running))
    }
    candidates += CommandLine.arguments.map { URL(fileURLWithPath: $0) }
    candidates.append(Bundle.main.bundleURL)
    for candidate in candidates {
      var folder = candidate
      for _ in 0..<3 {
        folder.deleteLastPathComponent()
        let tool = folder.appendingPathComponent("weir").path
        var isFolder: ObjCBool = false
        if FileManager.default.fileExists(atPath: tool, isDirectory: &isFolder), !isFolder.boolValue,
          FileManager.default.isExecutableFile(atPath: tool)
        {
          return tool
        }
      }
    }
    fatalError("no `weir` beside the test bundle; build it, or name it with WEIR_TOOL")
  }()

  /// Runs it to the end.
  static func run(
    _ arguments: [String], input: Child.Input = .nothing, outputFile: String? = nil
  ) throws -> Outcome {
    try Child(path, arguments, input: input, outputFile: outputFile).wait()
  }

  static func run(_ arguments: String...) throws -> Outcome {
    try run(arguments)
  }

  /// Runs it with `bytes` as its standard input.
  static func run(_ arguments: [String], sending bytes: Data) throws -> Outcome {
    let child = try Child(path, arguments, input: .pipe)
    child.send(bytes)
    child.finishInput()
    return try child.wait()
  }

  /// `weir record`, which must succeed.
  static func record(_ directory: String, _ options: [String] = [], sending bytes: Data) throws {
    let outcome = try run(["record", directory] + options, sending: bytes)
    try require(outcome, code: 0, "weir record \(directory) \(options.joined(separator: " "))")
  }

  /// The events that `weir cat` gives; it must end with `code`.
  static func cat(_ directory: String, _ options: [String] = [], code: Int32 = 0) throws -> [CatLine] {
    let outcome = try run(["cat", directory] + options)
    try require(outcome, code: code, "weir cat \(directory) \(options.joined(separator: " "))")
    return try CatLine.parse(outcome.output)
  }

  static func require(_ outcome: Outcome, code: Int32, _ what: String) throws {
    if outcome.code == code { return }
    let ending = outcome.signal.map { "signal \($0)" } ?? "exit code \(outcome.code ?? -1)"
    throw ChildProblem(description: "\(what): \(ending), expected \(code)\n\(outcome.errors)")
  }
}
