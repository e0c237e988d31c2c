// DeliverFamily.swift: `weir deliver` of a directory whose subdirectories hold logs, as the processes of a pre-fork
// server leave them.
import Foundation
import Testing

#if HTTP && Collector
  extension EndToEnd {
    @Suite struct DeliverFamily {
      /// A server's processes, killed in mid-capture. Answers the lines that each acknowledged.
      private static func killedWorkers(_ scratch: Scratch, _ count: Int) throws -> [Set<Int>] {
        try FileManager.default.createDirectory(atPath: scratch("workers"), withIntermediateDirectories: true)
        let workers = try (0..<count).map { index in
          let child = try Child(
            Tool.path, ["record", scratch("workers/\(index)"), "--acknowledge", "--segment-bytes", "1M"], input: .pipe)
          child.send(Numbered.lines(index * 10_000 + 1...index * 10_000 + 3_000 + index * 1_000))
          return child
        }
        return try workers.enumerated().map { index, child in
          try child.waitUntil { $0.output.count > 2_000 }
          let told = try child.kill().output
          let whole = told.prefix(through: told.lastIndex(of: 0x0A) ?? told.startIndex)
          return Set(
            whole.split(separator: 0x0A).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
              .map { $0 + index * 10_000 })
        }
      }

      private static func arguments(_ scratch: Scratch) -> [String] {
        ["deliver", scratch("workers"), "--to", scratch("out"), "--name", "out"]
      }

      @Test func `what dead processes left is recovered, delivered, and removed if that is wanted`() throws {
        let scratch = try Scratch()
        let acknowledged = try Self.killedWorkers(scratch, 3)
        // A directory of something else, and a link to a log elsewhere, are nobody's business.
        try FileManager.default.createDirectory(atPath: scratch("workers/other"), withIntermediateDirectories: true)
        try Tool.record(scratch("elsewhere"), sending: Numbered.lines(90_001...90_010))
        try FileManager.default.createSymbolicLink(
          atPath: scratch("workers/link"), withDestinationPath: scratch("elsewhere"))
        let first = try Tool.run(Self.arguments(scratch))
        try Tool.require(first, code: 0, "weir deliver")
        #expect(first.errors.components(separatedBy: "recovered").count == 4, "\(first.errors)")
        #expect(first.text.components(separatedBy: "is completely delivered").count == 4, "\(first.text)")
        let numbers = try DeliverTool.delivered(scratch("out"))
        #expect(Set(numbers).count == numbers.count)
        #expect(!numbers.contains(-1))
        for told in acknowledged {
          #expect(told.isSubset(of: Set(numbers)))
          #expect(!told.isEmpty)
        }
        #expect(!numbers.contains(90_001))
        for index in 0..<3 {
          let ledger = try LedgerLine.read(scratch("workers/\(index)"), "out")
          #expect(ledger.balanced, "\(ledger)")
          #expect(ledger.pending == 0, "\(ledger)")
        }
        let second = try Tool.run(Self.arguments(scratch) + ["--remove-delivered"])
        try Tool.require(second, code: 0, "weir deliver --remove-delivered")
        #expect(try Files.names(in: scratch("workers")) == ["link", "other"])
        #expect(FileManager.default.fileExists(atPath: scratch("elsewhere/lock")))
        #expect(try DeliverTool.delivered(scratch("out")) == numbers)
      }

      @Test func `a live log is delivered beside its writer, and never removed`() throws {
        let scratch = try Scratch()
        _ = try Self.killedWorkers(scratch, 1)
        let writer = try Child(Tool.path, ["record", scratch("workers/live"), "--acknowledge"], input: .pipe)
        writer.send(Numbered.lines(50_001...50_100))
        try writer.waitUntil { $0.output.count { $0 == 0x0A } == 100 }
        let outcome = try Tool.run(Self.arguments(scratch) + ["--remove-delivered"])
        try Tool.require(outcome, code: 0, "weir deliver")
        #expect(outcome.text.contains("kept: a process writes the log"), "\(outcome.text)")
        #expect(try Files.names(in: scratch("workers")) == ["live"])
        #expect(Set(try DeliverTool.delivered(scratch("out"))).isSuperset(of: 50_001...50_100))
        writer.send(Numbered.lines(50_101...50_110))
        writer.finishInput()
        #expect(try writer.wait().code == 0)
        #expect(try Tool.cat(scratch("workers/live")).count == 110)
      }

      @Test func `a log that somebody else is yet to get, or that holds more than events, stays`() throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch("workers"), withIntermediateDirectories: true)
        for name in ["another", "damaged"] {
          try Tool.record(scratch("workers/\(name)"), sending: Numbered.lines(1...100))
        }
        let other = ["deliver", scratch("workers/another"), "--name", "other"]
        let down = try RefusingPort()
        #expect(try Tool.run(other + ["--to", down.url, "--budget", "1s"]).code == 5)
        let segment = try #require(try Files.segments(in: scratch("workers/damaged")).first)
        let bytes = try Files.read(scratch("workers/damaged/\(segment)"))
        let block = try #require(try SegmentFile(bytes).blocks.first { $0.kind == SegmentFile.events })
        let noise = [UInt8](repeating: 0xA5, count: 8)
        try Files.overwrite(scratch("workers/damaged/\(segment)"), at: block.range.upperBound - 20, with: noise)
        let outcome = try Tool.run(Self.arguments(scratch) + ["--remove-delivered"])
        #expect(outcome.code == 1, "damaged events are lost: \(outcome.code ?? -1) \(outcome.text)\(outcome.errors)")
        #expect(outcome.text.contains("kept: other has 100 pending events"), "\(outcome.text)")
        #expect(outcome.text.contains("events are damaged"), "\(outcome.text)")
        #expect(try Files.names(in: scratch("workers")) == ["another", "damaged"])
      }

      @Test func `a delivery goes on without a reader of its output, and does not say that all is well`() throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch("workers"), withIntermediateDirectories: true)
        for name in ["a", "b", "c"] { try Tool.record(scratch("workers/\(name)"), sending: Numbered.lines(1...10)) }
        // Its first line is written when nobody reads any more.
        let script = #"{ sleep 0.2; "$0" "$@"; echo "code $?" >&2; } | true"#
        let outcome = try Child("/bin/sh", ["-c", script, Tool.path] + Self.arguments(scratch)).wait()
        #expect(outcome.errors == "code 0\n", "\(outcome.errors)")
        for name in ["a", "b", "c"] {
          #expect(try LedgerLine.read(scratch("workers/\(name)"), "out").acknowledged == 10)
        }
        let down = try RefusingPort()
        let pending = ["deliver", scratch("workers/a"), "--to", down.url, "--name", "down", "--budget", "1s"]
        let tried = try Child("/bin/sh", ["-c", script, Tool.path] + pending).wait()
        #expect(tried.errors.hasSuffix("code 5\n"), "\(tried.errors)")
      }

      @Test func `a collector whose output nobody reads any more goes on`() throws {
        let scratch = try Scratch()
        let collector = try Child(Tool.path, ["collect", scratch("collected")])
        try collector.waitUntil { $0.output.contains(0x0A) }
        let line = String(decoding: collector.output, as: UTF8.self)
        let address = try #require(line.split(separator: "\n").first?.split(separator: " ").last)
        #expect(line.hasPrefix("listening on http://127.0.0.1:"), "\(line)")
        collector.closeOutput()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let delivered = try Tool.run("deliver", scratch("log"), "--to", "\(address)/events", "--name", "main")
        try Tool.require(delivered, code: 0, "weir deliver")
        collector.signal(SIGTERM)
        #expect(try collector.wait().code == 143)
        #expect(try Tool.cat(scratch("collected")).count == 10)
      }

      @Test func `directories without a log are refused`() throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch("workers/empty"), withIntermediateDirectories: true)
        let outcome = try Tool.run(Self.arguments(scratch))
        #expect(outcome.code == 2, "\(outcome.errors)")
        #expect(outcome.errors.contains("holds no log"), "\(outcome.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch("out")))
      }
    }
  }
#endif
