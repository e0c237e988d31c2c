// Audits: nobody goes on before the event is on disk, and whoever can't go on learns why.

import TestSupport
import Testing
import Weir
import WeirTesting

struct AuditTests {
  private struct Ordered: Event, Equatable {
    var order: UInt64

    init(order: UInt64) { self.order = order }

    static let eventTypes = [EventType("payment.ordered", [Field("order", .uint64)])]

    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put(order)
    }

    init?(_ stored: StoredEvent) throws {
      guard stored.index(in: Self.eventTypes) == 0 else { return nil }
      order = try stored["order"]
    }
  }

  /// Refuses events that no log takes.
  private struct Misdeclared: Event {
    static let eventTypes = [EventType("payment.misdeclared", [Field("order", .uint64)])]

    init() {}

    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put("a text")
    }

    init?(_ stored: StoredEvent) throws { return nil }
  }

  @Test func `an audited event is on disk`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let id = try await tracker.audit(Ordered(order: 7))
      #expect(tracker.durableOffset == 1)
      let other = try await tracker.audit("payment.seen", fields: ["order": 7], timeout: patience)
      #expect(tracker.durableOffset == 2)
      #expect(try tracker.events(of: Ordered.self).map(\.id) == [id])
      #expect(id != other)
    }
  }

  @Test func `each of many audits at once is on disk when it returns`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try await withThrowingTaskGroup { group in
        for order in 0..<500 as Range<UInt64> {
          group.addTask {
            let id = try await tracker.audit(Ordered(order: order))
            let found = try tracker.events(of: Ordered.self).first { $0.id == id }
            #expect(try #require(found).offset < tracker.durableOffset)
          }
        }
        try await group.waitForAll()
      }
      #expect(tracker.durableOffset == 500)
    }
  }

  @Test(.enabled(if: FailingDisk.isAvailable)) func `a failed disk refuses, a mended disk takes`() async throws {
    let disk = try FailingDisk()
    let spy = try SpyTracker(on: disk)
    try await spy.tracker.audit(Ordered(order: 1))
    disk.fail(.sync, with: .io)
    let error = await #expect(throws: WeirError.self) { try await spy.tracker.audit(Ordered(order: 2)) }
    #expect(error?.code == .io)
    #expect(disk.failures > 0)
    #expect(spy.tracker.durableOffset == 1)
    disk.mend()
    let id = try await spy.tracker.audit(Ordered(order: 3))
    let last = try #require(spy.recorded(of: Ordered.self).last)
    #expect(last.id == id)
    #expect(last.offset < spy.tracker.durableOffset)
    // The refused event is in the log nevertheless: the error said that it was not known to be on disk.
    #expect(spy.events(of: Ordered.self).map(\.order) == [1, 2, 3])
  }

  @Test(.enabled(if: FailingDisk.isAvailable)) func `a full disk refuses, a disk with room takes`() async throws {
    let disk = try FailingDisk()
    let spy = try SpyTracker(on: disk) {
      $0.whenFull = .dropNewest
      $0.overflowBytes = 0
    }
    disk.fill()
    let payload: FieldObject = ["text": .string(String(repeating: "x", count: 10_000))]
    let isFull = await eventually {
      for _ in 0..<100 where spy.tracker.track("filler", fields: payload) == .dropped(.storage) { return true }
      return false
    }
    #expect(isFull)
    // A small event may fit where a large one did not: then it stays in its lane, which is no better.
    for order in 0..<100 as Range<UInt64> {
      let error = await #expect(throws: WeirError.self) { try await spy.tracker.audit(Ordered(order: order)) }
      #expect(error?.code == .noSpace)
    }
    disk.mend()
    #expect(await eventually { spy.tracker.track("filler").id != nil })
    try await spy.tracker.audit(Ordered(order: 1_000))
    #expect(spy.last(of: Ordered.self)?.order == 1_000)
  }

  @Test func `a closed log refuses`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try tracker.close()
      let error = await #expect(throws: WeirError.self) { try await tracker.audit(Ordered(order: 1)) }
      #expect(error?.code == .closed)
      #expect(error?.message.contains("an event of Ordered could not be captured (closed)") == true)
      #expect(error?.path == tracker.directory)
    }
  }

  @Test func `what no log takes is refused with a remedy`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(
        directory: directory, configuration: quiet { $0.sampling = [SamplingRule("payment.seen", rate: 0)] })
      let sampled = await #expect(throws: WeirError.self) { try await tracker.audit("payment.seen") }
      #expect(sampled?.code == .invalid)
      #expect(sampled?.message.contains("sampling rule") == true)
      let misdeclared = await #expect(throws: WeirError.self) { try await tracker.audit(Misdeclared()) }
      #expect(misdeclared?.code == .invalid)
      #expect(misdeclared?.message.contains("payment.misdeclared") == true)
      // The error is the event's own, also after that of another type.
      let reserved = await #expect(throws: WeirError.self) { try await tracker.audit("weir.payment") }
      #expect(reserved?.code == .invalid)
      #expect(reserved?.message.contains("don't start with weir.") == true)
      let large = await #expect(throws: WeirError.self) {
        try await tracker.audit("payment", fields: ["text": .string(String(repeating: "x", count: 1 << 20))])
      }
      #expect(large?.code == .limit)
      #expect(large?.message.contains("maximumEventBytes") == true)
      #expect(tracker.counters.accepted == 0)
    }
  }

  @Test func `a task that is cancelled before captures nothing`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await tracker.audit(Ordered(order: 1))
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(tracker.counters.accepted == 0)
    }
  }

  @Test func `a timeout ends the wait, and the event may reach the disk later`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      var timeouts = 0
      let end = ContinuousClock.now + patience
      // The disk may be the faster: then there is another.
      while timeouts == 0, ContinuousClock.now < end {
        do {
          try await tracker.audit(Ordered(order: 1), timeout: .nanoseconds(1))
        } catch let error as WeirError {
          #expect(error.code == .timeout)
          #expect(error.path == tracker.directory)
          timeouts += 1
        }
      }
      #expect(timeouts == 1)
      try tracker.sync()
      #expect(try tracker.events(of: Ordered.self).count == Int(tracker.counters.accepted))
    }
  }

  @Test func `the longest timeout is no fault`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try await tracker.audit(Ordered(order: 1), timeout: .seconds(Int64.max))
      #expect(tracker.durableOffset == 1)
    }
  }
}
