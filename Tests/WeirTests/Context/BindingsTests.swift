// Bindings: user, fields and view in one call, and bindings that are carried over by hand.

import Dispatch
import TestSupport
import Testing
import Weir

struct BindingsTests {
  /// The contexts of the events that `body` captures, in their order.
  private func contexts(_ body: (Tracker) throws -> Void) throws -> [EventContext] {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try body(tracker)
      return try tracker.events().map(\.context)
    }
  }

  @Test func `one call binds user, traits, fields and view`() throws {
    let found = try contexts { tracker in
      Bindings.with(user: "ada", traits: ["plan": "plus"], fields: ["request": "r1"], view: "checkout") {
        tracker.track("inside")
        #expect(Bindings.current.user == EventUser(id: "ada", traits: ["plan": "plus"]))
        #expect(Bindings.current.fields == ["request": "r1"])
        #expect(Bindings.current.view?.name == "checkout")
      }
      #expect(Bindings.current.user == nil)
      #expect(Bindings.current.view == nil)
      #expect(Bindings.current.fields.isEmpty)
    }
    let context = try #require(found.first)
    #expect(context.user == EventUser(id: "ada", traits: ["plan": "plus"]))
    #expect(context.fields == ["request": "r1"])
    #expect(context.view?.name == "checkout")
    #expect(context.view?.parent == nil)
  }

  @Test func `a binding without a user leaves the user, and one of nobody takes it away`() throws {
    let found = try contexts { tracker in
      Bindings.with(user: "ada", view: "outer") {
        Bindings.with(fields: ["a": 1], view: "inner") { tracker.track("kept") }
        Bindings.with(user: nil, fields: ["a": 2]) { tracker.track("nobody") }
      }
    }
    try #require(found.count == 2)
    #expect(found.map(\.user?.id) == ["ada", nil])
    #expect(found.map(\.fields) == [["a": 1], ["a": 2]])
    #expect(found.map(\.view?.name) == ["inner", "outer"])
    #expect(found[0].view?.parent == found[1].view?.id)
  }

  @Test func `bindings are carried to a thread, a queue and a detached task`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let bindings = Bindings.with(user: "ada", fields: ["request": "r1"], view: "checkout") { Bindings.current }
      onThread { bindings.run { _ = tracker.track("thread") } }
      await withCheckedContinuation { done in
        DispatchQueue.global().async {
          bindings.run { _ = tracker.track("queue") }
          done.resume()
        }
      }
      await Task.detached {
        await bindings.run {
          await Task.yield()
          _ = tracker.track("task")
        }
      }.value
      await Task.detached { _ = tracker.track("bare") }.value
      let events = try tracker.events()
      #expect(events.map(\.name) == ["thread", "queue", "task", "bare"])
      #expect(events.map(\.context.user?.id) == ["ada", "ada", "ada", nil])
      #expect(Set(events.prefix(3).map(\.context.view?.id)).count == 1)
      #expect(events.map(\.context.fields) == [["request": "r1"], ["request": "r1"], ["request": "r1"], [:]])
    }
  }

  @Test func `running with what was bound where nothing was unbinds`() throws {
    let nothing = Bindings.current
    let found = try contexts { tracker in
      Bindings.with(user: "ada") { nothing.run { _ = tracker.track("inside") } }
    }
    #expect(found.map(\.user) == [nil])
  }

  @Test func `what a body throws and returns comes through, in each form`() async throws {
    struct Failed: Error {}
    #expect(Bindings.with(view: "a") { 7 } == 7)
    #expect(Bindings.current.run { 8 } == 8)
    #expect(throws: Failed.self) { try Bindings.with(user: "ada") { throw Failed() } }
    #expect(throws: Failed.self) { try Bindings.current.run { throw Failed() } }
    await #expect(throws: Failed.self) {
      try await Bindings.with(user: "ada", view: "a") {
        await Task.yield()
        throw Failed()
      }
    }
  }
}
