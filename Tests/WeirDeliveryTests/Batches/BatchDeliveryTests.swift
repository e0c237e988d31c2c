// Batch segments leave a log whole: when they are sealed, what the provider's answers do, what is counted, what is
// refused at add.

import Foundation
import Synchronization
import TestSupport
import Testing
import WeirTesting

@testable import Weir
@testable import WeirContracts
@testable import WeirDelivery

/// A provider of segments that answers by a script, and keeps what it accepts.
private final class ScriptedBatches: BatchProvider, Sendable {
  enum Answer: Sendable {
    case verdict(Verdict)
    case fail(String)
    case stop(String)
    case hang
  }

  let name = "batches"
  private let state: Mutex<(answers: [Answer], given: [BatchSegment], accepted: [BatchSegment], isSetUp: Bool)>

  init(_ answers: [Answer] = []) {
    state = Mutex((answers, [], [], false))
  }

  var given: [BatchSegment] { state.withLock { $0.given } }
  var accepted: [BatchSegment] { state.withLock { $0.accepted } }
  var isSetUp: Bool { state.withLock { $0.isSetUp } }

  func setup() async throws { state.withLock { $0.isSetUp = true } }

  func deliver(_ segment: BatchSegment) async throws -> Verdict {
    #expect(FileManager.default.fileExists(atPath: segment.path))
    let answer = state.withLock { state in
      state.given.append(segment)
      return state.answers.isEmpty ? Answer.verdict(.accepted) : state.answers.removeFirst()
    }
    switch answer {
    case .verdict(let verdict):
      if verdict == .accepted { state.withLock { $0.accepted.append(segment) } }
      return verdict
    case .fail(let reason): throw Failure(description: reason)
    case .stop(let reason): throw DeliveryStopped(reason)
    case .hang:
      try await Task.sleep(for: .seconds(3600))
      return .accepted
    }
  }

  private struct Failure: Error, CustomStringConvertible { let description: String }
}

private func dispatcher(
  _ tracker: Tracker, _ change: (inout Dispatcher.Configuration) -> Void = { _ in }
) throws -> Dispatcher {
  let made = try Dispatcher(tracker, configuration: configuration(change))
  try made.start()
  return made
}

private func configuration(
  _ change: (inout Dispatcher.Configuration) -> Void = { _ in }
) -> Dispatcher.Configuration {
  var configuration = Dispatcher.Configuration()
  configuration.logger = nil
  configuration.random = { 0 }
  configuration.longestPause = .milliseconds(20)
  configuration.cursorInterval = .zero
  change(&configuration)
  return configuration
}

@discardableResult
private func capture(_ count: Int, from first: Int = 0, in tracker: Tracker) throws -> [EventID] {
  let text = String(repeating: "x", count: 100)
  let ids = (first..<first + count).compactMap { number in
    tracker.track("e", fields: ["n": .int(Int64(number)), "text": .string(text)]).id
  }
  #expect(ids.count == count)
  try tracker.drain()
  return ids
}

/// The ids of the events in a directory of segments.
private func ids(in directory: String) throws -> [EventID] {
  try EventReader(directory: directory).all().filter { !$0.isNotice }.map(\.id)
}

/// The only log in a directory of logs.
private func onlyLog(in directory: String) throws -> String {
  let names = try FileManager.default.contentsOfDirectory(atPath: directory)
  try #require(names.count == 1)
  return directory + "/" + names[0]
}

private func files(in directory: String) throws -> [String: Data] {
  var files: [String: Data] = [:]
  for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
    files[name] = try Data(contentsOf: URL(fileURLWithPath: directory + "/" + name))
  }
  return files
}

extension DeliveryOptions {
  /// Segments are sealed at a flush and at the end alone, so their number does not depend on who is quicker.
  static var whenAsked: DeliveryOptions {
    var options = DeliveryOptions.asCaptured
    options.flush.triggers = [.demand, .shutdown]
    return options
  }
}

extension DeliveryReport {
  subscript(name: String) -> Entry? { entries.first { $0.provider == name } }
}

struct BatchDeliveryTests {
  @Test(arguments: [0, 1])
  func `a directory has every event under its offset and id, and verifies`(threads: Int) async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(
        directory: directory + "/log",
        configuration: quiet {
          $0.segmentBytes = 1 << 19
          $0.batchThreads = threads
          $0.whenFull = .block
        })
      let dispatcher = try dispatcher(tracker)
      let captured = try capture(20_000, in: tracker)
      try dispatcher.add(batchesTo: BatchDirectoryProvider(directory + "/archive"), options: .asCaptured)
      #expect(await dispatcher.flush(timeout: patience)["batches"]?.pending == 0)
      let more = try capture(10, from: 20_000, in: tracker)
      let report = await dispatcher.shutdown(budget: patience)
      #expect(report["batches"]?.pending == 0)
      let copy = try onlyLog(in: directory + "/archive")
      #expect(try ids(in: copy) == captured + more)
      let checked = try LogDirectory(copy).verify { Issue.record("\($0)") }
      #expect(checked.findings == 0 && checked.events == 20_010)
      #expect(try LogDirectory(copy).statistics().isDamaged == false)
      let names = try FileManager.default.contentsOfDirectory(atPath: copy)
      #expect(names.count > 3 && names.allSatisfy { $0.hasSuffix(".weir.lz4") }, "\(names)")
      let ledger = try #require(try LogDirectory(directory + "/log").ledger()["batches"])
      #expect(ledger.acknowledged == 20_010 && ledger.pending == 0 && ledger.isBalanced, "\(ledger)")
      let journey = try LogDirectory(directory + "/log").journey(of: captured[17])
      #expect(journey.outcomes.map(\.fate) == [.acknowledged])
    }
  }

  @Test func `an age and a silence have a segment sealed that is not full`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let dispatcher = try dispatcher(tracker)
      let provider = ScriptedBatches()
      var options = DeliveryOptions.asCaptured
      #expect(options.flush.interval == .seconds(60))
      options.flush.interval = .milliseconds(5)
      let opening = try capture(3, in: tracker)[0].opening
      try dispatcher.add(batchesTo: provider, options: options)
      #expect(await eventually { provider.accepted.last?.offsets.upperBound == 3 })
      try capture(3, from: 3, in: tracker)
      #expect(await eventually { provider.accepted.last?.offsets.upperBound == 6 })
      #expect(provider.accepted.map(\.eventCount).reduce(0, +) == 6)
      #expect(provider.accepted.allSatisfy { $0.isCompressed && $0.opening == opening })
      try await dispatcher.remove("batches")
      let quietly = ScriptedBatches()
      options = .asCaptured
      options.flush = FlushPolicy([.idle])
      options.flush.idleAfter = .milliseconds(5)
      options.start = .offset(6)
      try dispatcher.add(batchesTo: quietly, options: options)
      try capture(1, from: 6, in: tracker)
      #expect(await eventually { quietly.accepted.map(\.offsets) == [6..<7] })
      await dispatcher.shutdown(budget: .zero)
    }
  }

  @Test func `a flush of a busy log ends, and seals what came before it`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let dispatcher = try dispatcher(tracker)
      let provider = ScriptedBatches()
      try dispatcher.add(batchesTo: provider, options: .asCaptured)
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          while !Task.isCancelled {
            tracker.track("busy")
            try? await Task.sleep(for: .microseconds(100))
          }
        }
        for _ in 0..<3 {
          tracker.track("before")
          let end = (try? tracker.drain()) ?? 0
          _ = await dispatcher.flush(timeout: patience)
          #expect(provider.accepted.last?.offsets.upperBound ?? 0 >= end)
        }
        group.cancelAll()
      }
      #expect(provider.accepted.count < 100)
      await dispatcher.shutdown(budget: patience)
    }
  }

  @Test func `what needs each event by itself is refused with words`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let dispatcher = try Dispatcher(tracker, configuration: configuration())
      func refusal(_ change: (inout DeliveryOptions) -> Void) -> String {
        var options = DeliveryOptions.asCaptured
        change(&options)
        do {
          try dispatcher.add(batchesTo: ScriptedBatches(), options: options)
          return "added"
        } catch {
          return error.code == .invalid ? error.message : "\(error.code)"
        }
      }
      let contract = Contract("c", version: "1", events: [EventRule("e", fields: [])])
      #expect(refusal { $0.redactsSensitive = true }.contains("redactsSensitive"))
      #expect(refusal { $0.pseudonym = Pseudonym(fingerprint: "f") { $0 } }.contains("pseudonym"))
      #expect(refusal { $0.contract = try? contract.compiled() }.contains("contract"))
      #expect(refusal { $0.omitsUnknownFields = true }.contains("omitsUnknownFields"))
      #expect(refusal { $0.rateCaps = [RateCap("e", most: 1, per: .seconds(1))] }.contains("rateCaps"))
      #expect(refusal { $0.sendsGaps = false }.contains("sendsGaps"))
      #expect(refusal { $0.annotations = [] }.contains("annotations"))
      let mapped = BatchDelivery(ScriptedBatches()).mapped(by: .only(events: "a"))
      let error = #expect(throws: WeirError.self) { try dispatcher.add(mapped, options: .asCaptured) }
      #expect(error?.message.contains("a mapper or a route") == true)
      #expect(dispatcher.providers.isEmpty)
      #expect(refusal { _ in } == "added")
      withExtendedLifetime(tracker) {}
    }
  }

  @Test func `a failed segment comes again as it was, a stop is lasting, and nothing is lost`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let provider = ScriptedBatches([
        .fail("down"), .verdict(.retry(after: .milliseconds(1))), .verdict(.accepted), .stop("wrong key"),
      ])
      let dispatcher = try dispatcher(tracker)
      try capture(5, in: tracker)
      var options = DeliveryOptions.whenAsked
      options.backoff.openFor = patience * 4
      try dispatcher.add(batchesTo: provider, options: options)
      _ = await dispatcher.flush(timeout: patience)
      #expect(provider.isSetUp)
      #expect(provider.given.count == 3 && Set(provider.given).count == 1)
      try capture(5, from: 5, in: tracker)
      let report = await dispatcher.flush(timeout: patience)
      #expect(report["batches"]?.state == .stopped(reason: "wrong key"))
      #expect(report["batches"]?.pending == 5)
      dispatcher.resume("batches")
      #expect(await eventually { provider.accepted.count == 2 })
      await dispatcher.shutdown(budget: patience)
      let ledger = try #require(try LogDirectory(directory).ledger()["batches"])
      #expect(ledger.acknowledged == 10 && ledger.isBalanced)
    }
  }

  @Test func `the events of a rejected segment are dead letters`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let dispatcher = try dispatcher(tracker)
      let captured = try capture(1_200, in: tracker)
      let provider = ScriptedBatches([.verdict(.rejected("no\nroom"))])
      try dispatcher.add(batchesTo: provider, options: .asCaptured)
      #expect(await dispatcher.flush(timeout: patience)["batches"]?.pending == 0)
      await dispatcher.shutdown(budget: patience)
      let letters = try LogDirectory(directory).deadLetters(of: "batches")
      #expect(letters.map(\.event.id) == captured)
      #expect(letters.first?.reason == "no room")
      let ledger = try #require(try LogDirectory(directory).ledger()["batches"])
      #expect(ledger.rejected == 1_200 && ledger.pending == 0 && ledger.isBalanced, "\(ledger)")
    }
  }

  @Test func `a start goes on behind the last segment, and a rewind gives the same files again`() async throws {
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      let archive = directory + "/archive"
      for round in 0..<3 {
        let tracker = try Tracker(directory: log, configuration: quiet())
        let dispatcher = try dispatcher(tracker)
        try capture(100, from: round * 100, in: tracker)
        try dispatcher.add(batchesTo: BatchDirectoryProvider(archive), options: .whenAsked)
        #expect(await dispatcher.shutdown(budget: patience)["batches"]?.acknowledged == 100)
      }
      let copy = try onlyLog(in: archive)
      let before = try files(in: copy)
      #expect(before.count == 3)
      // What a killed process leaves.
      try Data([1]).write(to: URL(fileURLWithPath: copy + "/incoming-1.weir.lz4"))
      try Data([1]).write(to: URL(fileURLWithPath: log + "/cursors/batches.segment.weir.lz4"))
      try LogDirectory(log).rewind("batches", to: .beginning)
      let again = try Dispatcher(directory: log, configuration: configuration())
      try again.add(batchesTo: BatchDirectoryProvider(archive), options: .asCaptured)
      try again.start()
      #expect(await again.flush(timeout: patience)["batches"]?.pending == 0)
      #expect(try await again.rewind("batches", to: .offset(150)).to == 150)
      #expect(await again.flush(timeout: patience)["batches"]?.pending == 0)
      await again.shutdown(budget: .zero)
      #expect(try files(in: copy) == before)
      #expect(!FileManager.default.fileExists(atPath: log + "/cursors/batches.segment.weir.lz4"))
      let ledger = try #require(try LogDirectory(log).ledger()["batches"])
      #expect(ledger.pending == 0 && ledger.isBalanced, "\(ledger)")
    }
  }

  @Test func `a segment with a damaged byte leaves raw, and another segment of its name is not replaced`() async throws
  {
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      let tracker = try Tracker(directory: log, configuration: quiet())
      try capture(100, in: tracker)
      try tracker.close()
      let path = log + "/00000000000000000000.weir"
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      bytes[bytes.count / 2] ^= 1
      try bytes.write(to: URL(fileURLWithPath: path))
      func deliver(_ name: String) async throws -> DeliveryReport.Entry? {
        let dispatcher = try Dispatcher(directory: log, configuration: configuration())
        var options = DeliveryOptions.asCaptured
        options.backoff.least = .seconds(3600)
        options.backoff.most = .seconds(3600)
        try dispatcher.add(
          batchesTo: BatchDirectoryProvider(directory + "/archive", name: name), options: options)
        try dispatcher.start()
        _ = await eventually {
          let entry = dispatcher.ledger[name]
          return entry?.pending == 0 || entry?.error != nil
        }
        let report = await dispatcher.flush(timeout: .zero)
        await dispatcher.shutdown(budget: .zero)
        return report[name]
      }
      #expect(try await deliver("a")?.pending == 0)
      let copy = try onlyLog(in: directory + "/archive")
      #expect(try files(in: copy) == ["00000000000000000000.weir": bytes])
      // The same log in another life: other events under the same offsets.
      try FileManager.default.removeItem(atPath: copy + "/00000000000000000000.weir")
      let other = directory + "/other"
      let second = try Tracker(directory: other, configuration: quiet())
      try capture(100, in: second)
      try second.close()
      try FileManager.default.copyItem(
        atPath: other + "/00000000000000000000.weir", toPath: copy + "/00000000000000000000.weir")
      let entry = try await deliver("b")
      #expect(entry?.pending ?? 0 > 0)
      #expect(entry?.error?.contains("another segment") == true, "\(String(describing: entry))")
    }
  }

  @Test func `beside a live writer the segment that is being filled stays pending`() async throws {
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      let tracker = try Tracker(directory: log, configuration: quiet())
      try capture(10, in: tracker)
      let beside = try Dispatcher(directory: log, configuration: configuration())
      let provider = ScriptedBatches()
      try beside.add(batchesTo: provider, options: .asCaptured)
      try beside.start()
      let report = await beside.flush(timeout: patience)
      #expect(report["batches"]?.pending == 10 && report["batches"]?.error?.contains("writer") == true, "\(report)")
      // Another flush looks for itself, and has the same answer.
      for _ in 0..<20 {
        let again = await beside.flush(timeout: patience)
        #expect(again["batches"]?.pending == 10 && again["batches"]?.error?.contains("writer") == true, "\(again)")
      }
      try tracker.close()
      #expect(await eventually { provider.accepted.map(\.eventCount) == [10] })
      await beside.shutdown(budget: .zero)
    }
  }

  @Test func `a worker sleeps while its provider works`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let sleeps = Atomic<Int>(0)
      let clocks: @Sendable () -> ResumeWatch.Clocks = {
        sleeps.wrappingAdd(1, ordering: .relaxed)
        return .now
      }
      let dispatcher = try dispatcher(tracker) { $0.resumeClocks = clocks }
      try capture(10, in: tracker)
      let provider = ScriptedBatches([.hang])
      try dispatcher.add(batchesTo: provider, options: .asCaptured)
      #expect(await eventually { provider.given.count == 1 })
      let before = sleeps.load(ordering: .relaxed)
      // Far longer than the pause between two looks for signals.
      try await Task.sleep(for: .milliseconds(300))
      #expect(sleeps.load(ordering: .relaxed) - before < 1_000)
      await dispatcher.shutdown(budget: .zero)
    }
  }

  @Test func `a worker sleeps while the log can't be read, whatever is captured`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let looks = Atomic<Int>(0)
      let fails = Atomic<Bool>(false)
      let calls = SystemCalls { call in
        guard call == .list else { return nil }
        looks.wrappingAdd(1, ordering: .relaxed)
        return fails.load(ordering: .relaxed) ? EMFILE : nil
      }
      let dispatcher = try dispatcher(tracker) { $0.calls = calls }
      try dispatcher.add(batchesTo: ScriptedBatches(), options: .whenAsked)
      // The worker has everything, and sleeps until events come.
      #expect(await eventually { looks.load(ordering: .relaxed) > 0 })
      fails.store(true, ordering: .relaxed)
      try capture(10, in: tracker)
      try await Task.sleep(for: .milliseconds(300))
      let before = looks.load(ordering: .relaxed)
      try capture(10, from: 10, in: tracker)
      try await Task.sleep(for: .milliseconds(300))
      #expect(looks.load(ordering: .relaxed) - before < 1_000)
      await dispatcher.shutdown(budget: .zero)
    }
  }

  @Test func `a provider that begins in the middle of a segment is told of the events from there on`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let dispatcher = try dispatcher(tracker)
      try capture(100, in: tracker)
      var options = DeliveryOptions.whenAsked
      options.start = .offset(50)
      // The events that come while the segment is counted change nothing.
      let more = await withTaskGroup(of: Int.self) { group in
        group.addTask {
          var count = 0
          while !Task.isCancelled {
            if tracker.track("busy").id != nil { count += 1 }
            await Task.yield()
          }
          return count
        }
        try? dispatcher.add(batchesTo: ScriptedBatches(), options: options)
        await dispatcher.flush(timeout: patience)
        group.cancelAll()
        return await group.next() ?? 0
      }
      #expect(await dispatcher.flush(timeout: patience)["batches"]?.pending == 0)
      let entry = try #require(dispatcher.ledger["batches"])
      #expect(entry.isBalanced && entry.acknowledged == 50 + UInt64(more), "\(entry)")
      await dispatcher.shutdown(budget: .zero)
    }
  }

  @Test func `a destination may be a link, and no compressed file outlives its delivery`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory + "/log", configuration: quiet())
      let dispatcher = try dispatcher(tracker)
      try FileManager.default.createDirectory(atPath: directory + "/disk", withIntermediateDirectories: false)
      try FileManager.default.createSymbolicLink(
        atPath: directory + "/archive", withDestinationPath: directory + "/disk")
      try dispatcher.add(batchesTo: BatchDirectoryProvider(directory + "/archive"), options: .asCaptured)
      let captured = try capture(10, in: tracker)
      #expect(await dispatcher.flush(timeout: patience)["batches"]?.pending == 0)
      let copy = try onlyLog(in: directory + "/disk")
      #expect(try ids(in: copy) == captured)
      #expect(!FileManager.default.fileExists(atPath: directory + "/log/cursors/batches.segment.weir.lz4"))
      await dispatcher.shutdown(budget: .zero)
    }
  }

  @Test func `segments are removed once every provider has them`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(
        directory: directory, configuration: quiet { $0.removeDelivered = true })
      let dispatcher = try dispatcher(tracker)
      let provider = ScriptedBatches()
      try dispatcher.add(batchesTo: provider, options: .whenAsked)
      for round in 0..<4 {
        try capture(50, from: round * 50, in: tracker)
        _ = await dispatcher.flush(timeout: patience)
      }
      #expect(provider.accepted.map(\.offsets.lowerBound) == [0, 50, 100, 150])
      #expect(await eventually { ((try? LogDirectory(directory).statistics().firstOffset) ?? 0) >= 150 })
      // A provider that comes later begins with what is there.
      let late = ScriptedBatches()
      try await dispatcher.remove("batches")
      try dispatcher.add(batchesTo: late, options: .asCaptured)
      try capture(50, from: 200, in: tracker)
      #expect(await dispatcher.flush(timeout: patience)["batches"]?.pending == 0)
      #expect(late.accepted.last?.offsets.upperBound == 250)
      let entry = try #require(dispatcher.ledger["batches"])
      #expect(entry.isBalanced, "\(entry)")
      await dispatcher.shutdown(budget: patience)
    }
  }

  @Test func `a kill at any call of the disk leaves whole segments, each once`() async throws {
    try await withDirectoryAsync { directory in
      let log = directory + "/log"
      let tracker = try Tracker(directory: log, configuration: quiet())
      let captured = try capture(100, in: tracker)
      try tracker.close()
      for call in SystemCalls.Call.allCases {
        for number in 0..<3 {
          let archive = directory + "/archive-\(call)-\(number)"
          let left = Atomic<Int>(number)
          let failing = SystemCalls { made in
            made == call && left.wrappingSubtract(1, ordering: .relaxed).oldValue == 0 ? ENOSPC : nil
          }
          let segment = try segment(of: log)
          // A call that fails at this place leaves what a kill there leaves, and more is cleaned up.
          _ = try? await BatchDirectoryProvider(archive, name: "a", calls: failing).deliver(segment)
          #expect(try await BatchDirectoryProvider(archive, name: "a").deliver(segment) == .accepted)
          let copy = try onlyLog(in: archive)
          #expect(try files(in: copy).keys.sorted() == ["00000000000000000000.weir"], "\(call) \(number)")
          #expect(try ids(in: copy) == captured, "\(call) \(number)")
        }
      }
    }
  }

  private func segment(of log: String) throws -> BatchSegment {
    let name = SegmentName(base: 0, isBatch: false)
    let summary = try SegmentFile.read(name, in: log)
    return BatchSegment(
      summary, at: log + "/" + name.text, byteCount: Int(summary.fileBytes), isCompressed: false)
  }
}
