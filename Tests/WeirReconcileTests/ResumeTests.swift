// A comparison that was killed, and the next one of the same.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirDelivery

@testable import Weir
@testable import WeirReconcile

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

@Suite struct ResumeTests {
  /// A log with refusals, and a control that lacks some events and has others.
  private static func prepare(_ directory: String) throws {
    let tracker = try Tracker(directory: directory + "/log", configuration: quiet())
    for number in 0..<3_000 {
      Bindings.with(user: "u\(number % 9)") {
        _ = tracker.track("e\(number % 5)", fields: ["n": .int(Int64(number)), "text": "SPRING"])
      }
      if number % 500 == 0 { tracker.track("", fields: [:]) }
    }
    try tracker.close()
    var lines: [UInt8] = []
    let reader = try EventReader(directory: directory + "/log")
    while let event = try reader.next() {
      if event.isNotice || event.offset % 11 == 3 { continue }
      EventJSON().append(event, to: &lines)
      lines.append(UInt8(ascii: "\n"))
      if event.offset % 17 == 5 { lines += #"{"event":"other","time":"\#(event.time)"}"#.utf8 + [UInt8(ascii: "\n")] }
    }
    try Data(lines).write(to: URL(fileURLWithPath: directory + "/control.jsonl"))
    try FileManager.default.createDirectory(atPath: directory + "/scratch", withIntermediateDirectories: false)
  }

  /// Compares; dies at the first step that begins so.
  private static func compare(
    _ directory: String, scratch: String = "scratch", dyingAt last: String? = nil
  ) throws -> (report: ReconciliationReport, steps: [String]) {
    var options = Reconciliation.Options()
    options.scratch = "\(directory)/\(scratch)"
    let steps = Mutex<[String]>([])
    let report = try Reconciliation(
      log: directory + "/log", against: directory + "/control.jsonl", options: options
    ).run { step in
      if let last, step.hasPrefix(last) { kill(getpid(), SIGKILL) }
      steps.withLock { $0.append(step) }
    }
    return (report, steps.withLock { $0 })
  }

  @Test(arguments: ["reading the log", "matching by id", "matching by content", "checking", "asking"])
  func `a comparison goes on where one was killed, with the same report`(_ step: String) async throws {
    try await withDirectoryAsync { directory in
      try Self.prepare(directory)
      await #expect(processExitsWith: .signal(SIGKILL)) { [directory = directory as String, step = step as String] in
        _ = try Self.compare(directory, dyingAt: step)
      }
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/scratch").count == 1)
      let (report, steps) = try Self.compare(directory)
      #expect(steps.contains { $0.hasPrefix("reading") } == (step == "reading the log"))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/scratch").isEmpty)
      try FileManager.default.createDirectory(atPath: directory + "/other", withIntermediateDirectories: false)
      #expect(report == (try Self.compare(directory, scratch: "other").report))
      #expect(report.all[.onlyHere] > 0 && report.all[.onlyThere] > 0)
    }
  }

  @Test func `a control that was changed meanwhile is read again`() async throws {
    try await withDirectoryAsync { directory in
      try Self.prepare(directory)
      await #expect(processExitsWith: .signal(SIGKILL)) { [directory = directory as String] in
        _ = try Self.compare(directory, dyingAt: "matching")
      }
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: directory + "/control.jsonl"))
      try file.seekToEnd()
      try file.write(contentsOf: Data("{\"event\":\"new\"}\n".utf8))
      try file.close()
      let (report, steps) = try Self.compare(directory)
      #expect(steps.contains { $0.hasPrefix("reading") })
      #expect(report.byName["new"]?[.onlyThere] == 1)
    }
  }

  @Test func `a directory that others can write is not used`() async throws {
    try await withDirectoryAsync { directory in
      try Self.prepare(directory)
      await #expect(processExitsWith: .signal(SIGKILL)) { [directory = directory as String] in
        _ = try Self.compare(directory, dyingAt: "matching")
      }
      let left = try #require(try FileManager.default.contentsOfDirectory(atPath: directory + "/scratch").first)
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o777], ofItemAtPath: "\(directory)/scratch/\(left)")
      #expect(try Self.compare(directory).steps.contains { $0.hasPrefix("reading") })
    }
  }
}
