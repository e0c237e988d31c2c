// The dispatcher: providers come and go, begin where they are to, are flushed and shut down; the ledger accounts for
// it. Longer than other files: one suite, whose tests share its helpers.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct DispatcherTests {
  @Test func `captured events are delivered in order, and accounted for`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.capture(3)
      try stage.dispatcher.add(provider)
      try stage.capture(1200, from: 3)
      #expect(await stage.run { provider.delivered.count == 1203 })
      #expect(provider.numbers == Array(0..<1203))
      #expect(provider.calls.first == .setup)
      #expect(await stage.run { stage.entry().acknowledged == 1203 })
      let entry = try #require(stage.tracker.ledger["scripted"])
      #expect(entry.accepted == 1203)
      #expect(entry.pending == 0)
      #expect(entry.isBalanced)
      #expect(entry.state == .running)
      #expect(await stage.run { stage.entry().offset == 1203 })
      let files = try #require(try LogDirectory(directory).ledger()["scripted"])
      #expect(files.acknowledged == 1203)
      #expect(files.isBalanced)
      #expect(files.pending == 0)
      #expect(files.state == .idle)
    }
  }

  @Test func `names and options that make no sense are refused`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      for name in ["", "a b", "a.b", "../a", "ä", String(repeating: "x", count: 65)] {
        #expect(code { () throws(WeirError) in try stage.dispatcher.add(ScriptedProvider(name: name)) } == .invalid)
      }
      var options = DeliveryOptions()
      options.flush.queueLimit = 0
      let bad = options
      #expect(code { () throws(WeirError) in try stage.dispatcher.add(ScriptedProvider(), options: bad) } == .invalid)
      try stage.dispatcher.add(ScriptedProvider())
      #expect(code { () throws(WeirError) in try stage.dispatcher.add(ScriptedProvider()) } == .invalid)
      #expect(stage.dispatcher.providers == ["scripted"])
      #expect(code { () throws(WeirError) in _ = try Dispatcher(stage.tracker) } == .invalid)
      #expect(code { () throws(WeirError) in _ = try Dispatcher(directory: directory + "/nothing") } == .missing)
    }
  }

  @Test func `one dispatcher at a time delivers to a name`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider())
      let other = try Dispatcher(directory: directory, configuration: DeliveryStage.configuration(stage.clock))
      try other.start()
      #expect(code { () throws(WeirError) in try other.add(ScriptedProvider()) } == .locked)
      try other.add(ScriptedProvider(name: "another"))
      await stage.kill()
      try other.add(ScriptedProvider())
      await other.finish(other.workers, .abandonment)
    }
  }

  /// As the child stands here, so does a program that another thread is just starting, until it runs.
  @Test func `a lock that was given up is free, though a child has a copy of its descriptor`() async {
    await #expect(processExitsWith: .success) {
      // Without the handlers of forks, which close the copy.
      typealias Fork = @convention(c) () -> pid_t
      let bareFork = unsafeBitCast(try #require(dlsym(nil, "_Fork")), to: Fork.self)
      try withDirectory { directory in
        try Tracker(directory: directory, configuration: quiet()).close()
        var lock: CursorLock? = try CursorLock("a", of: directory, calls: SystemCalls())
        let child = bareFork()
        while child == 0 { pause() }
        defer { kill(child, SIGKILL) }
        withExtendedLifetime(lock) {}
        lock = nil
        lock = try CursorLock("a", of: directory, calls: SystemCalls())
        withExtendedLifetime(lock) {}
      }
    }
  }

  // MARK: Where a provider begins

  @Test func `a provider begins at the beginning, the end or a time, as its options say`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(30)
      let times = try stage.tracker.events().map(\.time)
      func added(_ name: String, _ start: DeliveryOptions.Start) throws -> ScriptedProvider {
        let provider = ScriptedProvider(name: name)
        var options = DeliveryOptions()
        options.start = start
        try stage.dispatcher.add(provider, options: options)
        return provider
      }
      let all = try added("all", .beginning)
      let none = try added("none", .end)
      let some = try added("some", .time(times[20]))
      let late = try added("late", .time(Timestamp(nanosecondsSince1970: .max)))
      let early = try added("early", .time(Timestamp(nanosecondsSince1970: .min)))
      try stage.capture(2, from: 30)
      #expect(await stage.run { [all, none, some, late, early].allSatisfy { $0.numbers.last == 31 } })
      #expect(all.numbers == Array(0..<32))
      #expect(early.numbers == Array(0..<32))
      #expect(none.numbers == [30, 31])
      #expect(late.numbers == [30, 31])
      #expect(some.numbers.first == 20 || times[20] == times[19])
      #expect(await stage.run { stage.dispatcher.ledger.entries.allSatisfy { $0.pending == 0 } })
      #expect(stage.dispatcher.ledger.isBalanced)
      #expect(stage.entry("none").accepted == 2)
      #expect(stage.entry("none").from == 30)
    }
  }

  @Test func `the end lies after what is still in the lanes`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory, tracker: { $0.drainInterval = .seconds(10) })
      for number in 0..<5 { #expect(stage.tracker.track("e", fields: ["n": .int(Int64(number))]).isAccepted) }
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.start = .end
      try stage.dispatcher.add(provider, options: options)
      try stage.capture(1, from: 5)
      #expect(await stage.run { !provider.delivered.isEmpty })
      #expect(provider.numbers == [5])
      #expect(stage.entry().accepted == 1)
    }
  }

  /// `there` events were captured when the provider was added, and some of `after` too before its first look.
  @Test(arguments: [(1, 400), (150, 400), (150, 70)])
  func `an event removed before a provider's first look is its loss if captured after it came`(
    _ there: Int, _ after: Int
  ) async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(
        directory,
        tracker: {
          $0.laneBytes = 128 << 10
          $0.byteLimit = 8 << 20
          $0.atByteLimit = .dropOldest
        })
      let text = String(repeating: "x", count: 50_000)
      func capture(_ numbers: Range<Int>) throws {
        for number in numbers {
          #expect(stage.tracker.track("e", fields: ["n": .int(Int64(number)), "text": .string(text)]).isAccepted)
        }
        try stage.tracker.drain()
      }
      try capture(0..<there)
      let before = try LogDirectory(directory).statistics().firstOffset
      // Between its making and its first look the oldest make room.
      let worker = try ProviderWorker(
        WorkerOrders(
          provider: ScriptedProvider(name: "late"), name: "late", options: DeliveryOptions(),
          configuration: DeliveryStage.configuration(stage.clock), clock: DeliveryClock(stage.clock),
          log: DeliveredLog(stage.tracker)))
      let all = there + after
      try capture(there..<all)
      func firstOffset() -> Offset { (try? LogDirectory(directory).statistics().firstOffset) ?? 0 }
      #expect(await eventually { firstOffset() > before })
      let first = firstOffset()
      try ProviderWorker.start([worker])
      let end = Offset(all)
      #expect(await ClockMover(stage.clock, { [worker] }).run { worker.shared.read { $0.report.position } == end })
      let counts = worker.shared.read { $0.report.counts }
      // What was removed by now was at least that, and may have been more at the first look.
      #expect(counts.from >= min(first, Offset(there)))
      #expect(counts.from <= Offset(there))
      #expect(counts.baseline == counts.from)
      #expect(counts.removed + counts.acknowledged == end - counts.from)
      #expect(counts.damaged == 0)
      #expect(first <= Offset(there) || counts.removed >= first - counts.from, "\(counts), first \(first)")
      worker.end(.abandonment)
      #expect(await eventually { worker.shared.read { $0.isFinished } })
    }
  }

  @Test func `a time is found exactly, though lanes are drained one after the other`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      // Another thread captures by turns, into a lane of its own.
      let turn = DispatchSemaphore(value: 0)
      let isDone = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        for number in 0..<150 {
          turn.wait()
          tracker.track(Single(number))
          isDone.signal()
        }
      }
      for number in 0..<150 {
        #expect(tracker.track(Single(number)).isAccepted)
        turn.signal()
        isDone.wait()
        if number % 20 == 0 { try tracker.drain() }
      }
      let end = try tracker.drain()
      let events = try tracker.events()
      try #require(events.count == 300)
      try #require(zip(events, events.dropFirst()).contains { $0.time > $1.time }, "the log is in order of time")
      let log = LogDirectory(directory)
      for index in stride(from: 0, to: 300, by: 7) {
        let time = events[index].time
        let first = try #require(events.first { $0.time >= time })
        #expect(try log.offset(of: .time(time), end: end) == first.offset)
      }
      let after = Timestamp(nanosecondsSince1970: try #require(events.map(\.time).max()).nanosecondsSince1970 + 1)
      #expect(try log.offset(of: .time(after), end: end) == end)
    }
  }

  // MARK: Removing

  @Test func `a provider that is removed is forgotten, and begins anew if it is added again`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(5)
      let first = ScriptedProvider(answers: [.each { $0.fields["n"] == .int(2) ? .rejected("no") : .accepted }])
      try stage.dispatcher.add(first)
      #expect(await stage.run { stage.entry().offset == 5 })
      try await stage.running { try? await stage.dispatcher.remove("scripted") }
      #expect(first.calls.last == .shutdown)
      #expect(stage.dispatcher.ledger.entries.isEmpty)
      #expect(stage.dispatcher.providers.isEmpty)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory + "/cursors") == [])
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").count == 1)
      await #expect(throws: WeirError.self) { try await stage.dispatcher.remove("scripted") }
      let second = ScriptedProvider()
      try stage.dispatcher.add(second)
      #expect(await stage.run { second.delivered.count == 5 })
    }
  }

  @Test func `a removal waits for the call in progress, and believes it`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.stubborn(then: .accept)])
      try stage.capture(2)
      try stage.dispatcher.add(provider)
      #expect(await stage.run([provider]) { provider.waiting == 1 })
      let removal = Task { try await stage.dispatcher.remove("scripted") }
      #expect(await eventually { stage.mover.isWatched })
      provider.release()
      try await removal.value
      #expect(provider.delivered.count == 2)
      #expect(provider.calls.last == .shutdown)
    }
  }

  @Test func `a provider known by its cursor only pins the log until it is removed`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try Cursor("absent", of: directory).move(to: CursorPosition(offset: 0, counts: DeliveryCounts()))
      try stage.capture(3)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 3 })
      #expect(try Pins(directory, calls: SystemCalls()).least == 0)
      let absent = stage.entry("absent")
      #expect(absent.pending == 3)
      #expect(absent.isBalanced)
      #expect(absent.state == .idle)
      try await stage.running { try? await stage.dispatcher.remove("absent") }
      #expect(try Pins(directory, calls: SystemCalls()).positions == ["scripted": 3])
    }
  }

  @Test func `a cursor that can't be read pins all of the log`() throws {
    try withDirectory { directory in
      try Tracker(directory: directory, configuration: quiet()).close()
      for (name, offset) in [("near", 5), ("far", 9)] as [(String, Offset)] {
        try Cursor(name, of: directory).move(to: CursorPosition(offset: offset, counts: DeliveryCounts()))
      }
      #expect(try Pins(directory, calls: SystemCalls()).positions == ["near": 5, "far": 9])
      let cursor = directory + "/cursors/far"
      try Data(count: 4608).write(to: URL(filePath: cursor))
      #expect(try Cursor.read("far", of: directory) == .damaged)
      #expect(try Pins(directory, calls: SystemCalls()).positions == ["near": 5, "far": 0])
      // Nor one that is something else.
      try FileManager.default.removeItem(atPath: cursor)
      try FileManager.default.createDirectory(atPath: cursor, withIntermediateDirectories: false)
      #expect(throws: WeirError.self) { try Cursor.read("far", of: directory) }
      #expect(try Pins(directory, calls: SystemCalls()).least == 0)
    }
  }

  @Test func `an event that only a removed provider lacked is removed at once`() async throws {
    try await withDirectoryAsync { directory in
      // Nothing delivers here: no worker comes by it.
      let stage = try DeliveryStage(directory, tracker: { $0.removeDelivered = true })
      let text = FieldValue.string(String(repeating: "x", count: 50_000))
      for _ in 0..<100 { #expect(stage.tracker.track("e", fields: ["text": text]).isAccepted) }
      let end = try stage.tracker.drain()
      for (name, offset) in [("done", end), ("gone", 0)] {
        try Cursor(name, of: directory).move(to: CursorPosition(offset: offset, counts: DeliveryCounts()))
      }
      try stage.dispatcher.release()
      #expect(try LogDirectory(directory).statistics().firstOffset == 0)
      try await stage.dispatcher.remove("gone")
      #expect(await eventually { ((try? LogDirectory(directory).statistics().firstOffset) ?? 0) > 0 })
    }
  }

  @Test func `an event that every provider has is removed, and is no loss`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory, tracker: { $0.removeDelivered = true })
      let providers = [ScriptedProvider(name: "one"), ScriptedProvider(name: "two", finally: .fail("down"))]
      for provider in providers { try stage.dispatcher.add(provider) }
      let text = String(repeating: "x", count: 50_000)
      for number in 0..<150 {
        #expect(stage.tracker.track("e", fields: ["n": .int(Int64(number)), "text": .string(text)]).isAccepted)
      }
      try stage.tracker.drain()
      #expect(await stage.run { stage.entry("one").offset == 150 })
      #expect(try LogDirectory(directory).statistics().firstOffset == 0)
      try await stage.running { try? await stage.dispatcher.remove("two") }
      // The log's threads do not go by this clock: how much of this time passes meanwhile is no matter.
      #expect(
        await stage.run(upTo: .seconds(1_000_000_000)) {
          ((try? LogDirectory(directory).statistics().firstOffset) ?? 0) > 50
        })
      #expect(stage.entry("one").isBalanced)
      #expect(stage.entry("one").lost.isEmpty)
      // One that comes now begins with what there is.
      let late = ScriptedProvider(name: "late")
      try stage.dispatcher.add(late)
      #expect(await stage.run { late.numbers.last == 149 })
      #expect(stage.entry("late").lost.isEmpty)
      #expect(stage.entry("late").isBalanced)
    }
  }

  // MARK: Flush and shutdown

  @Test func `a flush waits for what was captured before it, and reports it`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(finally: .each { $0.fields["n"] == .int(1) ? .rejected("no") : .accepted })
      let down = ScriptedProvider(name: "down", finally: .fail("no route"))
      var options = DeliveryOptions()
      options.flush = FlushPolicy(.demand)
      try stage.dispatcher.add(provider, options: options)
      try stage.dispatcher.add(down, options: options)
      for number in 0..<4 { #expect(stage.tracker.track("e", fields: ["n": .int(Int64(number))]).isAccepted) }
      let report = try await stage.running { await stage.tracker.flush(timeout: .seconds(20)) }
      try #require(report.entries.map(\.provider) == ["down", "scripted"])
      #expect(!report.isComplete)
      #expect(report.entries[1].acknowledged == 3)
      #expect(report.entries[1].rejected == 1)
      #expect(report.entries[1].pending == 0)
      #expect(report.entries[0].pending == 4)
      #expect(report.entries[0].error?.contains("no route") == true)
      #expect(stage.clock.now.sinceStart >= .seconds(20))
      // The next one reports what was settled in its own time.
      try stage.capture(2, from: 4)
      let next = try await stage.running { await stage.tracker.flush(timeout: .seconds(20)) }
      #expect(next.entries[1].acknowledged == 2)
      #expect(next.entries[1].rejected == 0)
      #expect(next.entries[1].pending == 0)
      #expect(next.entries[0].pending == 6)
    }
  }

  @Test func `a flush does not wait for a provider that is stopped`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider(finally: .stop("401")))
      try stage.capture(2)
      #expect(await stage.run { stage.entry().state == .stopped(reason: "401") })
      let begin = stage.clock.now
      let report = try await stage.running { await stage.dispatcher.flush(timeout: .seconds(1000)) }
      #expect(begin.duration(to: stage.clock.now) < .seconds(1))
      #expect(report.entries.map(\.pending) == [2])
      #expect(report.entries.first?.state == .stopped(reason: "401"))
    }
  }

  @Test func `a shutdown delivers what is there, makes cursors durable and reports`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      #expect(await stage.run { provider.calls == [.setup] })
      let ids = (0..<1500).compactMap { stage.tracker.track("e", fields: ["n": .int($0)]).id }
      let report = try await stage.running { await stage.dispatcher.shutdown(budget: .seconds(5)) }
      #expect(report.isComplete)
      #expect(report.entries.map(\.acknowledged) == [1500])
      #expect(provider.delivered.map(\.stored.id) == ids)
      #expect(provider.calls.last == .shutdown)
      #expect(provider.calls.filter { $0 == .shutdown }.count == 1)
      #expect(try LogDirectory(directory).ledger()["scripted"]?.offset == 1500)
      #expect(stage.tracker.track("late") == .dropped(.closed))
      #expect(stage.entry().state == .idle)
      #expect(stage.entry().isBalanced)
      #expect(await stage.dispatcher.shutdown(budget: .seconds(5)).entries.isEmpty)
      #expect(code { () throws(WeirError) in try stage.dispatcher.add(ScriptedProvider(name: "x")) } == .closed)
    }
  }

  @Test func `a shutdown ends with its budget, whatever a provider does`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let hanging = ScriptedProvider(name: "hanging", finally: .hang)
      let stubborn = ScriptedProvider(name: "stubborn", finally: .stubborn(then: .accept))
      let failing = ScriptedProvider(name: "failing", finally: .retry(after: .seconds(200)))
      let stopped = ScriptedProvider(name: "stopped", finally: .stop("403"))
      let all = [hanging, stubborn, failing, stopped]
      for provider in all { try stage.dispatcher.add(provider) }
      try stage.capture(3)
      let begin = stage.clock.now
      let report = try await stage.running([hanging], stubborn: [stubborn]) {
        await stage.dispatcher.shutdown(budget: .seconds(10))
      }
      #expect(begin.duration(to: stage.clock.now) <= .seconds(15))
      #expect(report.entries.allSatisfy { $0.pending == 3 && $0.error != nil })
      #expect(report["stopped"] == .stopped(reason: "403"))
      #expect(report["failing"] == .backingOff)
      #expect([hanging, failing, stopped].allSatisfy { $0.calls.last == .shutdown })
      #expect(!stubborn.calls.contains(.shutdown))
      stubborn.release()
      #expect(try LogDirectory(directory).ledger().isBalanced)
    }
  }

  @Test func `a shutdown does not wait for an event that is to be given again after its budget`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(
        finally: .each { $0.fields["n"] == .int(1) ? .retry(after: .seconds(60)) : .accepted })
      try stage.dispatcher.add(provider)
      try stage.capture(3)
      #expect(await stage.run { stage.entry().acknowledged == 2 })
      let begin = stage.clock.now
      let report = try await stage.running { await stage.dispatcher.shutdown(budget: .seconds(10)) }
      #expect(begin.duration(to: stage.clock.now) == .seconds(10))
      #expect(report.entries.map(\.pending) == [1])
      #expect(provider.calls.last == .shutdown)
      #expect(try LogDirectory(directory).ledger()["scripted"]?.offset == 1)
    }
  }

  @Test(arguments: [Ledger.ProviderState.backingOff, .open, .stopped(reason: "401")])
  func `a shutdown does not wait for a provider that is left alone for longer`(
    _ state: Ledger.ProviderState
  ) async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      var options = DeliveryOptions()
      options.backoff.least = state == .open ? .zero : .seconds(100)
      options.backoff.failures = state == .open ? 1 : 100
      options.backoff.openFor = .seconds(100)
      let isDown = state == .backingOff || state == .open
      let provider = ScriptedProvider(finally: isDown ? .fail("down") : .stop("401"))
      try stage.dispatcher.add(provider, options: options)
      try stage.capture(2)
      #expect(await stage.run { stage.entry().state == state })
      let begin = stage.clock.now
      let report = try await stage.running { await stage.dispatcher.shutdown(budget: .seconds(10)) }
      #expect(begin.duration(to: stage.clock.now) < .seconds(1))
      #expect(report.entries.map(\.pending) == [2])
      #expect(provider.calls.last == .shutdown)
    }
  }

  // MARK: News of the log

  @Test(arguments: [false, true])
  func `a capture ends a worker's sleep, and does not wait for its next look`(isSecond: Bool) async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      // The machine's clock: without the drainer's word nothing comes before the test's patience is over.
      configuration.shortestPause = .seconds(1 << 20)
      configuration.longestPause = .seconds(1 << 20)
      var options = DeliveryOptions()
      options.flush = FlushPolicy([.count])
      options.flush.queueLimit = 1
      // After another one that ended, and is released later.
      var ended = isSecond ? try Dispatcher(tracker, configuration: configuration) : nil
      _ = ended?.close()
      let dispatcher = try Dispatcher(tracker, configuration: configuration)
      try dispatcher.start()
      ended = nil
      let providers = ["a", "b"].map { ScriptedProvider(name: $0) }
      for provider in providers { try dispatcher.add(provider, options: options) }
      for round in 1...20 {
        #expect(tracker.track("e", fields: ["n": .int(Int64(round))]).isAccepted)
        #expect(await eventually { providers.allSatisfy { $0.delivered.count == round } })
      }
      await dispatcher.finish(dispatcher.workers, .abandonment)
    }
  }

  @Test func `the counts of a preparation are there while its provider is delivered to`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider().mapped(by: .only { $0.fields["n"] != .int(1) }))
      try stage.capture(5)
      #expect(await stage.run { stage.entry().acknowledged == 4 })
      let counts = try #require(stage.dispatcher.preparationCounts(of: "scripted"))
      #expect(counts.prepared == 4)
      #expect(counts.withheld == 1)
      #expect(stage.dispatcher.preparationCounts(of: "nobody") == nil)
    }
  }

  @Test func `a report tells what was passed over, and no loss that lies ahead`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(4)
      let provider = ScriptedProvider(answers: [.each { $0.fields["n"] == .int(1) ? .rejected("no") : .accepted }])
      try stage.dispatcher.add(provider.mapped(by: .only { $0.fields["n"] != .int(2) }))
      #expect(await stage.run { stage.entry().offset == 4 })
      let report = try #require(stage.dispatcher.report.entries.first)
      #expect(report.acknowledged == 2)
      #expect(report.rejected == 1)
      #expect(report.lost == [.withheld: 1])
      #expect(report.pending == 0)
      // Another one begins with nothing, whatever the cursor has counted.
      await stage.kill()
      _ = stage.dispatcher.close()
      let second = try DeliveryStage(on: stage.tracker)
      try second.dispatcher.add(ScriptedProvider())
      #expect(await second.run { second.entry().state == .running })
      let again = try #require(second.dispatcher.report.entries.first)
      #expect(again.acknowledged == 0, "\(again)")
      #expect(again.rejected == 0, "\(again)")
      #expect(again.lost.isEmpty, "\(again)")
      await second.kill()
    }
  }

  @Test func `a notice of the log tells how many events were lost before they had an offset`() {
    func outcomes(_ name: String, _ fields: FieldObject) -> Outcomes {
      Outcomes(
        notice: StoredEvent(
          offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0), name: name,
          fields: fields))
    }
    #expect(outcomes("weir.hole", ["reason": "damaged", "events": .uint(3)]).lost == [.damaged: 3])
    #expect(outcomes("weir.hole", ["reason": "damaged"]).lost.isEmpty)
    #expect(outcomes("weir.gap", ["reason": "overwritten", "dropped": .uint(4)]).lost == [.overwritten: 4])
    // What was refused was never accepted.
    #expect(outcomes("weir.gap", ["reason": "full", "dropped": .uint(4)]).lost.isEmpty)
    // They have no offset of their own, and so no part in the sums of offsets.
    #expect(outcomes("weir.hole", ["events": .uint(3)]).all == 0)
  }

  // MARK: The tracker's end

  @Test func `delivery goes on from the files when the tracker is closed, and when it is gone`() async throws {
    try await withDirectoryAsync { directory in
      let clock = VirtualClock()
      var tracker: Tracker? = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let provider = ScriptedProvider(answers: [.fail("a"), .fail("b")])
      let dispatcher = try Dispatcher(try #require(tracker), configuration: DeliveryStage.configuration(clock))
      try dispatcher.start()
      try dispatcher.add(provider)
      for number in 0..<10 { #expect(tracker?.track("e", fields: ["n": .int(Int64(number))]).isAccepted == true) }
      try tracker?.close()
      tracker = nil
      #expect(await dispatcher.mover(clock).run { provider.delivered.count == 10 })
      #expect(await dispatcher.mover(clock).run { dispatcher.ledger["scripted"]?.acknowledged == 10 })
      #expect(dispatcher.ledger.isBalanced)
      #expect(dispatcher.tracker == nil)
      await dispatcher.finish(dispatcher.workers, .abandonment)
    }
  }

  @Test func `nothing is removed beside the process that captures`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(
        directory: directory,
        configuration: quiet {
          $0.whenFull = .block
          $0.removeDelivered = true
        })
      let clock = VirtualClock()
      let dispatcher = try Dispatcher(directory: directory, configuration: DeliveryStage.configuration(clock))
      try dispatcher.start()
      let provider = ScriptedProvider()
      try dispatcher.add(provider)
      let text = String(repeating: "x", count: 50_000)
      for _ in 0..<100 { #expect(tracker.track("e", fields: ["text": .string(text)]).isAccepted) }
      try tracker.drain()
      #expect(await dispatcher.mover(clock).run { provider.delivered.count == 100 })
      #expect(await dispatcher.mover(clock).run { dispatcher.ledger["scripted"]?.offset == 100 })
      #expect(dispatcher.ledger.isBalanced)
      #expect(try LogDirectory(directory).statistics().firstOffset == 0)
      await dispatcher.finish(dispatcher.workers, .abandonment)
    }
  }

  @Test func `a child of a fork has no dispatcher, and no lock`() async {
    // In a process of its own: there nobody else holds a lock at the fork that the child would wait for.
    await #expect(processExitsWith: .success) {
      let spy = try SpyTracker()
      let dispatcher = try Dispatcher(spy.tracker)
      try dispatcher.start()
      let provider = ScriptedProvider()
      try dispatcher.add(provider)
      func flushed(_ count: Int) async -> Bool {
        spy.tracker.track("e")
        while await !dispatcher.flush(timeout: .seconds(100)).isComplete {}
        return provider.delivered.count == count
      }
      guard await flushed(1) else { exit(1) }
      let path = spy.tracker.directory + "/cursors/scripted.lock"
      let lock = try FileManager.default.attributesOfItem(atPath: path)
      guard let inode = lock[.systemFileNumber] as? Int else { exit(2) }
      func isLockHeld() -> Bool {
        (3..<1024 as Range<Int32>).contains { number in
          var status = stat()
          return fstat(number, &status) == 0 && Int(status.st_ino) == inode
        }
      }
      guard isLockHeld() else { exit(3) }
      let isDetached = try await isTrueInChild {
        let other = ScriptedProvider(name: "b")
        let isRefused = code { () throws(WeirError) in try dispatcher.add(other) } == .closed
        dispatcher.resume("scripted")
        let isEmpty = dispatcher.ledger.entries.isEmpty && dispatcher.providers.isEmpty
        return isRefused && isEmpty && !isLockHeld()
      }
      guard isDetached else { exit(4) }
      guard await flushed(2) else { exit(5) }
      exit(0)
    }
  }
}

extension DeliveryReport {
  fileprivate subscript(provider: String) -> Ledger.ProviderState? { entries.first { $0.provider == provider }?.state }
}

/// The code of the error that is thrown; nil if none is.
func code(_ body: () throws(WeirError) -> Void) -> WeirError.Code? {
  do throws(WeirError) {
    try body()
    return nil
  } catch {
    return error.code
  }
}
