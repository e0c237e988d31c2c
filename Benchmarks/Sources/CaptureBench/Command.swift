// Command.swift: the command. `capture-bench --help` says what it takes.
import ArgumentParser
import CaptureSubjects
import Foundation

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "capture-bench",
    abstract: "Measures what a capture costs the thread that makes it, beside a bare copy and other libraries.",
    discussion: """
      In the regime "capture", events come in short bursts that fit into a lane; between bursts the log is drained, so \
      nothing is refused for want of room. A figure is the average of one burst; the table shows percentiles of the \
      bursts. Threads are pinned, subjects take turns, every accepted event is looked for where it ends up. Exits with \
      1 if one is missing.
      """
  )

  @Option(help: "Regimes, comma-separated (\(Regime.allCases.map(\.rawValue).joined(separator: ", "))). Default: all.")
  var regimes: String?

  @Option(help: "Threads of the regimes capture and saturation, comma-separated. Default: 1, 2, 3, 16.")
  var threads: String?

  @Option(help: "Subjects, comma-separated (\(Candidate.all.map(\.name).joined(separator: ", "))). Default: all.")
  var only: String?

  @Option(help: "Rounds; each opens every subject anew.")
  var rounds: Int?

  @Option(help: "Bursts a round.")
  var bursts: Int?

  @Option(help: "Captures a burst and thread.")
  var events = 2000

  @Option(help: "File for one line of JSON a row; replaced.")
  var results: String?

  @Option(help: "Folder of the peers' libraries. Default: beside the results.")
  var peers: String?

  @Option(help: "Folder for the logs that are measured; they are removed. Default: beside the results.")
  var directory: String?

  @Option(help: "The commit that was built, for the documentation.")
  var commit = "unknown"

  @Flag(help: "A short run: capture at 1 and 3 threads, without the slow subjects.")
  var quick = false

  func validate() throws {
    guard (1...9000).contains(events) else { throw ValidationError("--events takes 1 to 9000") }
    _ = try (threadCounts(), candidates(), chosenRegimes())
  }

  func run() throws {
    let resultsFile = results.map { URL(fileURLWithPath: $0) }
    let base = resultsFile?.deletingLastPathComponent() ?? FileManager.default.temporaryDirectory
    PeerSubject.folder = peers ?? base.appendingPathComponent("peers").path
    let session = Session(folder: directory.map { URL(fileURLWithPath: $0) } ?? base.appendingPathComponent("logs"))
    defer { session.end() }

    let machine = Machine()
    print(machine.summary)
    for regime in try chosenRegimes() {
      let start = Date()
      try run(regime, session)
      FileHandle.standardError.write(
        Data("\(regime): measured in \(fixed(Date().timeIntervalSince(start))) seconds\n".utf8))
    }
    print("\n" + tables(session) + "\n")
    for note in session.notes + session.outcomes.flatMap(\.notes) { print("note: \(note)") }
    for skip in session.skipped { print("skipped: \(skip.name): \(skip.reason)") }
    print(list(verdicts(session)))
    if let resultsFile {
      try Data(resultLines(session.outcomes).utf8).write(to: resultsFile)
      try machine.json(command: quick ? "make bench-quick" : "make bench", commit: commit).write(
        to: base.appendingPathComponent("machine.json"))
    }

    let complaints = session.outcomes.flatMap(\.complaints)
    for complaint in complaints { print(complaint) }
    if !complaints.isEmpty { throw ExitCode(1) }
    print("\nEvery accepted event was found where it ends up.")
  }

  private func run(_ regime: Regime, _ session: Session) throws {
    let plan = Plan(rounds: rounds ?? (quick ? 6 : 12), bursts: bursts ?? (quick ? 40 : 60), events: events)
    let chosen = try candidates()
    func choose(_ names: String...) -> [Candidate] { chosen.filter { names.contains($0.name) } }
    switch regime {
    case .capture:
      for count in try threadCounts() {
        // More threads bring more samples in a round, and take longer to come together.
        var plan = plan
        if count > 4 { plan.rounds = max(2, plan.rounds / 5) }
        try measureBursts("capture", chosen, Setup(threads: count), plan, session)
      }
    case .sizes:
      for bytes in [16, 256, 4096] {
        let subjects = choose("floor", "weir-c", "weir-swift", "moodycamel")
        try measureBursts("capture", subjects, Setup(textBytes: bytes), plan, session)
      }
    case .coarse: try measureBursts("coarse", Candidate.clocks, Setup(), plan, session)
    case .codable:
      let subjects = choose("weir-swift", "weir-swift-codable", "codable-discard")
      try measureBursts("codable", subjects, Setup(), plan, session)
    case .tail:
      let subjects = choose("floor", "floor-drained", "weir-c", "weir-swift")
      try measureTail(subjects, rounds: max(1, plan.rounds / 4), session)
    case .saturation:
      let subjects = choose("weir-c", "weir-swift", "moodycamel", "lttng-ust", "spdlog")
      for count in try threadCounts() { try measureSaturation(subjects, threads: count, rounds: 3, session) }
    case .sustained: try measureSustained(choose("weir-c"), bytes: 4_400_000_000, rounds: 3, session)
    case .idle: try measureIdle(seconds: 5, session)
    case .scope:
      for candidates in Candidate.scopes { try measureBursts("scope", candidates, Setup(), plan, session) }
    }
  }

  private func chosenRegimes() throws -> [Regime] {
    guard let regimes else { return quick ? [.capture, .scope] : Regime.allCases }
    return try regimes.split(separator: ",").map { name in
      guard let regime = Regime(rawValue: String(name)) else { throw ValidationError("no regime is called \(name)") }
      return regime
    }
  }

  private func threadCounts() throws -> [Int] {
    guard let threads else { return quick ? [1, 3] : [1, 2, 3, 16] }
    return try threads.split(separator: ",").map { text in
      guard let count = Int(text), (1...200).contains(count) else {
        throw ValidationError("--threads takes numbers from 1 to 200, comma-separated: \(text)")
      }
      return count
    }
  }

  private func candidates() throws -> [Candidate] {
    guard let only else { return Candidate.all.filter { !quick || !Candidate.slow.contains($0.name) } }
    return try only.split(separator: ",").map { name in
      guard let candidate = Candidate.all.first(where: { $0.name == name }) else {
        throw ValidationError("no subject is called \(name)")
      }
      return candidate
    }
  }
}

/// What is varied; the names are those of the results, but for `sizes`, which are rows of `capture`. The last one binds
/// scopes, after which a process never is as it was before.
enum Regime: String, CaseIterable {
  case capture, sizes, coarse, codable, tail, saturation, sustained, idle, scope
}
