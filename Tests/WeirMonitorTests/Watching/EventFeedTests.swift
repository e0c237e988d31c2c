// EventFeed: what a reader has after any number of looks and returns is what a new reader gets.

#if Monitor
  import Foundation
  import Synchronization
  import TestSupport
  import Testing
  import WeirDelivery
  import WeirTesting

  @testable import Weir
  @testable import WeirMonitor

  @Suite struct EventFeedTests {
    /// A reader: a page without its list's limits.
    private struct Reader {
      let watch: LogWatch
      let filter: EventFilter
      private(set) var rows: [Offset: String] = [:]
      private var feed: EventFeed
      private var next: Offset

      init(_ watch: LogWatch, _ filter: String) throws {
        self.watch = watch
        self.filter = try EventFilter(filter)
        next = try EventFeed.start(of: watch, self.filter)
        feed = try EventFeed(watch, self.filter, from: next, showsSensitive: false)
      }

      /// Takes all that is new.
      mutating func read() throws {
        var quiet = 0
        while quiet < 3 {
          let news = try feed.look(until: .now + patience)
          next = news.found.next
          for row in news.rows { rows[row.event.offset] = MonitorJSON.letters(row.findings) }
          for change in news.changes where rows[change.offset] != nil {
            rows[change.offset] = MonitorJSON.letters(change.findings)
          }
          for range in news.gone { rows = rows.filter { !range.contains($0.key) } }
          for row in news.late { rows[row.event.offset] = MonitorJSON.letters(row.findings) }
          // What deliveries noted is read every 50 ms.
          if news.isEmpty {
            quiet += 1
            Thread.sleep(forTimeInterval: 0.06)
          } else {
            quiet = 0
          }
        }
      }

      /// Loses the connection, and comes back with what the last frame's id said.
      mutating func comeBack() throws {
        feed = try EventFeed(watch, filter, from: next, first: feed.first, showsSensitive: false)
      }
    }

    /// A log with a provider that rejects what is named so.
    private struct Shop {
      let tracker: Tracker
      let watch: LogWatch
      private let path: String

      init(_ path: String) throws {
        self.path = path
        tracker = try Tracker(directory: path, configuration: quiet())
        watch = LogWatch(LogDirectory(path))
      }

      func deliver() async throws {
        let dispatcher = try Dispatcher(directory: path)
        try dispatcher.add(
          ScriptedProvider(name: "a", finally: .each { $0.name == "bad" ? .rejected("no") : .accepted }))
        try tracker.drain()
        let end = try LogDirectory(path).tally(from: .max).nextOffset
        let delivery = Task { try await dispatcher.run() }
        #expect(await eventually { dispatcher.ledger["a"]?.offset == end })
        delivery.cancel()
        _ = try await delivery.value
      }
    }

    // A provider that is not known yet has states of nothing: each of these begins with a delivery.
    @Test(arguments: ["at:a=pending", "-at:a=rejected", "-at:a=acknowledged", "name:x", "name:bad", ""])
    func `a reader who comes back has what a new reader gets`(_ filter: String) async throws {
      let seed = testSeed()
      print("EventFeedTests: WEIR_SEED=\(seed)")
      var random = Seeded(seed: seed)
      try await withDirectoryAsync { directory in
        let shop = try Shop(directory)
        func capture(_ count: Int) throws {
          for _ in 0..<count {
            shop.tracker.track(["x", "y", "bad"].randomElement(using: &random) ?? "x", fields: [:])
          }
          try shop.tracker.drain()
        }
        try capture(200)
        try await shop.deliver()
        var reader = try Reader(shop.watch, filter)
        try reader.read()
        for step in 0..<6 {
          switch Int.random(in: 0..<3, using: &random) {
          case 0: try capture(.random(in: 1...40, using: &random))
          case 1: try await shop.deliver()
          default: try reader.comeBack()
          }
          if Bool.random(using: &random) { try reader.read() }
          if Bool.random(using: &random) { try reader.comeBack() }
          try reader.read()
          var fresh = try Reader(shop.watch, filter)
          try fresh.read()
          #expect(reader.rows == fresh.rows, "step \(step), seed \(seed)")
        }
        try shop.tracker.close()
      }
    }

    @Test func `all that match stay after a return, and all that match no more go`() async throws {
      try await withDirectoryAsync { directory in
        let shop = try Shop(directory)
        shop.tracker.track("x", fields: [:])
        try await shop.deliver()
        var staying = try Reader(shop.watch, "-at:a=rejected")
        var leaving = try Reader(shop.watch, "at:a=pending")
        for _ in 0..<20 {
          for _ in 0..<400 { shop.tracker.track("x", fields: [:]) }
          try shop.tracker.drain()
          try staying.read()
          try leaving.read()
        }
        #expect(staying.rows.count == 8_001 && leaving.rows.count == 8_000)
        try staying.comeBack()
        try leaving.comeBack()
        try staying.read()
        try leaving.read()
        try await shop.deliver()
        try staying.read()
        try leaving.read()
        // As many as a page keeps.
        #expect((3_100...8_000).allSatisfy { staying.rows[$0] != nil })
        #expect(staying.rows.count < 6_000)
        #expect(leaving.rows.isEmpty)
        try shop.tracker.close()
      }
    }

    @Test func `rows that a name finds get their states after a return, however far apart they are`() async throws {
      try await withDirectoryAsync { directory in
        let shop = try Shop(directory)
        for number in 0..<10_000 {
          shop.tracker.track(number % 20 == 0 ? "x" : "y", fields: ["n": .int(Int64(number))])
        }
        try shop.tracker.drain()
        var reader = try Reader(shop.watch, "name:x")
        try reader.read()
        try reader.comeBack()
        try reader.read()
        try await shop.deliver()
        try reader.read()
        #expect(reader.rows.count == 500)
        #expect(Set(reader.rows.values) == ["a"])
        try shop.tracker.close()
      }
    }

    @Test func `rows that go make no others be forgotten`() async throws {
      try await withDirectoryAsync { directory in
        let shop = try Shop(directory)
        for _ in 0..<10 { shop.tracker.track("bad", fields: [:]) }
        try shop.tracker.drain()
        var reader = try Reader(shop.watch, "-at:a=acknowledged")
        try reader.read()
        for _ in 0..<24 {
          for _ in 0..<490 { shop.tracker.track("x", fields: [:]) }
          try shop.tracker.drain()
          try reader.read()
          try await shop.deliver()
          try reader.read()
          #expect(reader.rows.count == 10)
        }
        // The old ones are accepted by a redrive.
        _ = try await LogDirectory(directory).redrive(to: ScriptedProvider(name: "a"), timeout: .seconds(30))
        try reader.read()
        var fresh = try Reader(shop.watch, "-at:a=acknowledged")
        try fresh.read()
        #expect(reader.rows == fresh.rows)
        try shop.tracker.close()
      }
    }

    @Test func `a log whose files are exchanged in its directory is another log`() throws {
      try withDirectory { parent in
        func log(_ name: String, _ count: Int) throws -> String {
          let path = "\(parent)/\(name)"
          let tracker = try Tracker(directory: path, configuration: quiet())
          for _ in 0..<count { tracker.track(name, fields: [:]) }
          try tracker.close()
          return path
        }
        let (path, other) = (try log("one", 5), try log("other", 9))
        let watch = LogWatch(LogDirectory(path))
        let feed = try EventFeed(watch, EventFilter(""), from: 0, showsSensitive: false)
        #expect(try feed.look(until: .now + patience).rows.count == 5)
        let files = FileManager.default
        for name in try files.contentsOfDirectory(atPath: path) { try files.removeItem(atPath: "\(path)/\(name)") }
        for name in try files.contentsOfDirectory(atPath: other) {
          try files.moveItem(atPath: "\(other)/\(name)", toPath: "\(path)/\(name)")
        }
        #expect(throws: WeirError.self) { try feed.look(until: .now + patience) }
        let again = try EventFeed(watch, EventFilter(""), from: 0, showsSensitive: false)
        #expect(try again.look(until: .now + patience).rows.count == 9)
      }
    }
  }
#endif
