// Rewinds and starts at an offset: what is delivered again, what the ledger says of it, and that nothing is skipped.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct RewindTests {
  private func rewind(
    _ stage: DeliveryStage, to position: DeliveryOptions.Start, _ name: String = "scripted",
    _ providers: [any WaitingProvider] = []
  ) async throws -> Result<Rewind, WeirError> {
    try await stage.running(providers) { [dispatcher = stage.dispatcher] () -> Result<Rewind, WeirError> in
      do throws(WeirError) {
        return .success(try await dispatcher.rewind(name, to: position))
      } catch {
        return .failure(error)
      }
    }
  }

  private func code(_ result: Result<Rewind, WeirError>) -> WeirError.Code? {
    if case .failure(let error) = result { error.code } else { nil }
  }

  private func code(_ body: () throws(WeirError) -> some Any) -> WeirError.Code? {
    do throws(WeirError) {
      _ = try body()
      return nil
    } catch {
      return error.code
    }
  }

  @Test func `what lies behind the position is delivered again, and the ledger says so`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      let ids = try stage.capture(10)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().acknowledged == 10 })
      #expect(stage.entry().rewind == nil)
      let first = try await rewind(stage, to: .offset(4)).get()
      #expect(first == Rewind(from: 10, to: 4, count: 1))
      #expect(await stage.run { stage.entry().acknowledged == 6 && stage.entry().offset == 10 })
      #expect(provider.delivered.map(\.stored.id) == ids + ids[4...])
      let entry = stage.entry()
      #expect(entry.rewind == first)
      #expect((entry.accepted, entry.pending, entry.offset) == (6, 0, 10))
      #expect(entry.isBalanced, "\(entry)")
      // On disk, and for whoever delivers next.
      let second = try await rewind(stage, to: .beginning).get()
      #expect(second == Rewind(from: 10, to: 0, count: 2))
      #expect(await stage.run { stage.entry().offset == 10 && stage.entry().acknowledged == 10 })
      try stage.capture(1, from: 10)
      #expect(await stage.run { stage.entry().acknowledged == 11 && stage.entry().offset == 11 })
      await stage.kill()
      let files = try #require(try LogDirectory(directory).ledger()["scripted"])
      #expect(files.rewind == second)
      #expect((files.accepted, files.acknowledged) == (11, 11))
      #expect(files.isBalanced, "\(files)")
    }
  }

  private struct AtOnce: FlushRule {
    func wait(of waiting: WaitingEvents) -> Duration? { .zero }
  }

  @Test func `the program's own flush rule goes on deciding`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      var options = DeliveryOptions()
      options.flush = FlushPolicy([])
      options.flushRule = AtOnce()
      try stage.capture(4)
      try stage.dispatcher.add(provider, options: options)
      #expect(await stage.run { stage.entry().offset == 4 })
      _ = try await rewind(stage, to: .offset(1)).get()
      #expect(await stage.run { stage.entry().offset == 4 && stage.entry().acknowledged == 3 })
      #expect(provider.numbers == [0, 1, 2, 3, 1, 2, 3])
      await stage.kill()
    }
  }

  @Test func `a position ahead of what is settled is refused, and nothing is skipped`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(
        finally: .each { event in event.stored.offset < 3 ? .accepted : .retry(after: .seconds(10)) })
      let ids = try stage.capture(6)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().offset == 3 })
      for position in [DeliveryOptions.Start.end, .offset(4), .offset(6), .offset(7), .offset(.max)] {
        let result = try await rewind(stage, to: position)
        #expect(code(result) == .invalid, "\(position)")
      }
      #expect(stage.entry().rewind == nil)
      #expect(stage.entry().offset == 3)
      #expect(stage.entry().pending == 3)
      // The place itself skips nothing.
      #expect(try await rewind(stage, to: .offset(3)).get().to == 3)
      #expect(Set(provider.delivered.map(\.stored.id)) == Set(ids[..<3]))
      await stage.kill()
    }
  }

  @Test func `a position by time is found`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider()
      try stage.capture(5)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().acknowledged == 5 })
      let time = provider.delivered[2].stored.time
      let to = try await rewind(stage, to: .time(time)).get().to
      #expect(to <= 2)
      #expect(await stage.run { provider.delivered.count == 10 - Int(to) })
      let later = Timestamp(nanosecondsSince1970: .max)
      #expect(try await rewind(stage, to: .time(later)).get().to == 5)
      await stage.kill()
    }
  }

  @Test func `a call in progress counts, and the events that are held come again`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(
        answers: [.accept, .slow(.seconds(5), then: .accept)], clock: stage.clock)
      try stage.capture(4)
      var options = DeliveryOptions()
      options.flush.maximumEvents = 2
      try stage.dispatcher.add(provider, options: options)
      #expect(await stage.run([provider]) { provider.callSizes.count == 2 })
      let result = try await rewind(stage, to: .beginning, "scripted", [provider])
      #expect(try result.get() == Rewind(from: 4, to: 0, count: 1))
      #expect(await stage.run([provider]) { stage.entry().acknowledged == 4 })
      #expect(provider.numbers == [0, 1, 2, 3, 0, 1, 2, 3])
      await stage.kill()
    }
  }

  @Test func `rejected events stay dead letters, and are delivered again`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.each { $0.stored.offset == 1 ? .rejected("no") : .accepted }])
      try stage.capture(3)
      try stage.dispatcher.add(provider)
      #expect(await stage.run { stage.entry().rejected == 1 && stage.entry().acknowledged == 2 })
      _ = try await rewind(stage, to: .beginning).get()
      #expect(await stage.run { stage.entry().acknowledged == 3 })
      #expect(stage.entry().rejected == 0)
      #expect(stage.entry().isBalanced)
      #expect(provider.numbers == [0, 2, 0, 1, 2])
      #expect(try LogDirectory(directory).deadLetters(of: "scripted").map(\.event.offset) == [1])
      await stage.kill()
    }
  }

  @Test func `the journey of an event that comes again agrees with the ledger`() async throws {
    try await withDirectoryAsync { directory in
      let log = LogDirectory(directory)
      func fates() throws -> [Journey.Fate] {
        try (0..<3).map { try #require(try log.journey(at: $0).outcomes.first).fate }
      }
      let isShut = Mutex(false)
      let stage = try DeliveryStage(directory)
      let provider = ScriptedProvider(answers: [.each { $0.stored.offset == 1 ? .rejected("no") : .accepted }])
      try stage.capture(3)
      try stage.dispatcher.add(
        provider.mapped(by: .only { $0.stored.offset != 2 || isShut.withLock { $0 } }))
      #expect(await stage.run { stage.entry().offset == 3 && stage.entry().rejected == 1 })
      #expect(try fates() == [.acknowledged, .rejected(reason: "no"), .withheld])
      await stage.kill()
      _ = stage.dispatcher.close()
      try log.rewind("scripted", to: .offset(1))
      #expect(try fates()[1...] == [.pending, .pending])
      #expect(try log.ledger()["scripted"]?.pending == 2)
      isShut.withLock { $0 = true }
      let again = try DeliveryStage(on: stage.tracker)
      try again.dispatcher.add(provider.mapped(by: .only { $0.stored.offset != 2 || isShut.withLock { $0 } }))
      #expect(await again.run { again.entry().offset == 3 && again.entry().acknowledged == 2 })
      await again.kill()
    }
  }

  @Test func `a log that nobody delivers is rewound by its files`() async throws {
    try await withDirectoryAsync { directory in
      let log = LogDirectory(directory)
      var stage = try DeliveryStage(directory)
      let first = ScriptedProvider()
      let ids = try stage.capture(5)
      try stage.dispatcher.add(first)
      #expect(await stage.run { stage.entry().offset == 5 })
      #expect(code { () throws(WeirError) in try log.rewind("scripted", to: .beginning) } == .locked)
      #expect(code { () throws(WeirError) in try log.rewind("nobody", to: .beginning) } == .missing)
      #expect(code { () throws(WeirError) in try log.rewind("a.b", to: .beginning) } == .missing)
      #expect(code(try await rewind(stage, to: .beginning, "nobody")) == .missing)
      await stage.kill()
      _ = stage.dispatcher.close()
      #expect(code { () throws(WeirError) in try log.rewind("scripted", to: .offset(6)) } == .invalid)
      #expect(try log.rewind("scripted", to: .offset(3)) == Rewind(from: 5, to: 3, count: 1))
      #expect(try log.rewind("scripted", to: .offset(2)) == Rewind(from: 3, to: 2, count: 2))
      let pending = try #require(try log.ledger()["scripted"])
      #expect((pending.accepted, pending.acknowledged, pending.pending) == (3, 0, 3))
      #expect(pending.isBalanced)
      // A dispatcher that does not deliver to the provider does it too.
      stage = try DeliveryStage(on: stage.tracker)
      #expect(try await rewind(stage, to: .offset(1)).get() == Rewind(from: 2, to: 1, count: 3))
      let second = ScriptedProvider()
      try stage.dispatcher.add(second)
      #expect(await stage.run { stage.entry().acknowledged == 4 })
      #expect(second.delivered.map(\.stored.id) == Array(ids[1...]))
      await stage.kill()
    }
  }

  @Test func `a dispatcher that does not run yet rewinds at once`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(3)
      try stage.dispatcher.add(ScriptedProvider())
      #expect(await stage.run { stage.entry().offset == 3 })
      await stage.kill()
      _ = stage.dispatcher.close()
      let dispatcher = try Dispatcher(stage.tracker)
      let provider = ScriptedProvider()
      try dispatcher.add(provider)
      #expect(try await dispatcher.rewind("scripted", to: .offset(1)) == Rewind(from: 3, to: 1, count: 1))
      try dispatcher.start()
      #expect(await dispatcher.flush(timeout: patience).isComplete)
      #expect(provider.numbers == [1, 2])
      await dispatcher.shutdown(budget: .zero)
    }
  }

  @Test func `an event below the place was settled before, and its journey says so`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(4)
      var options = DeliveryOptions()
      options.start = .offset(1)
      (options.backoff.least, options.backoff.most) = (.seconds(3600), .seconds(3600))
      let provider = ScriptedProvider(answers: [.accept], finally: .fail("down"))
      try stage.dispatcher.add(provider, options: options)
      #expect(await stage.run { stage.entry().offset == 4 })
      #expect(provider.numbers == [1, 2, 3])
      _ = try await rewind(stage, to: .offset(3)).get()
      #expect(await stage.run { provider.callSizes.count == 2 })
      await stage.kill()
      let fates = try (0..<4 as Range<Offset>).map { offset in
        try LogDirectory(directory).journey(at: offset).outcomes.first?.fate
      }
      #expect(fates == [.before, .acknowledged, .acknowledged, .pending])
    }
  }

  @Test func `whatever fails and whenever it is rewound, all that is due is delivered and the ledger balances`()
    async throws
  {
    struct SplitMix: RandomNumberGenerator {
      var state: UInt64
      mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = (state ^ state >> 30) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ value >> 27) &* 0x94d0_49bb_1331_11eb
        return value ^ value >> 31
      }
    }
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    try await withDirectoryAsync { directory in
      let random = Mutex(SplitMix(state: seed))
      @Sendable func draw(_ range: Range<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }
      let stage = try DeliveryStage(directory)
      var options = DeliveryOptions()
      options.flush.maximumEvents = 7
      let provider = ScriptedProvider(
        answers: (0..<60).map { _ in
          draw(0..<4) == 0
            ? .fail("at random") : .each { _ in draw(0..<5) == 0 ? .retry(after: .milliseconds(30)) : .accepted }
        })
      try stage.dispatcher.add(provider, options: options)
      var captured = 0
      for round in 0..<12 {
        let count = draw(1..<20)
        try stage.capture(count, from: captured)
        captured += count
        let calls = provider.callSizes.count + draw(0..<4)
        _ = await stage.run(upTo: .seconds(60)) { provider.callSizes.count >= calls }
        let settled = stage.entry().offset
        let target = Offset(draw(0..<Int(settled) + 1))
        let before = provider.delivered.count
        let result = try await rewind(stage, to: .offset(target)).get()
        #expect(result.to == target, "round \(round)")
        #expect(result.count == UInt64(round + 1))
        #expect(result.from >= settled)
        #expect(await stage.run { stage.entry().pending == 0 && stage.entry().offset == Offset(captured) })
        #expect(stage.entry().isBalanced, "round \(round): \(stage.entry())")
        #expect(stage.entry().acknowledged == UInt64(captured) - target)
        let again = Set(provider.numbers[before...])
        #expect(again.isSuperset(of: (Int64(target)..<Int64(captured))), "round \(round)")
      }
      await stage.kill()
    }
  }

  // MARK: Starting at an offset

  @Test func `a provider may start at an offset`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(5)
      for (name, offset) in [("all", 0), ("some", 3), ("next", 5)] as [(String, Offset)] {
        var options = DeliveryOptions()
        options.start = .offset(offset)
        let provider = ScriptedProvider(name: name)
        try stage.dispatcher.add(provider, options: options)
        try stage.capture(1, from: 5)
        let end = Int(try LogDirectory(directory).statistics().nextOffset)
        #expect(await stage.run { provider.delivered.count == end - Int(offset) })
        #expect(provider.delivered.first?.stored.offset == offset)
        #expect(stage.entry(name).from == offset)
        #expect(stage.entry(name).isBalanced)
        _ = try await stage.running { try? await stage.dispatcher.remove(name) }
        if name != "next" { continue }
      }
      await stage.kill()
    }
  }

  @Test func `an offset that is not there yet is refused`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(5)
      var options = DeliveryOptions()
      options.start = .offset(6)
      let refused = code { () throws(WeirError) in
        try stage.dispatcher.add(ScriptedProvider(), options: options)
      }
      #expect(refused == .invalid)
      #expect(try Pins(directory, calls: SystemCalls()).positions.isEmpty)
      await stage.kill()
    }
  }
}
