// DeliveryWorld.swift: a recorder that delivers while it records, a deliverer beside it, and a collector, each killed
// with SIGKILL at random moments; and what has to be true after it.
import Foundation
import Testing

#if HTTP && Collector
  final class DeliveryWorld {
    let scratch: Scratch
    let collector: Collecting
    let lines: RealLines
    let log: String
    /// The lines whose capture was acknowledged over the pipe before the recorder died.
    private(set) var acknowledged: Set<Int> = []
    private(set) var kills = 0
    private(set) var collectorKills = 0
    private(set) var problems: [String] = []
    private var next = 1
    private var random: SeededRandom
    /// Where nobody listens, for a provider of the recorder beside the collector.
    private let dead: RefusingPort?
    private var others: [String] { dead.map { ["--to", $0.url] } ?? [] }

    static let name = "main"

    init(seed: UInt64, faults: String, deadToo: Bool = false) throws {
      scratch = try Scratch()
      log = scratch("log")
      lines = try RealLines()
      random = SeededRandom(seed: seed)
      collector = try Collecting(log: scratch("collected"), faults: faults, seed: seed)
      dead = deadToo ? try RefusingPort() : nil
    }

    private var provider: [String] {
      ["--to", collector.url] + others + ["--name", Self.name] + (others.isEmpty ? [] : ["--name", "dead"])
    }

    /// One life of a recorder that delivers: it is given so many lines, and killed so long after they all went in, or
    /// on the way. With `collectorToo` the collector is killed, and started again, while it delivers.
    func record(_ count: Int, seconds: Double, collectorToo: Bool = false) throws {
      let first = next
      next += count
      var arguments = ["record", log, "--acknowledge", "--segment-bytes", "320K", "--remove-delivered"] + provider
      if Bool.random(using: &random) { arguments += ["--threads", "2"] }
      if Bool.random(using: &random) { arguments += ["--batch-threads", "1"] }
      let child = try Child(Tool.path, arguments, input: .pipe)
      let whole = lines.lines(first..<next)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        // While it opens the log, or captures.
        child.send(whole.prefix(800_000))
        child.serve(until: Moment.now + Double.random(in: 0...0.1, using: &random))
      case 1:
        child.send(whole.prefix(Int.random(in: 0...whole.count, using: &random)))
        try live(child, seconds, collectorToo)
      default:
        child.send(whole)
        try child.waitUntil { Self.count($0.output) >= count }
        try live(child, seconds, collectorToo)
      }
      try end(child, "weir record")
      note(child, from: first)
    }

    /// One life of a recorder that is killed when so many of its many more events were acknowledged by the collector.
    func record(_ count: Int, untilDelivered wanted: UInt64) throws {
      let first = next
      next += count
      let arguments = ["record", log, "--acknowledge", "--segment-bytes", "320K", "--remove-delivered"] + provider
      let child = try Child(Tool.path, arguments, input: .pipe)
      child.send(lines.lines(first..<next))
      try child.waitUntil { child in
        Self.count(child.output) >= count && (try? LedgerLine.read(log, Self.name).acknowledged) ?? 0 >= wanted
      }
      try child.waitUntil { _ in
        (try? Tool.run("stat", log, "--json"))?.text.contains("\"first_offset\" : 0,") == false
      }
      try end(child, "weir record")
      note(child, from: first)
    }

    /// Takes in what was acknowledged over the pipe.
    private func note(_ child: Child, from first: Int) {
      for line in child.output.split(separator: UInt8(ascii: "\n")).dropLast(child.output.last == 0x0A ? 0 : 1) {
        if let number = Int(String(decoding: line, as: UTF8.self)) { acknowledged.insert(first + number - 1) }
      }
    }

    private static func count(_ output: Data) -> Int { output.count { $0 == 0x0A } }

    /// One life of a deliverer, post mortem.
    func deliver(seconds: Double, collectorToo: Bool = false) throws {
      guard FileManager.default.fileExists(atPath: log + "/lock") else { return }
      let child = try Child(Tool.path, ["deliver", log] + provider)
      try live(child, seconds, collectorToo)
      try end(child, "weir deliver")
    }

    private func live(_ child: Child, _ seconds: Double, _ collectorToo: Bool) throws {
      child.serve(until: Moment.now + seconds / 2)
      collector.serve()
      if collectorToo {
        try collector.kill()
        collectorKills += 1
        try collector.start()
      }
      child.serve(until: Moment.now + seconds / 2)
    }

    private func end(_ child: Child, _ what: String) throws {
      let outcome = try child.kill()
      if outcome.signal == SIGKILL { kills += 1 }
      // A deliverer may be done before it is killed; rejected events are no fault of its.
      if outcome.signal != SIGKILL, outcome.code != 0, outcome.code != 4 {
        problems.append("\(what): \(outcome.code ?? -1), signal \(outcome.signal ?? 0): \(outcome.errors)")
      }
    }

    /// Delivers until nothing is pending for the collector.
    func finish() throws {
      let to = ["--to", collector.url, "--name", Self.name]
      let outcome = try Child(Tool.path, ["deliver", log] + to).wait()
      if outcome.code != 0, outcome.code != 4 {
        problems.append("the last weir deliver: \(outcome.code ?? -1) \(outcome.errors)")
      }
      try collector.stop()
    }

    /// What has to be true once all is delivered; the lines in `elsewhere` are among the dead letters. Answers what is
    /// not.
    func judge(deadLetters elsewhere: Set<Int> = []) throws -> [String] {
      let collected = try Collected(log: collector.log, lines: lines)
      var problems = self.problems + collected.problems
      let missing = acknowledged.filter { collected.ids[$0] == nil && !elsewhere.contains($0) }.sorted()
      if !missing.isEmpty {
        problems.append("\(missing.count) acknowledged lines did not arrive: \(missing.prefix(10))")
      }
      let ledger = try LedgerLine.read(log, Self.name)
      if !ledger.balanced || ledger.sum != ledger.accepted { problems.append("the ledger does not balance: \(ledger)") }
      if ledger.pending > 0 { problems.append("something is pending: \(ledger)") }
      if ledger.lost.values.contains(where: { $0 > 0 }) { problems.append("something is lost: \(ledger)") }
      let settled = Set(collected.ids.keys).union(elsewhere).count
      if settled != ledger.accepted { problems.append("\(settled) lines arrived of \(ledger.accepted) accepted") }
      if ledger.accepted < acknowledged.count {
        problems.append("the ledger knows of \(ledger.accepted) events, \(acknowledged.count) were acknowledged")
      }
      if !others.isEmpty {
        let dead = try LedgerLine.read(log, "dead")
        if !dead.balanced || dead.pending != ledger.accepted { problems.append("of the dead one: \(dead)") }
      }
      for log in [log, collector.log] {
        let verified = try Tool.run("verify", log)
        if verified.code != 0 { problems.append("weir verify \(log): \(verified.text)\(verified.errors)") }
      }
      Run.say(
        "\(acknowledged.count) acknowledged, \(ledger.accepted) in the log, \(kills) kills, \(collected.events) collected "
          + "(\(collected.events - collected.ids.count) of them duplicates), \(ledger.rejected) rejected")
      return problems
    }
  }
#endif
