// Monitor: what a page gets, over HTTP.

#if Monitor
  import Foundation
  import Synchronization
  import TestSupport
  import Testing
  import WeirContracts
  import WeirDelivery
  import WeirTesting

  @testable import Weir
  @testable import WeirMonitor

  @Suite struct MonitorTests {
    @Test func `events appear as they are captured, once each, with their fields`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track("first", fields: ["n": 1])
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream()
          #expect(try await stream.read { stream, _ in stream.rows.count == 1 })
          for number in 2...300 { tracker.track("more", fields: ["n": .int(Int64(number)), "text": "a\"<b>"]) }
          #expect(try await stream.read { stream, _ in stream.rows.count == 300 })
          #expect(stream.times.values.allSatisfy { $0 == 1 })
          #expect(stream.rows[0]?["name"] as? String == "first")
          #expect(stream.rows[7]?["fields"] as? [[String]] == [["n", "8"], ["text", #""a\"<b>""#]])
          #expect(stream.rows[7]?["states"] as? String == "")
          #expect(stream.matched == 300)
        }
      }
    }

    @Test func `a page that comes back goes on behind the last event that it had`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        for number in 0..<40 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          let first = try stage.stream()
          #expect(try await first.read { stream, _ in stream.rows.count == 40 })
          for number in 40..<50 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
          let last = try #require(first.lastID)
          let second = try stage.stream("?from=3", ["Last-Event-ID: \(last)"])
          #expect(try await second.read { stream, _ in stream.rows.count == 10 })
          #expect(second.rows.keys.min() == 40)
        }
      }
    }

    @Test func `of more events than anybody reads the newest come, and all are counted`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
        for number in 0..<20_000 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream("?from=0")
          #expect(try await stream.read { stream, _ in stream.looked == 20_000 })
          #expect(stream.matched == 20_000)
          #expect(stream.rows[19_999] != nil)
          // Without a place to begin, a page begins with the last events.
          let late = try stage.stream()
          #expect(try await late.read { stream, _ in stream.rows[19_999] != nil })
          #expect(late.looked == EventScan.maximumRows)
        }
      }
    }

    @Test func `a filter looks through the past, says how far it has come, and goes on with what is new`() async throws
    {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
        for number in 0..<5_000 {
          tracker.track(number % 1_000 == 7 ? "rare" : "e", fields: ["n": .int(Int64(number))])
        }
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream("?q=name%3Arare%20n%3E1000")
          #expect(try await stream.read { stream, _ in stream.looked == 5_000 })
          #expect(stream.rows.keys.sorted() == [1_007, 2_007, 3_007, 4_007])
          tracker.track("rare", fields: ["n": 9_999])
          #expect(try await stream.read { stream, _ in stream.rows.count == 5 })
          let wrong = try await stage.get("/stream?q=is%3Awrong")
          #expect(wrong.status == 400)
          #expect((wrong.json?["error"] as? String)?.contains("violating") == true)
        }
      }
    }

    @Test func `states change as a delivery goes on`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track("good")
        tracker.track("bad")
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream()
          #expect(try await stream.read { stream, _ in stream.rows.count == 2 })
          let dispatcher = try Dispatcher(tracker)
          try dispatcher.add(
            ScriptedProvider(name: "shop", finally: .each { $0.name == "bad" ? .rejected("no") : .accepted }))
          let delivery = Task { try await dispatcher.run() }
          #expect(
            try await stream.read { stream, _ in
              stream.rows[0]?["states"] as? String == "a" && stream.rows[1]?["states"] as? String == "r"
            })
          #expect(stream.providers == ["shop"])
          let filtered = try stage.stream("?q=at%3Ashop%3Drejected")
          #expect(try await filtered.read { stream, _ in stream.looked == 2 })
          #expect(Array(filtered.rows.keys) == [1])
          delivery.cancel()
          _ = try await delivery.value
        }
      }
    }

    @Test func `a filter by state finds events whose state changes later, and lets go of them`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track("good")
        tracker.track("bad")
        try tracker.drain()
        let dispatcher = try Dispatcher(tracker)
        try dispatcher.add(
          ScriptedProvider(name: "shop", finally: .each { $0.name == "bad" ? .rejected("no") : .accepted }))
        try await MonitorStage.run(directory) { stage in
          let pending = try stage.stream("?q=at%3Ashop%3Dpending")
          let rejected = try stage.stream("?q=at%3Ashop%3Drejected")
          let others = try stage.stream("?q=-at%3Ashop%3Dacknowledged%20name%3Agood")
          #expect(try await pending.read { stream, _ in stream.rows.keys.sorted() == [0, 1] })
          #expect(try await others.read { stream, _ in stream.rows.keys.sorted() == [0] })
          #expect(try await rejected.read { stream, _ in stream.looked == 2 })
          #expect(rejected.rows.isEmpty)
          let point = try #require(pending.lastID)
          let delivery = Task { try await dispatcher.run() }
          #expect(try await pending.read { stream, _ in stream.rows.isEmpty })
          #expect(try await rejected.read { stream, _ in stream.rows.keys.sorted() == [1] })
          #expect(try await others.read { stream, _ in stream.rows.isEmpty })
          #expect(rejected.rows[1]?["states"] as? String == "r")
          // A page that was away has events of before: it is told of all that match, and of those that do not.
          let resumed = try stage.stream("?q=at%3Ashop%3Drejected", ["Last-Event-ID: \(point)"])
          var gone: [[Int]] = []
          #expect(
            try await resumed.read { stream, message in
              gone += (message.data as? [String: Any])?["gone"] as? [[Int]] ?? []
              return stream.rows.keys.sorted() == [1]
            })
          #expect(gone == [[0, 1]])
          delivery.cancel()
          _ = try await delivery.value
        }
      }
    }

    @Test func `a page that was away knows the states of all its rows again`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
        for number in 0..<12_000 { tracker.track(number < 4 ? "rare" : "e", fields: ["n": .int(Int64(number))]) }
        try tracker.drain()
        let dispatcher = try Dispatcher(tracker)
        try dispatcher.add(ScriptedProvider(name: "shop"))
        try await MonitorStage.run(directory) { stage in
          for query in ["?q=name%3Arare", "?q=name%3Arare%20at%3Ashop%3Dpending"] {
            let stream = try stage.stream(query)
            #expect(try await stream.read { stream, _ in stream.looked == 12_000 })
            #expect(stream.rows.keys.sorted() == [0, 1, 2, 3])
            let point = try #require(stream.lastID)
            #expect(point.hasSuffix("-0"))
            let resumed = try stage.stream(query, ["Last-Event-ID: \(point)"])
            var told: Set<Int> = []
            #expect(
              try await resumed.read { stream, message in
                let states = (message.data as? [String: Any])?["states"] as? [[Any]] ?? []
                told.formUnion(states.compactMap { $0.first as? Int } + stream.rows.keys)
                return told == [0, 1, 2, 3]
              })
          }
          let point = try await lastPoint(stage, "?q=name%3Arare%20at%3Ashop%3Dpending")
          let delivery = Task { try await dispatcher.run() }
          #expect(await eventually { dispatcher.ledger["shop"]?.acknowledged == 12_000 })
          // Those that match no more are gone, also far back.
          let resumed = try stage.stream("?q=name%3Arare%20at%3Ashop%3Dpending", ["Last-Event-ID: \(point)"])
          var gone: [[Int]] = []
          #expect(
            try await resumed.read { _, message in
              gone += (message.data as? [String: Any])?["gone"] as? [[Int]] ?? []
              return gone.contains { ($0[0]...$0[1]).contains(0) }
            })
          #expect(resumed.rows.isEmpty)
          delivery.cancel()
          _ = try await delivery.value
        }
      }
    }

    private func lastPoint(_ stage: MonitorStage, _ query: String) async throws -> String {
      let stream = try stage.stream(query)
      #expect(try await stream.read { stream, _ in stream.looked == 12_000 })
      return try #require(stream.lastID)
    }

    @Test func `flags that are found later reach the rows that a page has`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track("e", fields: ["n": 7])
        try tracker.drain()
        let dispatcher = try Dispatcher(tracker)
        var options = DeliveryOptions()
        let rule = EventRule("e", fields: [FieldRule("n", mandatory: true, .integer, [.range(0...3)])])
        options.contract = try Contract("shop", version: "1", events: [rule]).compiled()
        try dispatcher.add(ScriptedProvider(name: "shop"), options: options)
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream()
          #expect(try await stream.read { stream, _ in stream.rows.count == 1 })
          #expect(stream.rows[0]?["flags"] == nil)
          let delivery = Task { try await dispatcher.run() }
          #expect(try await stream.read { stream, _ in stream.rows[0]?["flags"] as? [String] == ["violating"] })
          delivery.cancel()
          _ = try await delivery.value
        }
      }
    }

    @Test func `another log in the place of the one that is watched is shown from its beginning`() async throws {
      try await withDirectoryAsync { parent in
        let directory = "\(parent)/events"
        for (path, name) in [(directory, "old"), ("\(parent)/other", "new")] {
          let tracker = try Tracker(directory: path, configuration: quiet())
          for _ in 0..<30 { tracker.track(name) }
          try tracker.close()
        }
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream()
          #expect(try await stream.read { stream, _ in stream.rows.count == 30 })
          try FileManager.default.moveItem(atPath: directory, toPath: "\(parent)/was")
          try FileManager.default.moveItem(atPath: "\(parent)/other", toPath: directory)
          var isTold = false
          #expect(
            try await stream.read { stream, message in
              isTold = isTold || message.event == "waiting"
              return stream.rows.values.allSatisfy { $0["name"] as? String == "new" }
            })
          #expect(isTold)
        }
      }
    }

    @Test func `of an old event too a later state is found`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
        for number in 0..<20_000 { tracker.track(number == 3 ? "bad" : "e", fields: ["n": .int(Int64(number))]) }
        try tracker.drain()
        let dispatcher = try Dispatcher(tracker)
        try dispatcher.add(
          ScriptedProvider(name: "shop", finally: .each { $0.name == "bad" ? .rejected("no") : .accepted }))
        try await MonitorStage.run(directory) { stage in
          let rejected = try stage.stream("?q=at%3Ashop%3Drejected")
          let acknowledged = try stage.stream("?q=at%3Ashop%3Dacknowledged%20n%3C10")
          #expect(try await rejected.read { stream, _ in stream.looked == 20_000 })
          #expect(try await acknowledged.read { stream, _ in stream.looked == 20_000 })
          let delivery = Task { try await dispatcher.run() }
          #expect(rejected.matched == 0)
          #expect(try await rejected.read { stream, _ in stream.rows.keys.sorted() == [3] })
          #expect(try await acknowledged.read { stream, _ in stream.rows.count == 9 })
          delivery.cancel()
          _ = try await delivery.value
        }
      }
    }

    @Test func `sensitive values are replaced everywhere, unless they are to be shown`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        var globals = GlobalFields()
        globals.app = "shop"
        globals.fields = ["token": "s3cret"]
        globals.sensitive = ["token"]
        try tracker.setGlobals(globals)
        tracker.track("e", fields: ["x": 1])
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          for path in ["/event?offset=0", "/export.jsonl", "/export.csv"] {
            let answer = try await stage.get(path)
            #expect(answer.status == 200)
            #expect(answer.text.contains("[redacted]"), "\(path)")
            #expect(!answer.text.contains("s3cret"), "\(path)")
          }
          #expect(try await stage.get("/event?offset=0").json?["raw"] == nil)
          let probed = try await stage.get("/export.jsonl?q=context.token%3Ds3cret")
          #expect(probed.text.isEmpty)
        }
        try await MonitorStage.run(directory, { $0.showsSensitive = true }) { stage in
          let answer = try await stage.get("/event?offset=0")
          #expect(answer.text.contains("s3cret"))
        }
      }
    }

    @Test func `one event has its fields, its journey and its place`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track("other")
        tracker.track("checkout.completed", fields: ["order": .uint(41), "coupon": "SPRING \"26\""])
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          let event = try #require(try await stage.get("/event?offset=1").json)
          #expect(event["name"] as? String == "checkout.completed")
          let fields = try #require(event["fields"] as? [[String: Any]])
          #expect(fields.map { $0["name"] as? String } == ["order", "coupon"])
          #expect(fields[0]["type"] as? String == "uint")
          let steps = try #require(event["steps"] as? [[String: Any]]).compactMap { $0["text"] as? String }
          #expect(steps.contains { $0.hasPrefix("captured") } && steps.contains { $0.hasPrefix("drained at offset 1") })
          let place = try #require(event["place"] as? [String: Any])
          #expect(place["file"] as? String == "00000000000000000000.weir.active")
          #expect((place["block"] as? Int ?? 0) > 0)
          #expect((event["json"] as? String)?.contains("\"order\":41") == true)
          #expect(
            event["swift"] as? String == """
              tracker.track("checkout.completed", fields: [
                "order": .uint(41),
                "coupon": "SPRING \\"26\\"",
              ])

              """)
          #expect((event["raw"] as? String)?.isEmpty == false)
          #expect(try await stage.get("/event?offset=99").status == 404)
          #expect(try await stage.get("/event?offset=x").status == 400)
        }
      }
    }

    @Test func `an export has exactly what the filter finds`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
        for number in 0..<3_000 { tracker.track(number % 2 == 0 ? "even" : "odd", fields: ["n": .int(Int64(number))]) }
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          let lines = try await stage.get("/export.jsonl?q=name%3Aodd%20n%3E%3D1001")
          #expect(lines["content-disposition"]?.contains("events.jsonl") == true)
          #expect(lines.text.split(separator: "\n").count == 1_000)
          let table = try await stage.get("/export.csv?q=name%3Aodd%20from%3A2991")
          #expect(
            table.text.split(separator: "\n").map { $0.split(separator: ",").last } == [
              "n", "2991", "2993", "2995", "2997", "2999",
            ])
        }
      }
    }

    @Test func `the sums count events by name, refusals and bytes`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        for _ in 0..<30 { tracker.track("often") }
        tracker.track("seldom")
        tracker.track("", fields: [:])
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream()
          var sums: [String: Any] = [:]
          // The seconds are whole ones: the present one does not count yet.
          #expect(
            try await stream.read { _, message in
              guard message.event == "sums" else { return false }
              sums = message.data as? [String: Any] ?? [:]
              return (sums["rates"] as? [[String: Any]])?.count == 2
            })
          let rates = try #require(sums["rates"] as? [[String: Any]])
          #expect(rates.map { $0["name"] as? String } == ["often", "seldom"])
          #expect(rates[0]["total"] as? Int == 30)
          #expect((rates[0]["counts"] as? [Int])?.count == 60)
          #expect(sums["isLive"] as? Bool == true)
          #expect((sums["dropped"] as? [String: Int])?["invalid"] == 1)
          #expect((sums["bytes"] as? Int ?? 0) > 0)
          #expect(sums["streams"] as? Int == 1)
        }
      }
    }

    @Test func `a log that is not there yet is waited for, and one that ends is shown`() async throws {
      try await withDirectoryAsync { parent in
        let directory = parent + "/events"
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream()
          #expect(try await stream.read { _, message in message.event == "waiting" })
          let tracker = try Tracker(directory: directory, configuration: quiet())
          tracker.track("first")
          #expect(try await stream.read { stream, _ in stream.rows.count == 1 })
          try tracker.close()
          #expect(
            try await stream.read { _, message in
              message.event == "frame" && (message.data as? [String: Any])?["isLive"] as? Bool == false
            })
        }
      }
    }

    @Test func `the logs in a directory are named, and each is shown`() async throws {
      try await withDirectoryAsync { parent in
        for name in ["a", "b"] {
          let tracker = try Tracker(directory: "\(parent)/\(name)", configuration: quiet())
          tracker.track("of \(name)")
          try tracker.close()
        }
        try await MonitorStage.run(parent) { stage in
          let logs =
            try JSONSerialization.jsonObject(with: Data(try await stage.get("/logs").body)) as? [[String: String]]
          #expect(logs?.map { $0["name"] } == ["a", "b"])
          let stream = try stage.stream("?log=b")
          #expect(try await stream.read { stream, _ in stream.rows[0]?["name"] as? String == "of b" })
          for wrong in ["c", "..", "../a", "a/../b", "%2e%2e"] {
            #expect(try await stage.get("/stream?log=\(wrong)").status == 404, "\(wrong)")
          }
        }
      }
    }

    @Test func `a page that comes back to a log that was replaced begins anew`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        for number in 0..<5 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
        try tracker.drain()
        try await MonitorStage.run(directory) { stage in
          // Beyond the log's end, and within it, but behind another event.
          for point in ["20", "3-0123456789abcdef0123456789abcdef"] {
            let stream = try stage.stream("", ["Last-Event-ID: \(point)"])
            var isTold = false
            #expect(
              try await stream.read { stream, message in
                isTold = isTold || message.event == "waiting"
                return stream.rows.count == 5
              })
            #expect(isTold, "\(point)")
          }
        }
      }
    }

    @Test func `a log in a directory of the same name is shown`() async throws {
      try await withDirectoryAsync { parent in
        let directory = "\(parent)/shop"
        try FileManager.default.createDirectory(
          atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let tracker = try Tracker(directory: "\(directory)/shop", configuration: quiet())
        tracker.track("inner")
        try tracker.close()
        try await MonitorStage.run(directory) { stage in
          let stream = try stage.stream("?log=shop")
          #expect(try await stream.read { stream, _ in stream.rows[0]?["name"] as? String == "inner" })
        }
      }
    }

    @Test func `an export by state has all events, also after the last page has gone`() async throws {
      try await withDirectoryAsync { directory in
        let tracker = try Tracker(directory: directory, configuration: quiet())
        for number in 0..<100 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
        try tracker.drain()
        let dispatcher = try Dispatcher(tracker)
        try dispatcher.add(ScriptedProvider(name: "shop"))
        let delivery = Task { try await dispatcher.run() }
        #expect(await eventually { dispatcher.ledger["shop"]?.acknowledged == 100 })
        delivery.cancel()
        _ = try await delivery.value
        try await MonitorStage.run(directory) { stage in
          let answer = try await stage.get("/export.jsonl?q=at%3Ashop%3Dacknowledged")
          #expect(answer.text.split(separator: "\n").count == 100)
        }
      }
    }
  }
#endif
