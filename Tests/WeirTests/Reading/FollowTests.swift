// Following a log from tasks: every event once and in order, through rolling, closing and opening anew; no thread held
// while waiting; cancellation.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir

struct FollowTests {
  @Test func `events come as they are captured, through a closing and a new opening`() async throws {
    try await withDirectoryAsync { directory in
      var tracker = try Tracker(directory: directory, configuration: quiet())
      let count = 3000
      let text = String(repeating: "x", count: 2000)  // some segments' worth
      let followed = Task { [log = LogDirectory(directory)] in
        var numbers: [Int] = []
        for try await event in log.follow() where !event.isNotice {
          let value = try Single<String>(event)?.value
          numbers.append(try #require(value.flatMap { Int($0.prefix { $0 != " " }) }))
          if numbers.count == count { break }
        }
        return numbers
      }
      for number in 0..<count {
        while !tracker.track(Single("\(number) \(text)")).isAccepted { try tracker.drain() }
        if number % 1000 == 500 {
          try tracker.close()
          tracker = try Tracker(directory: directory, configuration: quiet())
        }
      }
      #expect(try await followed.value == Array(0..<count))
    }
  }

  @Test func `a task goes on after a silence in which it slept`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      var events = LogDirectory(directory).follow().makeAsyncIterator()
      for number in 0..<2 {
        // After two seconds the task no longer looks from time to time.
        let captured = Task {
          try await Task.sleep(for: .seconds(2.5))
          return tracker.track(Single("\(number)")).isAccepted
        }
        let event = try await events.next()
        #expect(event?.fields == ["value": .string("\(number)")])
        #expect(try await captured.value)
      }
      // So does one that is cancelled in its sleep.
      let task = Task {
        for try await _ in LogDirectory(directory).follow(from: 2) {}
      }
      try await Task.sleep(for: .seconds(2.5))
      task.cancel()
      try await task.value
    }
  }

  @Test func `a thousand tasks that wait hold no thread`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
      // More than there are threads: if each held one, the last of them would never begin, nor anybody else.
      try await withThrowingTaskGroup(of: UInt64?.self) { group in
        for _ in 0..<1000 {
          group.addTask {
            var events = tracker.follow().makeAsyncIterator()
            beginning.yield()
            return try await events.next()?.offset
          }
        }
        var count = 0
        for await _ in begun {
          count += 1
          if count == 1000 { break }
        }
        #expect(tracker.track(Single("for all")).isAccepted)
        for try await offset in group { #expect(offset == 0) }
      }
    }
  }

  @Test func `a cancelled task's sequence ends, whether it waits or reads`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for number in 0..<500 { #expect(tracker.track(Single("\(number)")).isAccepted) }
      try tracker.drain()
      for reads in [0, 1, 499, 500] {
        let (seen, continuation) = AsyncStream.makeStream(of: Int.self)
        let task = Task {
          var count = 0
          for try await _ in tracker.follow() {
            count += 1
            continuation.yield(count)
          }
          return count
        }
        if reads > 0 { for await count in seen where count >= reads { break } }
        task.cancel()
        let count = try await task.value
        #expect(count >= reads)
        #expect(count <= 500)
      }
    }
  }

  @Test func `a removal is told once, and following goes on`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let text = String(repeating: "x", count: 60_000)
      for _ in 0..<60 {
        #expect(tracker.track(Single(text)).isAccepted)
        try tracker.drain()
      }
      try tracker.sync()
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      let sealed = names.filter { $0.hasSuffix(".weir") }.sorted()
      try #require(sealed.count >= 3)
      try FileManager.default.removeItem(atPath: "\(directory)/\(sealed[0])")
      let gone = try #require(UInt64(sealed[1].prefix(20)))
      let skips = Mutex<[EventReader.Skip]>([])
      var offsets: [Offset] = []
      for try await event in tracker.follow(onSkip: { skip in skips.withLock { $0.append(skip) } }) {
        offsets.append(event.offset)
        if event.offset == 59 { #expect(tracker.track(Single("last")).isAccepted) }
        if event.offset == 60 { break }
      }
      #expect(offsets == Array(gone...60))
      #expect(skips.withLock { $0.map(\.count) } == [gone])
    }
  }

  @Test func `a log that is not there is an error of the first event`() async throws {
    var events = LogDirectory("/nowhere/at/all").follow().makeAsyncIterator()
    let error = await #expect(throws: WeirError.self) { _ = try await events.next() }
    #expect(error?.code == .missing)
  }

  @Test func `a reader that waits is told of events, and not for longer than it said`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let reader = try tracker.reader()
      #expect(try reader.next() == nil)
      // Now and then it is told to look again in vain, but not time after time.
      var told = 0
      while told < 100, reader.wait(upTo: .milliseconds(1)) {
        told += 1
        #expect(try reader.next() == nil)
      }
      #expect(told < 100)
      #expect(tracker.track(Single("one")).isAccepted)
      try tracker.drain()
      #expect(reader.wait(upTo: .zero))
      #expect(try reader.next()?.offset == 0)
      #expect(tracker.track(Single("two")).isAccepted)
      var next: StoredEvent?
      while next == nil {
        #expect(reader.wait(upTo: nil))
        next = try reader.next()
      }
      #expect(next?.offset == 1)
    }
  }
}
