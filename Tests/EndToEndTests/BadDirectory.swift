// BadDirectory.swift: a log directory that is not what it should be. Each case has an exit code, one line on standard
// error that says what, where and what to do, and leaves the directory as it was.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct BadDirectory {
    static let readers = [["cat"], ["verify"], ["stat"]]
    static let writers = [["record"], ["recover"]]

    /// Runs `weir COMMAND DIRECTORY`, which must refuse with exit code 2 and one line that names `subject`.
    private func refused(
      _ command: [String], _ directory: String, naming subject: String? = nil, _ remark: String = ""
    ) throws {
      let outcome = try Tool.run([command[0], directory] + command.dropFirst())
      let what = "weir \(command[0]) \(directory) \(remark)"
      #expect(outcome.code == 2, "\(what): \(outcome.code ?? -1), signal \(outcome.signal ?? 0), \(outcome.errors)")
      #expect(outcome.complaints.count == 1, "\(what): \(outcome.errors)")
      #expect(outcome.errors.contains(subject ?? directory), "\(what): \(outcome.errors)")
      #expect(outcome.output.isEmpty, "\(what): \(outcome.text)")
    }

    /// A closed log of a few lines.
    private func smallLog(_ directory: String, lines: Int = 50) throws {
      try Tool.record(directory, ["--format", "lines"], sending: Numbered.lines(1...lines))
    }

    @Test func `a file in place of the directory is refused, and left as it is`() throws {
      let scratch = try Scratch()
      let path = try scratch.file("log", "I am a file.\n")
      for command in Self.readers + Self.writers { try refused(command, path) }
      #expect(try Files.read(path) == Data("I am a file.\n".utf8))
    }

    @Test func `a missing directory is refused, and nothing is made in its place`() throws {
      let scratch = try Scratch()
      for command in Self.readers { try refused(command, scratch("log")) }
      for command in Self.writers { try refused(command, scratch("no/such/parent/log")) }
      #expect(try Files.names(in: scratch.path).isEmpty)
    }

    @Test func `a directory that holds no log is refused to readers`() throws {
      let scratch = try Scratch()
      try FileManager.default.createDirectory(atPath: scratch("log"), withIntermediateDirectories: false)
      for command in Self.readers { try refused(command, scratch("log")) }
      #expect(try Files.names(in: scratch("log")).isEmpty)
    }

    @Test func `a directory that holds other things and no log is refused`() throws {
      let scratch = try Scratch()
      _ = try scratch.file("notes", "Not a log.\n")
      for command in Self.readers + [["recover"]] { try refused(command, scratch.path) }
      #expect(try Files.names(in: scratch.path) == ["notes"])
    }

    @Test func `a directory that is a symbolic link is refused to writers`() throws {
      let scratch = try Scratch()
      try smallLog(scratch("real"))
      try FileManager.default.createSymbolicLink(atPath: scratch("log"), withDestinationPath: scratch("real"))
      for command in Self.writers { try refused(command, scratch("log")) }
    }

    @Test func `a directory that others may write to is refused to writers`() throws {
      let scratch = try Scratch()
      try smallLog(scratch("log"))
      chmod(scratch("log"), 0o777)
      let before = try Files.fingerprint(scratch("log"))
      for command in Self.writers { try refused(command, scratch("log")) }
      #expect(try Files.fingerprint(scratch("log")) == before)
      chmod(scratch("log"), 0o700)
      #expect(try Tool.cat(scratch("log")).count == 50)
    }

    @Test func `a directory without permission is refused in one line`() throws {
      guard geteuid() == 0, FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") else {
        Run.say("SKIPPED: unwritable directories need root and setpriv, to become someone who may not write")
        return
      }
      let scratch = try Scratch()
      try smallLog(scratch("log"))
      let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", Tool.path]
      guard try Child("/usr/bin/setpriv", nobody + ["--help"]).wait().code == 0 else {
        Run.say("SKIPPED: another user may not run \(Tool.path)")
        return
      }
      chmod(scratch.path, 0o755)
      for mode in [0o700, 0o755] as [mode_t] {
        chmod(scratch("log"), mode)
        for command in Self.writers {
          let outcome = try Child("/usr/bin/setpriv", nobody + [command[0], scratch("log")]).wait()
          #expect(outcome.code == 2, "\(command[0]), mode \(mode): \(outcome.errors)")
          #expect(outcome.complaints.count == 1, "\(outcome.errors)")
          #expect(outcome.errors.contains(scratch("log")), "\(outcome.errors)")
        }
      }
      chmod(scratch("log"), 0o700)
      for command in Self.readers {
        let outcome = try Child("/usr/bin/setpriv", nobody + [command[0], scratch("log")]).wait()
        #expect(outcome.code == 2, "\(command[0]): \(outcome.errors)")
        #expect(outcome.complaints.count == 1, "\(command[0]): \(outcome.errors)")
      }
      let made = try Child("/usr/bin/setpriv", nobody + ["record", scratch("new")]).wait()
      #expect(made.code == 2, "\(made.errors)")
      #expect(made.complaints.count == 1, "\(made.errors)")
    }

    @Test func `a log that another writer has open is refused, and that writer goes on`() throws {
      let scratch = try Scratch()
      let arguments = ["record", scratch("log"), "--format", "lines", "--acknowledge"]
      let writer = try Child(Tool.path, arguments, input: .pipe)
      writer.send("first\n")
      try writer.waitUntil { !$0.output.isEmpty }
      for command in Self.writers { try refused(command, scratch("log"), "while it is open") }
      writer.send("second\n")
      writer.finishInput()
      let outcome = try writer.wait()
      #expect(outcome.code == 0, "the first writer is not disturbed: \(outcome.errors)")
      #expect(outcome.text == "1\n2\n", "the first writer is not disturbed: \(outcome.errors)")
      #expect(try Tool.cat(scratch("log")).compactMap(\.text) == ["first", "second"])
    }

    @Test func `a ring of a newer format version is refused, and not touched`() throws {
      let scratch = try Scratch()
      try smallLog(scratch("log"))
      try Files.overwrite(scratch("log/ring"), at: 8, with: [2, 0])
      let before = try Files.fingerprint(scratch("log"))
      for command in Self.writers { try refused(command, scratch("log"), naming: "version") }
      // A reader of a closed log needs no ring. What it gives is right, or it refuses too.
      for command in Self.readers where try Tool.run(command[0], scratch("log")).code != 0 {
        try refused(command, scratch("log"), naming: "version")
      }
      #expect(try Files.fingerprint(scratch("log")) == before)
      try Files.overwrite(scratch("log/ring"), at: 8, with: [1, 0])
      #expect(try Tool.cat(scratch("log")).compactMap(\.text) == (1...50).map(Numbered.line))
    }

    @Test(arguments: [true, false])
    func `a segment of a newer format version is refused, and not touched`(_ isSealed: Bool) throws {
      let scratch = try Scratch()
      if isSealed {
        try smallLog(scratch("log"))
      } else {
        let arguments = ["record", scratch("log"), "--format", "lines", "--acknowledge"]
        let writer = try Child(Tool.path, arguments, input: .pipe)
        writer.send(Numbered.lines(1...50))
        try writer.waitUntil { $0.output.count >= 141 }
        try writer.waitUntil { _ in (try? Tool.cat(scratch("log")).count) == 50 }
        _ = try writer.kill()
      }
      // A later version may change everything but the first ten bytes, so its blocks are none of this version.
      let path = try scratch("log/" + #require(Files.segments(in: scratch("log")).first))
      let first = try SegmentFile(Files.read(path)).headerBytes
      try Files.overwrite(path, at: 8, with: [2, 0])
      try Files.overwrite(path, at: first, with: Array("NEXT".utf8))
      let before = try Files.fingerprint(scratch("log"))
      for command in Self.readers { try refused(command, scratch("log"), naming: "version") }
      // What is sealed is no business of a writer's.
      if !isSealed {
        for command in Self.writers { try refused(command, scratch("log"), naming: "version") }
      }
      #expect(try Files.fingerprint(scratch("log")) == before)
    }

    @Test func `an unknown incompatible feature is refused like a newer version`() throws {
      let scratch = try Scratch()
      try smallLog(scratch("log"))
      let path = scratch("log/ring")
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      var header = try #require(try handle.read(upToCount: 512))
      header[96] = 1
      let crc = Self.crc32c(header[16..<512])
      try Files.overwrite(path, at: 96, with: [1])
      try Files.overwrite(path, at: 12, with: (0..<4).map { UInt8(truncatingIfNeeded: crc >> (8 * $0)) })
      let before = try Files.fingerprint(scratch("log"))
      for command in Self.writers { try refused(command, scratch("log"), naming: scratch("log")) }
      #expect(try Files.fingerprint(scratch("log")) == before)
    }

    /// Bit by bit, from the definition.
    private static func crc32c(_ bytes: Data) -> UInt32 {
      var value = UInt32.max
      for byte in bytes {
        value ^= UInt32(byte)
        for _ in 0..<8 { value = value & 1 == 1 ? (value >> 1) ^ 0x82f6_3b78 : value >> 1 }
      }
      return ~value
    }

    @Test func `arguments that make no sense are refused`() throws {
      let scratch = try Scratch()
      for arguments in [
        ["record"], ["cat"], ["frobnicate"], ["record", scratch("log"), "--format", "xml"],
        ["record", scratch("log"), "--threads", "0"], ["record", scratch("log"), "--threads", "many"],
        ["record", scratch("log"), "--repeat", "-1"], ["record", scratch("log"), scratch("missing.log")],
        ["cat", scratch("log"), "--from", "-1"], ["cat", scratch("log"), "--limit", "-5"],
        ["cat", scratch("log"), "--format", "xml"], ["record", scratch("log"), "--segment-bytes", "0"],
        ["record", scratch("log"), scratch.path],
      ] {
        let outcome = try Tool.run(arguments)
        #expect(outcome.code == 2, "\(arguments): \(outcome.code ?? -1), signal \(outcome.signal ?? 0)")
        #expect(!outcome.errors.isEmpty, "\(arguments)")
      }
    }
  }
}
