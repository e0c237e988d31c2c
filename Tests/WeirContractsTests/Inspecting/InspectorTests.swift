// The inspector: every event held against the contract, at least once, whatever becomes of the process; captures and
// the log are the same with and without it.

import Foundation
import Logging
import Synchronization
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirJSON

/// What an observer was told.
final class Observed: Sendable {
  private let all = Mutex<[(id: EventID, violation: Violation)]>([])

  var observer: @Sendable (StoredEvent, Violation) -> Void {
    { stored, violation in self.all.withLock { $0.append((stored.id, violation)) } }
  }

  var violations: [Violation] { all.withLock { $0.map(\.violation) } }
  var ids: [EventID] { all.withLock { $0.map(\.id) } }
}

let shopContract = Contract("shop", version: "1.2") {
  EventRule("order") {
    Mandatory("number", .integer, .range(0..<1_000_000))
    Mandatory("currency", .string, .oneOf("EUR", "USD"), default: "EUR")
    Optionally("card", .string, .length(...4), .sensitive)
  }
}

/// How a tracker is opened and inspected.
struct InspectedConfiguration {
  var tracker = quiet()
  var contract = shopContract
  var inspection = Inspector.Configuration()
  var onViolation: (@Sendable (StoredEvent, Violation) -> Void)?
}

func inspected(_ change: (inout InspectedConfiguration) -> Void = { _ in }) -> InspectedConfiguration {
  var configuration = InspectedConfiguration()
  configuration.inspection.logger = nil
  change(&configuration)
  return configuration
}

/// A tracker whose events are inspected.
struct InspectedTracker {
  let tracker: Tracker
  let inspector: Inspector

  init(directory: String, configuration: InspectedConfiguration) throws(WeirError) {
    tracker = try Tracker(directory: directory, configuration: configuration.tracker)
    inspector = try Inspector(
      tracker, contract: configuration.contract, configuration: configuration.inspection,
      onViolation: configuration.onViolation)
  }

  var recovery: RecoveryReport { tracker.recovery }
  var counters: Counters { tracker.counters }

  @discardableResult
  func track(_ name: String, fields: FieldObject = [:]) -> Receipt { tracker.track(name, fields: fields) }
  func events() throws -> [StoredEvent] { try tracker.events() }
  @discardableResult
  func drain() throws(WeirError) -> Offset { try tracker.drain() }
  func close() throws(WeirError) { try tracker.close() }
}

/// The violations in the log of a tracker in `directory`.
func loggedViolations(_ directory: String) throws -> [LoggedViolation] {
  let reader = try EventReader(directory: directory + "/violations")
  var found: [LoggedViolation] = []
  while let stored = try reader.next() {
    if let violation = try LoggedViolation(stored) { found.append(violation) }
  }
  #expect(reader.skipped.isEmpty)
  return found
}

struct InspectorTests {
  @Test func `an event against the contract is counted, told and logged, and stays in the log`() throws {
    try withDirectory { directory in
      let observed = Observed()
      let tracker = try InspectedTracker(
        directory: directory, configuration: inspected { $0.onViolation = observed.observer })
      tracker.track("order", fields: ["number": 1, "currency": "EUR"])
      let wrong = try #require(tracker.track("order", fields: ["number": -5, "currency": "GBP"]).id)
      tracker.track("order", fields: ["number": 2])
      tracker.track("order", fields: ["number": 3, "currency": "USD", "card": "1234 5678"])
      tracker.track("oder")
      let counts = try tracker.inspector.inspect()
      #expect(counts.inspected == 5)
      #expect(counts.violating == 3)
      #expect(counts.violations == 4)
      #expect(counts.defaulted == 1)
      #expect(counts.kinds.count == 4)
      #expect(counts.kinds.values.allSatisfy { $0 == 1 })
      #expect(counts.others == 0)
      #expect(counts.from == 0)
      #expect(counts.offset == 5)
      #expect(counts.unlogged == 0)
      #expect(counts.error == nil)
      #expect(observed.violations.map(\.field) == ["number", "currency", "card", ""])
      #expect(observed.ids.prefix(2) == [wrong, wrong])
      // In the process it is as it was; on the disk it is not.
      #expect(observed.violations[2].value == "1234 5678")
      try tracker.close()
      #expect(try tracker.events().count == 5)
      let logged = try loggedViolations(directory)
      #expect(logged.map(\.field) == ["number", "currency", "card", ""])
      #expect(logged.map(\.value) == [-5, "GBP", .redacted, .null])
      try #require(logged.map(\.offset) == [1, 1, 3, 4])
      #expect(logged[0].id == wrong)
      #expect(logged.allSatisfy { $0.contract == "shop" && $0.version == "1.2" })
      #expect(logged[3].event == "oder")
      #expect(logged[3].rule == observed.violations[3].rule)
    }
  }

  /// As all else that is written about an event, so that it can be searched for.
  @Test func `a logged violation has the event's id as 32 digits`() throws {
    try withDirectory { directory in
      let tracker = try InspectedTracker(directory: directory, configuration: inspected())
      let id = try #require(tracker.track("order", fields: ["number": -5, "currency": "EUR"]).id)
      try tracker.inspector.inspect(timeout: .seconds(60))
      try tracker.close()
      let stored = try #require(try EventReader(directory: directory + "/violations").next())
      #expect(stored.fields["id"] == .string(id.description))
      #expect(try LoggedViolation(stored)?.id == id)
    }
  }

  /// Earlier versions wrote it as a UUID.
  @Test func `a violation with its id in the earlier form is read`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let id = EventID(opening: 0x0123_4567_89ab_cdef, sequence: 7)
      var fields: FieldObject = [
        "offset": .uint(3), "id": .uuid(id.uuid), "event": "order", "field": "number", "rule": "at least 0",
        "value": -5, "contract": "shop", "version": "1.2",
      ]
      tracker.track("violation", fields: fields)
      fields["id"] = "0123"
      tracker.track("violation", fields: fields)
      let stored = try tracker.events()
      #expect(try LoggedViolation(stored[0])?.id == id)
      #expect(throws: FieldError.self) { try LoggedViolation(stored[1]) }
    }
  }

  @Test func `every violation of random events is told in order, over several openings`() throws {
    var random = Seeded(seed: UInt64(ProcessInfo.processInfo.environment["WEIR_SEED"] ?? "") ?? 5)
    let contract = try shopContract.compiled()
    try withDirectory { directory in
      let observed = Observed()
      var expected: [(EventID, Violation)] = []
      for _ in 0..<4 {
        let tracker = try InspectedTracker(
          directory: directory, configuration: inspected { $0.onViolation = observed.observer })
        for _ in 0..<700 {
          let money = ["currency", "money"].randomElement(using: &random)!
          let fields: FieldObject = [
            "number": .int(.random(in: -2...9, using: &random)),
            money: .string(["EUR", "GBP"].randomElement(using: &random)!),
          ]
          let id = try #require(tracker.track("order", fields: fields).id)
          expected += contract.check(name: "order", fields: fields).violations.map { (id, $0) }
        }
        if Bool.random(using: &random) { try tracker.close() }
        // Otherwise its being released closes it.
      }
      #expect(observed.violations == expected.map(\.1))
      #expect(observed.ids == expected.map(\.0))
      let logged = try loggedViolations(directory)
      #expect(logged.map(\.id) == expected.map(\.0))
      #expect(logged.map(\.field) == expected.map(\.1.field))
    }
  }

  @Test func `events that were removed before their inspection are counted, which is said once`() throws {
    try withDirectory { directory in
      let lines = LoggedLines()
      let (held, released) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let tracker = try InspectedTracker(
        directory: directory,
        configuration: inspected {
          $0.tracker.retention = Tracker.Retention(bytes: 3 << 20)
          $0.tracker.whenFull = .block
          $0.inspection.logger = lines.logger
          $0.onViolation = { event, _ in
            guard event.fields["first"] != nil else { return }
            held.signal()
            released.wait()
          }
        })
      #expect(tracker.track("oder", fields: ["first": true]).isAccepted)
      held.wait()
      let text = String(repeating: "x", count: 50_000)
      var count: UInt64 = 1
      while try LogDirectory(directory).statistics().removed < 50, count < 5_000 {
        #expect(tracker.track("oder", fields: ["text": .string(text)]).isAccepted)
        try tracker.drain()
        count += 1
      }
      released.signal()
      let counts = try tracker.inspector.inspect()
      #expect(counts.uninspected > 0)
      #expect(counts.inspected + counts.uninspected == count)
      let said = lines.lines.withLock { $0.filter { $0.text.contains("were not inspected") } }
      #expect(said.count == 1)
      #expect(said.first?.level == .warning)
      try tracker.close()
    }
  }

  @Test func `a log without an inspector has no cursor and no log of violations`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track("oder")
      try tracker.close()
      let names = try FileManager.default.contentsOfDirectory(atPath: directory)
      #expect(!names.contains("cursors"))
      #expect(!names.contains("violations"))
    }
  }

  @Test func `a program that keeps to its contract has no log of violations`() throws {
    try withDirectory { directory in
      let tracker = try InspectedTracker(directory: directory, configuration: inspected())
      for number in 0..<1000 { tracker.track("order", fields: ["number": .int(Int64(number)), "currency": "EUR"]) }
      #expect(try tracker.inspector.inspect().inspected == 1000)
      try tracker.close()
      #expect(!FileManager.default.fileExists(atPath: directory + "/violations"))
    }
  }

  @Test func `a new contract tells of no event from before it`() throws {
    try withDirectory { directory in
      let before = try Tracker(directory: directory, configuration: quiet())
      before.track("oder")
      try before.close()
      let tracker = try InspectedTracker(directory: directory, configuration: inspected())
      #expect(tracker.inspector.counts.from == tracker.recovery.firstOffset)
      #expect(tracker.inspector.counts.from > 0)
      tracker.track("odrer")
      #expect(try tracker.inspector.inspect().kinds.keys.map(\.event) == ["odrer"])
      try tracker.close()
    }
  }

  @Test func `contracts and bounds that make no sense are refused, and nothing is inspected`() throws {
    try withDirectory { directory in
      let path = directory + "/log"
      let empty = inspected {
        $0.contract = Contract("none", version: "1") { EventRule("") { Mandatory("a", .string) } }
      }
      let small = inspected { $0.inspection.logBytes = Inspector.Configuration.leastLogBytes - 1 }
      for configuration in [empty, small] {
        let error = #expect(throws: WeirError.self) {
          try InspectedTracker(directory: path, configuration: configuration)
        }
        #expect(error?.code == .invalid)
        #expect(!FileManager.default.fileExists(atPath: path + "/cursors"))
      }
    }
  }

  @Test func `the events that a kill left are inspected again, at least once, with the same ids`() async throws {
    try await withDirectoryAsync { directory in
      let live = directory + "/live"
      for round in 0..<4 {
        await #expect(processExitsWith: .signal(SIGKILL)) { [live = live as String, round = round as Int] in
          let tracker = try InspectedTracker(directory: live, configuration: inspected())
          for _ in 0..<50 { guard tracker.track("oder").isAccepted else { exit(1) } }
          if round % 2 == 1 { try tracker.inspector.inspect() }
          kill(getpid(), SIGKILL)
        }
        // The dead log is looked at in a copy: the next process goes on where this one was killed.
        let copy = directory + "/copy\(round)"
        try FileManager.default.copyItem(atPath: live, toPath: copy)
        let observed = Observed()
        let again = try InspectedTracker(
          directory: copy, configuration: inspected { $0.onViolation = observed.observer })
        #expect(again.recovery.eventsFromLanes + again.recovery.eventsInSegments > 0)
        let counts = try again.inspector.inspect()
        let events = try again.events()
        try again.close()
        #expect(events.count == 50 * (round + 1))
        // All that the cursor had not come to, nothing twice.
        #expect(observed.ids == events.filter { $0.offset >= counts.from }.map(\.id))
        // Together with what was logged before, each is there.
        #expect(Set(try loggedViolations(copy).map(\.id)) == Set(events.map(\.id)))
      }
    }
  }

  @Test func `a damaged cursor starts over, and says so`() throws {
    try withDirectory { directory in
      var tracker = try InspectedTracker(directory: directory, configuration: inspected())
      for _ in 0..<10 { tracker.track("oder") }
      try tracker.close()
      try Data(repeating: 7, count: 5000).write(to: URL(filePath: directory + "/cursors/weir.inspector"))
      tracker = try InspectedTracker(directory: directory, configuration: inspected())
      #expect(tracker.inspector.counts.from == 0)
      #expect(try tracker.inspector.inspect().violations == 10)
      try tracker.close()
      tracker = try InspectedTracker(directory: directory, configuration: inspected())
      #expect(tracker.inspector.counts.from >= 10)
      try tracker.close()
      #expect(try loggedViolations(directory).count == 20)
    }
  }
}
