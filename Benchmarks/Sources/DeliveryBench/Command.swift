// Command.swift: the command. `delivery-bench --help` says what it takes.
import ArgumentParser
import Foundation
import Weir
import WeirDelivery

@main
struct Command: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delivery-bench",
    abstract: "Measures what delivery costs, beside what the machine can do with the same bytes.",
    discussion: """
      All rows are about the same events, those of capture-bench: 48 bytes of fields. A rate in MB/s is of the JSON \
      that is delivered, before compression. Beside each row stands its physical limit: the same bytes with nothing to \
      do but to copy them, or to write and sync them as often. The figures are medians of the rounds. Every event is \
      looked for where it was delivered; exits with 1 if one is missing.
      """)

  @Option(help: "Events in the log.")
  var events = 300_000

  @Option(help: "Rounds of each row.")
  var rounds = 5

  @Option(help: "Events a delivery, comma-separated.")
  var batches = "1000,10000"

  @Option(help: "File for one line of JSON a row; replaced.")
  var results: String?

  @Option(help: "Folder for the log and the files; removed afterwards. Default: a new one in the temporary folder.")
  var directory: String?

  @Option(help: "The tool, for delivery over HTTP to weir collect; without it there is no such row.")
  var tool: String?

  func validate() throws {
    guard (1_000...10_000_000).contains(events) else { throw ValidationError("--events takes 1000 to 10000000") }
    guard (1...100).contains(rounds) else { throw ValidationError("--rounds takes 1 to 100") }
    _ = try batchSizes()
  }

  func run() async throws {
    let folder = URL(filePath: directory ?? FileManager.default.temporaryDirectory.path)
      .appending(path: "delivery-bench-\(ProcessInfo.processInfo.processIdentifier)")
    try FileManager.default.createDirectory(
      at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(at: folder) }
    let log = try SampleLog(folder.appending(path: "log").path, events: events)
    var rows = try measureEncoding(log, rounds: rounds)
    for batch in try batchSizes() {
      rows += try await measureFiles(log, in: folder, batch: batch, rounds: rounds)
    }
    if let tool { rows += try await measureHTTP(log, in: folder, tool: tool, rounds: rounds) }
    print(table(rows))
    if let results { try Data(rows.map(\.line).joined().utf8).write(to: URL(filePath: results)) }
  }

  private func batchSizes() throws -> [Int] {
    try batches.split(separator: ",").map { text in
      guard let batch = Int(text), (1...1_000_000).contains(batch) else {
        throw ValidationError("--batches takes numbers from 1 to 1000000, comma-separated: \(text)")
      }
      return batch
    }
  }
}
