// KillReplay.swift: `weir record --acknowledge` killed at random moments, `weir recover` killed at random moments after
// it, again and again: nothing that was acknowledged may be missing, doubled or changed, before recovery or after it.
// Tests/CrashReplay/README.md tells how to run it at length.
import Foundation
import Testing

extension EndToEnd {
  @Suite struct KillReplay {
    @Test func `a recorder killed at random keeps its promise, each time in a fresh directory`() throws {
      try Self.series(name: "fresh", rounds: (Run.kills + 1) / 2, sameDirectory: false)
    }

    @Test func `a recorder killed at random keeps its promise, again and again in the same directory`() throws {
      try Self.series(name: "same", rounds: (Run.kills + 1) / 2, sameDirectory: true)
    }

    @Test func `a recorder killed while it opens the log keeps its promise`() throws {
      try Self.series(name: "opening", rounds: max(4, Run.kills / 5), sameDirectory: true) { plan, random in
        plan.moment = .afterStart(Double.random(in: 0...0.08, using: &random))
      }
    }

    @Test func `a recorder killed twice in quick succession keeps its promise`() throws {
      try Self.series(name: "twice", rounds: max(3, Run.kills / 8), sameDirectory: true) { plan, _ in
        plan.lives = 3
      }
    }

    @Test func `a recorder killed while it waits for a slow producer keeps its promise`() throws {
      try Self.series(name: "slow", rounds: max(3, Run.kills / 8), sameDirectory: false) { plan, _ in
        plan.isSlow = true
        plan.threads = 1
      }
    }

    /// What to do in one round, drawn from the seed.
    struct Plan: CustomStringConvertible {
      enum Moment {
        case afterStart(Double)
        case afterAcknowledgements(Int, andThen: Double)
      }

      var threads: Int
      var segmentBytes: String?
      var moment: Moment
      var isSlow = false
      var lives = 1
      var recoverKills: Int

      init(_ random: inout SeededRandom) {
        threads = Bool.random(using: &random) ? 1 : 3
        segmentBytes = [nil, "1M", "320K"].randomElement(using: &random)!
        moment =
          Int.random(in: 0..<4, using: &random) == 0
          ? .afterStart(Double.random(in: 0...0.3, using: &random))
          : .afterAcknowledgements(
            Int(random.logarithmic(upTo: 20_000)), andThen: Double.random(in: 0...0.003, using: &random))
        recoverKills = Int.random(in: 0...3, using: &random)
      }

      var options: [String] {
        ["--format", "lines", "--acknowledge", "--threads", "\(threads)"]
          + (segmentBytes.map { ["--segment-bytes", $0] } ?? [])
      }

      var description: String {
        "threads \(threads), segments \(segmentBytes ?? "default"), killed \(moment), \(lives) lives, "
          + "recover killed \(recoverKills) times\(isSlow ? ", slow producer" : "")"
      }
    }

    static func series(
      name: String, rounds: Int, sameDirectory: Bool, adjust: (inout Plan, inout SeededRandom) -> Void = { _, _ in }
    ) throws {
      let seed = Run.seed()
      Run.say("kill replay \(name): \(rounds) rounds, WEIR_SEED=\(seed)")
      var random = SeededRandom(seed: seed)
      let scratch = try Scratch()
      let input = try scratch.file("input", Numbered.lines(1...(Run.isLong ? 200_000 : 60_000)))
      var round = KillRound(directory: scratch("log-0"), evidence: scratch("dead"), input: input, recoverSeconds: 0.1)
      var acknowledged = 0
      var events = 0
      for number in 0..<rounds {
        if !sameDirectory {
          try? FileManager.default.removeItem(atPath: round.directory)
          round.directory = scratch("log-\(number)")
          round.history = []
        }
        var plan = Plan(&random)
        adjust(&plan, &random)
        let promise = try round.run(plan, &random)
        acknowledged += round.acknowledged
        events += round.survivors
        guard promise.problems.isEmpty else {
          let replay = "WEIR_SEED=\(seed) WEIR_KILLS=\(Run.kills) swift test --filter KillReplay"
          let note = "round \(number): \(plan)\n\(promise.problems.joined(separator: "\n"))\nagain: \(replay)"
          let kept = Files.keepEvidence(
            [round.evidence, round.directory], name: "\(name)-\(seed)-\(number)",
            note: note + "\n\(round.evidence.split(separator: "/").last!) is the log as the kill left it")
          Issue.record("\(note)\nevidence: \(kept)")
          return
        }
      }
      if sameDirectory {
        let whole = CatLine.rawLines(try Tool.run("cat", round.directory).output)
        #expect(whole == round.history, "the whole log is not the sum of its rounds")
      }
      // The last kill may have come before the log's directory was made.
      if FileManager.default.fileExists(atPath: round.directory) {
        try Tool.require(Tool.run("verify", round.directory), code: 0, "weir verify after all rounds")
      }
      Run.say("kill replay \(name): \(acknowledged) acknowledged, \(events) survived, none lost")
    }
  }
}

/// One round: record until killed, look, recover (killed a few times), look again.
struct KillRound {
  var directory: String
  /// Where the log as the kill left it is copied to, for whoever has to find out what went wrong.
  let evidence: String
  let input: String
  /// How long a recovery takes on this machine, as last seen: kills are spread over it.
  var recoverSeconds: Double
  /// Every line of `weir cat` so far, when rounds go on in the same directory.
  var history: [Data] = []
  private(set) var acknowledged = 0
  private(set) var survivors = 0

  init(directory: String, evidence: String, input: String, recoverSeconds: Double) {
    self.directory = directory
    self.evidence = evidence
    self.input = input
    self.recoverSeconds = recoverSeconds
  }

  mutating func run(_ plan: EndToEnd.KillReplay.Plan, _ random: inout SeededRandom) throws -> Promise {
    var promise = Promise()
    var lives: [Life] = []
    for index in 0..<plan.lives {
      var once = plan
      if index > 0 { once.moment = .afterStart(Double.random(in: 0...0.1, using: &random)) }
      lives.append(try live(once, &random, &promise))
    }
    acknowledged = lives.reduce(0) { $0 + $1.acknowledged.count }
    try? FileManager.default.removeItem(atPath: evidence)
    // Killed before it made its directory: nothing to look at, nothing owed.
    guard FileManager.default.fileExists(atPath: directory) else {
      if acknowledged > 0 { promise.note("acknowledged into a directory that is not there") }
      return promise
    }
    try Files.copy(directory, to: evidence)

    let start = history.isEmpty ? 0 : try CatLine(history[history.count - 1]).offset + 1
    let before = read(from: start, "before recovery", &promise)
    for attempt in 0..<plan.recoverKills {
      let child = try Child(Tool.path, ["recover", directory])
      child.serve(until: Moment.now + Double.random(in: 0...recoverSeconds * 1.3, using: &random))
      let outcome = try child.kill()
      if outcome.signal != SIGKILL, outcome.code != 0 { promise.note("weir recover: \(outcome.errors)") }
      if Bool.random(using: &random) {
        let between = read(from: start, "after killed recovery \(attempt + 1)", &promise)
        promise.compare(before: before, after: between, "after killed recovery \(attempt + 1)")
      }
    }
    let began = Moment.now
    let recovered = try Tool.run("recover", directory)
    recoverSeconds = Moment.now - began
    if recovered.code != 0 { promise.note("weir recover: \(recovered.errors)") }
    let after = read(from: start, "after recovery", &promise)
    promise.compare(before: before, after: after, "after recovery")
    promise.hold(before, against: lives)
    promise.hold(after, against: lives)
    history += after
    survivors = after.count
    return promise
  }

  /// One life of the recorder, ended by SIGKILL unless the input ends first.
  private func live(
    _ plan: EndToEnd.KillReplay.Plan, _ random: inout SeededRandom, _ promise: inout Promise
  ) throws -> Life {
    let child = try Child(
      Tool.path, ["record", directory] + plan.options, input: plan.isSlow ? .pipe : .file(input))
    if plan.isSlow { try feedSlowly(child, &random) }
    switch plan.moment {
    case _ where plan.isSlow: break
    case .afterStart(let seconds): child.serve(until: Moment.now + seconds)
    case .afterAcknowledgements(let count, let seconds):
      // Counted roughly, by bytes: looking at every line would slow the reading down.
      try child.waitUntil { $0.output.count >= count * 5 }
      child.serve(until: Moment.now + seconds)
    }
    let outcome = try child.kill()
    if outcome.signal != SIGKILL, outcome.code != 0 {
      promise.note("weir record ended with \(outcome.code ?? -1), signal \(outcome.signal ?? 0): \(outcome.errors)")
    }
    return Life(threads: plan.threads, output: outcome.output)
  }

  /// Lines as a person or a quiet service produces them: in bursts, with pauses in which everything falls asleep.
  private func feedSlowly(_ child: Child, _ random: inout SeededRandom) throws {
    let isTold = { (line: Int) in
      { (child: Child) in
        child.output.suffix(24).split(separator: UInt8(ascii: "\n")).last == Data("\(line)".utf8)
      }
    }
    // A kill from here on comes to a recorder that waits for lines, and not to one that opens the log.
    child.send(Numbered.lines(1...1))
    try child.waitUntil(isTold(1))
    var next = 2
    for _ in 0..<Int.random(in: 1...20, using: &random) {
      let count = Int(random.logarithmic(upTo: 40))
      child.send(Numbered.lines(next...next + count))
      next += count + 1
      child.serve(until: Moment.now + Double.random(in: 0...0.03, using: &random))
    }
    // Each line is recorded as it comes, not when a buffer is full: the last one is acknowledged with the pipe open.
    if Bool.random(using: &random) { try child.waitUntil(isTold(next - 1)) }
  }

  private func read(from offset: UInt64, _ when: String, _ promise: inout Promise) -> [Data] {
    do {
      let outcome = try Tool.run(["cat", directory, "--from", "\(offset)"])
      // A kill is no damage: neither reading nor checking may call it one. A log without a ring or a segment is none
      // yet.
      let isNoLogYet = try Files.segments(in: directory).isEmpty && outcome.code == 2
      if outcome.code != 0, !isNoLogYet { promise.note("weir cat \(when): \(outcome.code ?? -1) \(outcome.errors)") }
      let verified = try Tool.run("verify", directory)
      if verified.code != 0, !isNoLogYet {
        promise.note("weir verify \(when): \(verified.code ?? -1) \(verified.text)\(verified.errors)")
      }
      return CatLine.rawLines(outcome.output)
    } catch {
      promise.note("\(when): \(error)")
      return []
    }
  }
}
