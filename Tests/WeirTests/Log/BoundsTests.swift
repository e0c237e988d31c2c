// A log's bounds, as Swift sees them: the byte limit with both policies, retention, and what is counted.

import Foundation
import TestSupport
import Testing
import Weir

struct BoundsTests {
  /// The smallest log that rolls often: segments of 256 KiB.
  private func small() -> Tracker.Configuration {
    var configuration = Tracker.Configuration()
    configuration.laneCount = 3
    configuration.spareLanes = 1
    configuration.laneBytes = 16384
    configuration.maximumEventBytes = 2048
    configuration.segmentBytes = 1 << 18
    configuration.whenFull = .block
    configuration.logger = nil
    return configuration
  }

  private func fill(_ tracker: Tracker, _ count: Int) -> Int {
    let text = String(repeating: "weir ", count: 300)
    let fields: FieldObject = ["text": .string(text)]
    return (0..<count).count(where: { _ in tracker.track("filled", fields: fields).id != nil })
  }

  @Test func `the oldest events are displaced at the byte limit, and counted`() throws {
    try withDirectory { directory in
      var configuration = small()
      configuration.byteLimit = 4 << 20
      configuration.atByteLimit = .dropOldest
      let tracker = try Tracker(directory: directory, configuration: configuration)
      let accepted = fill(tracker, 6000)
      try tracker.close()
      let displaced = tracker.counters.displaced
      #expect(displaced > 1000)
      #expect(tracker.counters.expired == 0)
      let statistics = try LogDirectory(directory).statistics()
      #expect(statistics.totalBytes <= 4 << 20)
      #expect(statistics.removed == displaced)
      #expect(statistics.dropped == [.displaced: displaced])
      #expect(statistics.events + statistics.removed == UInt64(accepted))
      let verification = try LogDirectory(directory).verify()
      #expect(verification.findings == 0)
      #expect(verification.removedEvents == displaced)
    }
  }

  @Test func `new events are refused at the byte limit, and counted`() throws {
    try withDirectory { directory in
      var configuration = small()
      configuration.byteLimit = 4 << 20
      let tracker = try Tracker(directory: directory, configuration: configuration)
      let accepted = fill(tracker, 6000)
      #expect(accepted < 6000)
      #expect(tracker.counters.dropped == [.storage: UInt64(6000 - accepted)])
      let error = #expect(throws: WeirError.self) { try tracker.drain() }
      #expect(error?.code == .noSpace)
      #expect(error?.message.contains("byte limit (byteLimit)") == true)
      #expect(throws: WeirError.self) { try tracker.close() }
      configuration.byteLimit = 8 << 20
      let again = try Tracker(directory: directory, configuration: configuration)
      #expect(fill(again, 100) == 100)
      try again.close()
      #expect(try LogDirectory(directory).statistics().events == UInt64(accepted + 100))
    }
  }

  @Test func `a byte limit that is too small for a log is refused`() throws {
    try withDirectory { directory in
      var configuration = small()
      for limit in [0, 1, 1 << 19] {
        configuration.byteLimit = limit
        let error = #expect(throws: WeirError.self) {
          try Tracker(directory: directory, configuration: configuration)
        }
        #expect(error?.code == .invalid)
      }
    }
  }

  @Test func `events that are older than retention expire, and are counted`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: small())
      let accepted = fill(tracker, 1000)
      try tracker.close()
      var configuration = small()
      configuration.retention = Tracker.Retention(age: .seconds(3600))
      try Tracker(directory: directory, configuration: configuration).close()
      #expect(try LogDirectory(directory).statistics().removed == 0)
      configuration.retention = Tracker.Retention(age: .nanoseconds(1))
      let last = try Tracker(directory: directory, configuration: configuration)
      #expect(last.counters.expired > 0)
      try last.close()
      let statistics = try LogDirectory(directory).statistics()
      #expect(statistics.segments == 1)
      #expect(statistics.dropped[.expired] == statistics.removed)
      #expect(statistics.events + statistics.removed == UInt64(accepted))
    }
  }

  /// The ring is cut short while the log is open: the next store to it is a SIGBUS.
  @Test func `a ring that is cut short while the log is open ends the process by SIGBUS`() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "weir-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: directory) }
    await #expect(processExitsWith: .signal(SIGBUS)) { [directory = directory as String] in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      truncate(directory + "/ring", 0)
      while true { tracker.track("e") }
    }
    await #expect(processExitsWith: .exitCode(7)) { [directory = directory as String] in
      Tracker.installGuard()
      Tracker.installGuard()
      let tracker = try Tracker(directory: directory, configuration: quiet())
      truncate(directory + "/ring", 0)
      while tracker.track("e") != .dropped(.storage) {}
      do throws(WeirError) {
        try tracker.drain()
      } catch {
        exit(error.code == .io && error.message.contains("SIGBUS") ? 7 : 1)
      }
    }
    #expect(try Tracker(directory: directory, configuration: quiet()).track("e").isAccepted)
  }
}
