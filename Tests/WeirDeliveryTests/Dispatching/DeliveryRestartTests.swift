// Delivery over restarts: what a kill makes come again, what a cursor is worth beside another log, what is counted.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct DeliveryRestartTests {
  private struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    init(_ seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var value = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
      value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
      return value ^ value >> 31
    }
  }

  @Test func `an event settled after the cursor's last move comes again, and counts once`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let first = ScriptedProvider()
      let stage = try DeliveryStage(on: tracker) { $0.cursorInterval = .seconds(1000) }
      try stage.dispatcher.add(first)
      try stage.capture(1)
      #expect(await stage.run { stage.entry().offset == 1 })
      let ids = try stage.capture(3, from: 1)
      #expect(await stage.run { stage.entry().acknowledged == 4 })
      #expect(stage.entry().offset == 1)
      await stage.kill()
      let files = try #require(try LogDirectory(directory).ledger()["scripted"])
      #expect(files.acknowledged == 1)
      #expect(files.pending == 3)
      #expect(files.isBalanced)

      let second = ScriptedProvider()
      let next = try await again(tracker, stage)
      try next.dispatcher.add(second)
      #expect(await next.run { next.entry().acknowledged == 4 })
      #expect(second.delivered.map(\.stored.id) == ids)
      #expect(next.entry().isBalanced)
    }
  }

  /// Where the victim of the next test lives: its code can't be given anything.
  private static func directory(of process: pid_t) -> String {
    FileManager.default.temporaryDirectory.appending(path: "weir-holes-\(process)").path
  }

  @Test func `an event that damage took from a dead process's lane is lost, and counted`() async throws {
    let directory = Self.directory(of: getpid())
    defer { try? FileManager.default.removeItem(atPath: directory) }
    await #expect(processExitsWith: .signal(SIGKILL)) { () async throws in
      // Nothing is drained by itself.
      let configuration = quiet { $0.drainInterval = .seconds(10) }
      let tracker = try Tracker(directory: Self.directory(of: getppid()), configuration: configuration)
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.start()
      try dispatcher.add(ScriptedProvider())
      tracker.track("first")
      await dispatcher.flush(timeout: patience)
      for number in 1...5 { tracker.track("order", fields: ["text": .string("number \(number) of five")]) }
      kill(getpid(), SIGKILL)
    }
    let log = LogDirectory(directory)
    #expect(try log.ledger()["scripted"]?.lost == [:])
    let ring = URL(filePath: directory + "/ring")
    var bytes = try Data(contentsOf: ring)
    let text = try #require(bytes.range(of: Data("number 3 of five".utf8)))
    bytes.replaceSubrange(text, with: Data("damage in memory".utf8))
    try bytes.write(to: ring)

    // Whether the cursor was moved past the first one before the kill is open.
    func check(pending: ClosedRange<UInt64>) throws {
      let entry = try #require(try log.ledger()["scripted"])
      #expect(entry.accepted == 6, "\(entry)")
      #expect(pending.contains(entry.pending), "\(entry)")
      #expect(entry.lost == [.damaged: 1], "\(entry)")
      #expect(entry.isBalanced, "\(entry)")
    }
    try check(pending: 4...5)
    let tracker = try Tracker(directory: directory, configuration: quiet())
    try check(pending: 4...5)
    let dispatcher = try Dispatcher(tracker)
    try dispatcher.start()
    try dispatcher.add(ScriptedProvider())
    try dispatcher.add(ScriptedProvider(name: "later"))
    #expect(await dispatcher.flush(timeout: patience).isComplete)
    // It was lost before this one began.
    let later = try #require(dispatcher.ledger["later"])
    #expect(later.accepted == 5)
    #expect(later.acknowledged == 5)
    #expect(later.lost.isEmpty)
    #expect(later.isBalanced)
    await dispatcher.shutdown(budget: patience)
    try check(pending: 0...0)
  }

  /// Another dispatcher for the same tracker, once the one before is gone.
  private func again(
    _ tracker: Tracker, _ former: DeliveryStage, _ change: (inout Dispatcher.Configuration) -> Void = { _ in }
  ) async throws -> DeliveryStage {
    await former.kill()
    _ = former.dispatcher.close()
    return try DeliveryStage(on: tracker, dispatcher: change)
  }

  @Test func `the ledger balances after each of fifty kills at random moments`() async throws {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    try await withDirectoryAsync { directory in
      let random = Mutex(SplitMix(seed))
      func draw(_ range: Range<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      var stage = try DeliveryStage(on: tracker)
      var captured = 0
      let seen = Mutex<[EventID: Verdict]>([:])
      let falseStarts = Mutex(0)
      let answer: @Sendable (PreparedEvent) -> Verdict = { event in
        // The same event always gets the same last word, as from a real provider.
        let last: Verdict = event.stored.id.sequence % 11 == 0 ? .rejected("eleven") : .accepted
        let isNow = random.withLock { Int.random(in: 0..<4, using: &$0) } > 0
        guard isNow else { return .retry(after: .milliseconds(40)) }
        seen.withLock { $0[event.stored.id] = last }
        return last
      }
      for round in 0..<50 {
        var options = DeliveryOptions()
        options.flush.maximumEvents = draw(1..<40)
        let provider = ScriptedProvider(
          answers: (0..<4).map { _ in
            draw(0..<3) == 0 ? .fail("at random") : draw(0..<3) == 0 ? .acceptAndFail("lost") : .each(answer)
          }, finally: .each(answer))
        let mapper = EventMapper.only { $0.fields["n"]?.isMultiple(of: 13) != true }
        try stage.dispatcher.add(provider.mapped(by: mapper), options: options)
        let count = draw(0..<60)
        if count > 0 { try stage.capture(count, from: captured) }
        captured += count
        let calls = draw(0..<8)
        let until = stage.clock.now.advanced(by: .milliseconds(draw(1..<4000)))
        _ = await stage.run { provider.callSizes.count >= calls || stage.clock.now >= until }
        #expect(stage.dispatcher.ledger.isBalanced, "\(round): \(stage.dispatcher.ledger)")
        if provider.overlaps > 0 { falseStarts.withLock { $0 += 1 } }
        stage = try await again(tracker, stage)
        let files = try #require(try LogDirectory(directory).ledger()["scripted"])
        #expect(files.isBalanced, "\(round): \(files)")
        #expect(files.accepted == UInt64(captured), "\(round): \(files)")
      }
      try stage.dispatcher.add(ScriptedProvider(finally: .each(answer)))
      #expect(await stage.run { stage.entry().pending == 0 })
      let entry = stage.entry()
      let verdicts = seen.withLock { $0 }
      let withheld = UInt64((0..<captured).filter { $0 % 13 == 0 }.count)
      #expect(entry.isBalanced)
      #expect(entry.acknowledged + entry.rejected + entry.lostInAll == UInt64(captured))
      // The last provider had no hook, so some that the rule is for may have come to it.
      #expect(entry.lost[.withheld] ?? 0 <= withheld)
      #expect(verdicts.count >= captured - Int(withheld))
      #expect(falseStarts.withLock { $0 } == 0)
      let letters = Set(try LogDirectory(directory).deadLetters(of: "scripted").map(\.event.id))
      #expect(letters == Set(verdicts.filter { $0.value != .accepted }.keys))
      await stage.kill()
    }
  }

  // MARK: Cursors that are worth nothing

  @Test func `a cursor with both slots bad starts over, says so, and counts anew`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      var stage = try DeliveryStage(on: tracker)
      try stage.dispatcher.add(ScriptedProvider())
      try stage.capture(6)
      #expect(await stage.run { stage.entry().offset == 6 })
      stage = try await again(tracker, stage)
      try Data(repeating: 0xa5, count: 4608).write(to: URL(filePath: directory + "/cursors/scripted"))
      let damaged = try #require(try LogDirectory(directory).ledger()["scripted"])
      #expect(damaged.error?.contains("damaged") == true)
      #expect(damaged.accepted == 6)
      #expect(damaged.pending == 6)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 6 })
      #expect(provider.delivered.count == 6)
      #expect(stage.entry().isBalanced)
      #expect(stage.entry().acknowledged == 6)
      await stage.kill()
    }
  }

  @Test func `a cursor beyond the end, or of another log, is not believed`() async throws {
    for offset in [4, 9000] as [Offset] {
      try await withDirectoryAsync { directory in
        let stage = try DeliveryStage(directory)
        try stage.capture(8)
        var counts = DeliveryCounts(from: 0)
        counts.acknowledged = offset
        try Cursor("scripted", of: directory).move(
          to: CursorPosition(
            offset: offset, last: EventID(opening: 1, sequence: 2), certain: 0, counts: counts, lastOffset: offset - 1))
        let provider = ScriptedProvider()
        try stage.dispatcher.add(provider)
        #expect(await stage.run { stage.entry().offset == 8 })
        #expect(provider.numbers == Array(0..<8))
        let entry = stage.entry()
        #expect(entry.isBalanced)
        #expect(entry.accepted == 8)
        #expect(entry.acknowledged == 8)
        guard case .position(let position) = try Cursor.read("scripted", of: directory) else { return }
        #expect(position.counts?.restarts == 1)
      }
    }
  }

  @Test func `a log that was emptied beside its cursor is delivered from its beginning`() async throws {
    try await withDirectoryAsync { directory in
      do {
        let stage = try DeliveryStage(directory)
        try stage.dispatcher.add(ScriptedProvider())
        try stage.capture(20)
        #expect(await stage.run { stage.entry().offset == 20 })
        try await stage.close()
      }
      for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name != "cursors" {
        try FileManager.default.removeItem(atPath: directory + "/" + name)
      }
      let stage = try DeliveryStage(directory)
      try stage.capture(5)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 5 })
      #expect(provider.numbers == Array(0..<5))
      #expect(stage.entry().isBalanced)
      #expect(stage.entry().accepted == 5)
    }
  }

  // MARK: What is lost on the way

  /// A closed log of 100 events, ten a block, of which some in the middle can't be read.
  private func makeDamaged(_ directory: String) throws -> Set<Offset> {
    let tracker = try Tracker(directory: directory, configuration: quiet())
    for number in 0..<100 {
      #expect(tracker.track("e", fields: ["n": .int(Int64(number))]).isAccepted)
      if number % 10 == 9 { try tracker.drain() }
    }
    try tracker.close()
    let name = try #require(
      try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".weir") })
    let url = URL(filePath: directory + "/" + name)
    var bytes = try Data(contentsOf: url)
    let end = try #require(bytes.lastIndex { $0 != 0 })
    for place in end / 2..<end / 2 + 4 { bytes[place] = ~bytes[place] }
    try bytes.write(to: url)
    let reader = try EventReader(directory: directory)
    var found: Set<Offset> = []
    while let event = try reader.next() { found.insert(event.offset) }
    let lost = Set(0..<100 as Range<Offset>).subtracting(found)
    try #require(!lost.isEmpty)
    try #require(lost.count < 50)
    return lost
  }

  @Test func `damage is counted exactly, before delivery comes by it and after`() async throws {
    try await withDirectoryAsync { directory in
      let lost = try makeDamaged(directory)
      let stage = try DeliveryStage(directory)
      try Cursor("before", of: directory).move(to: CursorPosition(offset: 0, counts: DeliveryCounts()))
      var counts = DeliveryCounts()
      counts.acknowledged = 1
      try Cursor("within", of: directory).move(to: CursorPosition(offset: 1, certain: 1, counts: counts))
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset >= 100 })
      let entry = stage.entry()
      #expect(provider.delivered.count == 100 - lost.count)
      #expect(entry.lost == [.damaged: UInt64(lost.count)])
      #expect(entry.accepted == 100)
      #expect(entry.isBalanced)
      #expect(stage.entry("before").isBalanced)
      #expect(stage.entry("before").accepted == 100)
      let within = stage.entry("within")
      #expect(within.isBalanced)
      #expect(within.lost == entry.lost)
      #expect(within.pending == UInt64(99 - lost.count))
    }
  }

  @Test func `a cursor right after damage holds`() async throws {
    try await withDirectoryAsync { directory in
      let lost = try makeDamaged(directory)
      let next = Int64(try #require(lost.max()) + 1)
      for isLast in [false, true] {
        let clock = VirtualClock()
        let dispatcher = try Dispatcher(directory: directory, configuration: DeliveryStage.configuration(clock))
        try dispatcher.start()
        let provider = ScriptedProvider(
          finally: .each { $0.fields["n"] == .int(next) && !isLast ? .retry(after: .seconds(200)) : .accepted })
        try dispatcher.add(provider)
        let offset = isLast ? 100 : Offset(next)
        #expect(await dispatcher.mover(clock).run { dispatcher.ledger["scripted"]?.offset == offset })
        #expect(dispatcher.ledger.isBalanced)
        await dispatcher.finish(dispatcher.workers, .abandonment)
        guard case .position(let position) = try Cursor.read("scripted", of: directory) else {
          Issue.record("no cursor")
          return
        }
        #expect(position.counts?.restarts == 0)
        #expect(position.counts?.damaged == UInt64(lost.count))
        #expect(position.certain == 0)
      }
    }
  }

  @Test func `an event that the byte limit removes is lost to each provider that did not have it`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(
        directory,
        tracker: {
          $0.laneBytes = 128 << 10
          $0.byteLimit = 8 << 20
          $0.atByteLimit = .dropOldest
        })
      let provider = ScriptedProvider(answers: Array(repeating: .fail("down"), count: 3))
      try stage.dispatcher.add(provider)
      try stage.capture(1, from: 1000)
      #expect(await stage.run { provider.callSizes.count == 1 })
      let text = String(repeating: "x", count: 50_000)
      for number in 0..<400 {
        #expect(stage.tracker.track("e", fields: ["n": .int(Int64(number)), "text": .string(text)]).isAccepted)
        if number % 50 == 0 {
          try stage.tracker.sync()
          #expect(stage.dispatcher.ledger.isBalanced, "\(number): \(stage.dispatcher.ledger)")
          #expect(try LogDirectory(directory).ledger().isBalanced)
        }
      }
      try stage.tracker.drain()
      #expect(await stage.run { provider.numbers.last == 399 })
      #expect(await stage.run { stage.entry().pending == 0 })
      let entry = stage.entry()
      let removed = try #require(entry.lost[.removed])
      #expect(entry.isBalanced)
      #expect(removed > 100)
      #expect(removed + entry.acknowledged == 401)
      #expect(entry.acknowledged == UInt64(Set(provider.numbers).count))
    }
  }

  @Test func `refusals and their notices are no accepted events`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.dispatcher.add(provider)
      for round in 0..<5 {
        #expect(!stage.tracker.track("weir.mine").isAccepted)
        try stage.capture(3, from: round * 3)
      }
      #expect(await stage.run { stage.entry().acknowledged == 15 })
      #expect(try stage.tracker.events().contains { $0.isNotice })
      #expect(await stage.run { stage.entry().offset > 15 })
      #expect(stage.entry().accepted == 15)
      #expect(stage.entry().isBalanced)
    }
  }
}

extension FieldValue {
  fileprivate func isMultiple(of number: Int64) -> Bool {
    guard case .int(let value) = self else { return false }
    return value % number == 0
  }
}
