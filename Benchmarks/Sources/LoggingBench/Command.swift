// logging-bench: what a line of swift-log costs, by log handler.

import ArgumentParser
import CaptureSubjects
import Foundation
import Logging
import Weir
import WeirLogging

@main
struct Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "logging-bench",
    abstract: "What a line of swift-log costs, by log handler: nanoseconds a line, medians of bursts.",
    discussion: """
      Unless the subject's name says otherwise, a line has a message and three metadata values: strings of 8, 12 and \
      24 bytes, made at run time. The subjects take turns, burst by burst, and what is buffered is written between the \
      bursts. The files are in a new directory in DIRECTORY, with at most 400 MB, and are removed at the end.
      """)

  @Option(help: "Where the files go.")
  var directory = FileManager.default.temporaryDirectory.path

  @Option(help: "Bursts of each subject.")
  var bursts = 301

  @Option(help: "Lines a burst.")
  var lines = 1_000

  @Option(help: "Subjects whose names contain this.")
  var only = ""

  func validate() throws {
    guard bursts > 0, 1...2000 ~= lines else { throw ValidationError("--bursts is above 0, and --lines 1 to 2000") }
  }

  func run() throws {
    let folder = "\(directory)/logging-bench-\(getpid())"
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var configuration = Tracker.Configuration()
    configuration.logger = nil
    configuration.byteLimit = 390_000_000
    configuration.atByteLimit = .dropOldest
    let tracker = try Tracker(directory: folder + "/log", configuration: configuration)
    let file = try LineFile(path: folder + "/lines.log")
    pinThisThread()

    let subjects = subjects(tracker, file).filter { only.isEmpty || $0.name.contains(only) }
    guard !subjects.isEmpty else { throw ValidationError("no subject's name contains \(only)") }
    var times: [[Double]] = subjects.map { _ in [] }
    for burst in 0..<bursts + warmUp {
      for turn in subjects.indices {
        let index = (turn + burst) % subjects.count
        let start = ContinuousClock.now
        for number in 0..<lines { subjects[index].log(number) }
        let taken = (ContinuousClock.now - start) / .nanoseconds(1) / Double(lines)
        if burst >= warmUp { times[index].append(taken) }
        // A full lane would have the next burst refused, and a full buffer written.
        try tracker.drain()
        file.flush()
      }
    }
    for (subject, times) in zip(subjects, times) {
      let sorted = times.sorted()
      func percentile(_ share: Int) -> String { String(format: "%.1f", sorted[(sorted.count - 1) * share / 100]) }
      print("\(subject.name): \(percentile(50)) ns (p5 \(percentile(5)), p95 \(percentile(95)))")
    }
    let counters = tracker.counters
    guard counters.dropped.isEmpty else { throw Refused(description: "lines were refused: \(counters.dropped)") }
    print("lines captured: \(counters.accepted), none refused")
    try tracker.close()
  }

  /// To the last processor. The threads of the log, which exist already, run wherever they may.
  private func pinThisThread() {
    var processors = [Int32](repeating: 0, count: 1024)
    let count = Int(support_cpus(&processors, Int32(processors.count)))
    guard count > 1 else { return }
    _ = support_pin([processors[count - 1]], 1)
  }

  /// Bursts that don't count: a lane is claimed, the type defined, pages touched.
  private var warmUp: Int { 10 }
}

struct Refused: Error, CustomStringConvertible {
  let description: String
}
