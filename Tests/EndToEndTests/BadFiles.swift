// BadFiles.swift: files inside a log directory that are damaged, cut short, foreign or links. Reading goes on around
// them, says so, and never gives a wrong event; opening either heals and counts, or refuses and leaves all as it is.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct BadFiles {
    /// A closed log of several segments, and its lines.
    private func log(_ scratch: Scratch) throws -> [Data] {
      try Tool.record(
        scratch("log"), ["--format", "lines", "--segment-bytes", "320K"], sending: Numbered.lines(1...6000))
      return try Tool.cat(scratch("log")).map(\.raw)
    }

    /// A killed log with events in its lanes, and its lines.
    private func deadLog(_ scratch: Scratch, lines: Int = 3000) throws -> [Data] {
      let child = try Child(
        Tool.path, ["record", scratch("log"), "--format", "lines", "--acknowledge"], input: .pipe)
      child.send(Numbered.lines(1...lines))
      try child.waitUntil { $0.output.filter { $0 == UInt8(ascii: "\n") }.count >= lines }
      _ = try child.kill()
      return try Tool.cat(scratch("log")).map(\.raw)
    }

    /// `weir cat` of a log with something wrong in it: what it prints must be among `clean`, in order.
    private func readAround(_ directory: String, _ clean: [Data], _ what: String) throws -> [Data] {
      let outcome = try Tool.run("cat", directory)
      #expect(outcome.signal == nil, "\(what): signal \(outcome.signal ?? 0)")
      let known = Set(clean)
      let lines = CatLine.rawLines(outcome.output)
      for line in lines where !known.contains(line) {
        Issue.record("\(what): cat gives what never was: \(String(decoding: line.prefix(300), as: UTF8.self))")
        break
      }
      if lines.count < clean.count {
        #expect(outcome.code == 1 || outcome.code == 2, "\(what): \(clean.count - lines.count) events less, exit 0")
        #expect(!outcome.errors.isEmpty, "\(what): a silent loss")
      }
      return lines
    }

    @Test func `a segment cut short anywhere costs no more than what it lost`() throws {
      let scratch = try Scratch()
      let clean = try log(scratch)
      let names = try Files.segments(in: scratch("log"))
      let name = names[names.count / 2]
      let bytes = try Files.read(scratch("log/\(name)"))
      let segment = try SegmentFile(bytes)
      let cuts = [0, 1, 255, segment.headerBytes, segment.blocks[0].range.upperBound, bytes.count / 2, bytes.count - 1]
      for cut in cuts {
        try Files.truncate(scratch("log/\(name)"), to: cut)
        let what = "\(name) cut to \(cut) of \(bytes.count) bytes"
        let lines = try readAround(scratch("log"), clean, what)
        let lost = segment.blocks.filter { $0.range.upperBound > cut || cut < segment.headerBytes && cut < 8 }
        let most = lost.reduce(0) { $0 + $1.offsets.count }
        #expect(lines.count >= clean.count - most, "\(what): \(clean.count - lines.count) events less, not \(most)")
        let verified = try Tool.run("verify", scratch("log"))
        #expect(verified.code == 1, "\(what): \(verified.code ?? -1) \(verified.text)")
        #expect(verified.text.contains(name), "\(what): \(verified.code ?? -1) \(verified.text)")
        try bytes.write(to: URL(fileURLWithPath: scratch("log/\(name)")))
      }
    }

    @Test func `a segment that is not there any more costs its own events, and is found`() throws {
      let scratch = try Scratch()
      let clean = try log(scratch)
      let names = try Files.segments(in: scratch("log"))
      try FileManager.default.removeItem(atPath: scratch("log/\(names[1])"))
      let lines = try readAround(scratch("log"), clean, "\(names[1]) removed")
      #expect(!lines.isEmpty)
      #expect(lines.last == clean.last)
      let verified = try Tool.run("verify", scratch("log"))
      #expect(verified.code == 1, "\(verified.text)")
    }

    @Test func `foreign files that only look like a log's change nothing that is read`() throws {
      let scratch = try Scratch()
      let clean = try log(scratch)
      var random = SeededRandom(seed: 7)
      let noise = Data((0..<50_000).map { _ in UInt8.random(in: 0...255, using: &random) })
      let text = Data("Dear diary, today I was put into a log directory.\n".utf8)
      for (name, bytes) in [
        ("90000000000000000000.weir", noise), ("notes.txt", text), ("00000000000000000003.weir", text),
        ("5.weir", noise), ("99999999999999999999.weir.active", Data()), ("prepared-7", noise), ("ring.new", text),
        ("1234 grocery list", text), ("00000000000000000000.weir.bak", noise),
      ] {
        let path = try scratch.file("log/\(name)", bytes)
        let lines = try readAround(scratch("log"), clean, name)
        #expect(lines == clean, "\(name): \(lines.count) of \(clean.count) events")
        for command in ["verify", "stat"] {
          let outcome = try Tool.run(command, scratch("log"))
          let isOrderly = outcome.signal == nil && (0...2).contains(outcome.code ?? -1)
          #expect(isOrderly, "\(command), \(name): \(outcome.errors)")
        }
        try? FileManager.default.removeItem(atPath: path)
      }
    }

    @Test func `foreign files survive a recovery, and the log survives them`() throws {
      for name in ["notes.txt", "90000000000000000000.weir", "00000000000000000007.weir.active", "1234 grocery list"] {
        let scratch = try Scratch()
        let clean = try deadLog(scratch)
        let text = Data(String(repeating: "Not a segment at all. ", count: 100).utf8)
        _ = try scratch.file("log/\(name)", text)
        let outcome = try Tool.run("recover", scratch("log"))
        #expect(outcome.signal == nil, "\(name): \(outcome.errors)")
        #expect((outcome.code == 0 || outcome.code == 2), "\(name): \(outcome.errors)")
        let kept = try Self.holds(scratch("log"), text)
        #expect(kept, "\(name): its bytes are gone")
        let lines = try readAround(scratch("log"), clean, name)
        #expect(lines == clean, "\(name): \(lines.count) of \(clean.count) events")
      }
    }

    /// Whether some file below `directory` still has these bytes.
    private static func holds(_ directory: String, _ bytes: Data) throws -> Bool {
      for name in try FileManager.default.subpathsOfDirectory(atPath: directory) where name != "ring" {
        let found = FileManager.default.contents(atPath: directory + "/" + name)
        if found?.range(of: bytes) != nil { return true }
      }
      return false
    }

    @Test(arguments: ["ring", "lock", "segment"])
    func `a symbolic link in place of a file is refused, and nothing is written through it`(_ place: String) throws {
      let scratch = try Scratch()
      let clean = try log(scratch)
      let name = try place == "segment" ? Files.segments(in: scratch("log"))[1] : place
      try FileManager.default.moveItem(atPath: scratch("log/\(name)"), toPath: scratch("elsewhere"))
      try FileManager.default.createSymbolicLink(
        atPath: scratch("log/\(name)"), withDestinationPath: scratch("elsewhere"))
      let before = try Files.read(scratch("elsewhere"))
      _ = try readAround(scratch("log"), clean, "\(name) is a link")
      for command in ["record", "recover"] {
        let outcome = try Tool.run(command, scratch("log"))
        // A writer has no business with sealed segments; the ring and the lock are its own.
        if place != "segment" || outcome.code != 0 {
          let isRefused = outcome.code == 2 && outcome.complaints.count == 1
          #expect(isRefused, "\(command): \(outcome.code ?? -1) \(outcome.errors)")
          #expect(outcome.errors.contains(name), "\(command): \(outcome.errors)")
        }
      }
      #expect(try Files.read(scratch("elsewhere")) == before, "written through the link")
    }

    @Test func `a damaged ring of a dead process is recovered as far as it is whole`() throws {
      let seed = Run.seed()
      var random = SeededRandom(seed: seed)
      let scratch = try Scratch()
      let clean = try deadLog(scratch)
      try Files.copy(scratch("log"), to: scratch("dead"))
      let size = try Files.read(scratch("dead/ring")).count
      for attempt in 0..<(Run.isLong ? 200 : 24) {
        try FileManager.default.removeItem(atPath: scratch("log"))
        try Files.copy(scratch("dead"), to: scratch("log"))
        var what = "WEIR_SEED=\(seed), attempt \(attempt): "
        if attempt % 6 == 0 {
          let cut = [0, 100, 4096, size / 2, size - 1].randomElement(using: &random)!
          try Files.truncate(scratch("log/ring"), to: cut)
          what += "ring cut to \(cut) bytes"
        } else {
          // The header, the control of the first lanes, records, and anywhere.
          let area = [0..<512, 4096..<4608, 4096..<16_384, 0..<size].randomElement(using: &random)!
          let position = Int.random(in: area, using: &random)
          let count = Int.random(in: 1...16, using: &random)
          let noise = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
          try Files.overwrite(scratch("log/ring"), at: position, with: noise)
          what += "ring overwritten at \(position) with \(noise)"
        }
        try Self.readAndRecover(scratch("log"), clean, what)
      }
    }

    @Test func `drop counters that damage has made as large as can be`() throws {
      let scratch = try Scratch()
      let clean = try deadLog(scratch, lines: 100)
      // Those of the first lane: fifteen numbers from byte 8 of its control page on.
      try Files.overwrite(scratch("log/ring"), at: 4096 + 8, with: [UInt8](repeating: 0xff, count: 120))
      try Self.readAndRecover(scratch("log"), clean, "all drop counters at their highest")
    }

    /// Segments are whole, so their events must be there whatever has happened to the ring; events that were only in a
    /// lane may be lost, but only aloud, and none may be made up.
    private static func readAndRecover(_ directory: String, _ clean: [Data], _ what: String) throws {
      let known = Set(clean.map(content))
      for step in ["before", "after"] {
        let outcome = try Tool.run("cat", directory)
        #expect(outcome.signal == nil, "\(what), \(step): signal \(outcome.signal ?? 0)")
        for line in try CatLine.parse(outcome.output) where !line.isNotice && !known.contains(content(line.raw)) {
          Issue.record("\(what), \(step): made up: \(String(decoding: line.raw.prefix(300), as: UTF8.self))")
          break
        }
        for command in ["verify", "stat"] {
          let looked = try Tool.run(command, directory)
          #expect(looked.signal == nil, "\(what), \(command): \(looked.errors)")
          #expect((0...2).contains(looked.code ?? -1), "\(what), \(command): \(looked.errors)")
        }
        if step == "after" { break }
        let recovered = try Tool.run("recover", directory, "--json")
        #expect(recovered.signal == nil, "\(what): recover dies of signal \(recovered.signal ?? 0)")
        if recovered.code == 2 {
          #expect(recovered.complaints.count == 1, "\(what): \(recovered.errors)")
          break
        }
        #expect(recovered.code == 0 || recovered.code == 1, "\(what): \(recovered.errors)")
      }
    }

    /// An event without its offset and time: damage to the ring's clock or counters may move these, never the rest.
    private static func content(_ raw: Data) -> Data {
      guard let start = raw.range(of: Data("\"event\":".utf8)) else { return raw }
      return raw[start.lowerBound...]
    }
  }
}
