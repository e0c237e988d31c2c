// Redriven dead letters: large ones, ones that were not finished, ones with fields that must not leave the process.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

struct RedriveTests {
  private func redrive(
    _ stage: DeliveryStage, to provider: ScriptedProvider, by mapper: EventMapper = EventMapper(),
    options: DeliveryOptions = DeliveryOptions(),
    timeout: Duration = .seconds(5)
  ) async throws -> DeliveryReport.Entry {
    let log = LogDirectory(stage.directory)
    let configuration = stage.redriveConfiguration()
    let mapped = provider.mapped(by: mapper)
    let result = try await stage.running([provider]) { () async -> Result<DeliveryReport.Entry, WeirError> in
      do throws(WeirError) {
        return .success(
          try await log.redrive(to: mapped, options: options, configuration: configuration, timeout: timeout))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// A stage whose provider rejected small events, numbered, and a large one between.
  private func withLetters(_ directory: String) async throws -> (stage: DeliveryStage, ids: [EventID]) {
    let stage = try DeliveryStage(
      directory,
      tracker: {
        $0.maximumEventBytes = 1 << 20
        $0.laneBytes = 4 << 20
        $0.segmentBytes = 8 << 20
      })
    var ids = try stage.capture(2)
    let text = FieldValue.string(String(repeating: "y", count: (1 << 20) - 150))
    ids.append(try #require(stage.tracker.track("l", fields: ["n": 2, "t": text]).id))
    ids += try stage.capture(2, from: 3)
    try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")))
    #expect(await stage.run { stage.entry().rejected == 5 })
    #expect(try LogDirectory(directory).deadLetters(of: "scripted").map(\.event.id) == ids)
    let letters = try EventReader(directory: DeadLetter.path(of: "scripted", in: directory))
    var events = 0
    while try letters.next() != nil { events += 1 }
    try #require(events > 6, "no letter of several parts")
    return (stage, ids)
  }

  @Test func `no letter is lost to a rate cap`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.capture(3)
      try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")))
      #expect(await stage.run { stage.entry().rejected == 3 })
      var options = DeliveryOptions()
      options.rateCaps = [RateCap("*", most: 1, per: .seconds(1 << 20))]
      let provider = ScriptedProvider()
      let report = try await redrive(stage, to: provider, options: options)
      #expect((report.acknowledged, report.pending) == (3, 0), "\(report)")
      #expect(provider.numbers == [0, 1, 2])
      try await stage.close()
    }
  }

  @Test func `a large letter waits whole for a redrive that succeeds`() async throws {
    try await withDirectoryAsync { directory in
      let (stage, ids) = try await withLetters(directory)
      let failed = try await redrive(stage, to: ScriptedProvider(finally: .fail("down")))
      #expect(failed.acknowledged == 0, "\(failed)")
      #expect(failed.rejected == 0, "\(failed)")
      #expect(failed.pending == 5, "\(failed)")
      // The small ones before it are taken, and it is not: a call by itself, for its size, which counts as failed.
      let half = ScriptedProvider(
        finally: .each { $0.fields["n"] == .int(2) ? .retry(after: .seconds(60)) : .accepted })
      let second = try await redrive(stage, to: half)
      #expect(second.acknowledged == 2, "\(second)")
      #expect(second.pending == 3, "\(second)")
      let works = ScriptedProvider()
      let third = try await redrive(stage, to: works)
      #expect(third.pending == 0, "\(third)")
      #expect(third.rejected == 0, "\(third)")
      #expect(works.delivered.map(\.stored.id).contains(ids[2]))
      #expect(Set((half.delivered + works.delivered).map(\.stored.id)) == Set(ids))
      // Now all are settled.
      #expect(try await redrive(stage, to: works).acknowledged == 0)
      await stage.kill()
    }
  }

  @Test func `all letters go at once, whatever the options say of the beginning and of waiting`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")))
      try stage.capture(3)
      #expect(await stage.run { stage.entry().rejected == 3 })
      var options = DeliveryOptions()
      options.start = .end
      options.flush = FlushPolicy(.count)
      let provider = ScriptedProvider()
      let report = try await redrive(stage, to: provider, options: options)
      #expect(report.acknowledged == 3, "\(report)")
      #expect(report.pending == 0, "\(report)")
      #expect(provider.numbers == [0, 1, 2], "\(report)")
    }
  }

  @Test func `a letter of which only some parts are there holds nothing up, and comes when it is whole`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      func letter(_ number: Int, bytes: Int) -> DeadLetter {
        DeadLetter(
          provider: "scripted",
          event: StoredEvent(
            offset: Offset(number), id: EventID(opening: 9, sequence: UInt64(number)),
            time: Timestamp(nanosecondsSince1970: 5), name: "e",
            fields: ["n": .int(Int64(number)), "text": .string(String(repeating: "x", count: bytes))]),
          reason: "no", attempts: 1)
      }
      let large = letter(2, bytes: 1_500_000)
      try #require(large.parts.count == 3)
      var log = DeadLetterLog("scripted", of: directory, calls: SystemCalls())
      try log.write([letter(1, bytes: 10)])
      try log.close()
      // The process died while it wrote the large one.
      let path = DeadLetter.path(of: "scripted", in: directory)
      let writer = try Tracker(
        directory: path,
        configuration: quiet {
          $0.laneBytes = 2 << 20
          $0.maximumEventBytes = 1 << 20
          $0.segmentBytes = 4 << 20
        })
      for part in large.parts[..<2] {
        #expect(writer.capture(DeadLetter.eventName, part, isValid: true).isAccepted)
      }
      try writer.close()
      let provider = ScriptedProvider()
      let begin = stage.clock.now
      let first = try await redrive(stage, to: provider, timeout: .seconds(1000))
      #expect(first.acknowledged == 1, "\(first)")
      #expect(first.pending == 0, "\(first)")
      #expect(provider.numbers == [1], "\(first)")
      #expect(begin.duration(to: stage.clock.now) < .seconds(1000))
      // It was rejected again, and so written again.
      try log.write([large, letter(3, bytes: 10)])
      try log.close()
      let second = try await redrive(stage, to: provider)
      #expect(second.acknowledged == 2, "\(second)")
      #expect(second.pending == 0, "\(second)")
      #expect(provider.numbers == [1, 2, 3], "\(second)")
      await stage.kill()
    }
  }

  /// A stage whose provider rejected events numbered from 0.
  private func withRejected(_ count: Int, _ directory: String) async throws -> DeliveryStage {
    let stage = try DeliveryStage(directory)
    try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")))
    try stage.capture(count)
    #expect(await stage.run { stage.entry().rejected == UInt64(count) && stage.entry().offset == Offset(count) })
    return stage
  }

  /// The ledger as the dispatcher has it and as the files do, which are to say the same.
  private func expectLedger(
    _ stage: DeliveryStage, acknowledged: UInt64, rejected: UInt64, _ place: SourceLocation = #_sourceLocation
  ) throws {
    for ledger in [stage.dispatcher.ledger, try LogDirectory(stage.directory).ledger()] {
      let entry = try #require(ledger["scripted"], sourceLocation: place)
      #expect(entry.acknowledged == acknowledged, "\(entry)", sourceLocation: place)
      #expect(entry.rejected == rejected, "\(entry)", sourceLocation: place)
      #expect(entry.isBalanced, "\(entry)", sourceLocation: place)
    }
  }

  @Test func `an event that a redrive had accepted is acknowledged, and no longer rejected`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try await withRejected(10, directory)
      try expectLedger(stage, acknowledged: 0, rejected: 10)
      // One is rejected again, and one kept back: they are what they were.
      let picky = ScriptedProvider(finally: .each { $0.fields["n"] == .int(7) ? .rejected("still") : .accepted })
      let report = try await redrive(stage, to: picky, by: .only { $0.fields["n"] != .int(3) })
      #expect(report.acknowledged == 8, "\(report)")
      #expect(report.rejected == 1, "\(report)")
      #expect(report.lost == [.withheld: 1], "\(report)")
      try expectLedger(stage, acknowledged: 8, rejected: 2)
      let log = LogDirectory(directory)
      for offset in 0..<10 as Range<Offset> {
        let fate = try #require(try log.journey(at: offset).outcomes.first).fate
        #expect((fate == .acknowledged) == ![3, 7].contains(offset), "\(offset): \(fate)")
      }
      // What is rejected after that is, too.
      try stage.capture(2, from: 10)
      #expect(await stage.run { stage.entry().rejected == 4 && stage.entry().offset == 12 })
      try expectLedger(stage, acknowledged: 8, rejected: 4)
      #expect(try await redrive(stage, to: ScriptedProvider()).acknowledged == 2)
      try expectLedger(stage, acknowledged: 10, rejected: 2)
    }
  }

  @Test func `a redrive that was killed before it noted anything counts for nothing`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try await withRejected(5, directory)
      let isGiven = Mutex(false)
      let provider = ScriptedProvider(
        finally: .each { _ in
          isGiven.withLock { $0 = true }
          return .accepted
        })
      var configuration = stage.redriveConfiguration()
      // From the delivery on its cursor can't be moved.
      configuration.calls.fault = { call in call == .write && isGiven.withLock { $0 } ? EIO : nil }
      let made = Mutex<ProviderWorker?>(nil)
      let register = configuration.madeWorker
      configuration.madeWorker = { worker in
        register?(worker)
        made.withLock { $0 = worker }
      }
      let given = configuration
      let redriving = Task {
        try? await LogDirectory(directory).redrive(to: provider, configuration: given, timeout: .seconds(1 << 20))
      }
      #expect(await eventually { made.withLock { $0 }?.shared.read { $0.report.acknowledged } == 5 })
      let worker = try #require(made.withLock { $0 })
      worker.shared.order { $0.ending = .abandonment }
      _ = await redriving.value
      try expectLedger(stage, acknowledged: 0, rejected: 5)
      let second = ScriptedProvider()
      #expect(try await redrive(stage, to: second).acknowledged == 5)
      #expect(second.numbers == [0, 1, 2, 3, 4])
      try expectLedger(stage, acknowledged: 5, rejected: 0)
    }
  }

  @Test func `letters that are there twice, or gone, make no event acknowledged that is not`() async throws {
    func redriven(of rejected: UInt64, accepted: UInt64, others: UInt64) -> UInt64 {
      var letters = RedrivenLetters()
      (letters.accepted, letters.others) = (accepted, others)
      return letters.redriven(of: rejected)
    }
    #expect(redriven(of: 10, accepted: 8, others: 2) == 8)
    // Two of ten have a second letter, and one that has was rejected in both.
    #expect(redriven(of: 10, accepted: 10, others: 2) == 8)
    // Letters of events that were accepted in the end.
    #expect(redriven(of: 3, accepted: 5, others: 0) == 3)
    #expect(redriven(of: 0, accepted: 5, others: 0) == 0)
    // Somebody removed the letters, and others were written and accepted after that.
    #expect(redriven(of: 490, accepted: 3, others: 0) == 3)
    #expect(redriven(of: 490, accepted: 0, others: 0) == 0)
    #expect(redriven(of: 5, accepted: 5, others: .max) == 0)
    try await withDirectoryAsync { directory in
      let stage = try await withRejected(4, directory)
      #expect(try await redrive(stage, to: ScriptedProvider()).acknowledged == 4)
      try expectLedger(stage, acknowledged: 4, rejected: 0)
      await stage.kill()
      try FileManager.default.removeItem(atPath: DeadLetter.path(of: "scripted", in: directory))
      #expect(try LogDirectory(directory).ledger()["scripted"]?.rejected == 4)
    }
  }

  @Test func `letters that were accepted are told from the others`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try await withRejected(6, directory)
      let letters = DeadLetter.path(of: "scripted", in: directory)
      func accepted() -> [Bool] {
        let accepted = AcceptedLetters(of: "scripted", in: directory)
        return (0..<6).map { accepted.contains($0) }
      }
      #expect(accepted() == Array(repeating: false, count: 6))
      let picky = ScriptedProvider(finally: .each { $0.fields["n"] == .int(2) ? .rejected("still") : .accepted })
      #expect(try await redrive(stage, to: picky).rejected == 1)
      #expect(accepted() == [true, true, false, true, true, true])
      try FileManager.default.removeItem(atPath: AttemptLog.path(in: letters, provider: "scripted"))
      #expect(accepted() == Array(repeating: false, count: 6))
    }
    try await withDirectoryAsync { directory in
      let stage = try await withRejected(2, directory)
      #expect(try await redrive(stage, to: ScriptedProvider()).acknowledged == 2)
      let letters = DeadLetter.path(of: "scripted", in: directory)
      try FileManager.default.removeItem(atPath: AttemptLog.path(in: letters, provider: "scripted"))
      let accepted = AcceptedLetters(of: "scripted", in: directory)
      #expect(accepted.contains(0))
      #expect(accepted.contains(1))
      #expect(!accepted.contains(2))
      #expect(try LogDirectory(directory).journey(at: 1).outcomes.map(\.fate) == [.acknowledged])
    }
  }

  private struct Login: Event {
    static let eventTypes = [
      EventType("login", [Field("who", .string), Field("password", .string, sensitive: true)])
    ]

    func encode(into encoder: inout EventEncoder) {
      encoder.begin(0)
      encoder.put("bob")
      encoder.put("hunter2")
    }

    init() {}
    init?(_ stored: StoredEvent) throws { return nil }
  }

  @Test func `a redrive that redacts hides what the event's type says is sensitive`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      var options = DeliveryOptions()
      options.redactsSensitive = false
      try stage.dispatcher.add(ScriptedProvider(finally: .reject("no")), options: options)
      #expect(stage.tracker.track(Login()).isAccepted)
      try stage.tracker.drain()
      #expect(await stage.run { stage.entry().rejected == 1 })
      let letter = try #require(try LogDirectory(directory).deadLetters(of: "scripted").first)
      #expect(letter.event.fields["password"] == "hunter2")
      #expect(letter.event.redacted().fields["password"] == .redacted)
      #expect(letter.event.declaration == Login.eventTypes[0])
      let provider = ScriptedProvider()
      #expect(try await redrive(stage, to: provider).acknowledged == 1)
      let event = try #require(provider.delivered.first)
      #expect(event.fields["password"] == .redacted)
      #expect(event.fields["who"] == "bob")
      #expect(event.stored.fields["password"] == .redacted)
      await stage.kill()
    }
  }

  /// What was replaced in the letter can't be checked, and nothing can be derived from it.
  @Test func `a redriven event has no violations of its redacted values, and fields derived without them`()
    async throws
  {
    try await withDirectoryAsync { directory in
      let stage = try DeliveryStage(directory)
      let contract = Contract("shop", version: "1") {
        EventRule("paid") {
          Mandatory("card", .integer, .range(1...), .sensitive)
          Mandatory("amount", .integer)
        }
        EventRule("plain") { Mandatory("amount", .integer) }
      }
      var options = DeliveryOptions()
      options.contract = try contract.compiled()
      func mapper(_ factor: String) -> EventMapper {
        EventMapper(
          .deriving(["share": .ratio("amount", "card"), "about": .text("\(factor) {amount}")]), .snakeCase())
      }
      let seen = Mutex<[PreparedEvent]>([])
      let first = ScriptedProvider(
        finally: .each { event in
          seen.withLock { $0.append(event) }
          return .rejected("no")
        })
      try stage.dispatcher.add(first.mapped(by: mapper("once")), options: options)
      #expect(stage.tracker.track("paid", fields: ["card": 6, "amount": 3]).isAccepted)
      #expect(stage.tracker.track("plain", fields: ["amount": 4]).isAccepted)
      try stage.tracker.drain()
      #expect(await stage.run { stage.entry().rejected == 2 })
      let paid = try #require(seen.withLock { $0.first })
      #expect(paid.fields == ["card": .redacted, "amount": 3, "share": 0.5, "about": "once 3"])
      #expect(paid.violations == [])

      let provider = ScriptedProvider()
      #expect(try await redrive(stage, to: provider, by: mapper("twice"), options: options).acknowledged == 2)
      try #require(provider.delivered.count == 2)
      // The ratio of a redacted value is none.
      #expect(provider.delivered[0].fields == ["card": .redacted, "amount": 3, "about": "twice 3"])
      #expect(provider.delivered[0].flags == [])
      #expect(provider.delivered[0].violations == [])
      #expect(provider.delivered[1].fields == ["amount": 4, "about": "twice 4"])
      await stage.kill()
    }
  }
}
