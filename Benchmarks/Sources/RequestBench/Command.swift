// request-bench: what a request pays beside its captures: bindings, and the inspector that checks its events.
import ArgumentParser
import Foundation
import Weir
import WeirContracts

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "request-bench",
    abstract: "What bindings cost a request, and what an inspector costs an event, in nanoseconds.",
    discussion: """
      A binding is the time of a call, the median of bursts. An inspector's cost is the processor time of its thread, \
      over the events that it checked, the median of the rounds; all events are clean.
      """)

  @Option(help: "Bursts of each binding.")
  var bursts = 1001

  @Option(help: "Calls a burst.")
  var calls = 200

  @Option(help: "Events of each round of the inspector.")
  var events = 500_000

  @Option(help: "Rounds of the inspector.")
  var rounds = 5

  @Option(help: "File to which one line of JSON a row is appended.")
  var results: String?

  @Option(help: "Folder for the log; removed afterwards.")
  var directory = FileManager.default.temporaryDirectory.path

  func validate() throws {
    guard bursts > 0, calls > 0, events > 0, rounds > 0 else { throw ValidationError("all counts must be above 0") }
  }

  func run() throws {
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
