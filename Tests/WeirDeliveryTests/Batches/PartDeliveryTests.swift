// Parts of a log leave as messages: before their segments are sealed, settled in order, and collected as they were.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirDelivery

/// A broker in memory: keeps the parts that it acknowledges, and answers by a script.
private final class PartsInMemory: PartProvider, Sendable {
  enum Answer: Sendable {
    case verdicts([Verdict])
    case fail(String)
    case stop(String)
  }

  let name = "broker"
  let largestPart: Int
  let bytesAtOnce: Int
  private let state: Mutex<(answers: [Answer], calls: [[LogPart]], kept: [LogPart])>

  init(_ answers: [Answer] = [], largestPart: Int = 4 << 10, bytesAtOnce: Int = 32 << 10) {
    self.largestPart = largestPart
    self.bytesAtOnce = bytesAtOnce
    state = Mutex((answers, [], []))
  }

  var calls: [[LogPart]] { state.withLock { $0.calls } }
  var kept: [LogPart] { state.withLock { $0.kept } }

  func deliver(_ parts: [LogPart]) async throws -> [Verdict] {
    let answer = state.withLock { state in
      state.calls.append(parts)
      return state.answers.isEmpty ? nil : state.answers.removeFirst()
    }
    var verdicts = parts.map { _ in Verdict.accepted }
    switch answer {
    case .verdicts(let given)?:
      verdicts.replaceSubrange(0..<min(given.count, parts.count), with: given.prefix(parts.count))
    case .fail(let reason)?: throw Failure(description: reason)
    case .stop(let reason)?: throw DeliveryStopped(reason)
    case nil: break
    }
    state.withLock { state in
      // The broker keeps what it has, whatever its answer was.
      state.kept += zip(parts, verdicts).filter { $0.1 == .accepted }.map(\.0)
    }
    return verdicts
  }

  private struct Failure: Error, CustomStringConvertible { let description: String }
}

private func configuration() -> Dispatcher.Configuration {
  var configuration = Dispatcher.Configuration()
  configuration.logger = nil
  configuration.random = { 0 }
  configuration.longestPause = .milliseconds(20)
  configuration.cursorInterval = .zero
  return configuration
}

@discardableResult
private func capture(_ count: Int, in tracker: Tracker) throws -> [EventID] {
  let ids = (0..<count).compactMap { number in
    tracker.track("e", fields: ["n": .int(Int64(number)), "text": .string("text \(number % 7)")]).id
  }
  #expect(ids.count == count)
  try tracker.drain()
  return ids
}

/// Collects the parts in a new log, each event once, and returns the events there.
private func collect(_ parts: [LogPart], in directory: String) throws -> [StoredEvent] {
  let collection = try LogCollection(directory: directory)
  var known: [UInt64: [LaneSpan]] = [:]
  for part in parts {
    let checked = try LogPart(checking: part.bytes)
    #expect(checked.summary == part.summary)
    #expect(checked.spans == part.spans)
    let opening = part.summary.opening
    _ = try collection.add(part.bytes, from: "web-1", without: known[opening] ?? [])
    known[opening, default: []] += part.spans
  }
  _ = try collection.commit()
  return try EventReader(directory: directory).all().filter { !$0.isNotice }
}

struct PartDeliveryTests {
  @Test func `parts have every event once, as captured, and no segment is sealed for them`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
      let broker = PartsInMemory()
      let dispatcher = try Dispatcher(tracker, configuration: configuration())
      try dispatcher.start()
      try dispatcher.add(batchesTo: broker, options: .whenAsked)
      let captured = try capture(3_000, in: tracker)
      #expect(await dispatcher.flush(timeout: patience)["broker"]?.pending == 0)
      // Full parts leave before they are asked for: the call's own report may have fewer.
      #expect(dispatcher.ledger["broker"]?.acknowledged == 3_000)
      #expect(broker.kept.count > 2)
      #expect(broker.kept.allSatisfy { $0.bytes.count <= 4 << 10 })
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: directory + "/log").contains { $0.hasSuffix(".active") })
      let more = try capture(10, in: tracker)
      #expect(await dispatcher.shutdown(budget: patience)["broker"]?.pending == 0)
      let events = try collect(broker.kept, in: directory + "/collected")
      #expect(events.map(\.id) == captured + more)
      #expect(events.allSatisfy { $0.host == "web-1" })
      let source = try EventReader(directory: directory + "/log").all().filter { !$0.isNotice }
      #expect(events.map(\.time) == source.map(\.time))
      #expect(events.map(\.fields) == source.map(\.fields))
      #expect(events.map(\.monotonicNanoseconds) == source.map(\.monotonicNanoseconds))
    }
  }

  @Test func `what comes after a part that failed comes again, and is collected once`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
      // The broker keeps the second part, and the answer to the first is lost.
      let broker = PartsInMemory([
        .verdicts([.retry(after: nil), .accepted]), .fail("no answer"), .verdicts([.accepted, .retry(after: .zero)]),
      ])
      let dispatcher = try Dispatcher(tracker, configuration: configuration())
      try dispatcher.start()
      // Everything is there before the first call, so that the call has two parts.
      let captured = try capture(3_000, in: tracker)
      try dispatcher.add(batchesTo: broker, options: .whenAsked)
      #expect(await dispatcher.shutdown(budget: patience)["broker"]?.pending == 0)
      #expect(broker.calls.count >= 4)
      // A part that came before its predecessor is held back by a consumer. Here the order is that of the offsets.
      let parts = broker.kept.sorted { $0.summary.offsets.lowerBound < $1.summary.offsets.lowerBound }
      #expect(parts.map(\.summary.events).reduce(0, +) > 3_000)
      #expect(try collect(parts, in: directory + "/collected").map(\.id) == captured)
    }
  }

  @Test func `a call is halved after a failure, and doubled after a success`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
      let broker = PartsInMemory(
        Array(repeating: .fail("no answer"), count: 3), largestPart: 64 << 10, bytesAtOnce: 256 << 10)
      let dispatcher = try Dispatcher(tracker, configuration: configuration())
      try dispatcher.start()
      // Everything is there before the first call, so that each call has as much as it may.
      let captured = try capture(100_000, in: tracker)
      try dispatcher.add(batchesTo: broker, options: .whenAsked)
      #expect(await dispatcher.shutdown(budget: patience)["broker"]?.pending == 0)
      let sizes = broker.calls.map { $0.reduce(0) { $0 + $1.bytes.count } }
      try #require(sizes.count > 7)
      for index in 1...3 { #expect(sizes[index] < sizes[index - 1] * 3 / 4) }
      // Parts are cut smaller where a call is smaller than one.
      #expect(broker.calls[3].allSatisfy { $0.bytes.count <= 32 << 10 })
      for index in 4...5 { #expect(sizes[index] > sizes[index - 1] * 3 / 2) }
      #expect(try collect(broker.kept, in: directory + "/collected").map(\.id) == captured)
    }
  }

  @Test func `beside another process events leave without a seal of that process`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
      let captured = try capture(500, in: tracker)
      let broker = PartsInMemory()
      let dispatcher = try Dispatcher(directory: directory + "/log", configuration: configuration())
      try dispatcher.start()
      var options = DeliveryOptions.asCaptured
      options.flush.interval = .milliseconds(10)
      try dispatcher.add(batchesTo: broker, options: options)
      #expect(await eventually { broker.kept.map(\.summary.events).reduce(0, +) == 500 })
      let more = try capture(3, in: tracker)
      #expect(await eventually { broker.kept.map(\.summary.events).reduce(0, +) == 503 })
      #expect(await dispatcher.shutdown(budget: patience)["broker"]?.pending == 0)
      #expect(try collect(broker.kept, in: directory + "/collected").map(\.id) == captured + more)
      try tracker.close()
    }
  }

  @Test func `a part that the provider rejects goes to the dead letters, event by event`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
      let broker = PartsInMemory([.verdicts([.accepted, .rejected("too large")])])
      let dispatcher = try Dispatcher(tracker, configuration: configuration())
      try dispatcher.start()
      // Everything is there before the first call, so that the call has two parts.
      try capture(3_000, in: tracker)
      try dispatcher.add(batchesTo: broker, options: .whenAsked)
      #expect(await dispatcher.shutdown(budget: patience)["broker"]?.pending == 0)
      let rejected = try #require(broker.calls.first?.dropFirst().first?.summary.events)
      let ledger = try #require(dispatcher.ledger["broker"])
      #expect(ledger.rejected == rejected)
      #expect(ledger.acknowledged == 3_000 - rejected)
    }
  }

  @Test func `after a restart delivery goes on at the cursor, within a segment`() async throws {
    try await withDirectoryAsync { directory in
      let broker = PartsInMemory([.verdicts([.accepted]), .stop("the stream is full")], bytesAtOnce: 1)
      var captured: [EventID] = []
      for _ in 0..<2 {
        let tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
        let dispatcher = try Dispatcher(tracker, configuration: configuration())
        try dispatcher.start()
        try dispatcher.add(batchesTo: broker, options: .whenAsked)
        captured += try capture(1_000, in: tracker)
        _ = await dispatcher.shutdown(budget: patience)
        try tracker.close()
      }
      let events = try collect(broker.kept, in: directory + "/collected")
      #expect(events.map(\.id) == captured)
      // Nothing came twice: the first part was settled before the stop.
      #expect(broker.kept.map(\.summary.events).reduce(0, +) == 2_000)
    }
  }

  @Test func `in the process that captures, events wait for the interval, also after the start`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
      let broker = PartsInMemory()
      let dispatcher = try Dispatcher(tracker, configuration: configuration())
      var options = DeliveryOptions.asCaptured
      options.flush.triggers = [.start, .interval, .shutdown]
      options.flush.interval = .seconds(3_600)
      try dispatcher.start()
      try dispatcher.add(batchesTo: broker, options: options)
      for _ in 0..<10 {
        try capture(1, in: tracker)
        try await Task.sleep(for: .milliseconds(20))
      }
      #expect(await dispatcher.shutdown(budget: patience)["broker"]?.pending == 0)
      // At the end alone, and not one call an event.
      #expect(broker.calls.count <= 3)
    }
  }
}
