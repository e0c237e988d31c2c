// Reading a log back: event by event, with and without a tracker, past events that can't be read.

import TestSupport
import Testing
import Weir

struct EventResultsTests {
  /// A log with a login, an event of another type, one that ``Login`` can't read, and a login.
  private func fill(_ tracker: Tracker) {
    tracker.track(Login(user: "ada", attempts: 1))
    tracker.track("other")
    tracker.track("login", fields: ["user": 7, "attempts": "many"])
    tracker.track(Login(user: "bob", attempts: 2))
  }

  @Test func `a loop goes on after an event that its type can't read, and says which`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      fill(tracker)
      #expect(throws: (any Error).self) { try tracker.events(of: Login.self) }
      let results = Array(tracker.results(of: Login.self))
      #expect(results.compactMap { try? $0.get().event.user } == ["ada", "bob"])
      try #require(results.count == 3)
      let unreadable = #expect(throws: UnreadableEvent.self) { try results[1].get() }
      #expect(unreadable?.stored?.offset == 2)
      #expect(unreadable?.description.contains("login at offset 2") == true)
    }
  }

  @Test func `a log is looped over without a tracker, while it is open and after`() throws {
    try withDirectory { directory in
      let log = LogDirectory(directory)
      let tracker = try Tracker(directory: directory, configuration: quiet())
      fill(tracker)
      try tracker.drain()
      #expect(Array(log.results(of: Login.self)).count == 3)
      try tracker.close()
      #expect(try log.events().map(\.name) == ["login", "other", "login", "login"])
      #expect(try log.events(from: 1, limit: 2).map(\.offset) == [1, 2])
      #expect(try log.events(of: Login.self, from: 3).map(\.event.user) == ["bob"])
      #expect(try log.results(from: 2).map { try $0.get().offset } == [2, 3])
      #expect(try log.results(of: Login.self, from: 3).map { try $0.get().offset } == [3])
    }
  }

  @Test func `each loop over the same results reads the log anew`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let results = LogDirectory(directory).results()
      #expect(Array(results).isEmpty)
      tracker.track("first")
      try tracker.drain()
      #expect(Array(results).count == 1)
    }
  }

  @Test func `what is captured during a tracker's loop is left for the next one`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(Login(user: "ada", attempts: 1))
      var count = 0
      for _ in tracker.results(of: Login.self) {
        count += 1
        try #require(count < 10)
        tracker.track(Login(user: "bob", attempts: 1))
        try tracker.drain()
      }
      #expect(count == 1)
    }
  }

  @Test func `a log that is not there is the only element of its loop`() throws {
    try withDirectory { directory in
      let results = Array(LogDirectory(directory + "/none").results())
      #expect(results.count == 1)
      let failure = #expect(throws: UnreadableEvent.self) { try results.first?.get() }
      #expect(failure?.stored == nil)
      #expect((failure?.reason as? WeirError)?.code == .missing)
    }
  }
}
