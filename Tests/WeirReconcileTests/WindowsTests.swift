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
