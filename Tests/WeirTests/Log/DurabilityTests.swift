// Waiting for the disk without blocking a thread, the levels of durability, and the watermark.

import CWeir
import TestSupport
import Testing
import Weir

struct DurabilityTests {
  @Test func `the watermark follows whoever waits`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      #expect(tracker.durableOffset == 0)
      tracker.track(Single("first"))
      let id = try #require(tracker.track(Single("second")).id)
      try await tracker.durable(upTo: id)
      #expect(tracker.durableOffset == 2)
      #expect(tracker.counters.durableOffset == 2)
      try await tracker.durable(upTo: id)
      let last = try #require(tracker.track(Single("third")).id)
      try tracker.close()
      try await tracker.durable(upTo: last)
      #expect(tracker.durableOffset == 3)
      #expect(tracker.counters.lost == 0)
    }
  }

  @Test func `many tasks may wait at once`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try await withThrowingTaskGroup { group in
        for number in 0..<500 {
          group.addTask {
            guard let id = tracker.track(Single("\(number)")).id else { return }
            try await tracker.durable(upTo: id)
          }
        }
        try await group.waitForAll()
      }
      #expect(tracker.durableOffset >= tracker.counters.accepted)
    }
  }

  @Test func `an id of another opening is refused`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let id = try #require(tracker.track(Single("one")).id)
      let wrong = EventID(opening: id.opening &+ 1, sequence: id.sequence)
      let error = await #expect(throws: WeirError.self) { try await tracker.durable(upTo: wrong) }
      #expect(error?.code == .invalid)
    }
  }

  @Test func `a cancelled task stops waiting`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let id = try #require(tracker.track(Single("one")).id)
      for _ in 0..<200 {
        let task = Task { try await tracker.durable(upTo: id) }
        task.cancel()
        // Cancelled in time or not: it ends, once, and by nothing else.
        if case .failure(let error) = await task.result { #expect(error is CancellationError) }
      }
      try await tracker.durable(upTo: id)
    }
  }

  @Test func `an interval syncs by itself`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(
        directory: directory, configuration: quiet { $0.durability = .interval(.milliseconds(2)) })
      tracker.track(Single("one"))
      #expect(await eventually { tracker.durableOffset == 1 })
    }
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .microseconds(999), .seconds(3_601)])
  func `an interval out of range is refused`(_ time: Duration) throws {
    try withDirectory { directory in
      let error = #expect(throws: WeirError.self) {
        try Tracker(directory: directory, configuration: quiet { $0.durability = .interval(time) })
      }
      #expect(error?.code == .invalid)
      #expect(error?.message.contains("interval") == true)
    }
  }
}
