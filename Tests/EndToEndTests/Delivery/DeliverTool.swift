// DeliverTool.swift: `weir deliver` as a user meets it: where it goes on, what it answers, what it leaves alone.
import Foundation
import Testing

#if HTTP && Collector
  extension EndToEnd {
    @Suite struct DeliverTool {
      @Test func `files have every event once, and the next run goes on after them`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...500))
        let first = try Tool.run("deliver", scratch("log"), "--to", scratch("out"), "--name", "out")
        try Tool.require(first, code: 0, "weir deliver")
        #expect(first.text.contains("500 acknowledged, 0 rejected, 0 pending, 0 lost"))
        try Tool.record(scratch("log"), sending: Numbered.lines(501...700))
        let second = try Tool.run("deliver", scratch("log"), "--to", scratch("out"), "--name", "out", "--lz4")
        #expect(second.code == 0, "\(second.text)\(second.errors)")
        #expect(second.text.contains("200 acknowledged"), "\(second.text)\(second.errors)")
        #expect(try Self.delivered(scratch("out")) == Array(1...700))
      }

      /// The numbers in the files of JSON Lines, in order of their names.
      static func delivered(_ directory: String) throws -> [Int] {
        var numbers: [Int] = []
        for name in try Files.names(in: directory) where name.contains(".jsonl") {
          let path = "\(directory)/\(name)"
          let bytes = name.hasSuffix(".lz4") ? try Child("lz4", ["-dc", path]).wait().output : try Files.read(path)
          for line in CatLine.rawLines(bytes) {
            let object = try JSONSerialization.jsonObject(with: line) as? [String: Any]
            let text = (object?["fields"] as? [String: Any])?["text"] as? String
            numbers.append(text.flatMap(Numbered.number(of:)) ?? -1)
          }
        }
        return numbers
      }

      @Test func `a delivery begins where it is told to, the first time only`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let between = try #require(try Tool.cat(scratch("log")).last?.time)
        try Tool.record(scratch("log"), sending: Numbered.lines(11...20))
        for (from, expected) in [("end", 21...30), ("beginning", 1...30), (between, 10...30)] {
          let arguments = ["deliver", scratch("log"), "--to", scratch("out-\(from)"), "--from", from]
          if from == "end" {
            try Tool.require(Tool.run(arguments), code: 0, "weir deliver --from end")
            try Tool.record(scratch("log"), sending: Numbered.lines(21...30))
          }
          try Tool.require(Tool.run(arguments), code: 0, "weir deliver --from \(from)")
          #expect(try Self.delivered(scratch("out-\(from)")) == Array(expected))
        }
      }

      /// The command asks for the events that are there, whatever the plan's triggers wait for.
      @Test(arguments: [#"["count"]"#, #"["count", "interval", "shutdown"]"#])
      func `a plan without the trigger demand is delivered to the end`(triggers: String) throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...20))
        let plan = try scratch.file(
          "plan.json",
          #"{"providers": {"a": {"to": "out", "flush": {"triggers": \#(triggers), "interval": "1h"}}}}"#)
        try Tool.require(Tool.run("deliver", scratch("log"), "--plan", plan), code: 0, "weir deliver --plan")
        #expect(try Self.delivered(scratch("out")) == Array(1...20))
      }

      @Test func `a second delivery of the same name is refused as locked, one of another name is not`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let first = try Child(
          Tool.path, ["deliver", scratch("log"), "--to", scratch("a"), "--name", "a", "--follow"])
        try first.waitUntil { _ in (try? Self.delivered(scratch("a")).count) == 10 }
        let second = try Tool.run("deliver", scratch("log"), "--to", scratch("b"), "--name", "a")
        let isTold = second.errors.contains("locked") && second.complaints.count == 1
        #expect(second.code == 2, "\(second.errors)")
        #expect(isTold, "\(second.errors)")
        try Tool.require(
          Tool.run("deliver", scratch("log"), "--to", scratch("b"), "--name", "b"), code: 0, "of another name")
        first.signal(SIGTERM)
        let outcome = try first.wait()
        #expect(outcome.code == 143, "\(outcome.text)\(outcome.errors)")
        #expect(outcome.text.contains("10 acknowledged"), "\(outcome.text)\(outcome.errors)")
      }

      @Test func `a follower gets what comes, beside a writer that removes what was delivered`() throws {
        let scratch = try Scratch()
        let arguments = ["record", scratch("log"), "--acknowledge", "--segment-bytes", "1M", "--remove-delivered"]
        let writer = try Child(Tool.path, arguments, input: .pipe)
        let count = 40_000
        let chunk = 2_000
        writer.send(Numbered.lines(1...chunk))
        try writer.waitUntil { !$0.output.isEmpty }
        let follower = try Child(
          Tool.path, ["deliver", scratch("log"), "--to", scratch("out"), "--name", "out", "--follow"])
        for first in stride(from: chunk + 1, through: count, by: chunk) {
          writer.send(Numbered.lines(first...first + chunk - 1))
          follower.serve(until: Moment.now + 0.02)
        }
        let isRemoved = { (_: Child) in
          let segments = (try? Files.segments(in: scratch("log"))) ?? []
          return (segments.first.flatMap { UInt64($0.prefix(20)) } ?? 0) > 30_000
        }
        try writer.waitUntil { child in
          follower.serve(until: Moment.now)
          return isRemoved(child)
        }
        let segments = try Files.segments(in: scratch("log"))
        #expect(isRemoved(writer), "segments: \(segments)")
        let ledger = try LedgerLine.read(scratch("log"), "out")
        #expect(ledger.balanced, "\(ledger)")
        #expect(ledger.lost.values.allSatisfy { $0 == 0 }, "\(ledger)")
        writer.finishInput()
        #expect(try writer.wait().code == 0)
        try follower.waitUntil { _ in
          (try? LedgerLine.read(scratch("log"), "out").acknowledged) == UInt64(count)
        }
        follower.signal(SIGINT)
        #expect(try follower.wait().code == 130)
        #expect(try Self.delivered(scratch("out")) == Array(1...count))
        let dropped = try Tool.run("stat", scratch("log"), "--json").text
        #expect(dropped.contains("\"expired\" : 0"), "\(dropped)")
        #expect(dropped.contains("\"displaced\" : 0"), "\(dropped)")
      }

      @Test func `an endpoint that refuses the key stops delivery, and the events are kept`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let collector = try Collecting(log: scratch("collected"), faults: "status=401")
        let key = try scratch.file("key", "sEcReT-kEy\n")
        let arguments = ["deliver", scratch("log"), "--to", collector.url, "--name", "a", "--key-file", key]
        let outcome = try Tool.run(arguments)
        #expect(outcome.code == 6, "\(outcome.code ?? -1) \(outcome.errors)")
        #expect(outcome.errors.contains("401"), "\(outcome.code ?? -1) \(outcome.errors)")
        #expect(!(outcome.errors + outcome.text).contains("sEcReT"))
        #expect(try LedgerLine.read(scratch("log"), "a").pending == 10)
        try Self.expectNoKey("sEcReT", in: scratch("log"))
        try collector.stop()
      }

      /// Neither the cursor, nor the record of attempts, nor the dead letters tell it.
      static func expectNoKey(_ key: String, in directory: String) throws {
        let outcome = try Child("/bin/grep", ["-rla", key, directory]).wait()
        #expect(outcome.code == 1, "\(outcome.text)")
      }

      /// 1,000 lines of which all are delivered, and 20,000 more in several segments.
      private func delivered(_ scratch: Scratch) throws -> [String] {
        try Tool.record(scratch("log"), sending: Numbered.lines(1...1000))
        let arguments = ["deliver", scratch("log"), "--to", scratch("out"), "--name", "out"]
        try Tool.require(Tool.run(arguments), code: 0, "weir deliver")
        try Tool.record(scratch("log"), ["--segment-bytes", "1M"], sending: Numbered.lines(1001...21_000))
        return arguments
      }

      @Test(arguments: [true, false])
      func `a loss before a run is told by the run that passes over it, and by no other`(isDamage: Bool) throws {
        let scratch = try Scratch()
        let arguments = try delivered(scratch)
        let segments = try Files.segments(in: scratch("log"))
        if isDamage {
          try FileManager.default.removeItem(atPath: scratch("log/\(segments[segments.count / 2])"))
        } else {
          // Retention removes the oldest, which nobody has had yet.
          try Tool.record(
            scratch("log"), ["--segment-bytes", "1M", "--retain-bytes", "2M"], sending: Numbered.lines(21_001...30_000))
        }
        let before = try LedgerLine.read(scratch("log"), "out")
        let reason = isDamage ? "damaged" : "removed"
        let lost = before.lost[reason] ?? 0
        #expect(lost > 0, "\(before)")
        #expect(before.pending > 0, "\(before)")
        #expect(before.balanced, "\(before)")
        let run = try Tool.run(arguments)
        #expect(run.code == 1, "\(run.code ?? -1) \(run.text)")
        let digits = run.text.components(separatedBy: "(\(reason): ").last?.prefix { $0 != ")" } ?? ""
        #expect(digits.filter(\.isNumber) == "\(lost)", "\(run.text)")
        let next = try Tool.run(arguments)
        #expect(next.code == 0, "\(next.code ?? -1) \(next.text)")
        #expect(next.text.contains(" 0 lost"), "\(next.code ?? -1) \(next.text)")
        let after = try LedgerLine.read(scratch("log"), "out")
        #expect(after.lost[reason] == lost, "\(after)")
        #expect(after.pending == 0, "\(after)")
        #expect(after.balanced, "\(after)")
      }

      @Test func `a provider that stops is told at once and shown, and the others go on`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...20))
        let collector = try Collecting(log: scratch("collected"), faults: "status=404")
        let follower = try Child(
          Tool.path,
          [
            "deliver", scratch("log"), "--to", collector.url, "--name", "shop", "--to", scratch("out"), "--name", "out",
            "--follow",
          ])
        try follower.waitUntil { $0.complaints.contains { $0.hasPrefix("weir: shop stopped: ") } }
        let isTold = follower.complaints.contains { $0.contains("404") && $0.contains("20 pending") }
        #expect(isTold, "\(follower.complaints)")
        try follower.waitUntil { _ in (try? Self.delivered(scratch("out")).count) == 20 }
        try follower.waitUntil { _ in
          (try? LedgerLine.read(scratch("log"), "shop").stopped?.contains("404")) == true
        }
        #expect(try LedgerLine.read(scratch("log"), "shop").stopped?.contains("404") == true)
        #expect(try LedgerLine.read(scratch("log"), "out").stopped == nil)
        follower.signal(SIGINT)
        #expect(try follower.wait().code == 130)
        #expect(try Tool.run("stat", scratch("log")).text.contains("; stopped: "))
        try collector.stop()
      }

      @Test func `an endpoint that is down leaves everything pending when the budget ends`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let down = try RefusingPort()
        let arguments = ["deliver", scratch("log"), "--to", down.url, "--name", "down", "--budget", "1s"]
        let outcome = try Tool.run(arguments)
        #expect(outcome.code == 5, "\(outcome.code ?? -1) \(outcome.text)")
        #expect(outcome.text.contains("10 pending"), "\(outcome.code ?? -1) \(outcome.text)")
        #expect(outcome.errors.contains("run again"), "\(outcome.errors)")
        #expect(try LedgerLine.read(scratch("log"), "down").balanced)
      }

      @Test func `a delivery that cannot begin says so in one line, and touches nothing`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        _ = try scratch.file("file", "x")
        let before = try Files.fingerprint(scratch("log"))
        let cases: [([String], String)] = [
          ([scratch("log")], "--to"), ([scratch("none"), "--to", "out"], scratch("none")),
          ([scratch("file"), "--to", "out"], scratch("file")), ([scratch("log"), "--to", "ftp://host"], "http"),
          ([scratch("log"), "--to", "http://k@host"], "--key-file"),
          ([scratch("log"), "--to", "http://host", "--key-file", scratch("none")], scratch("none")),
          ([scratch("log"), "--to", "out", "--key-file", scratch("none")], "--key-file"),
          ([scratch("log"), "--to", "localhost:4100"], "http://localhost:4100"),
          ([scratch("log"), "--to", "out", "--remove-delivered"], "directory of logs"),
          ([scratch("log"), "--to", "out", "--from", "yesterday"], "give beginning, end, offset:N, or a time"),
          ([scratch("log"), "--to", "out", "--gzip"], "--lz4"),
        ]
        for (arguments, word) in cases {
          let outcome = try Tool.run(["deliver"] + arguments)
          #expect(outcome.code == 2, "\(arguments): \(outcome.code ?? -1)")
          #expect(outcome.complaints.count == 1, "\(arguments): \(outcome.errors)")
          #expect(outcome.errors.contains(word), "\(arguments): \(outcome.errors)")
        }
        #expect(try Files.fingerprint(scratch("log")) == before)
      }

      @Test func `a rejected event is kept with its reason, and is given again once that is mended`() throws {
        let scratch = try Scratch()
        let lines = try RealLines()
        try Tool.record(scratch("log"), sending: lines.lines(1..<101))
        let collector = try Collecting(log: scratch("collected"), faults: "partial:1*1")
        let to = ["--to", collector.url]
        let first = try Tool.run(["deliver", scratch("log"), "--name", "main"] + to)
        #expect(first.code == 4, "\(first.code ?? -1) \(first.errors)")
        #expect(first.errors.contains("weir dead-letters"), "\(first.code ?? -1) \(first.errors)")
        let rejected = try LedgerLine.read(scratch("log"), "main").rejected
        #expect(rejected > 0)
        let letters = try Tool.run("dead-letters", scratch("log"), "main", "--format", "jsonl")
        try Tool.require(letters, code: 0, "weir dead-letters")
        struct Letter: Decodable {
          struct Event: Decodable { var id: String }
          var provider: String
          var reason: String
          var attempts: Int
          var event: Event
        }
        let read = try CatLine.rawLines(letters.output).map { try JSONDecoder().decode(Letter.self, from: $0) }
        #expect(read.count == Int(rejected))
        #expect(read.allSatisfy { $0.provider == "main" && !$0.reason.isEmpty && $0.attempts == 1 })
        let ids = Set(try Tool.cat(scratch("log")).map(\.id))
        #expect(Set(read.map(\.event.id)).isSubset(of: ids))
        #expect(try Tool.run("dead-letters", scratch("log"), "nobody").code == 2)
        #expect(CatLine.rawLines(try Tool.run("dead-letters", scratch("log"), "--limit", "1").output).count == 2)

        // Nobody listens there: it waits until it is told to end, and says what it has come to then.
        let down = try RefusingPort()
        let waiting = try Child(Tool.path, ["redrive", scratch("log"), "main", "--to", down.url])
        // Its first attempt is noted.
        let attempts = scratch("log/dead-letters/main/attempts/main/lock")
        try waiting.waitUntil { _ in FileManager.default.fileExists(atPath: attempts) }
        waiting.signal(SIGINT)
        let ended = try waiting.wait()
        #expect(ended.code == 130, "\(ended.text)\(ended.errors)")
        #expect(ended.text.contains("\(rejected) pending"), "\(ended.text)\(ended.errors)")
        let again = try Tool.run(["redrive", scratch("log"), "main"] + to)
        #expect(again.code == 0, "\(again.text)\(again.errors)")
        #expect(again.text.contains("\(rejected) acknowledged"), "\(again.text)\(again.errors)")
        let accounted = try LedgerLine.read(scratch("log"), "main")
        #expect(accounted.rejected == 0, "\(accounted)")
        #expect(accounted.acknowledged == 100, "\(accounted)")
        #expect(accounted.balanced, "\(accounted)")
        #expect(try Tool.run("dead-letters", scratch("log"), "main").output.isEmpty)
        let all = try Tool.run("dead-letters", scratch("log"), "main", "--format", "jsonl", "--all")
        #expect(CatLine.rawLines(all.output).count == Int(rejected))
        let third = try Tool.run(["redrive", scratch("log"), "main"] + to)
        #expect(third.code == 0, "\(third.text)\(third.errors)")
        #expect(third.text.contains(" 0 acknowledged"), "\(third.text)\(third.errors)")
        #expect(try Tool.run(["redrive", scratch("log"), "nobody"] + to).code == 2)
        try collector.stop()
        let collected = try Collected(log: collector.log, lines: lines)
        #expect(collected.problems.isEmpty, "\(collected.problems)")
        #expect(Set(collected.ids.values) == ids, "\(collected.problems)")
      }

      @Test func `full segments become LZ4 files that the lz4 tool reads, and nothing else changes`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), ["--segment-bytes", "1M"], sending: Numbered.lines(1...30_000))
        let before = try Tool.run("cat", scratch("log")).output
        let raw = try Files.segments(in: scratch("log"))
        let outcome = try Tool.run("batch", scratch("log"), "--threads", "2", "--json")
        try Tool.require(outcome, code: 0, "weir batch")
        #expect(outcome.text.contains("\"batched\" : \(raw.count)"), "\(outcome.text)")
        let packed = try Files.segments(in: scratch("log"))
        #expect(packed == raw.map { $0 + ".lz4" })
        for name in packed {
          try Tool.require(Child("lz4", ["-tq", scratch("log/\(name)")]).wait(), code: 0, "lz4 -t \(name)")
        }
        #expect(try Tool.run("cat", scratch("log")).output == before)
        try Tool.require(Tool.run("verify", scratch("log")), code: 0, "weir verify")
        try Tool.require(
          Tool.run("deliver", scratch("log"), "--to", scratch("out"), "--name", "out"), code: 0, "weir deliver")
        #expect(try Self.delivered(scratch("out")) == Array(1...30_000))
      }
    }
  }
#endif
