// ReadmeDelivery.swift: the README's lines that deliver with the tool, as printed.
import Foundation
import Testing

#if HTTP && Collector
  extension EndToEnd {
    @Suite struct ReadmeDelivery {
      /// The only block of shell in the README that starts a collector.
      private static func script() throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
          .deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
        let blocks = readme.components(separatedBy: "```sh\n").dropFirst().compactMap {
          $0.components(separatedBy: "```").first
        }
        let found = blocks.filter { $0.contains("weir collect collected --port") }
        return try #require(found.first, "README.md starts no collector")
      }

      @Test func `the README's lines deliver what they say`() throws {
        let scratch = try Scratch()
        try FileManager.default.copyItem(atPath: RequestLine.samplePath, toPath: scratch("apache_access.log"))
        // Another port, for that one may be somebody's; and time for the collector, which a person takes anyway.
        let port = try RefusingPort()
        let lines = try Self.script().replacing("4100", with: "\(port.number)")
          .replacing(" &\n", with: " > address &\nuntil [ -s address ]; do sleep 0.1; done\n")
        // By a name on the PATH, so that the job is the tool itself, and ends when the last line ends it.
        try FileManager.default.createDirectory(atPath: scratch("bin"), withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: scratch("bin/weir"), withDestinationPath: Tool.path)
        let script = """
          set -e; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
          cd '\(scratch.path)'; PATH='\(scratch("bin"))':$PATH
          \(lines)
          wait
          """
        let outcome = try Child("/bin/bash", ["-c", script]).wait()
        withExtendedLifetime(port) {}
        try Tool.require(outcome, code: 0, "the README's lines")
        #expect(outcome.text.contains("events to local: 10,000 acknowledged, 0 rejected, 0 pending"), "\(outcome.text)")
        let collected = try #require(CatLine.rawLines(outcome.output).last)
        #expect(try CatLine(collected).fields["vendor"] as? String == "segment")
      }
    }
  }
#endif
