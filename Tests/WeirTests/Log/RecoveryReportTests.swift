// Opening a log whose process died, as the tracker reports and logs it.

import Foundation
import Logging
import TestSupport
import Testing
import Weir

struct RecoveryReportTests {
  /// A copy of a live log's files is what its process would leave if it were killed now, unless the drainer made a pass
  /// while they were copied.
  private func copy(of tracker: Tracker, to other: String) throws {
    let files = FileManager.default
    var drained: UInt64
    repeat {
      for name in try files.contentsOfDirectory(atPath: other) { try files.removeItem(atPath: other + "/" + name) }
      drained = tracker.counters.drained
      for name in try files.contentsOfDirectory(atPath: tracker.directory) {
        try files.copyItem(atPath: tracker.directory + "/" + name, toPath: other + "/" + name)
      }
    } while tracker.counters.drained != drained
  }

  @Test func `the events that a dead process captured are recovered`() throws {
    try withDirectory { directory in
      try withDirectory { dead in
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.drainInterval = .seconds(10) })
        var ids: [EventID] = []
        for number in 0..<500 as Range<UInt64> {
          ids.append(try #require(tracker.track(Checkout.started(cart: number)).id))
          ids.append(try #require(tracker.track(Visit.plan(plan: .paid)).id))
          if number == 250 { try tracker.drain() }
        }
        tracker.track("")
        try copy(of: tracker, to: dead)

        let reader = try EventReader(directory: dead)
        #expect(!reader.isLive)
        let before = try reader.all()
        #expect(before.filter { !$0.isNotice }.map(\.id) == ids)
        let drained = try EventReader(directory: dead, includeLanes: false).all()
        #expect(drained.count >= 502)
        #expect(drained == Array(before.prefix(drained.count)))

        let lines = LoggedLines()
        let recovered = try Tracker(directory: dead, configuration: quiet { $0.logger = lines.logger })
        let report = recovered.recovery
        #expect(!report.wasClean)
        #expect(report.isComplete)
        #expect(report.eventsInSegments + report.eventsFromLanes == 1_000)
        // A pass of the drainer may have noted the refusal before the copy.
        #expect(report.dropped + UInt64(drained.count(where: \.isNotice)) == 1)
        #expect(report.previousOpening == tracker.opening)
        #expect(report.opening == recovered.opening)
        #expect(report.firstOffset >= UInt64(before.count))
        #expect(lines.levels == [.info])
        #expect(lines.last.contains("recovered \(report.eventsInSegments) events from segments"))
        #expect(try recovered.events() == before)
        #expect(try recovered.events(of: Checkout.self).count == 500)
      }
    }
  }

  @Test func `a lost ring is reported`() throws {
    try withDirectory { directory in
      try withDirectory { dead in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track(Visit.opened)
        try tracker.drain()
        try copy(of: tracker, to: dead)
        try Data(repeating: 7, count: 1_000).write(to: URL(filePath: dead + "/ring"))
        let lines = LoggedLines()
        let recovered = try Tracker(directory: dead, configuration: quiet { $0.logger = lines.logger })
        #expect(recovered.recovery.ringReplaced)
        #expect(!recovered.recovery.isComplete)
        #expect(lines.levels == [.warning])
        #expect(lines.last.contains("an unknown number of events is lost with it"))
        #expect(try recovered.events(of: Visit.self).map(\.event) == [.opened])
      }
    }
  }

  @Test func `refused types are logged once`() throws {
    try withDirectory { directory in
      let lines = LoggedLines()
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.logger = lines.logger })
      #expect(lines.levels == [.info])
      #expect(lines.last == "opened \(directory): nothing to recover")
      for _ in 0..<10 { tracker.track(Loose { _ in }) }
      #expect(lines.levels == [.info, .error])
      #expect(lines.last.contains("events of Loose are dropped"))
    }
  }

  @Test func `the report is Codable`() throws {
    try withDirectory { directory in
      let report = try Tracker(directory: directory, configuration: quiet()).recovery
      let json = try JSONEncoder().encode(report)
      #expect(try JSONDecoder().decode(RecoveryReport.self, from: json) == report)
    }
  }
}
