// ExportTool.swift: `weir export` as a script sees it: what it writes where, its exit codes, and what it leaves behind.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct ExportTool {
    private func log(_ scratch: Scratch, lines: Int) throws -> String {
      try Tool.record(
        scratch("log"), ["--format", "lines", "--segment-bytes", "320K"], sending: Numbered.lines(1...lines))
      return scratch("log")
    }

    @Test func `an export has what cat prints`() throws {
      let scratch = try Scratch()
      let log = try log(scratch, lines: 500)
      let ids = try Tool.cat(log).map(\.id)
      let outcome = try Tool.run("export", log)
      try Tool.require(outcome, code: 0, "weir export")
      let lines = outcome.output.split(separator: UInt8(ascii: "\n"))
      let exported = try lines.map { line in
        (try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])?["id"] as? String
      }
      #expect(exported == ids)
      let file = try Tool.run("export", log, "--output", scratch("out"))
      try Tool.require(file, code: 0, "weir export --output")
      #expect(file.output.isEmpty)
      #expect(file.errors.isEmpty)
      #expect(try Files.read(scratch("out")) == outcome.output)
      let table = try Tool.run("export", log, "--format", "csv")
      #expect(table.text.split(separator: "\n").count == 501)
      #expect(table.text.hasPrefix("offset,id,time,name,kind,"))
    }

    @Test func `an export ends without complaint when its reader has seen enough`() throws {
      let scratch = try Scratch()
      let log = try log(scratch, lines: 20_000)
      for format in ["jsonl", "csv"] {
        let script = "\"$1\" export \"$2\" --format \(format) | head -n 3; echo \"${PIPESTATUS[0]}\""
        let outcome = try Child("/bin/bash", ["-c", script, "bash", Tool.path, log]).wait()
        #expect(outcome.text.split(separator: "\n").count == 4, "\(outcome.text)")
        #expect(outcome.text.hasSuffix("\n0\n"), "\(outcome.text)")
        #expect(outcome.errors.isEmpty, "\(outcome.errors)")
      }
    }

    @Test func `an export that can't be made says so, and leaves nothing behind`() throws {
      let scratch = try Scratch()
      let log = try log(scratch, lines: 50)
      let bad = [
        ([scratch("none")], scratch("none")), ([log, "--output", scratch("no/folder/out")], scratch("no/folder/out")),
        ([log, "--output", scratch.path], scratch.path), ([log, "--output", "/dev/full"], "/dev/full"),
        ([log, "--columns", "a"], "--columns"), ([log, "--since", "yesterday"], "--since"),
        ([log, "--since", "2026-01-02", "--until", "2026-01-01"], "--until"), ([log, "--format", "xml"], "--format"),
      ]
      for (arguments, subject) in bad {
        let outcome = try Tool.run(["export"] + arguments)
        #expect(outcome.code == 2, "\(arguments): \(outcome.code ?? -1)")
        #expect(outcome.complaints.count == 1, "\(outcome.errors)")
        #expect(outcome.errors.contains(subject), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
      }
      let full = try Tool.run(["export", log], outputFile: "/dev/full")
      #expect(full.code == 3, "\(full.errors)")
      #expect(full.complaints.count == 1, "\(full.errors)")
      // A file that may not grow, as one on a full disk.
      let script = "ulimit -f 1; exec \"$1\" export \"$2\" --output \"$3\""
      let limited = try Child("/bin/bash", ["-c", script, "bash", Tool.path, log, scratch("out")]).wait()
      #expect(limited.code == 3, "\(limited.errors)")
      #expect(limited.errors.contains(scratch("out")), "\(limited.errors)")
      #expect(try Files.names(in: scratch.path) == ["log"])
    }

    @Test func `a damaged log gives what is whole`() throws {
      let scratch = try Scratch()
      let log = try log(scratch, lines: 8000)
      let name = try #require(try Files.segments(in: log).first)
      let segment = try SegmentFile(Files.read(log + "/" + name))
      let block = segment.blocks[segment.blocks.count / 2].range
      try Files.overwrite(log + "/" + name, at: (block.lowerBound + block.upperBound) / 2, with: [0xff, 0, 0xff])
      for format in ["jsonl", "csv"] {
        let outcome = try Tool.run("export", log, "--format", format, "--output", scratch("out"))
        #expect(outcome.code == 1, "\(outcome.errors)")
        #expect(outcome.complaints.count == 1, "\(outcome.errors)")
        let rows = try Files.read(scratch("out")).split(separator: UInt8(ascii: "\n")).count
        #expect(rows > 100)
        #expect(rows < 8000)
      }
    }
  }
}
