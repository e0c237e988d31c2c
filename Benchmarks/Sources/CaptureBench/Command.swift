// Command.swift: the command. `capture-bench --help` says what it takes.
import ArgumentParser
import Foundation

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "capture-bench",
    abstract: "Measures what one capture costs the thread that makes it, beside a bare copy into a mapped file.",
    discussion: """
      Captures come in short bursts that fit into a lane; between bursts the log is drained, so nothing is refused for \
      want of room. A figure is the average of one burst; the table shows the median and the 99th percentile of the \
      bursts. Threads are pinned, subjects take turns, every accepted event is looked for in the log at the end. Exits \
      with 1 if one is missing.
      """
  )

  @Option(help: "Threads that capture at once, comma-separated.")
  var threads: String?

  @Option(help: "Subjects to measure, comma-separated (\(subjects.map { $0.name }.joined(separator: ", "))).")
  var only: String?

  @Option(help: "Rounds; each opens every subject anew.")
  var rounds: Int?

  @Option(help: "Bursts a round.")
  var bursts: Int?

  @Option(help: "Captures a burst and thread.")
  var events = 2000

  @Option(help: "File for one line of JSON a row; replaced.")
  var results: String?

  @Option(help: "Folder for the logs that are measured; they are removed. Default: beside the results.")
  var directory: String?

  @Flag(help: "A short run: 1 and 3 threads.")
  var quick = false

  func validate() throws {
    // A lane of 1 MiB holds 14,000 records of 72 bytes: with more, refusals would be measured, not captures.
    guard (1...10_000).contains(events) else { throw ValidationError("--events takes 1 to 10000") }
    _ = try (threadCounts(), chosenSubjects())
  }

  func run() throws {
    let plan = Plan(rounds: rounds ?? (quick ? 10 : 30), bursts: bursts ?? (quick ? 40 : 100), events: events)
    let chosen = try chosenSubjects()
    let resultsFile = results.map { URL(fileURLWithPath: $0) }
    let base = resultsFile?.deletingLastPathComponent() ?? FileManager.default.temporaryDirectory
    let folder = directory.map { URL(fileURLWithPath: $0) } ?? base.appendingPathComponent("logs")

    print(machine())
    print(
      "\(plan.rounds) rounds of \(plan.bursts) bursts of \(plan.events) captures; figures are averages of a burst\n")
    var outcomes: [Outcome] = []
    for count in try threadCounts() {
      outcomes += try measure(chosen, threads: count, plan: plan, in: folder)
    }
    try? FileManager.default.removeItem(at: folder)
    print(table(outcomes))
    if let resultsFile { try Data(resultLines(outcomes).utf8).write(to: resultsFile) }

    let complaints = outcomes.flatMap(\.complaints)
    for complaint in complaints { print(complaint) }
    if !complaints.isEmpty { throw ExitCode(1) }
    print("\nEvery accepted event was found in its log.")
  }

  private func threadCounts() throws -> [Int] {
    guard let threads else { return quick ? [1, 3] : [1, 2, 3, 4] }
    return try threads.split(separator: ",").map { text in
      guard let count = Int(text), (1...14).contains(count) else {
        throw ValidationError("--threads takes numbers from 1 to 14, comma-separated: \(text)")
      }
      return count
    }
  }

  private func chosenSubjects() throws -> [any Subject.Type] {
    guard let only else { return subjects }
    return try only.split(separator: ",").map { name in
      guard let subject = subjects.first(where: { $0.name == name }) else {
        throw ValidationError("no subject is called \(name)")
      }
      return subject
    }
  }
}
