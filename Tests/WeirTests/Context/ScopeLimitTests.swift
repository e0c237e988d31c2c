// Scopes whose view does not fit into what can be bound. In the suite that alone looks at the process's counter of that.

import TestSupport
import Testing
import Weir
import WeirScopes

extension EncodedScopeLimitTests {
  @Test func `a scope whose name is too long is refused, and leaves the outer one`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let refused = tracker.counters.bindingsRefused
      tracker.withScope("") { #expect(Bindings.current.view == EventView(id: $0.id, name: "")) }
      // Too long to be bound: the scope is there, and its view is left out; never is it the outer one's.
      let long = String(repeating: "x", count: 5_000)
      Bindings.with(view: "outer") {
        tracker.withScope(long) { scope in
          #expect(Scope.current === scope)
          #expect(Bindings.current.view?.name == "outer")
          tracker.track("inside")
        }
      }
      // Too long for an event as well.
      let endless = String(repeating: "y", count: 1 << 20)
      // Once where it began, and once where it was bound.
      #expect(tracker.counters.bindingsRefused - refused == 2)
      let scope = tracker.beginScope(endless, parent: endless)
      #expect(scope.entered == .dropped(.tooLarge))
      #expect(scope.end() == .dropped(.tooLarge))
      // What was dropped is counted, and in the log as a gap, whose place is the drainer's to say.
      #expect(tracker.counters.dropped[.tooLarge] == 2)
      let names = try tracker.events().filter { !$0.isNotice }.map(\.name)
      #expect(names == ["scope.entered", "scope.exited", "scope.entered", "inside", "scope.exited"])
      let views = try tracker.events().filter { !$0.isNotice }.map(\.context.view?.name)
      #expect(views == ["", "", nil, "outer", nil])
    }
  }
}
