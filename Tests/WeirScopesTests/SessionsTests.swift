// Sessions: when they begin and end, what tells of them, and that a restart or a kill ends none.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Weir
@testable import WeirScopes

struct SessionsTests {
  /// A log with sessions, whose time the test sets.
  private final class Stage: Sendable {
    let tracker: Tracker
    let sessions: Sessions
    private let time: Mutex<Int64>

    init(
      _ directory: String, at seconds: Int64 = 1_000_000, limit: Int = 100_000, fileBytes: Int = 1 << 20,
      logged: LoggedLines? = nil
    ) throws {
      tracker = try Tracker(
        directory: directory,
        configuration: quiet {
          $0.whenFull = .block
          $0.logger = logged?.logger
        })
      let clock = Clock(seconds)
      self.clock = clock
      time = Mutex(seconds)
      var configuration = Sessions.Configuration()
      configuration.idleAfter = .seconds(100)
      configuration.limit = limit
      configuration.fileBytes = fileBytes
      configuration.now = { clock.now }
      sessions = try Sessions(tracker, configuration: configuration)
    }

    final class Clock: Sendable {
      private let seconds: Mutex<Int64>
      init(_ seconds: Int64) { self.seconds = Mutex(seconds) }
      var now: Timestamp { Timestamp(nanosecondsSince1970: seconds.withLock { $0 } * 1_000_000_000) }
      func advance(_ by: Int64) { seconds.withLock { $0 += by } }
    }

    let clock: Clock

    func act(_ user: String, _ name: String = "act") {
      sessions.with(user: user) { _ = tracker.track(name, fields: [:]) }
    }

    /// Each event as `name user number`, with reason and seconds of an end.
    func lines() throws -> [String] {
      try tracker.events().sorted { ($0.time, $0.offset) < ($1.time, $1.offset) }.map { event in
        var number = "-"
        if case .uint(let found)? = event.context.fields["session_number"] { number = "\(found)" }
        let line = "\(event.name) \(event.context.user?.id ?? "-") \(number)"
        guard case .ended(_, let reason, let seconds)? = try SessionEvent(event) else { return line }
        return line + " \(reason) \(Int(seconds))"
      }
    }
  }

  @Test func `a session begins with the first activity, and ends after a pause`() throws {
    try withDirectory { directory throws in
      let stage = try Stage(directory)
      stage.act("ann")
      stage.clock.advance(60)
      stage.act("ann")
      stage.clock.advance(99)
      stage.act("bob")
      stage.act("ann")
      stage.clock.advance(100)
      stage.act("ann")
      #expect(
        try stage.lines() == [
          "session.started ann 1", "act ann 1", "act ann 1", "session.started bob 1", "act bob 1", "act ann 1",
          "session.ended ann 1 idle 159", "session.ended bob 1 idle 0", "session.started ann 2", "act ann 2",
        ])
    }
  }

  @Test func `the events of a session have its id, and no other session's`() throws {
    try withDirectory { directory throws in
      let stage = try Stage(directory)
      stage.act("ann")
      let first = try #require(stage.sessions.session(of: "ann"))
      stage.sessions.end(user: "ann")
      stage.sessions.end(user: "ann")
      #expect(stage.sessions.session(of: "ann") == nil)
      stage.act("ann")
      let second = try #require(stage.sessions.session(of: "ann"))
      #expect(first.id != second.id && first.id.count == 16)
      #expect((first.number, second.number) == (1, 2))
      let ids = try stage.tracker.events().sorted { $0.offset < $1.offset }.map { $0.context.fields["session_id"] }
      #expect(ids == Array(repeating: .string(first.id), count: 3) + Array(repeating: .string(second.id), count: 2))
      #expect(try stage.lines()[2] == "session.ended ann 1 ended 0")
    }
  }

  @Test func `bindings are those of the call, and its own fields win`() async throws {
    try await withDirectoryAsync { directory in
      let stage = try Stage(directory)
      await stage.sessions.with(
        user: "ann", traits: ["plan": "free"], fields: ["request": 7, "session_id": "own"], view: "/cart"
      ) {
        await Task.yield()
        stage.tracker.track("act", fields: [:])
      }
      let event = try #require(try stage.tracker.events().first { $0.name == "act" })
      #expect(event.context.user == EventUser(id: "ann", traits: ["plan": "free"]))
      #expect(event.context.fields["request"] == .int(7))
      #expect(event.context.fields["session_id"] == "own")
      #expect(event.context.fields["session_number"] == .uint(1))
      #expect(event.context.view?.name == "/cart")
    }
  }

  @Test func `the end of a session has nothing of the request that noticed it`() throws {
    try withDirectory { directory throws in
      let stage = try Stage(directory)
      stage.act("ann")
      stage.act("cat")
      stage.clock.advance(50)
      stage.act("cat")
      stage.clock.advance(50)
      Bindings.with(user: "bob", fields: ["request": 7], view: "/cart", sensitive: ["request"]) {
        stage.sessions.with(user: "bob") { stage.sessions.end(user: "cat") }
      }
      let ended = try stage.tracker.events().filter { $0.name == "session.ended" }
      #expect(ended.map(\.context.user) == [EventUser(id: "ann"), EventUser(id: "cat")])
      for event in ended {
        #expect(event.context.fields.map(\.name).sorted() == ["session_id", "session_number"])
        #expect(event.context.view == nil)
        #expect(event.context.sensitive.isEmpty)
      }
    }
  }

  @Test func `a restart within the pause goes on, and one after it ends the session`() throws {
    try withDirectory { directory throws in
      var id: String?
      do {
        let stage = try Stage(directory)
        stage.act("ann")
        stage.act("bob")
        stage.clock.advance(3)
        stage.act("ann")
        id = stage.sessions.session(of: "ann")?.id
        stage.sessions.end(user: "bob")
        try stage.tracker.close()
      }
      do {
        let stage = try Stage(directory, at: 1_000_102)
        stage.act("ann")
        stage.act("bob")
        #expect(stage.sessions.session(of: "ann")?.id == id)
        #expect(stage.sessions.session(of: "bob")?.number == 2)
        try stage.tracker.close()
      }
      let stage = try Stage(directory, at: 1_000_202)
      #expect(try stage.lines().suffix(2).sorted() == ["session.ended ann 1 idle 102", "session.ended bob 2 idle 0"])
    }
  }

  /// What a kill leaves is what the file has: copied while the process lives.
  @Test func `a kill ends no session, and shortens it by a sixteenth of the pause at most`() throws {
    try withDirectory { directory throws in
      try withDirectory { copy throws in
        let stage = try Stage(directory + "/log")
        for _ in 0..<20 {
          stage.act("ann")
          stage.clock.advance(1)
        }
        let id = stage.sessions.session(of: "ann")?.id
        try FileManager.default.copyItem(atPath: directory + "/log/sessions", toPath: copy + "/sessions")
        let after = try Stage(copy, at: 1_000_020)
        let session = try #require(after.sessions.session(of: "ann"))
        #expect(session.id == id)
        #expect(session.duration >= .seconds(12) && session.duration <= .seconds(19))
      }
    }
  }

  @Test(arguments: ["", "WEIRSESS", "cut", "flipped", "other"])
  func `a damaged file is read up to the damage`(_ damage: String) throws {
    try withDirectory { directory throws in
      do {
        let stage = try Stage(directory)
        stage.act("ann")
        stage.act("bob")
        try stage.tracker.close()
      }
      let url = URL(filePath: directory + "/sessions/users")
      var bytes = try Data(contentsOf: url)
      switch damage {
      case "cut": bytes.removeLast()
      case "flipped": bytes[bytes.count - 1] ^= 1
      default: bytes = Data(damage.utf8)
      }
      try bytes.write(to: url)
      let stage = try Stage(directory)
      let isCut = ["cut", "flipped"].contains(damage)
      #expect((stage.sessions.session(of: "ann") != nil) == isCut)
      #expect(stage.sessions.session(of: "bob") == nil)
      stage.act("bob")
      stage.act("cat")
      try stage.tracker.close()
      let again = try Stage(directory)
      for user in isCut ? ["ann", "bob", "cat"] : ["bob", "cat"] { #expect(again.sessions.session(of: user) != nil) }
    }
  }

  @Test func `each number of a record may have any value`() throws {
    try withDirectory { directory throws in
      do {
        let stage = try Stage(directory)
        stage.act("ann")
        try stage.tracker.close()
      }
      let url = URL(filePath: directory + "/sessions/users")
      let whole = try Data(contentsOf: url)
      // The header, and one record.
      try #require(whole.count == 16 + 48 + 3)
      func check(_ place: Int, _ number: some FixedWidthInteger) throws {
        var bytes = Array(whole)
        withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(16 + place..<16 + place + $0.count, with: $0) }
        withUnsafeBytes(of: bytes[24...].withUnsafeBytes { crc32c($0) }.littleEndian) {
          bytes.replaceSubrange(20..<24, with: $0)
        }
        try Data(bytes).write(to: url)
        let stage = try Stage(directory)
        stage.act("ann")
        let session = try #require(stage.sessions.session(of: "ann"))
        #expect(session.id.count == 16)
        _ = session.duration
        stage.sessions.end(user: "ann")
        try stage.tracker.close()
      }
      for number in [0, 1, 1 << 32, (1 << 63) - 1, 1 << 63, .max - 1, .max] as [UInt64] {
        try check(0, UInt32(truncatingIfNeeded: number))
        for place in stride(from: 8, to: 48, by: 8) { try check(place, number) }
      }
    }
  }

  @Test func `the file stays below its limit, and a restart finds everybody`() throws {
    try withDirectory { directory throws in
      let limit = 4_096
      do {
        let stage = try Stage(directory, limit: 20, fileBytes: limit)
        for round in 0..<500 {
          stage.act("u\(round % 20)")
          stage.clock.advance(10)
          let size = try Data(contentsOf: URL(filePath: directory + "/sessions/users")).count
          try #require(size <= limit)
        }
        try stage.tracker.close()
      }
      let stage = try Stage(directory, at: 1_005_000, limit: 20, fileBytes: limit)
      for user in 0..<20 {
        stage.act("u\(user)")
        #expect((stage.sessions.session(of: "u\(user)")?.number ?? 0) > 20)
      }
      try stage.tracker.close()
    }
  }

  @Test func `users who do not fit into the file are known, and a warning says that they will be forgotten`() throws {
    try withDirectory { directory throws in
      let logged = LoggedLines()
      func warnings() -> Int {
        logged.lines.withLock { $0.filter { $0.text.contains("limit of 1000 bytes") }.count }
      }
      do {
        let stage = try Stage(directory, fileBytes: 1_000, logged: logged)
        for user in 0..<30 { stage.act("u\(user)") }
        #expect(warnings() == 1)
        for user in 0..<30 { #expect(stage.sessions.session(of: "u\(user)") != nil) }
        try stage.tracker.close()
      }
      // Some of the sessions would come back with an end that was told.
      #expect(!FileManager.default.fileExists(atPath: directory + "/sessions/users"))
      try Data(count: 1_001).write(to: URL(filePath: directory + "/sessions/users"))
      let stage = try Stage(directory, fileBytes: 1_000, logged: logged)
      #expect(warnings() == 2)
      stage.act("u1")
      try stage.tracker.close()
      #expect(try Stage(directory, fileBytes: 1_000).sessions.session(of: "u1") != nil)
    }
  }

  @Test func `users beyond the limit are forgotten, those with ended sessions first`() throws {
    try withDirectory { directory throws in
      let stage = try Stage(directory, limit: 10)
      for number in 0..<10 { stage.act("u\(number)") }
      stage.sessions.end(user: "u5")
      stage.act("u10")
      #expect(stage.sessions.session(of: "u0") != nil)
      stage.act("u5")
      // Forgotten, so its numbers begin again; the session of the user who was active longest ago ended for it.
      #expect(stage.sessions.session(of: "u5")?.number == 1)
      #expect(try stage.lines().filter { $0.hasPrefix("session.ended") }.count == 2)
      for round in 0..<2_000 {
        stage.clock.advance(1)
        stage.act("u\(round % 12)")
      }
      let size = try Data(contentsOf: URL(filePath: directory + "/sessions/users")).count
      #expect(size <= 60 * (4 * 10 + 1_024 + 2))
    }
  }

  @Test func `a session that ended for want of room has ended after a restart, too`() throws {
    try withDirectory { directory throws in
      do {
        let stage = try Stage(directory, limit: 10)
        for number in 0..<11 { stage.act("u\(number)") }
        try stage.tracker.close()
      }
      let stage = try Stage(directory, at: 1_000_500, limit: 10)
      let ended = try stage.lines().filter { $0.hasPrefix("session.ended") }
      #expect(ended.count == 11)
      #expect(Set(ended).count == 11)
    }
  }

  @Test func `a tracker has one set of sessions at a time, with sensible options`() throws {
    try withDirectory { directory throws in
      let stage = try Stage(directory)
      #expect(throws: WeirError.self) { try Sessions(stage.tracker) }
      var configuration = Sessions.Configuration()
      configuration.idleAfter = .zero
      #expect(throws: WeirError.self) { try Sessions(stage.tracker, configuration: configuration) }
      for limit in [0, 1_000_001] {
        configuration = Sessions.Configuration()
        configuration.limit = limit
        let error = try #require(throws: WeirError.self) { try Sessions(stage.tracker, configuration: configuration) }
        #expect(error.message.contains("limit is \(limit)"))
      }
    }
  }

  @Test func `many threads may act for the same users`() throws {
    try withDirectory { directory throws in
      let stage = try Stage(directory)
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for number in 0..<200 { stage.act("u\(number % 5)") }
      }
      let lines = try stage.lines()
      #expect(lines.filter { $0.hasPrefix("session.started") }.count == 5)
      #expect(lines.filter { $0.hasPrefix("act") && $0.hasSuffix(" 1") }.count == 1_600)
    }
  }

  @Test func `a disk that fails ends no session, and the next write has everything`() throws {
    try withDirectory { directory throws in
      let isFailing = Atomic<Bool>(false)
      do {
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
        var configuration = Sessions.Configuration()
        configuration.calls = SystemCalls { call in
          call == .write && isFailing.load(ordering: .relaxed) ? ENOSPC : nil
        }
        let sessions = try Sessions(tracker, configuration: configuration)
        isFailing.store(true, ordering: .relaxed)
        sessions.with(user: "ann") {}
        #expect(sessions.session(of: "ann") != nil)
        isFailing.store(false, ordering: .relaxed)
        try tracker.close()
      }
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      #expect(try Sessions(tracker).session(of: "ann") != nil)
    }
  }

  @Test func `users who are forgotten while the disk fails do not come back`() throws {
    try withDirectory { directory throws in
      let isFailing = Atomic<Bool>(false)
      do {
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
        var configuration = Sessions.Configuration()
        configuration.limit = 10
        configuration.calls = SystemCalls { call in
          call == .write && isFailing.load(ordering: .relaxed) ? ENOSPC : nil
        }
        let sessions = try Sessions(tracker, configuration: configuration)
        sessions.with(user: "first") {}
        isFailing.store(true, ordering: .relaxed)
        for number in 0..<40 { sessions.with(user: "u\(number)") {} }
        isFailing.store(false, ordering: .relaxed)
        try tracker.close()
        withExtendedLifetime(sessions) {}
      }
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let sessions = try Sessions(tracker)
      #expect(sessions.session(of: "first") == nil)
      #expect((0..<40).filter { sessions.session(of: "u\($0)") != nil } == Array(30..<40))
    }
  }
}
