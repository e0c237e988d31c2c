// LogRemovalTests: what keeps a log that is delivered to the end from being removed.

#if Tool
  import Foundation
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirTool

  struct LogRemovalTests {
    /// A closed log with some events, in a folder that is removed after.
    private func withLog(_ body: (String) throws -> Void) throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "weir-removal-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let log = folder + "/log"
      let tracker = try Tracker(directory: log)
      for _ in 0..<10 { tracker.track("a") }
      try tracker.close()
      try body(log)
    }

    private func names(_ folder: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    }

    @Test func `a log is removed as a whole`() throws {
      try withLog { log throws in
        #expect(try LogRemoval.remove(log, deliveredTo: []) == nil)
        #expect(!FileManager.default.fileExists(atPath: log))
      }
    }

    /// Another log, which nobody delivered; the directory that was delivered to; somebody's own file.
    @Test(arguments: [
      "rejected", "out", "notes.txt", "00000000000000000000.weir.bak", "1.weir", "batch-", "ring2", ".x",
    ])
    func `what is no part of a log is not removed with it`(_ name: String) throws {
      try withLog { log throws in
        let before = try names(log)
        let stranger = "\(log)/\(name)"
        if name == "rejected" {
          let inner = try Tracker(directory: stranger)
          inner.track("b")
          try inner.close()
        } else if name == "out" {
          try FileManager.default.createDirectory(atPath: stranger, withIntermediateDirectories: false)
        } else {
          try Data("x".utf8).write(to: URL(filePath: stranger))
        }
        #expect(try LogRemoval.remove(log, deliveredTo: [])?.contains(name) == true)
        #expect(try names(log) == (before + [name]).sorted())
        try FileManager.default.removeItem(atPath: stranger)
        #expect(try LogRemoval.remove(log, deliveredTo: []) == nil)
      }
    }

    @Test func `a log stays that somebody has a place in which can't be read`() async throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "weir-removal-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let log = folder + "/log"
      let tracker = try Tracker(directory: log)
      for _ in 0..<10 { tracker.track("a") }
      let dispatcher = try Dispatcher(tracker)
      try dispatcher.start()
      for name in ["one", "other"] {
        try dispatcher.add(ClosureProvider(name) { events in events.map { _ in .accepted } })
      }
      #expect(await dispatcher.shutdown(budget: .seconds(900)).isComplete)
      let cursor = URL(filePath: log + "/cursors/other")
      let whole = try Data(contentsOf: cursor)
      try Data(count: whole.count).write(to: cursor)
      let before = try names(log)
      #expect(try LogRemoval.remove(log, deliveredTo: ["one"])?.contains("other") == true)
      #expect(try names(log) == before)
      try whole.write(to: cursor)
      #expect(try LogRemoval.remove(log, deliveredTo: ["one"]) == nil)
      #expect(!FileManager.default.fileExists(atPath: log))
    }

    @Test func `everything that the format knows is a part of a log`() {
      let number = "00000000000000001234"
      let parts = [
        "lock", "ring", "ring.at", "ring.at.new", "ring.new", "\(number).weir", "\(number).weir.active",
        "\(number).weir.lz4", "batch-\(number)", "start", "start.new", "recovery", "recovery.new", "prepared-0",
        "prepared-17", "quarantine", "cursors", "violations", "dead-letters", "attempts",
      ]
      for name in parts { #expect(LogRemoval.isPart(name), "\(name)") }
    }
  }
#endif
