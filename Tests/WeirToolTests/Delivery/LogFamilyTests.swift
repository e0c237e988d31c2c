// LogFamilyTests: what `weir deliver` says of a directory that it can't deliver.

#if Tool
  import ArgumentParser
  import Foundation
  import TestSupport
  import Testing
  import Weir

  @testable import WeirTool

  struct LogFamilyTests {
    /// What the command says.
    private func refusal(of directory: String, _ options: [String]) throws -> String {
      let command = try DeliverCommand.parse([directory, "--to", directory + "/out"] + options)
      let error = try #require(throws: (any Error).self) { try command.run() }
      switch error {
      case let error as ToolError: return error.message
      case let error as WeirError: return error.message
      default: return "\(error)"
      }
    }

    @Test(arguments: [[], ["--follow"]])
    func `a directory that is missing, or has no log, is told as such`(options: [String]) throws {
      try withDirectory { directory in
        let missing = directory + "/none"
        #expect(try refusal(of: missing, options) == "there is no directory \(missing); check the path")
        try FileManager.default.createDirectory(atPath: directory + "/other", withIntermediateDirectories: false)
        #expect(try refusal(of: directory, options).hasPrefix("\(directory) holds no log, and neither do"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["other"])
      }
    }

    @Test func `a directory of logs is not followed, and its one log is named`() throws {
      try withDirectory { directory in
        let log = directory + "/a"
        try Tracker(directory: log, configuration: quiet()).close()
        #expect(try refusal(of: directory, ["--follow"]) == "--follow needs the log itself; name \(log)")
        try Tracker(directory: directory + "/b", configuration: quiet()).close()
        #expect(
          try refusal(of: directory, ["--follow"])
            == "--follow needs one log; \(directory) holds several, name one of them")
      }
    }
  }
#endif
