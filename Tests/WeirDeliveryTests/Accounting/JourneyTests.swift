// The journey of an event: every step that is in the files is told, in order, and nothing that is to be kept secret.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery
import WeirTesting

struct JourneyTests {
  /// Delivers a log to a provider, and ends. `inOneCall`: the provider comes after the events, and gets all at once.
  private func deliver(
    _ directory: String, _ provider: ScriptedProvider, by mapper: EventMapper = EventMapper(), inOneCall: Bool = false,
    _ change: (inout DeliveryOptions) -> Void = { _ in },
    capture: (DeliveryStage) throws -> Int
  ) async throws {
    let stage = try DeliveryStage(directory)
    var options = DeliveryOptions()
    change(&options)
    let mapped = provider.mapped(by: mapper)
    if !inOneCall { try stage.dispatcher.add(mapped, options: options) }
    let count = try capture(stage)
    if inOneCall { try stage.dispatcher.add(mapped, options: options) }
    #expect(await stage.run { stage.dispatcher.ledger[provider.name].map { $0.offset >= count } ?? false })
    try await end(stage)
  }

  private func end(_ stage: DeliveryStage) async throws {
    _ = try await stage.running { [dispatcher = stage.dispatcher] in await dispatcher.shutdown(budget: .seconds(50_000))
    }
  }

  private func words(_ journey: Journey) -> [String] {
    journey.steps.map { step in
      let provider = step.provider.map { $0 + " " } ?? ""
      switch step.what {
      case .captured: return "captured"
      case .noted: return "noted"
      case .violated(let violation): return "violated \(violation.field) \(violation.rule)"
      case .inLane: return "in lane"
      case .drained(let offset, _, let isBatch): return "drained \(offset)\(isBatch ? " batch" : "")"
      case .attempted(let attempt): return provider + "attempt \(attempt.number) \(attempt.result)"
      case .redriven(let attempt): return provider + "redriven \(attempt.number) \(attempt.result)"
      case .withheld: return provider + "withheld"
      case .rejected: return provider + "rejected"
      case .settled: return provider + "settled"
      }
    }
  }

  @Test func `a journey tells that an event was captured, drained, tried twice, accepted and settled`() async throws {
    try await withDirectoryAsync { directory in
      let provider = ScriptedProvider(name: "shop", answers: [.fail("503 busy")])
      var ids: [EventID] = []
      try await deliver(directory, provider, inOneCall: true) { stage in
        ids = try stage.capture(3)
        return 3
      }
      let log = LogDirectory(directory)
      let journey = try log.journey(of: ids[1])
      #expect(
        words(journey) == [
          "captured", "drained 1", "shop attempt 1 retried", "shop attempt 2 accepted", "shop settled",
        ])
      #expect(journey.outcomes == [Journey.Outcome(provider: "shop", fate: .acknowledged)])
      #expect(journey.unread == [])
      #expect(journey.id == ids[1])
      #expect(journey.offset == 1)
      #expect(try log.journey(at: 1) == journey)
      guard case .captured(let opening, let lane) = journey.steps[0].what,
        case .drained(_, let file, _) = journey.steps[1].what, case .attempted(let first) = journey.steps[2].what
      else { return #expect(Bool(false), "other steps") }
      #expect(opening == ids[1].opening)
      #expect(lane == Int(ids[1].sequence >> 48))
      #expect(FileManager.default.fileExists(atPath: directory + "/" + file))
      #expect(first.events == 3)
      #expect(first.first == 0)
      #expect(first.last == 2)
      #expect(first.answer.contains("503 busy"))
      let times = journey.steps.compactMap(\.time)
      #expect(times == times.sorted())
      #expect(times.count == 4)
      #expect(journey.steps[3].description.contains("shop: attempt 2 of 3 events (0 to 2), "))
    }
  }

  @Test func `a journey tells of rejections, redrives, withholding and of events before the beginning`() async throws {
    try await withDirectoryAsync { directory in
      let provider = ScriptedProvider(
        name: "shop",
        answers: [
          .each { event in
            switch event.fields["n"] {
            case .int(0): .rejected("unknown\nproduct")
            case .int(1): .retry(after: .seconds(1))
            default: .accepted
            }
          }
        ])
      let notTwo = EventMapper.only { $0.fields["n"] != .int(2) }
      try await deliver(directory, provider, by: notTwo, inOneCall: true) { stage in
        try stage.capture(4)
        return 4
      }
      let late = ScriptedProvider(name: "late")
      try await deliver(directory, late, { $0.start = .end }) { stage in
        try stage.capture(1, from: 4)
        return 5
      }
      let log = LogDirectory(directory)
      func outcomes(_ offset: Offset) throws -> [Journey.Fate] { try log.journey(at: offset).outcomes.map(\.fate) }
      #expect(try outcomes(0) == [.before, .rejected(reason: "unknown product")])
      #expect(
        words(try log.journey(at: 0)) == [
          "captured", "drained 0", "shop attempt 1 rejected", "shop rejected", "shop settled",
        ])
      #expect(try outcomes(1) == [.before, .acknowledged])
      #expect(
        words(try log.journey(at: 1)) == [
          "captured", "drained 1", "shop attempt 1 retried", "shop attempt 2 accepted", "shop settled",
        ])
      #expect(try outcomes(2) == [.before, .withheld])
      #expect(words(try log.journey(at: 2)).filter { $0.hasPrefix("shop") } == ["shop withheld", "shop settled"])
      #expect(try outcomes(4) == [.acknowledged, .pending])
    }
  }

  @Test func `a journey tells that a dead letter was given again`() async throws {
    try await withDirectoryAsync { directory in
      let provider = ScriptedProvider(name: "shop", answers: [.reject("unknown product")])
      try await deliver(directory, provider, inOneCall: true) { stage in
        try stage.capture(2)
        return 2
      }
      let log = LogDirectory(directory)
      var configuration = Dispatcher.Configuration()
      configuration.logger = nil
      let again = ScriptedProvider(
        name: "shop", finally: .each { $0.fields["n"] == .int(0) ? .rejected("still unknown") : .accepted })
      let report = try await log.redrive(to: again, configuration: configuration, timeout: patience)
      #expect(report.acknowledged == 1)
      #expect(report.rejected == 1)
      #expect(try log.journey(at: 0).outcomes.map(\.fate) == [.rejected(reason: "unknown product")])
      let journey = try log.journey(at: 1)
      #expect(journey.outcomes.map(\.fate) == [.acknowledged])
      #expect(
        Set(words(journey).dropFirst(2)) == [
          "shop attempt 1 rejected", "shop rejected", "shop settled", "shop redriven 1 accepted",
        ])
    }
  }

  @Test func `a journey tells what is still in a lane, and what is not there`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let id = try #require(tracker.track("e").id)
      try tracker.drain()
      let log = LogDirectory(directory)
      #expect(words(try log.journey(of: id)) == ["captured", "drained 0"])
      #expect(try log.journey(of: id).outcomes == [])
      for error in [
        #expect(throws: WeirError.self) { try log.journey(at: 1) },
        #expect(throws: WeirError.self) { try log.journey(of: EventID(opening: 1, sequence: 2)) },
      ] {
        #expect(error?.code == .missing)
      }
      #expect(throws: WeirError.self) { try LogDirectory(directory + "/nowhere").journey(at: 0) }
      try tracker.close()
    }
  }

  @Test func `sensitive values are replaced, and shown to those who ask`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try tracker.setGlobals(GlobalFields(fields: ["key": "s3cret"], sensitive: ["key"]))
      let id = try #require(tracker.track("e").id)
      try tracker.drain()
      let log = LogDirectory(directory)
      #expect(try log.journey(of: id).event.context.globals["key"] == .redacted)
      #expect(try log.journey(of: id, showsSensitive: true).event.context.globals["key"] == "s3cret")
      try tracker.close()
    }
  }

  @Test func `a journey tells what was found of the event for a provider`() async throws {
    try await withDirectoryAsync { directory in
      let contract = try Contract("shop", version: "1") {
        EventRule("order") {
          Mandatory("number", .integer)
          Mandatory("currency", .string, default: "EUR")
        }
      }.compiled()
      var ids: [EventID] = []
      let provider = ScriptedProvider(name: "shop", answers: [.fail("503 busy")])
      try await deliver(directory, provider, inOneCall: true, { $0.contract = contract }) { stage in
        for fields: FieldObject in [
          ["number": 1], ["number": 1], ["currency": "EUR"], ["number": 2, "currency": "EUR"],
        ] {
          ids.append(try #require(stage.tracker.track("order", fields: fields).id))
        }
        try stage.tracker.drain()
        return 4
      }
      let flags = try ids.map { try LogDirectory(directory).journey(of: $0).outcomes.map(\.flags) }
      #expect(flags[0] == [["defaulted": ["currency"]]])
      #expect(
        flags[1] == [["defaulted": ["currency"], "duplicate_of": .array([.string(ids[0].description)])]])
      #expect(flags[2] == [["violations": ["number: mandatory"]]])
      #expect(flags[3] == [[:]])
    }
  }

  @Test func `a journey tells the violations that the inspector found`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { _ in })
      let contract = Contract("shop", version: "2") { EventRule("order") { Mandatory("number", .integer) } }
      let inspector = try Inspector(tracker, contract: contract)
      let bad = try #require(tracker.track("order").id)
      let good = try #require(tracker.track("order", fields: ["number": 1]).id)
      try inspector.inspect()
      try tracker.close()
      let journey = try LogDirectory(directory).journey(of: bad)
      #expect(words(journey) == ["captured", "drained 0", "violated number mandatory"])
      #expect(journey.steps.last?.description.hasSuffix("violates shop 2: number: mandatory") == true)
      #expect(words(try LogDirectory(directory).journey(of: good)) == ["captured", "drained 1"])
    }
  }

  @Test func `the log's own notices have no way to providers`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.maximumEventBytes = 1024 })
      #expect(!tracker.track("e", fields: ["x": .string(String(repeating: "x", count: 5000))]).isAccepted)
      try tracker.close()
      let notice = try #require(try LogDirectory(directory).journey(at: 0).event.isNotice ? 0 : nil)
      let journey = try LogDirectory(directory).journey(at: Offset(notice))
      #expect(words(journey) == ["noted", "drained 0"])
    }
  }

  @Test func `a file that can't be read is said, and the rest told`() async throws {
    try await withDirectoryAsync { directory in
      let provider = ScriptedProvider(name: "shop")
      try await deliver(directory, provider) { stage in
        try stage.capture(1)
        return 1
      }
      // Another file in the place of each log beside this one, and a damaged cursor.
      for place in ["attempts/shop", "dead-letters/shop"] {
        try? FileManager.default.removeItem(atPath: directory + "/" + place)
        try FileManager.default.createDirectory(
          atPath: directory + "/" + place.split(separator: "/")[0], withIntermediateDirectories: true)
        try Data("x".utf8).write(to: URL(filePath: directory + "/" + place))
      }
      try Data("x".utf8).write(to: URL(filePath: directory + "/cursors/shop"))
      let journey = try LogDirectory(directory).journey(at: 0)
      #expect(words(journey) == ["captured", "drained 0"])
      #expect(journey.unread.count == 3)
      #expect(journey.unread.contains("the cursor of shop is damaged"))
    }
  }
}

/// Raised once.
private final class Flag: Sendable {
  private let state = ConditionLock(false)
  var isRaised: Bool { state.read { $0 } }
  func raise() { state.change { $0 = true } }
}
