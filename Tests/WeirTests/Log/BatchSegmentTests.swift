// Batch segments and the removal of what was delivered, as Swift sees them: options, counters, tallies.

import Foundation
import TestSupport
import Testing
import Weir

struct BatchSegmentTests {
  /// A log that rolls often: segments of 256 KiB.
  private func rolling(_ change: (inout Tracker.Configuration) -> Void = { _ in }) -> Tracker.Configuration {
    quiet { configuration in
      configuration.laneBytes = 16384
      configuration.maximumEventBytes = 2048
      configuration.segmentBytes = 1 << 18
      configuration.whenFull = .block
      change(&configuration)
    }
  }

  private func fill(_ tracker: Tracker, _ count: Int) {
    let fields: FieldObject = ["text": .string(String(repeating: "weir ", count: 200))]
    for _ in 0..<count { #expect(tracker.track("filled", fields: fields).isAccepted) }
  }

  private func files(_ directory: String, _ suffix: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: directory).count { $0.hasSuffix(suffix) }
  }

  @Test func `the threads of an open log batch its segments`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: rolling { $0.batchThreads = 2 })
      fill(tracker, 2000)
      try tracker.sync()
      #expect(await eventually { tracker.counters.batched > 5 && tracker.counters.batchWaiting == 0 })
      let counters = tracker.counters
      #expect(try files(directory, ".weir.lz4") == Int(counters.batched))
      #expect(counters.batchInput > 4 * counters.batchOutput)
      #expect(counters.batchOutput > 0)
      #expect(counters.unbatched == 0)
      #expect(counters.batchFailures == 0)
      #expect(counters.batching == nil)
      #expect(try tracker.events().count == 2000)
      try tracker.close()
      #expect(try LogDirectory(directory).verify().findings == 0)
    }
  }

  @Test func `a log that nobody has open is batched`() throws {
    try withDirectory { directory in
      let log = LogDirectory(directory)
      let tracker = try Tracker(directory: directory, configuration: rolling())
      fill(tracker, 1000)
      #expect(throws: WeirError.self) { try log.batch() }
      try tracker.close()
      let before = try log.statistics()
      let done = try log.batch(threads: 2)
      #expect(done.segments == before.segments)
      #expect(done.batched == before.segments)
      #expect(done.outputBytes > 0)
      #expect(try files(directory, ".weir") == 0)
      let after = try log.statistics()
      #expect(after.events == 1000)
      #expect(after.segments == before.segments)
      #expect(after.totalBytes < before.totalBytes)
      #expect(try log.verify().findings == 0)
      for threads in [0, -1, 65] {
        #expect(throws: WeirError.self) { try log.batch(threads: threads) }
      }
    }
  }

  @Test func `segments that were delivered are removed`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: rolling { $0.removeDelivered = true })
      fill(tracker, 2000)
      try tracker.sync()
      let log = LogDirectory(directory)
      #expect(try log.statistics().removed == 0)
      tracker.handle.setDelivered(1500)
      #expect(
        await eventually {
          tracker.counters.deliveredRemoved > 1000 && (try? log.statistics().firstOffset) ?? 0 > 1000
        })
      let statistics = try log.statistics()
      #expect(statistics.removed <= 1500)
      #expect(statistics.dropped == [:])
      #expect(tracker.counters.deliveredRemoved == statistics.removed)
      try tracker.close()
    }
  }

  @Test func `a tally counts what is below an offset and what is pending`() throws {
    try withDirectory { directory in
      let log = LogDirectory(directory)
      let tracker = try Tracker(directory: directory, configuration: rolling())
      fill(tracker, 1000)
      var tally = try log.tally(from: 300)
      #expect(tally.accepted == 1000)
      #expect(tally.below == 300)
      #expect(tally.pending == 700)
      #expect(tally.missing == 0)
      try tracker.close()
      tally = try log.tally(from: 1000)
      #expect(tally.accepted == 1000)
      #expect(tally.below == 1000)
      #expect(tally.pending == 0)
      #expect(tally.nextOffset == 1000)
      #expect(throws: WeirError.self) { try LogDirectory(directory + "/none").tally(from: 0) }
    }
  }
}
