// Captures that are refused: what is logged while it happens, how often, and that nothing stays untold.

import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir

struct RefusalTests {
  private typealias Line = RefusalReport.Line

  @Test func `a reason is told at once, and then every ten seconds`() {
    var report = RefusalReport()
    #expect(report.look([:], at: .zero).isEmpty)
    #expect(report.nextLook(after: .zero) == nil)
    #expect(report.look([.full: 1], at: .seconds(1)) == [Line(reason: .full, count: 1, total: 1)])
    #expect(report.look([.full: 500], at: .milliseconds(10_999)).isEmpty)
    #expect(report.nextLook(after: .seconds(10)) == .seconds(11))
    #expect(report.look([.full: 501], at: .seconds(11)) == [Line(reason: .full, count: 500, total: 501)])
    // Nothing more: nobody has to look again.
    #expect(report.look([.full: 501], at: .seconds(21)).isEmpty)
    #expect(report.nextLook(after: .seconds(21)) == nil)
    #expect(report.look([.full: 502], at: .seconds(90)) == [Line(reason: .full, count: 1, total: 502)])
  }

  @Test func `each reason has its own time`() {
    var report = RefusalReport()
    #expect(report.look([.full: 3], at: .zero).map(\.reason) == [.full])
    let second = report.look([.full: 4, .noLane: 1, .tooLarge: 2, .storage: 5, .invalid: 6], at: .seconds(4))
    #expect(second.map(\.reason) == [.noLane, .tooLarge, .storage, .invalid])
    #expect(report.nextLook(after: .seconds(4)) == .seconds(10))
    #expect(report.look([.full: 4, .noLane: 2], at: .seconds(10)) == [Line(reason: .full, count: 1, total: 4)])
    #expect(report.nextLook(after: .seconds(10)) == .seconds(14))
  }

  /// Sampled events are left out on purpose, and those after the close by the program's own doing.
  @Test func `a refusal that is no fault is not told`() {
    var report = RefusalReport()
    #expect(report.look([.sampled: 9, .closed: 9, .detached: 9, .overwritten: 9], at: .zero).isEmpty)
  }

  @Test func `the last look keeps nothing back`() {
    var report = RefusalReport()
    _ = report.look([.full: 1], at: .zero)
    #expect(report.look([.full: 8], at: .seconds(1), isLast: true) == [Line(reason: .full, count: 7, total: 8)])
    #expect(report.look([.full: 8], at: .seconds(1), isLast: true).isEmpty)
  }

  // MARK: In a log

  private func watched(
    _ lines: LoggedLines, _ clock: VirtualClock, _ change: (inout Tracker.Configuration) -> Void = { _ in }
  ) -> Tracker.Configuration {
    quiet {
      $0.logger = lines.logger
      $0.refusalClock = clock
      change(&$0)
    }
  }

  private func warnings(_ lines: LoggedLines) -> [String] {
    lines.lines.withLock { $0.filter { $0.level == .warning }.map(\.text) }
  }

  private let large = String(repeating: "x", count: 100_000)

  @Test func `an event that is too large is told while it happens`() async throws {
    try await withDirectoryAsync { directory in
      let lines = LoggedLines()
      let clock = VirtualClock()
      let tracker = try Tracker(directory: directory, configuration: watched(lines, clock))
      #expect(tracker.track("small").isAccepted)
      try tracker.drain()
      #expect(warnings(lines).isEmpty)
      #expect(clock.next == nil)
      #expect(tracker.track(Single(large)) == .dropped(.tooLarge))
      #expect(await eventually { warnings(lines).count == 1 })
      #expect(
        warnings(lines).last?.hasPrefix("events are refused (too_large), 1, in \(directory): the events are larger")
          == true)
      // Within ten seconds nothing is said of more of them.
      for _ in 0..<41 { #expect(tracker.track(Single(large)) == .dropped(.tooLarge)) }
      await clock.sleepers(atLeast: 1)
      #expect(clock.next == VirtualClock.Instant(.seconds(10)))
      try tracker.drain()
      clock.advance(by: .milliseconds(9_999))
      #expect(warnings(lines).count == 1)
      clock.advance(by: .milliseconds(1))
      #expect(await eventually { warnings(lines).count == 2 })
      #expect(warnings(lines).last?.hasPrefix("events are refused (too_large), 41 more, 42 since the log was") == true)
      // Once nothing was refused for as long, nobody looks any more.
      await clock.sleepers(atLeast: 1)
      clock.advance(by: .seconds(10))
      #expect(await eventually { clock.next == nil })
      #expect(tracker.track(Single(large)) == .dropped(.tooLarge))
      #expect(await eventually { warnings(lines).count == 3 })
      try tracker.close()
      #expect(warnings(lines).count == 3)
    }
  }

  @Test func `a lane that is full is told`() async throws {
    try await withDirectoryAsync { directory in
      let lines = LoggedLines()
      let tracker = try Tracker(
        directory: directory,
        configuration: watched(lines, VirtualClock()) {
          $0.laneBytes = 128 << 10
          $0.drainInterval = .seconds(10)
        })
      // The drainer may keep up for a while.
      let text = String(repeating: "x", count: 60_000)
      while tracker.track(Single(text)) != .dropped(.full) {}
      #expect(await eventually { warnings(lines).contains { $0.hasPrefix("events are refused (full), ") } })
      // What was refused meanwhile is not kept back.
      let refused = tracker.counters.dropped[.full] ?? 0
      try tracker.close()
      let told = lines.lines.withLock { $0.last?.text ?? "" }
      #expect(refused == 1 || told.contains("\(refused) since the log was opened"), "\(told)")
    }
  }

  @Test func `a log that cannot grow says so`() async throws {
    try await withDirectoryAsync { directory in
      let lines = LoggedLines()
      let tracker = try Tracker(
        directory: directory,
        configuration: watched(lines, VirtualClock()) {
          $0.laneBytes = 128 << 10
          $0.byteLimit = 16 << 20
          $0.whenFull = .block
        })
      let text = String(repeating: "x", count: 60_000)
      while tracker.track(Single(text)) != .dropped(.storage) {}
      #expect(await eventually { warnings(lines).contains { $0.hasPrefix("events are refused (storage), ") } })
      try? tracker.close()
    }
  }

  /// The ring is cut short, and the guard stops the log.
  @Test func `a log that was stopped says so`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "weir-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    await #expect(processExitsWith: .exitCode(7)) { [directory = directory as String] in
      Tracker.installGuard()
      let lines = LoggedLines()
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.logger = lines.logger })
      truncate(directory + "/ring", 0)
      while tracker.track("e") != .dropped(.storage) {}
      let isSaid = await eventually {
        lines.lines.withLock { $0.contains { $0.text.hasPrefix("events are refused (storage), ") } }
      }
      let remedy = lines.lines.withLock { $0.contains { $0.text.contains("close and reopen the log") } }
      exit(isSaid && remedy ? 7 : 1)
    }
  }

  /// Captures an event while it is encoded, and another while that is.
  private struct Nested: Event {
    static let eventTypes = [EventType("nested")]
    let tracker: Tracker
    let levels: Int
    let receipts: Receipts
    final class Receipts: Sendable { let all = Mutex<[Receipt]>([]) }

    init(_ tracker: Tracker, levels: Int, _ receipts: Receipts) {
      self.tracker = tracker
      self.levels = levels
      self.receipts = receipts
    }

    init?(_ stored: StoredEvent) throws { return nil }

    func encode(into encoder: inout EventEncoder) {
      if levels > 0 {
        let receipt = tracker.track(Nested(tracker, levels: levels - 1, receipts))
        receipts.all.withLock { $0.append(receipt) }
      }
      encoder.begin(0)
    }
  }

  @Test func `lanes that are all taken and events that are invalid are told`() async throws {
    try await withDirectoryAsync { directory in
      let lines = LoggedLines()
      let tracker = try Tracker(
        directory: directory,
        configuration: watched(lines, VirtualClock()) {
          $0.laneCount = 2
          $0.spareLanes = 1
        })
      let receipts = Nested.Receipts()
      #expect(tracker.track(Nested(tracker, levels: 2, receipts)).isAccepted)
      #expect(receipts.all.withLock { $0.first } == .dropped(.noLane))
      #expect(tracker.track("weir.reserved") == .dropped(.invalid))
      #expect(await eventually { warnings(lines).count == 2 })
      let found = warnings(lines).sorted()
      #expect(found[0].hasPrefix("events are refused (invalid), 1, in \(directory): the events don't match"))
      #expect(found[1].hasPrefix("events are refused (no_lane), 1, in \(directory): more threads capture"))
    }
  }

  @Test func `a refusal right before the end is told`() throws {
    try withDirectory { directory in
      let lines = LoggedLines()
      do {
        let tracker = try Tracker(directory: directory, configuration: watched(lines, VirtualClock()))
        // The second one may be told of with the first one, or at the end.
        for _ in 0..<2 { #expect(tracker.track(Single(large)) == .dropped(.tooLarge)) }
        try tracker.close()
      }
      let told = warnings(lines)
      #expect(told == told.filter { $0.contains("too_large") })
      #expect(!told.isEmpty)
    }
  }
}
