// PageTemplateTests: that the line of the page on join points makes of the templates a page of another name.

#if Macros
  import Foundation
  import Testing

  @Suite struct PageTemplateTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()

    /// What the page says to run: its one block of commands.
    private static func command() throws -> String {
      let page = folder.deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/Weir/Weir.docc/Guides/JoinPoints.md")
      let parts = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```sh\n")
      try #require(parts.count == 2)
      return parts[1].components(separatedBy: "```")[0]
    }

    @Test func `the command of the page renames the templates, and what it writes compiles`() throws {
      let place = FileManager.default.temporaryDirectory.appending(path: "weir-template-\(UUID().uuidString)")
      try FileManager.default.copyItem(at: Self.folder.appending(path: "PageTemplate"), to: place)
      defer { try? FileManager.default.removeItem(at: place) }
      let shell = Process()
      shell.executableURL = URL(filePath: "/bin/sh")
      shell.arguments = ["-ec", try Self.command()]
      shell.currentDirectoryURL = place
      try shell.run()
      shell.waitUntilExit()
      #expect(shell.terminationStatus == 0)

      let written = ["Page", "Tracking", "Tests"].map { place.appending(path: "Checkout\($0).swift") }
      for file in written {
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(!text.lowercased().contains("template"))
        #expect(!text.contains("#if"))
      }
      // Without the tests, which need what only a package has.
      #expect(try typecheck(Array(written.prefix(2))) == "")
    }
  }
#endif
