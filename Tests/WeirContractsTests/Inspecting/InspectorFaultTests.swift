// The inspector where something is wrong: the log goes on, and what was not done is counted, or done at the next
// opening.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirJSON

struct InspectorFaultTests {
  @Test func `a log of violations that can't be opened is told, and holds nothing up`() throws {
    try withDirectory { directory in
      try Data().write(to: URL(filePath: directory + "/violations"))
      let observed = Observed()
      let tracker = try InspectedTracker(
        directory: directory, configuration: inspected { $0.onViolation = observed.observer })
      for _ in 0..<100 { #expect(tracker.track("oder").isAccepted) }
      let counts = try tracker.inspector.inspect()
      #expect(counts.violations == 100)
      #expect(counts.unlogged == 100)
      #expect(counts.error?.code == .directory)
      #expect(observed.ids.count == 100)
      try tracker.close()
      #expect(try tracker.events().count == 100)
    }
  }

  @Test func `a cursor that can't be kept is told, and holds nothing up`() throws {
    try withDirectory { directory in
      try Data().write(to: URL(filePath: directory + "/cursors"))
      for _ in 0..<2 {
        let tracker = try InspectedTracker(directory: directory, configuration: inspected())
        #expect(tracker.inspector.counts.error?.code == .directory)
        for _ in 0..<100 { #expect(tracker.track("oder").isAccepted) }
        #expect(try tracker.inspector.inspect().violations == 100)
        try tracker.close()
      }
      #expect(try loggedViolations(directory).count == 200)
    }
  }

  /// Also after a silence, in which the thread finds nothing to do but a move of the cursor that it can't make.
  @Test func `an inspection without a cursor goes on after a silence`() throws {
    try withDirectory { directory in
      try Data().write(to: URL(filePath: directory + "/cursors"))
      let tracker = try InspectedTracker(directory: directory, configuration: inspected())
      for round in 1...2 {
        #expect(tracker.track("order", fields: ["number": 1]).isAccepted)
        #expect(try tracker.inspector.inspect().inspected == UInt64(round))
        Thread.sleep(forTimeInterval: 0.5)
      }
      try tracker.close()
    }
  }

  @Test func `the log of violations is bounded`() throws {
    try withDirectory { directory in
      let limit = Inspector.Configuration.leastLogBytes
      let tracker = try InspectedTracker(
        directory: directory,
        configuration: inspected {
          $0.inspection.logBytes = limit
          $0.tracker.whenFull = .block
        })
      let text = String(repeating: "€", count: 330)
      for _ in 0..<9000 { #expect(tracker.track("order", fields: ["number": .string(text)]).isAccepted) }
      let counts = try tracker.inspector.inspect()
      #expect(counts.violations == 9000)
      #expect(counts.unlogged == 0)
      let statistics = try LogDirectory(directory + "/violations").statistics()
      #expect(statistics.totalBytes <= limit)
      #expect(statistics.removed > 0)
      try tracker.close()
      let last = try #require(try loggedViolationsOfAny(directory).last)
      #expect(last.offset == 8999)
      #expect(last.value == .string(text))
    }
  }

  /// Also of a log of which the beginning was removed.
  private func loggedViolationsOfAny(_ directory: String) throws -> [LoggedViolation] {
    let reader = try EventReader(directory: directory + "/violations")
    var found: [LoggedViolation] = []
    while let stored = try reader.next() {
      if let violation = try LoggedViolation(stored) { found.append(violation) }
    }
    return found
  }

  @Test func `names and values of any length are logged, cut`() throws {
    try withDirectory { directory in
      let tracker = try InspectedTracker(directory: directory, configuration: inspected())
      let text = String(repeating: "é", count: 20_000)
      let deep = FieldValue.array([.object(["a": .string(text), "b": .array(.init(repeating: 1, count: 1000))])])
      let values: [FieldValue] = [
        .string(text), .bytes(.init(repeating: 1, count: 30_000)), deep, .double(.nan), .null,
      ]
      for value in values {
        tracker.track("order", fields: ["number": value])
      }
      tracker.track(String(repeating: "n", count: 1024), fields: [text: 1])
      #expect(try tracker.inspector.inspect().unlogged == 0)
      try tracker.close()
      let logged = try loggedViolations(directory)
      #expect(logged.count == 6)
      #expect(logged[0].value == .string(LoggedViolationTexts.cut(text)))
      #expect(logged.allSatisfy { $0.value.description.utf8.count < 1100 && $0.field.utf8.count <= 1024 })
    }
  }

  @Test func `values of many empty parts are logged, cut`() throws {
    let contract = Contract("parts", version: "1") { EventRule("order") { Optionally("v", .any, .oneOf("x")) } }
    try withDirectory { directory in
      let tracker = try InspectedTracker(directory: directory, configuration: inspected { $0.contract = contract })
      let parts: [FieldValue] = ["", [], .object([:]), .bytes([]), .object(FieldObject([("", "")])), nil, true]
      for part in parts { tracker.track("order", fields: ["v": .array(Array(repeating: part, count: 3000))]) }
      let names = FieldObject(Array(repeating: ("", FieldValue.null), count: 900))
      tracker.track("order", fields: ["v": .object(names)])
      let counts = try tracker.inspector.inspect()
      #expect(counts.violations == 8)
      #expect(counts.unlogged == 0)
      #expect(counts.error == nil)
      try tracker.close()
      #expect(try loggedViolations(directory).map(\.offset) == Array(0..<8))
    }
  }

  @Test func `kinds of violations keep a kilobyte of a name`() throws {
    let contract = try shopContract.compiled()
    let long = String(repeating: "é", count: 20_000)
    var counts = ViolationCounts()
    for ending in ["a", "b"] { counts.add(contract.check(name: "order", fields: ["number": 1, long + ending: 1])) }
    let kind = ViolationCounts.Kind(event: "order", field: String(long.prefix(512)), rule: "unknown field")
    #expect(counts.kinds == [kind: 2])
    #expect(counts.others == 0)
  }

  @Test func `an inspection goes on where one before it is held up by its observer`() async throws {
    try await withDirectoryAsync { directory in
      let gate = DispatchSemaphore(value: 0)
      let isHeld = Mutex(false)
      let first = try InspectedTracker(
        directory: directory,
        configuration: inspected {
          $0.inspection.closingTime = .milliseconds(20)
          $0.onViolation = { event, _ in
            guard event.offset == 1 else { return }
            isHeld.withLock { $0 = true }
            gate.wait()
          }
        })
      for _ in 0..<3 { #expect(first.track("oder").isAccepted) }
      #expect(await eventually { isHeld.withLock { $0 } })
      try first.close()
      let second = try InspectedTracker(directory: directory, configuration: inspected())
      for _ in 0..<3 { #expect(second.track("oder").isAccepted) }
      let counts = try second.inspector.inspect()
      #expect(counts.unlogged == 0)
      #expect(counts.error == nil)
      try second.close()
      let cursor = try Cursor(Inspector.cursorName, of: directory).found
      // The first one comes back: it has nothing to write any more.
      gate.signal()
      #expect(await eventually { first.inspector.shared.wait(until: .now) { $0.isFinished } == true })
      #expect(first.inspector.counts.offset == 1)
      #expect(try Cursor(Inspector.cursorName, of: directory).found == cursor)
      let logged = try loggedViolations(directory).map(\.id)
      #expect(try Set(logged) == Set(second.events().map(\.id)))
      #expect(Set(logged).count == 6)
    }
  }

  @Test func `a log of violations that another one has is waited for`() async throws {
    try await withDirectoryAsync { directory in
      try Tracker(directory: directory, configuration: quiet()).close()
      let holder = try Tracker(directory: directory + "/violations", configuration: quiet())
      let first = try InspectedTracker(
        directory: directory, configuration: inspected { $0.inspection.closingTime = .milliseconds(20) })
      for _ in 0..<3 { #expect(first.track("oder").isAccepted) }
      // The end of the time ends the wait too, and nothing was passed over.
      try first.close()
      #expect(first.inspector.counts.violations == 0)
      #expect(first.inspector.counts.unlogged == 0)
      let second = try InspectedTracker(directory: directory, configuration: inspected())
      #expect(await eventually { second.inspector.counts.error != nil })
      #expect(second.inspector.counts.error?.code == .locked)
      try holder.close()
      let counts = try second.inspector.inspect()
      #expect(counts.violations == 3)
      #expect(counts.unlogged == 0)
      try second.close()
      #expect(try loggedViolations(directory).count == 3)
    }
  }

  @Test func `the cursor comes forward in a process that is killed soon after its start`() throws {
    try withDirectory { directory in
      let found = Mutex<[Cursor.Found?]>([])
      let tracker = try InspectedTracker(
        directory: directory,
        configuration: inspected {
          // Ten pauses, each longer than the cursor's first intervals, all together shorter than its longest.
          $0.onViolation = { _, _ in
            usleep(30_000)
            found.withLock { $0.append(try? Cursor(Inspector.cursorName, of: directory).found) }
          }
        })
      for _ in 0..<10 { #expect(tracker.track("oder").isAccepted) }
      try tracker.inspector.inspect()
      guard case .position(let position) = found.withLock({ $0.last ?? nil }) else {
        Issue.record("there is no cursor")
        return
      }
      #expect(position.offset >= 2)
      try tracker.close()
    }
  }

  @Test func `closing does not wait for ever, and the next opening goes on`() throws {
    try withDirectory { directory in
      let observed = Observed()
      let gate = Mutex(())
      let tracker = try InspectedTracker(
        directory: directory,
        configuration: inspected {
          $0.inspection.closingTime = .milliseconds(20)
          $0.onViolation = { event, violation in
            gate.withLock { _ in observed.observer(event, violation) }
          }
        })
      var ids: [EventID] = []
      try gate.withLock { _ in
        for _ in 0..<100 { ids.append(try #require(tracker.track("oder").id)) }
        try tracker.close()
      }
      // Of those, the one that the observer was told of as its gate was opened, and no more, for the time had passed.
      let error = #expect(throws: WeirError.self) { try tracker.inspector.inspect() }
      #expect(error?.code == .closed)
      #expect(observed.ids.count <= 1)
      let again = try InspectedTracker(
        directory: directory, configuration: inspected { $0.onViolation = observed.observer })
      try again.inspector.inspect()
      try again.close()
      #expect(Set(observed.ids) == Set(ids))
    }
  }

  @Test func `an observer may close the tracker, or be the last to have it`() async throws {
    try await withDirectoryAsync { directory in
      for isReleased in [false, true] {
        let held = Mutex<Tracker?>(nil)
        let isTold = Mutex(false)
        let path = directory + "/\(isReleased)"
        let tracker = try InspectedTracker(
          directory: path,
          configuration: inspected {
            // Longer than the test waits: whoever waits for its own end shows.
            $0.inspection.closingTime = .seconds(600)
            $0.onViolation = { _, _ in
              if isReleased { held.withLock { $0 = nil } } else { try? held.withLock { $0 }?.close() }
              isTold.withLock { $0 = true }
            }
          })
        held.withLock { $0 = tracker.tracker }
        _ = consume tracker
        held.withLock { _ = $0?.track("oder") }
        #expect(await eventually { isTold.withLock { $0 } })
        held.withLock { $0 = nil }
        // The directory is given up: by the observer, or when the last reference went.
        #expect(await eventually { (try? Tracker(directory: path, configuration: quiet())) != nil })
      }
    }
  }

  @Test func `the inspector blocks every signal`() async throws {
    try await withDirectoryAsync { directory in
      let seen = Mutex<[[Int32]]>([])
      let configuration = inspected {
        $0.onViolation = { _, _ in seen.withLock { $0.append(signalsOpen()) } }
      }
      // On a thread of its own, for those that tests run on may block signals already.
      let opened = Mutex<Result<InspectedTracker, any Error>?>(nil)
      let isDone = Mutex(false)
      Thread {
        var handled = sigset_t()
        sigemptyset(&handled)
        for signal in handledSignals { sigaddset(&handled, signal) }
        pthread_sigmask(SIG_UNBLOCK, &handled, nil)
        let result = Result<InspectedTracker, any Error> {
          try InspectedTracker(directory: directory, configuration: configuration)
        }
        opened.withLock { $0 = result }
        // And the thread that opened the tracker has the mask that it had.
        seen.withLock { $0.append(signalsOpen()) }
        isDone.withLock { $0 = true }
      }.start()
      #expect(await eventually { isDone.withLock { $0 } })
      let tracker = try #require(opened.withLock { $0 }).get()
      tracker.track("oder")
      try tracker.inspector.inspect()
      #expect(seen.withLock { $0 } == [handledSignals, []])
      try tracker.close()
    }
  }

  @Test func `a child of a fork has no inspector, and waits for none`() async {
    // In a process of its own: there nobody else holds a lock at the fork that the child would wait for.
    await #expect(processExitsWith: .success) {
      let answer = try await withDirectoryAsync { directory in
        let tracker = try InspectedTracker(directory: directory, configuration: inspected())
        for _ in 0..<50 { tracker.track("oder") }
        try tracker.inspector.inspect()
        let isDetached = try await isTrueInChild {
          let isEmpty = tracker.inspector.counts == ViolationCounts()
          let error = (try? tracker.inspector.inspect(timeout: .seconds(5))) == nil
          try? tracker.close()
          return isEmpty && error
        }
        tracker.track("oder")
        let violations = try tracker.inspector.inspect().violations
        try tracker.close()
        return isDetached && violations == 51
      }
      exit(answer ? 0 : 1)
    }
  }
}

/// Signals that hosts handle.
private let handledSignals = [SIGINT, SIGTERM, SIGUSR1, SIGCHLD, SIGALRM]

/// Those of them that this thread does not block.
private func signalsOpen() -> [Int32] {
  var mask = sigset_t()
  pthread_sigmask(SIG_BLOCK, nil, &mask)
  return handledSignals.filter { sigismember(&mask, $0) != 1 }
}

enum LoggedViolationTexts {
  /// As a longer text than a kilobyte is logged: its description, whole characters of it.
  static func cut(_ text: String) -> String { FieldValue.string(text).description.cut(to: 1024) }
}

/// The core beside directories that are not its own.
struct NeighbouringDirectoryTests {
  @Test func `the files of the inspector are passed over by all that handles a log`() throws {
    try withDirectory { directory in
      let configuration = inspected {
        $0.tracker.byteLimit = 24 << 20
        $0.tracker.atByteLimit = .dropOldest
        $0.tracker.retention = Tracker.Retention(bytes: 3 << 20)
        $0.tracker.whenFull = .block
      }
      for round in 0..<3 {
        let tracker = try InspectedTracker(directory: directory, configuration: configuration)
        #expect(tracker.recovery.isComplete)
        let text = String(repeating: "x", count: 50_000)
        for _ in 0..<150 { #expect(tracker.track("oder", fields: ["text": .string(text)]).isAccepted) }
        try tracker.inspector.inspect()
        // Bytes in there are not the log's.
        try Data(count: 30 << 20).write(to: URL(filePath: directory + "/violations/large"))
        #expect(tracker.track("oder").isAccepted)
        try tracker.close()
        let log = LogDirectory(directory)
        let statistics = try log.statistics()
        #expect(statistics.totalBytes < 24 << 20)
        #expect(!statistics.isDamaged)
        #expect(round == 0 || statistics.removed > 0)
        let verification = try log.verify()
        #expect(verification.findings == 0)
        #expect(verification.missingEvents == 0)
      }
    }
  }
}
