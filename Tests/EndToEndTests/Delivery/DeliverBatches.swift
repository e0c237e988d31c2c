// DeliverBatches.swift: `weir deliver --batches` to a directory and to `weir collect`: the same events with the same
// ids, each once, whoever is killed on the way, and nothing without being asked for.
import Foundation
import Testing

#if HTTP && Collector
  extension EndToEnd {
    @Suite struct DeliverBatches {
      /// The log of the only source in a directory of logs.
      private static func onlyLog(_ directory: String) throws -> String {
        let names = try Files.names(in: directory)
        try #require(names.count == 1, "\(names)")
        return directory + "/" + names[0]
      }

      private static func ids(_ log: String) throws -> [String] {
        try Tool.cat(log).filter { !$0.isNotice }.map(\.id)
      }

      private static let consent = ["--batches", "--as-captured"]

      @Test func `a directory and a collector have what the log has, and every command reads it`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), ["--segment-bytes", "1M"], sending: Numbered.lines(1...30_000))
        let collector = try Collecting(log: scratch("collected"))
        let url = collector.url.replacingOccurrences(of: "/events", with: "")
        let outcome = try Tool.run(
          ["deliver", scratch("log"), "--to", scratch("archive"), "--to", url] + Self.consent)
        try Tool.require(outcome, code: 0, "weir deliver --batches")
        try collector.stop()
        let ids = try Self.ids(scratch("log"))
        #expect(ids.count == 30_000)
        for copy in [try Self.onlyLog(scratch("archive")), try Self.onlyLog(scratch("collected/batches"))] {
          #expect(try Self.ids(copy) == ids)
          try Tool.require(try Tool.run("verify", copy), code: 0, "weir verify")
          try Tool.require(try Tool.run("stat", copy), code: 0, "weir stat")
          let exported = try Tool.run("export", copy, "--format", "jsonl")
          try Tool.require(exported, code: 0, "weir export")
          #expect(try Files.names(in: copy).allSatisfy { $0.hasSuffix(".weir.lz4") })
        }
        for ledger in try LedgerLine.read(scratch("log")) {
          #expect(ledger.acknowledged == 30_000 && ledger.balanced, "\(ledger)")
        }
      }

      @Test func `nothing leaves as it was captured unless that is asked for`() throws {
        let scratch = try Scratch()
        try Tool.record(scratch("log"), sending: Numbered.lines(1...10))
        let deliver = ["deliver", scratch("log"), "--to", scratch("out")]
        let silent = try Tool.run(deliver + ["--batches"])
        #expect(silent.code == 2 && silent.errors.contains("--as-captured"), "\(silent.errors)")
        #expect(try Tool.run(deliver + Self.consent + ["--lz4"]).code != 0)
        #expect(try Tool.run(deliver + ["--as-captured"]).code != 0)
        let plan = try scratch.file(
          "plan.json", #"{"providers": {"a": {"to": "out", "mapper": ["snake_case"], "redacts_sensitive": false}}}"#)
        let mapped = try Tool.run(["deliver", scratch("log"), "--plan", plan, "--batches"])
        #expect(mapped.code == 2 && mapped.errors.contains("a mapper or a route"), "\(mapped.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch("out")))
      }

      @Test func `a recorder delivers batches while it records`() throws {
        let scratch = try Scratch()
        let child = try Child(
          Tool.path, ["record", scratch("log"), "--to", scratch("archive"), "--segment-bytes", "1M"] + Self.consent,
          input: .pipe)
        child.send(Numbered.lines(1...20_000))
        child.finishInput()
        try Tool.require(try child.wait(), code: 0, "weir record --batches")
        #expect(try Self.ids(try Self.onlyLog(scratch("archive"))) == Self.ids(scratch("log")))
      }

      @Test func `nothing is lost and nothing comes twice, whoever is killed`() throws {
        let seed = Run.seed()
        Run.say("batch kills: WEIR_SEED=\(seed)")
        var random = SeededRandom(seed: seed)
        let scratch = try Scratch()
        let faults = "status=503:0.05,drop-answer:0.1,cut:0.05"
        let collector = try Collecting(log: scratch("collected"), faults: faults, seed: seed)
        let url = collector.url.replacingOccurrences(of: "/events", with: "")
        let targets = ["--to", url, "--name", "http", "--to", scratch("archive"), "--name", "files"] + Self.consent
        var told: Set<Int> = []
        for round in 0..<(Run.isLongDelivery ? 60 : 8) {
          // A recorder that is killed leaves an unsealed segment, which the next deliverer recovers.
          let first = round * 10_000 + 1
          let recorder = try Child(
            Tool.path, ["record", scratch("log"), "--acknowledge", "--segment-bytes", "1M"], input: .pipe)
          recorder.send(Numbered.lines(first...first + 6_000))
          try recorder.waitUntil { $0.output.count > 6_000 }
          let output = try recorder.kill().output
          let whole = output.prefix(through: output.lastIndex(of: 0x0A) ?? output.startIndex)
          told.formUnion(
            whole.split(separator: 0x0A).compactMap { Int(String(decoding: $0, as: UTF8.self)) }
              .map { $0 + first - 1 })
          let deliverer = try Child(Tool.path, ["deliver", scratch("log")] + targets)
          deliverer.serve(until: Moment.now + Double.random(in: 0...0.4, using: &random))
          if round % 3 == 2 {
            try collector.kill()
            deliverer.serve(until: Moment.now + Double.random(in: 0...0.1, using: &random))
            try collector.start()
          }
          _ = try deliverer.kill()
        }
        try collector.kill()
        let calm = try Collecting(log: scratch("collected"))
        let last = ["--to", calm.url.replacingOccurrences(of: "/events", with: ""), "--name", "http"]
        for to in [last, ["--to", scratch("archive"), "--name", "files"]] {
          let outcome = try Tool.run(["deliver", scratch("log")] + to + Self.consent)
          try Tool.require(outcome, code: 0, "the last weir deliver")
        }
        try calm.stop()
        let events = try Tool.cat(scratch("log")).filter { !$0.isNotice }
        let numbers = Set(events.compactMap { $0.text.flatMap { Numbered.number(of: $0) } })
        #expect(told.isSubset(of: numbers), "\(told.subtracting(numbers).count) of \(told.count) are missing")
        for copy in [try Self.onlyLog(scratch("archive")), try Self.onlyLog(scratch("collected/batches"))] {
          #expect(try Self.ids(copy) == events.map(\.id), "WEIR_SEED=\(seed)")
          try Tool.require(try Tool.run("verify", copy), code: 0, "weir verify \(copy)")
          #expect(try Files.names(in: copy).allSatisfy { $0.first?.isNumber == true })
        }
        for ledger in try LedgerLine.read(scratch("log")) {
          #expect(ledger.balanced && ledger.pending == 0, "\(ledger)")
        }
      }
    }
  }
#endif
