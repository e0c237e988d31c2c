// A process that is killed: its events keep what they were captured for, in the lanes and in what recovery makes of
// them.

import Foundation
import TestSupport
import Testing
import Weir

struct KilledTests {
  /// Where parent and child meet, for the child's code can't be given anything.
  private static func directory(of process: pid_t) -> String {
    FileManager.default.temporaryDirectory.appending(path: "weir-killed-\(process)").path
  }

  private static func configuration() -> Tracker.Configuration {
    quiet {
      $0.globals = GlobalFields(app: "shop", fields: ["region": "eu"], sensitive: ["region"])
      // Nothing is drained by itself: what is not drained by hand stays in the lanes.
      $0.drainInterval = .seconds(10)
    }
  }

  @Test func `contexts survive a kill`() async throws {
    let directory = Self.directory(of: getpid())
    defer { try? FileManager.default.removeItem(atPath: directory) }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      let tracker = try Tracker(directory: Self.directory(of: getppid()), configuration: Self.configuration())
      for round in 0..<2 {
        try Bindings.with(user: "user \(round)", traits: ["round": .int(Int64(round))]) {
          Bindings.with(view: "view") { _ = tracker.track(Checkout.started(cart: UInt64(round))) }
          // The first round is in a segment when the process dies, the second one in a lane.
          if round == 0 { try tracker.drain() }
        }
      }
      try tracker.associate("default")
      Bindings.with(fields: ["request": 7]) { _ = tracker.track("dynamic") }
      kill(getpid(), SIGKILL)
    }

    let read = try EventReader(directory: directory).all()
    #expect(read.map(\.name) == ["checkout.started", "checkout.started", "weir.associated", "dynamic"])
    try #require(read.count == 4)
    for round in 0..<2 {
      let context = read[round].context
      #expect(context.globals == ["app": "shop", "region": "eu"])
      #expect(context.sensitive == ["region"])
      #expect(context.user == EventUser(id: "user \(round)", traits: ["round": .int(Int64(round))]))
      #expect(context.view?.name == "view")
      #expect(!context.isGlobalPartLost)
      #expect(read[round].declaration == Checkout.eventTypes[0])
    }
    #expect(read[3].context.user == EventUser(id: "default"))
    #expect(read[3].context.fields == ["request": 7])

    // Recovery puts it all into a segment, which the next opening's own contexts don't change.
    let tracker = try Tracker(directory: directory, configuration: quiet { $0.globals.app = "another" })
    #expect(!tracker.recovery.wasClean)
    tracker.track("after")
    let recovered = try tracker.events()
    #expect(Array(recovered.prefix(4)) == read)
    #expect(recovered.last?.context == EventContext(globals: ["app": "another"]))
  }
}
