// Live.swift: reading while someone writes: a follower sees every event once and in order, through the deaths and
// returns of the writer, and no reader leaves a trace.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct Live {
    @Test func `followers see every event once and in order while the writer dies and returns`() throws {
      let seed = Run.seed()
      Run.say("followers: WEIR_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      let scratch = try Scratch()
      try Tool.record(scratch("log"), ["--format", "lines"], sending: Data("hello\n".utf8))
      let followers = try (0..<(Run.isLong ? 8 : 3)).map { _ in
        try Child(Tool.path, ["cat", scratch("log"), "--follow"])
      }
      let input = try scratch.file("input", Numbered.lines(1...60_000))
      for _ in 0..<(Run.isLong ? 60 : 12) {
        let threads = Bool.random(using: &random) ? "1" : "3"
        let arguments = ["record", scratch("log"), "--format", "lines", "--threads", threads, "--acknowledge"]
        let segments = Bool.random(using: &random) ? ["--segment-bytes", "320K"] : []
        let writer = try Child(Tool.path, arguments + segments, input: .file(input))
        let wanted = Int(random.logarithmic(upTo: 60_000))
        try writer.waitUntil { $0.output.count > wanted }
        _ = try writer.kill()
        // Time for the followers to see the dead log, sometimes; at other times the next writer is there first.
        let pause = Bool.random(using: &random) ? Double.random(in: 0...0.2, using: &random) : 0
        for follower in followers { follower.serve(until: Moment.now + pause / Double(followers.count)) }
      }
      try Tool.require(Tool.run("recover", scratch("log")), code: 0, "weir recover")
      let whole = CatLine.rawLines(try Tool.run("cat", scratch("log")).output)
      for follower in followers {
        try follower.waitUntil { CatLine.rawLines($0.output.suffix(1 << 17)).last == whole.last }
        follower.signal(SIGINT)
        let outcome = try follower.wait()
        Self.compare(CatLine.rawLines(outcome.output), whole, "follow-\(seed)", scratch("log"))
        #expect(outcome.complaints.isEmpty, "a kill is no damage: \(outcome.errors)")
      }
    }

    /// Both must be the same lines; else the log is kept.
    private static func compare(_ followed: [Data], _ whole: [Data], _ name: String, _ log: String) {
      if followed == whole { return }
      let index = zip(followed, whole).enumerated().first { $0.element.0 != $0.element.1 }?.offset
      let place = index ?? min(followed.count, whole.count)
      let texts = [followed, whole].map { String(decoding: ($0[safe: place] ?? Data()).prefix(160), as: UTF8.self) }
      let kept = Files.keepEvidence([log], name: name, note: "\(texts)")
      let counts = "\(followed.count) of \(whole.count) events"
      Issue.record("\(name): followed \(counts); they differ at \(place): \(texts); evidence \(kept)")
    }

    @Test func `a follower says what was removed before it came there, and goes on`() throws {
      let scratch = try Scratch()
      let arguments = ["record", scratch("log"), "--format", "lines", "--acknowledge", "--segment-bytes", "320K"]
      let writer = try Child(Tool.path, arguments, input: .pipe)
      writer.send(Numbered.lines(1...10))
      try writer.waitUntil { !$0.output.isEmpty }
      let follower = try Child(Tool.path, ["cat", scratch("log"), "--follow"])
      try follower.waitUntil { CatLine.rawLines($0.output).count == 10 }
      try follower.stop()
      writer.send(Numbered.lines(11...20_000))
      let isSealed = { (name: String) in name.hasSuffix(".weir") }
      try writer.waitUntil { _ in
        ((try? Files.segments(in: scratch("log"))) ?? []).filter(isSealed).count >= 4
      }
      // The first one stays open in the follower, which reads it to its end.
      let sealed = try Files.segments(in: scratch("log")).filter(isSealed)
      try #require(sealed.count >= 4)
      for name in sealed.prefix(3) { try FileManager.default.removeItem(atPath: scratch("log/\(name)")) }
      let bases = sealed.map { UInt64($0.prefix(20)) ?? 0 }
      follower.proceed()
      writer.finishInput()
      #expect(try writer.wait().code == 0)
      let rest = try Tool.run("cat", scratch("log"), "--from", "\(bases[3])")
      let last = CatLine.rawLines(rest.output).last
      try follower.waitUntil { CatLine.rawLines($0.output.suffix(1 << 17)).last == last }
      follower.signal(SIGINT)
      let outcome = try follower.wait()
      let offsets = try CatLine.parse(outcome.output).map(\.offset)
      #expect(offsets == Array(0..<bases[1]) + Array(bases[3]..<bases[3] + UInt64(CatLine.rawLines(rest.output).count)))
      let told = outcome.complaints.count == 1 && outcome.errors.contains("\(bases[1]) to \(bases[3] - 1)")
      #expect(told, "\(outcome.errors)")
      #expect(rest.code == 0, "\(rest.errors)")
    }

    @Test func `a live log shows drained events soon, and reading it writes nothing`() throws {
      let scratch = try Scratch()
      let writer = try Child(Tool.path, ["record", scratch("log"), "--format", "lines", "--acknowledge"], input: .pipe)
      for round in 1...5 {
        writer.send(Numbered.lines(round...round))
        try writer.waitUntil { $0.output.split(separator: UInt8(ascii: "\n")).count >= round }
        var stored: [CatLine] = []
        try writer.waitUntil { _ in
          stored = (try? Tool.cat(scratch("log"))) ?? []
          return stored.count >= round
        }
        #expect(stored.compactMap(\.text) == (1...round).map(Numbered.line))
      }
      // What changes from here on is the readers' doing.
      try writer.stop()
      let before = try Files.fingerprint(scratch("log"))
      for command in ["cat", "verify", "stat"] {
        try Tool.require(Tool.run(command, scratch("log")), code: 0, "weir \(command) of a live log")
      }
      #expect(try Files.fingerprint(scratch("log")) == before)
      _ = try writer.kill()
    }

    @Test func `reading a dead log writes nothing`() throws {
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...60_000))
      let writer = try Child(
        Tool.path, ["record", scratch("log"), "--format", "lines", "--acknowledge"], input: .file(input))
      try writer.waitUntil { $0.output.count > 5000 }
      _ = try writer.kill()
      let before = try Files.fingerprint(scratch("log"))
      for command in ["cat", "verify", "stat", "cat"] {
        try Tool.require(Tool.run(command, scratch("log")), code: 0, "weir \(command) of a dead log")
      }
      #expect(try Files.fingerprint(scratch("log")) == before)
    }

    @Test func `verify and stat of a log that is being written find nothing wrong`() throws {
      let scratch = try Scratch()
      let arguments = ["record", scratch("log"), RequestLine.samplePath, "--format", "clf", "--threads", "3"]
      let writer = try Child(Tool.path, arguments + ["--repeat", "1000", "--segment-bytes", "1M"])
      // A directory without a ring and a segment is no log yet.
      try writer.waitUntil { _ in
        FileManager.default.fileExists(atPath: scratch("log/ring"))
          && (try? Files.segments(in: scratch("log")).isEmpty) == false
      }
      for _ in 0..<(Run.isLong ? 50 : 8) {
        for command in ["verify", "stat"] {
          let outcome = try Tool.run(command, scratch("log"))
          #expect(outcome.code == 0, "weir \(command): \(outcome.text) \(outcome.errors)")
        }
        let page = try Tool.cat(scratch("log"), ["--limit", "2000"])
        #expect(page.map(\.offset) == Array(0..<UInt64(page.count)))
      }
      _ = try writer.kill()
    }

    @Test func `a reader that goes away takes nothing with it`() throws {
      let scratch = try Scratch()
      try Tool.record(scratch("log"), ["--format", "lines"], sending: Numbered.lines(1...5000))
      let script = "\"$1\" cat \"$2\" | head -n 1; \"$1\" cat \"$2\" --follow | head -n 2"
      let outcome = try Child("bash", ["-o", "pipefail", "-c", script, "sh", Tool.path, scratch("log")]).wait()
      #expect(outcome.code == 0, "\(outcome.code ?? -1) \(outcome.errors)")
      #expect(outcome.errors.isEmpty, "\(outcome.code ?? -1) \(outcome.errors)")
      #expect(outcome.text.split(separator: "\n").count == 3)
    }

    @Test func `a listener that stops listening to acknowledgements loses nothing`() throws {
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...60_000))
      let script = "\"$1\" record \"$2\" \"$3\" --format lines --acknowledge | head -n 100"
      let outcome = try Child("bash", ["-c", script, "sh", Tool.path, scratch("log"), input]).wait()
      var promise = Promise()
      let lines = CatLine.rawLines(try Tool.run("cat", scratch("log")).output)
      promise.hold(lines, against: [Life(threads: 1, output: outcome.output)])
      #expect(promise.problems.isEmpty, "\(promise.problems)")
      #expect(outcome.complaints.contains { $0.hasPrefix("weir: ") }, "\(outcome.errors)")
      #expect(try Files.segments(in: scratch("log")).allSatisfy { $0.hasSuffix(".weir") }, "closed, so sealed")
    }
  }
}
