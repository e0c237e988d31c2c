// page: Sources/Weir/Weir.docc/Guides/Delivery.md

import Foundation
import Testing
import Weir
import WeirDelivery
import WeirTesting

@Suite struct DeliveryGuide {
  /// A directory that goes with its owner.
  fileprivate final class Scratch {
    let path = FileManager.default.temporaryDirectory.appending(path: "weir-guide-\(UUID().uuidString)").path

    init() throws {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  @Test func `events go to files`() async throws {
    let scratch = try Scratch()
    let (events, spool) = (scratch.path + "/events", scratch.path + "/spool")
    // snippet
    var configuration = Tracker.Configuration()
    configuration.removeDelivered = true
    let tracker = try Tracker(directory: events, configuration: configuration)

    let dispatcher = try Dispatcher(tracker)
    try dispatcher.add(JSONLinesProvider(spool))
    let delivery = Task { try await dispatcher.run() }
    // end
    #expect(tracker.track("checkout.completed", fields: ["order": 41]).isAccepted)
    // The budget above is a program's; a machine that is busy with tests may take longer.
    await dispatcher.flush(timeout: .seconds(900))
    // snippet
    // At the end of the program:
    delivery.cancel()
    let report = try await delivery.value
    if !report.isComplete { print("the next start delivers the rest: \(report)") }
    // end
    #expect(report.isComplete)
    let file = try #require(
      try FileManager.default.contentsOfDirectory(atPath: spool).first { $0.hasSuffix(".jsonl") })
    #expect(try String(contentsOfFile: "\(spool)/\(file)", encoding: .utf8).contains(#""fields":{"order":41}"#))
  }

  @Test func `a closure is a provider`() async throws {
    let scratch = try Scratch()
    let tracker = try Tracker(directory: scratch.path + "/events")
    let dispatcher = try Dispatcher(tracker)
    let sink = ReceivedNames()
    // snippet
    let names = ClosureProvider("names") { events in
      await sink.add(events.map(\.name))
      return events.map { _ in .accepted }
    }
    try dispatcher.add(names)
    // end
    #expect(tracker.track("checkout.completed", fields: ["order": 41]).isAccepted)
    let delivery = Task { try await dispatcher.run(budget: .seconds(900)) }
    delivery.cancel()
    _ = try await delivery.value
    #expect(await sink.names == ["checkout.completed"])
  }

  @Test func `batch segments leave whole`() async throws {
    let scratch = try Scratch()
    let tracker = try Tracker(directory: scratch.path + "/events")
    let dispatcher = try Dispatcher(tracker)
    let archive = scratch.path + "/archive"
    // snippet
    try dispatcher.add(batchesTo: BatchDirectoryProvider(archive), options: .asCaptured)
    // end
    let id = try #require(tracker.track("checkout.completed", fields: ["order": 41]).id)
    let delivery = Task { try await dispatcher.run(budget: .seconds(900)) }
    let report = await dispatcher.flush(timeout: .seconds(900))
    #expect(report.isComplete)
    delivery.cancel()
    _ = try await delivery.value
    let log = try #require(try FileManager.default.contentsOfDirectory(atPath: archive).first)
    // snippet
    let copy = try EventReader(directory: archive + "/" + log)
    while let event = try copy.next() { print(event.offset, event.id, event.fields) }
    // end
    #expect(try EventReader(directory: archive + "/" + log).next()?.id == id)
  }
}

// snippet
// A provider of your own: it answers for each event, and says what is to be tried again.
struct WarehouseProvider: Provider {
  let name = "warehouse"
  let warehouse: Warehouse

  func setup() async throws {
    guard await warehouse.isOpen else { throw DeliveryStopped("the warehouse refuses the key; renew it and resume") }
  }

  func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    var verdicts: [Verdict] = []
    for event in events {
      // The id is the row's key: an event that comes again is the same row.
      switch await warehouse.insert(event.fields, key: event.stored.id) {
      case .stored: verdicts.append(.accepted)
      case .invalid(let reason): verdicts.append(.rejected(reason))
      case .busy(let pause): verdicts.append(.retry(after: pause))
      }
    }
    return verdicts
  }
}
// end

/// What the example delivers to.
actor Warehouse {
  enum Answer {
    case stored
    case invalid(String)
    case busy(Duration)
  }

  private(set) var rows: [EventID: FieldObject] = [:]
  private(set) var isOpen = true

  func insert(_ fields: FieldObject, key: EventID) -> Answer {
    if fields["order"] == 13 { return .invalid("no order 13") }
    rows[key] = fields
    return .stored
  }
}

extension DeliveryGuide {
  @Test func `a provider keeps to the protocol`() async throws {
    // snippet
    let warehouse = Warehouse()
    try await ProviderConformance.check(
      claims: [.keepsOnce],
      unacceptable: ("order", ["order": 13]),
      makeProvider: { WarehouseProvider(warehouse: warehouse) },
      delivered: { _ in await warehouse.rows.map { .event($0.key, fields: $0.value) } })
    // end
  }

  @Test func `a provider is added with options`() async throws {
    let scratch = try Scratch()
    let tracker = try Tracker(directory: scratch.path + "/events")
    let dispatcher = try Dispatcher(tracker)
    let warehouse = Warehouse()
    // snippet
    var options = DeliveryOptions()
    options.start = .end
    options.flush = FlushPolicy([.count, .bytes, .interval, .reachable, .shutdown, .demand])
    options.flush.interval = .seconds(10)
    options.flush.queueLimit = 2_000
    options.flush.maximumEvents = 2_000
    options.backoff.most = .seconds(60)
    try dispatcher.add(WarehouseProvider(warehouse: warehouse).mapped(by: .snakeCase()), options: options)
    // end
    let delivery = Task { try await dispatcher.run() }
    for order in [7, 13] {
      #expect(tracker.track("checkoutCompleted", fields: ["order": .int(Int64(order))]).isAccepted)
    }
    // The time below is a program's; a machine that is busy with tests may take longer.
    #expect(await dispatcher.flush(timeout: .seconds(900)).isComplete)

    // snippet
    let report = await tracker.flush(timeout: .seconds(5))
    for entry in report.entries {
      print(entry.provider, entry.acknowledged, entry.rejected, entry.pending, entry.error ?? "")
    }
    // end
    #expect(report.entries.count == 1)
    #expect(await warehouse.rows.values.map { $0["order"] } == [7])

    @Sendable func watch() async {
      // snippet
      for await settled in dispatcher.settlements() {
        if case .rejected(let reason) = settled.fate { print(settled.provider, "refuses", settled.id, reason) }
      }
      // end
    }
    let watching = Task { await watch() }
    watching.cancel()
    await watching.value

    // snippet
    for entry in tracker.ledger.entries {
      print(entry.provider, entry.state, entry.accepted, entry.acknowledged, entry.rejected, entry.pending, entry.lost)
    }
    // end
    #expect(tracker.ledger.isBalanced)
    let letter = try #require(try LogDirectory(tracker.directory).deadLetters(of: "warehouse").first)
    let id = letter.event.id
    // snippet
    let log = LogDirectory(tracker.directory)
    for letter in try log.deadLetters(of: "warehouse") { print(letter.event, letter.reason) }
    for step in try log.journey(of: id).steps { print(step) }
    // end
    #expect(letter.reason.contains("no order 13"))
    #expect(
      try log.journey(of: id).outcomes.first { $0.provider == "warehouse" }?.fate == .rejected(reason: letter.reason))
    delivery.cancel()
    _ = try await delivery.value
  }

}

actor ReceivedNames {
  private(set) var names: [String] = []

  func add(_ more: [String]) { names += more }
}
