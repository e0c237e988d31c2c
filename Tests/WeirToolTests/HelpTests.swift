// The help of every command: what stands in columns is printed as it was written. What shells complete of it.

#if Tool
  import ArgumentParser
  import Foundation
  import Testing

  @testable import WeirTool

  @Suite struct HelpTests {
    /// A line that is wider than the screen is wrapped, in the middle of a table or of an example too.
    @Test func `tables and examples are not wrapped`() {
      for command in Self.commands(from: RootCommand.self) {
        let help = command.helpMessage(columns: 80).split(separator: "\n")
        for line in help { #expect(line.count <= 80, "the help of \(command) is wide: \(line)") }
        for line in command.configuration.discussion.split(separator: "\n") where line.hasPrefix(" ") {
          #expect(help.contains(line), "the help of \(command) wraps: \(line)")
        }
      }
    }

    /// Scripts go by the exit codes, and look for them there.
    @Test(arguments: [
      "verify", "cat", "export", "schema", "contract check", "dead-letters", "batch", "deliver", "redrive", "record",
    ])
    func `the exit code for what is missing names its commands`(_ name: String) throws {
      let help = RootCommand.helpMessage(columns: 80)
      let start = try #require(help.range(of: "\n  1    "))
      let end = try #require(help.range(of: "\n  2    "))
      let words = help[start.upperBound..<end.lowerBound].split(whereSeparator: \.isWhitespace).joined(separator: " ")
      #expect(words.contains(name), "\(words)")
    }

    /// What a value's name says of it: whether a shell offers files, or directories alone.
    private static let paths = [
      "directory": "directory", "ring-directory": "directory", "keep": "directory", "file": "file", "path": "file",
      "plan": "file", "contract": "file", "old": "file", "new": "file", "approvals": "file", "output": "file",
      "key-file": "file", "credentials": "file", "cacert": "file", "cert": "file", "cert-key": "file",
    ]

    @Test func `a shell completes every path`() throws {
      var found: Set<String> = []
      func check(_ command: [String: Any]) {
        for argument in command["arguments"] as? [[String: Any]] ?? [] {
          guard let name = argument["valueName"] as? String, let expected = Self.paths[name] else { continue }
          found.insert(name)
          let kind = (argument["completionKind"] as? [String: Any])?.keys.first
          #expect(kind == expected, "\(name) of \(command["commandName"] ?? "")")
        }
        for subcommand in command["subcommands"] as? [[String: Any]] ?? [] { check(subcommand) }
      }
      let help = try JSONSerialization.jsonObject(with: Data(RootCommand._dumpHelp().utf8)) as? [String: Any]
      check(try #require(help?["command"] as? [String: Any]))
      #expect(found == Set(Self.paths.keys))
    }

    private static func commands(from command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
      [command] + command.configuration.subcommands.flatMap { commands(from: $0) }
    }
  }
#endif
