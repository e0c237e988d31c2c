// Windows: each event is counted in one window, whatever the windows are.

import Foundation
import TestSupport
import Testing
import WeirDelivery

@testable import Weir
@testable import WeirReconcile

@Suite struct WindowsTests {
  private struct Done: Error {}

  @Test func `the reports of all windows add up to the report of all events`() async throws {
    let seed = testSeed()
    print("WindowsTests: WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      let tracker = try Tracker(directory: log, configuration: quiet())
      for number in 0..<2_000 {
        tracker.track("e", fields: ["n": .int(Int64(number))])
        if number % 100 == 0 { tracker.track("", fields: [:]) }
      }
      try tracker.close()
      var control: [String] = []
      let reader = try EventReader(directory: log)
      var times: [Int64] = []
      while let event = try reader.next() {
        guard !event.isNotice else { continue }
        times.append(event.time.nanosecondsSince1970)
        var bytes: [UInt8] = []
        EventJSON().append(event, to: &bytes)
        let line = String(decoding: bytes, as: UTF8.self)
        switch Int.random(in: 0..<20, using: &random) {
        case 0: continue
        case 1: control += [line, line]
        case 2: control.append(line.replacing(#""n":"#, with: #""m":"#))
        case 3: control += [line, #"{"event":"other","time":"\#(event.time)"}"#]
        default: control.append(line)
        }
      }
      let file = directory + "/control.jsonl"
      // The end of a line that is being written does not count.
      let text = control.map { $0 + "\n" }.joined()
      try Data((text + #"{"event":"oth"#).utf8).write(to: URL(fileURLWithPath: file))
      let whole = directory + "/whole.jsonl"
      try Data(text.utf8).write(to: URL(fileURLWithPath: whole))

      let (first, last) = (times.min() ?? 0, times.max() ?? 0)
      let length = (last - first) / 7 + 1
      var sum = ReconciliationReport.Counts()
      var reasons: [String: UInt64] = [:]
      var (here, there) = (UInt64(0), UInt64(0))
      var ends: [Timestamp] = []
      await #expect(throws: Done.self) {
        try await Reconciliation.run(
          log: log, against: file, every: .nanoseconds(length), delay: .milliseconds(1),
          from: Timestamp(nanosecondsSince1970: first)
        ) { report in
          sum.add(report.all)
          for reason in report.reasons { reasons[reason.reason, default: 0] += reason.count }
          here += report.here
          there += report.there
          let times = try #require(report.times)
          #expect(ends.last ?? times.lowerBound == times.lowerBound)
          ends.append(times.upperBound)
          if times.upperBound.nanosecondsSince1970 > last { throw Done() }
        }
      }
      #expect(ends.count >= 7)
      let all = try Reconciliation(log: log, against: whole).run()
      #expect(here == all.here && there == all.there, "seed \(seed)")
      for verdict in ReconciliationReport.Verdict.allCases where verdict != .outOfOrder && verdict != .unknown {
        #expect(sum[verdict] == all.all[verdict], "\(verdict), seed \(seed)")
      }
      // No loss explains more events than it has, over all windows.
      #expect(reasons["refused: invalid"] ?? 0 <= 20, "seed \(seed)")
    }
  }

  @Test func `what comes once the log has stopped is unknown`() async throws {
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      let tracker = try Tracker(directory: log, configuration: quiet())
      for _ in 0..<5 { tracker.track("e", fields: [:]) }
      try tracker.close()
      let last = try #require(try LogDirectory(log).events(from: 0).last?.time.nanosecondsSince1970)
      let second: Int64 = 1_000_000_000
      let lines = (1...9).map {
        #"{"event":"e","time":"\#(Timestamp(nanosecondsSince1970: last - 100 * second + Int64($0) * 10 * second))"}"#
      }
      // The log's events are moved to before the control's: nothing is in the windows here.
      let file = directory + "/control.jsonl"
      try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: file))
      var unknown: UInt64 = 0
      await #expect(throws: Done.self) {
        try await Reconciliation.run(
          log: log, against: file, every: .seconds(45), delay: .milliseconds(1),
          from: Timestamp(nanosecondsSince1970: last - 95 * second)
        ) { report in
          #expect(report.here == 0 && report.all[.onlyThere] == report.there)
          unknown += report.all[.unknown]
          if unknown == 9 { throw Done() }
          if (report.times?.upperBound.nanosecondsSince1970 ?? 0) > last { throw CancellationError() }
        }
      }
      let whole = try Reconciliation(log: log, against: file).run()
      #expect(whole.all[.onlyThere] == 9 && whole.all[.unknown] == 0)
    }
  }

  @Test func `a control that is rotated is read from its beginning`() async throws {
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      let tracker = try Tracker(directory: log, configuration: quiet())
      for number in 0..<200 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
      try tracker.close()
      let events = try LogDirectory(log).events(from: 0)
      let times = events.map(\.time.nanosecondsSince1970)
      func write(_ events: ArraySlice<StoredEvent>, _ more: String = "") throws {
        var bytes: [UInt8] = []
        for event in events {
          EventJSON().append(event, to: &bytes)
          bytes.append(UInt8(ascii: "\n"))
        }
        let file = directory + "/control.jsonl"
        try? FileManager.default.removeItem(atPath: file)
        try (Data(bytes) + Data(more.utf8)).write(to: URL(fileURLWithPath: file))
      }
      let (first, last) = (times[0], times[199])
      let middle = times[100]
      try write(events[..<100], String(repeating: "{\"event\":\"old\",\"time\":1}\n", count: 2_000))
      var identical: UInt64 = 0
      await #expect(throws: Done.self) {
        try await Reconciliation.run(
          log: log, against: directory + "/control.jsonl", every: .nanoseconds(middle - first), delay: .zero,
          from: Timestamp(nanosecondsSince1970: first)
        ) { report in
          identical += report.all[.identical]
          try write(events[100...])
          if (report.times?.upperBound.nanosecondsSince1970 ?? 0) > last { throw Done() }
        }
      }
      #expect(identical == 200)
    }
  }

  @Test func `a task that is cancelled ends the run`() async throws {
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      try Tracker(directory: log, configuration: quiet()).close()
      let run = Task {
        try await Reconciliation.run(log: log, against: log, every: .seconds(3_600)) { _ in }
      }
      run.cancel()
      await #expect(throws: CancellationError.self) { try await run.value }
    }
  }
}
