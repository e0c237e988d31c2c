// track: receipts, ids, threads, tasks, two logs, dynamic events and the end of a log.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir

struct TrackTests {
  @Test func `ids are unique, and grow on a thread`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      var ids: [EventID] = []
      for number in 0..<50_000 as Range<UInt64> {
        ids.append(try #require(tracker.track(Checkout.started(cart: number)).id))
      }
      #expect(Set(ids).count == ids.count)
      #expect(zip(ids, ids.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
      #expect(ids.allSatisfy { $0.opening == tracker.opening })
      let found = try tracker.events(of: Checkout.self)
      #expect(found.map(\.id) == ids)
      #expect(found.map(\.event) == (0..<50_000).map { .started(cart: $0) })
      #expect(zip(found, found.dropFirst()).allSatisfy { $0.time <= $1.time && $0.offset + 1 == $1.offset })
      #expect(tracker.counters.accepted == 50_000)
    }
  }

  @Test func `events of many threads are all there, each once`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      // More threads than lanes, so that some borrow the spare ones.
      let threads = 12
      let each = 3_000
      DispatchQueue.concurrentPerform(iterations: threads) { thread in
        for number in 0..<each {
          let event = Checkout.completed(
            order: UInt64(thread), total: Double(number), items: Int32(number), coupon: "thread \(thread)")
          #expect(tracker.track(event).isAccepted)
        }
      }
      let found = try tracker.events(of: Checkout.self)
      #expect(found.count == threads * each)
      #expect(Set(found.map(\.id)).count == threads * each)
      var numbers: [UInt64: Set<Int32>] = [:]
      for case .completed(let order, _, let items, _) in found.map(\.event) {
        numbers[order, default: []].insert(items)
      }
      #expect(numbers.count == threads)
      #expect(numbers.values.allSatisfy { $0.count == each })
    }
  }

  @Test func `events of tasks that change threads are all there, each once`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<50 {
          group.addTask {
            for number in 0..<100 {
              #expect(tracker.track(Login(user: "\(task)", attempts: number)).isAccepted)
              await Task.yield()
            }
          }
        }
      }
      let found = try tracker.events(of: Login.self).map(\.event)
      #expect(found.count == 5_000)
      #expect(Set(found.map { "\($0.user)/\($0.attempts)" }).count == 5_000)
    }
  }

  @Test func `two trackers in one process keep their events apart`() throws {
    try withDirectory { first in
      try withDirectory { second in
        let one = try Tracker(directory: first, configuration: quiet())
        let two = try Tracker(directory: second, configuration: quiet())
        for number in 0..<1_000 as Range<UInt64> {
          one.track(Checkout.started(cart: number))
          two.track(Checkout.started(cart: number + 1_000_000))
          two.track(Login(user: "x", attempts: 1))
        }
        #expect(try one.events(of: Checkout.self).map(\.event) == (0..<1_000).map { .started(cart: $0) })
        #expect(
          try two.events(of: Checkout.self).map(\.event) == (0..<1_000).map { .started(cart: $0 + 1_000_000) })
        #expect(try two.events(of: Login.self).count == 1_000)
        #expect(one.opening != two.opening)
      }
    }
  }

  /// An event that captures others while it is written.
  private struct Outer: Event {
    let tracker: Tracker
    let depth: Int
    static let eventTypes = [EventType("outer", [Field("depth", .int64), Field("after", .string)])]
    init(tracker: Tracker, depth: Int) {
      self.tracker = tracker
      self.depth = depth
    }
    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put(depth)
      if depth > 0 { tracker.track(Outer(tracker: tracker, depth: depth - 1)) }
      encoder.put("after \(depth)")
    }
    init?(_ stored: StoredEvent) throws { return nil }
  }

  @Test func `an encoding may capture other events`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.spareLanes = 3 })
      // A thread that captures to more logs than it has lanes for, as those that run tests may, borrows spare ones.
      onThread {
        for _ in 0..<100 { #expect(tracker.track(Outer(tracker: tracker, depth: 2)).isAccepted) }
      }
      let events = try tracker.events()
      #expect(events.count == 300)
      for event in events {
        let depth: Int = try event["depth"]
        #expect(event.fields["after"] == .string("after \(depth)"))
      }
      // One more than there are spare lanes: refused and counted, and the others are whole.
      onThread { #expect(tracker.track(Outer(tracker: tracker, depth: 4)).isAccepted) }
      #expect(tracker.counters.dropped == [.noLane: 1])
      let names = try tracker.events().map(\.name)
      #expect(names.filter { $0 == "outer" }.count == 304, "\(names.suffix(8)), \(tracker.counters)")
    }
  }

  @Test func `events in bulk are captured in order`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let events = (0..<5_000).map { Checkout.started(cart: $0) }
      #expect(tracker.track(contentsOf: events) == BulkReceipt(accepted: 5_000))
      #expect(tracker.track(contentsOf: [Checkout]()) == BulkReceipt())
      #expect(try tracker.events(of: Checkout.self).map(\.event) == events)
      let mixed = [Single(String(repeating: "x", count: 80_000)), Single("y")]
      #expect(tracker.track(contentsOf: mixed) == BulkReceipt(accepted: 1, dropped: [.tooLarge: 1]))
    }
  }

  @Test func `dynamic events come back with their names and fields`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let fields: FieldObject = [
        "path": "/ö", "status": 200, "seconds": 0.25, "tags": ["a", nil], "user": ["id": .uint(.max)],
      ]
      let id = try #require(tracker.track("page.viewed", fields: fields).id)
      tracker.track("bare")
      tracker.track("pairs", fields: FieldObject([("a", 1), ("b", .bytes([1]))]))
      let events = try tracker.events()
      #expect(events.map(\.name) == ["page.viewed", "bare", "pairs"])
      #expect(events.map(\.fields) == [fields, [:], ["a": 1, "b": .bytes([1])]])
      #expect(events[0].id == id)
    }
  }

  @Test func `dynamic events that can't be stored are refused`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      var deep: FieldValue = 1
      for _ in 0..<16 { deep = ["x": deep] }
      #expect(tracker.track("fits", fields: ["x": deep]).isAccepted)
      #expect(tracker.track("deep", fields: ["y": .array([deep])]) == .dropped(.invalid))
      #expect(tracker.track("") == .dropped(.invalid))
      #expect(tracker.track("weir.gap") == .dropped(.invalid))
      #expect(tracker.track(String(repeating: "n", count: 1025)) == .dropped(.invalid))
      #expect(tracker.track(String(repeating: "n", count: 1024)).isAccepted)
      let large = tracker.track("large", fields: ["t": .string(String(repeating: "x", count: 70_000))])
      #expect(large == .dropped(.tooLarge))
      #expect(tracker.counters.dropped == [.invalid: 4, .tooLarge: 1])
      #expect(tracker.counters.accepted == 2)
      #expect(try tracker.events().filter { !$0.isNotice }.count == 2)
    }
  }

  @Test func `a full lane drops, and counts`() throws {
    try withDirectory { directory in
      let configuration = quiet {
        $0.laneBytes = 128 << 10
        $0.drainInterval = .seconds(10)
      }
      let tracker = try Tracker(directory: directory, configuration: configuration)
      var accepted: UInt64 = 0
      var full: UInt64 = 0
      // The drainer may keep up for a while; it can't for ever.
      while accepted < 200_000 || (full == 0 && accepted < 5_000_000) {
        switch tracker.track(Single(String(repeating: "x", count: 1_000))) {
        case .accepted: accepted += 1
        case .dropped(.full): full += 1
        case .dropped(let reason): Issue.record("dropped as \(reason)")
        }
      }
      #expect(full > 0)
      #expect(tracker.counters.accepted == accepted)
      #expect(tracker.counters.dropped[.full] ?? 0 == full)
      try tracker.close()
      let events = try EventReader(directory: directory).all()
      #expect(events.filter { !$0.isNotice }.count == Int(accepted))
      let gaps = try events.filter { $0.name == "weir.gap" }.reduce(0 as UInt64) { try $0 + $1["dropped"] }
      #expect(gaps == full)
    }
  }

  @Test func `events are dropped after the close`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Checkout.started(cart: 1))
      try tracker.close()
      try tracker.close()
      #expect(tracker.track(Checkout.started(cart: 2)) == .dropped(.closed))
      #expect(tracker.track(Login(user: "x", attempts: 1)) == .dropped(.closed))
      #expect(tracker.track(Visit.opened) == .dropped(.closed))
      #expect(tracker.track("dynamic") == .dropped(.closed))
      #expect(tracker.lastDefinitionError == nil)
      for call in [{ try tracker.drain() }, { try tracker.sync() }] as [() throws -> Offset] {
        let error = #expect(throws: WeirError.self) { try call() }
        #expect(error?.code == .closed)
      }
      // What is in the log can still be read.
      #expect(try tracker.events(of: Checkout.self).map(\.event) == [.started(cart: 1)])
    }
  }

  @Test func `a close while threads capture keeps what was accepted`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let accepted = Atomic<Int>(0)
      // Threads of its own: the first one waits for the others.
      onThreads(4) { thread in
        if thread == 0 {
          while accepted.load(ordering: .relaxed) < 1_000 { Thread.sleep(forTimeInterval: 0.001) }
          #expect(throws: Never.self) { try tracker.close() }
        } else {
          while tracker.track(Checkout.started(cart: 1)).isAccepted { accepted.add(1, ordering: .relaxed) }
        }
      }
      #expect(try EventReader(directory: directory).all().count == accepted.load(ordering: .relaxed))
    }
  }

  @Test func `a reopening keeps everything`() throws {
    try withDirectory { directory in
      var before: [StoredEvent] = []
      for round in 0..<3 as Range<UInt64> {
        let tracker = try Tracker(directory: directory, configuration: quiet())
        #expect(tracker.recovery.isComplete)
        #expect(tracker.recovery.wasClean)
        #expect(try tracker.events() == before)
        for number in 0..<100 as Range<UInt64> { tracker.track(Checkout.started(cart: round * 100 + number)) }
        tracker.track(Visit.opened)
        try tracker.sync()
        before = try tracker.events()
        #expect(before.count == Int(round + 1) * 101)
        // Released without close, which closes it.
      }
      #expect(try EventReader(directory: directory).all() == before)
    }
  }

  @Test func `events are read from an offset, up to a limit`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<1_000 as Range<UInt64> {
        tracker.track(Checkout.started(cart: number))
        if number % 2 == 0 { tracker.track(Login(user: "x", attempts: 1)) }
      }
      let all = try tracker.events()
      #expect(all.map(\.offset) == (0..<1_500).map { Offset($0) })
      #expect(try tracker.events(from: 1_490) == Array(all[1_490...]))
      #expect(try tracker.events(from: 700, limit: 5) == Array(all[700..<705]))
      #expect(try tracker.events(from: 1_500).isEmpty)
      #expect(try tracker.events(limit: 0).isEmpty)
      #expect(try tracker.events(of: Login.self, limit: 3).count == 3)
      #expect(try tracker.events(of: Checkout.self, from: 3, limit: 1).first?.event == .started(cart: 2))
    }
  }

  @Test func `a reader follows the writer`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try tracker.drain()
      let reader = try tracker.reader()
      #expect(reader.isLive)
      for number in 0..<20 as Range<UInt64> {
        #expect(try reader.next() == nil)
        tracker.track(Checkout.started(cart: number))
        try tracker.drain()
        #expect(try reader.next()?.fields == ["cart": .uint(number)])
      }
      try tracker.close()
      #expect(try reader.next() == nil)
      #expect(!reader.isLive)
      #expect(reader.skipped.isEmpty)
    }
  }
}
