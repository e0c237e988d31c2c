// request-bench: what a request pays beside its captures: bindings, the inspector that checks its events, and waiting
// for the disk.
import ArgumentParser
import Foundation
import Weir
import WeirContracts

@main
struct Command: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "request-bench",
    abstract: "What bindings, an inspector and audits cost.",
    discussion: """
      A binding is the time of a call, the median of bursts. An inspector's cost is the processor time of its thread, \
      over the events that it checked, the median of the rounds; all events are clean. Both in nanoseconds.

      --audits measures only how many audits a second there are by how many tasks wait at once, the median of the \
      rounds.
      """)

  @Option(help: "Bursts of each binding.")
  var bursts = 1001

  @Option(help: "Calls a burst.")
  var calls = 200

  @Option(help: "Events of each round of the inspector.")
  var events = 500_000

  @Option(help: "Rounds of the inspector.")
  var rounds = 5

  @Flag(help: "Only audits.")
  var audits = false

  @Option(help: "Seconds of each round of audits.")
  var seconds = 1.0

  @Option(help: "File to which one line of JSON a row is appended.")
  var results: String?

  @Option(help: "Folder for the log; removed afterwards.")
  var directory = FileManager.default.temporaryDirectory.path

  func validate() throws {
    guard bursts > 0, calls > 0, events > 0, rounds > 0, seconds > 0 else {
      throw ValidationError("all counts and times must be above 0")
    }
  }

  func run() async throws {
    if audits { return try await runAudits() }
    let rows =
      bindingRows(Bursts(bursts: bursts, calls: calls)) + [
        try inspectorRow("inspector", isBound: false),
        try inspectorRow("inspector, events with bindings", isBound: true),
      ]
    for row in rows { print("\(row.subject): \(Int(row.nanoseconds.rounded())) ns") }
    guard let results else { return }
    let lines = rows.map { #"{"bench":"request","subject":"\#($0.subject)","unit":"ns","p50":\#($0.nanoseconds)}"# }
    try append(lines.joined(separator: "\n") + "\n", to: results)
  }

  private func runAudits() async throws {
    for tasks in [1, 16, 128, 1024] {
      var measured: [(rate: Double, nanoseconds: Double)] = []
      let sync = try syncMicroseconds(in: directory)
      for _ in 0..<rounds {
        measured.append(
          try await RequestBench.audits(in: "\(directory)/audits-\(getpid())", tasks: tasks, seconds: seconds))
      }
      let median = measured.sorted { $0.rate < $1.rate }[rounds / 2]
      let rates = "\(Int(median.rate)) audits/s, \(Int(median.nanoseconds)) ns of processor each"
      print("\(tasks) tasks: \(rates); 4 KiB by themselves are on disk in \(Int(sync)) us")
    }
  }

  private func inspectorRow(_ subject: String, isBound: Bool) throws -> Row {
    let folder = "\(directory)/request-bench-\(getpid())"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let times = try (0..<rounds).map { _ in
      try? FileManager.default.removeItem(atPath: folder)
      return try inspectorNanoseconds(in: folder, events: events, isBound: isBound)
    }
    return Row(subject: subject, nanoseconds: times.sorted()[rounds / 2])
  }

  private func append(_ text: String, to path: String) throws {
    let before = (try? Data(contentsOf: URL(filePath: path))) ?? Data()
    try (before + Data(text.utf8)).write(to: URL(filePath: path))
  }
}

struct Row {
  let subject: String
  let nanoseconds: Double
}
