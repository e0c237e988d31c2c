// CollectorTests: what is taken is in the log, under the collector's own conditions: its life, its log, its limits.

#if Collector
  import Foundation
  import Testing
  import Weir
  import WeirContracts
  import WeirContracts
  import WeirContracts
  import WeirContracts
  import WeirContracts
  import WeirContracts

  @testable import WeirCollector

  struct CollectorTests {
    @Test func `an event that is answered as taken is in the log under its name`() async throws {
      try await withCollector { collector, client in
        let answer = try await client.post(
          "/v1/batch", segmentBatch([segmentEvent("m-1"), segmentEvent("m-2", "paid")]))
        #expect(answer.status == 200)
        #expect(answer.isWhole)
        let events = try collector.events()
        #expect(events.map(\.id) == ["m-1", "m-2"])
        #expect(events.map(\.name) == ["order placed", "paid"])
        #expect(events.map(\.offset) == [0, 1])
        let reader = try EventReader(directory: collector.configuration.directory)
        let stored = try #require(try reader.next())
        #expect(stored.name == "order placed")
        #expect(stored.fields["vendor"] == .string("segment"))
        #expect(stored.fields["id"] == .string("m-1"))
        #expect(stored.fields["time"] == .string("2026-11-21T00:00:00.500000000Z"))
        #expect(stored.fields["properties"] == .object(["n": .int(1)]))
      }
    }

    @Test(arguments: ["", "weir.hole", String(repeating: "n", count: 1_025), "a\\u0000b"])
    func `an event whose name a log cannot have is there under another`(name: String) {
      let text = name.replacing("\\u0000", with: "\0")
      let event = CollectedEvent(vendor: "weir", id: "1", time: nil, name: text)
      #expect(event.nameInLog == CollectedEvent.unnamed)
      #expect(event.fields["name"] == .string(text))
      #expect(CollectedEvent(vendor: "weir", id: "1", time: nil, name: "weir.gap").nameInLog == "weir_gap")
    }

    @Test func `a new collector goes on in the log of the last`() async throws {
      let scratch = try Scratch()
      for run in 1...2 {
        let collector = try Collector(smallConfiguration(scratch))
        let client = RawClient(port: try await collector.start())
        #expect(try await client.post("/v1/batch", segmentBatch([segmentEvent("m-1")])).status == 200)
        #expect(try await client.post("/events", "{\"id\":\"x\"}").status == 400)
        let statistics = try await collector.statistics()
        #expect(statistics.events == UInt64(run))
        #expect(statistics.ids == 1)
        #expect(statistics.duplicates == UInt64(run - 1))
        #expect(statistics.rejected == UInt64(run))
        try await collector.stop()
        try await collector.stop()
        #expect(collector.port == nil)
      }
    }

    @Test func `a collector starts once, and stops without a start`() async throws {
      let scratch = try Scratch()
      let collector = try Collector(smallConfiguration(scratch))
      try await collector.start()
      await #expect(throws: CollectorError.self) { try await collector.start() }
      try await collector.stop()
      let idle = try Collector(smallConfiguration(scratch))
      try await idle.stop()
      await #expect(throws: CollectorError.self) { try await idle.start() }
    }

    @Test func `a port in use is an error, and not a wait`() async throws {
      try await withCollector { collector, _ in
        let scratch = try Scratch()
        var configuration = smallConfiguration(scratch)
        configuration.port = try #require(collector.port)
        let second = try Collector(configuration)
        await #expect(throws: (any Error).self) { try await second.start() }
        try await second.stop()
      }
    }

    @Test func `a run ends when its task is cancelled`() async throws {
      let scratch = try Scratch()
      let collector = try Collector(smallConfiguration(scratch))
      let task = Task { try await collector.run() }
      try await eventually { collector.port != nil }
      let client = RawClient(port: try #require(collector.port))
      #expect(try await client.post("/v1/batch", segmentBatch([segmentEvent("m-1")])).status == 200)
      task.cancel()
      try await task.value
      #expect(collector.port == nil)
      let statistics = try LogDirectory(scratch.path + "/log").statistics()
      #expect(statistics.events == 1)
      #expect(!statistics.isLive)
    }

    /// A connection is refused, or ends without an answer: a listener that is being closed may have taken it.
    private func expectNobodyListens(_ port: Int) async {
      let answer = try? await RawClient(port: port).get("/_weir/health")
      #expect(answer == nil || answer?.status == 0)
    }

    @Test(.timeLimit(.minutes(5))) func `a start that is cancelled ends, and leaves no server`() async throws {
      let scratch = try Scratch()
      for wait in 0..<20 {
        var configuration = smallConfiguration(scratch)
        let held = try HeldPort()
        configuration.port = held.port
        let collector = try Collector(configuration)
        let task = Task {
          if wait == 0 { withUnsafeCurrentTask { $0?.cancel() } }
          return try await collector.start()
        }
        for _ in 0..<wait { await Task.yield() }
        task.cancel()
        switch await task.result {
        case .success(let port):
          #expect(port == configuration.port)
          #expect(collector.port == port)
        case .failure(let error):
          #expect(error is CancellationError, "\(error)")
          #expect(collector.port == nil, "\(error)")
          await expectNobodyListens(configuration.port)
        }
        try await collector.stop()
        await expectNobodyListens(held.port)
      }
    }

    @Test(.timeLimit(.minutes(5))) func `a run that is cancelled as it starts ends in order`() async throws {
      let scratch = try Scratch()
      let collector = try Collector(smallConfiguration(scratch))
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await collector.run()
      }
      try await task.value
      #expect(collector.port == nil)
      #expect(try !LogDirectory(scratch.path + "/log").statistics().isLive)
    }

    @Test(.timeLimit(.minutes(5))) func `a stop while the collector starts leaves no server`() async throws {
      let scratch = try Scratch()
      for wait in 0..<20 {
        var configuration = smallConfiguration(scratch)
        let held = try HeldPort()
        configuration.port = held.port
        let collector = try Collector(configuration)
        let start = Task { try await collector.start() }
        for _ in 0..<wait { await Task.yield() }
        try await collector.stop()
        await expectNobodyListens(configuration.port)
        if case .failure(let error) = await start.result { #expect(error is CollectorError, "\(error)") }
        #expect(collector.port == nil)
        await expectNobodyListens(held.port)
      }
    }

    @Test(arguments: ["0.0.0.0", "192.168.1.1", "::", "example.com", "127.example.com"])
    func `an address that others reach has to be allowed`(host: String) throws {
      let scratch = try Scratch()
      var configuration = smallConfiguration(scratch)
      configuration.host = host
      #expect(throws: CollectorError.self) { try Collector(configuration) }
      // Nothing is left behind for a configuration that is refused.
      #expect(!FileManager.default.fileExists(atPath: scratch.path + "/log"))
      configuration.allowsRemote = true
      try configuration.check()
    }

    @Test func `limits out of range are refused`() {
      let changes: [(inout Collector.Configuration) -> Void] = [
        { $0.port = 65_536 }, { $0.maximumBodyBytes = 1 }, { $0.maximumBufferedBytes = 1 },
        { $0.maximumEventBytes = 1 },
        { $0.maximumConnections = 0 }, { $0.requestTime = .zero }, { $0.idleTime = .zero },
      ]
      for change in changes {
        var configuration = Collector.Configuration(directory: "/nowhere")
        change(&configuration)
        #expect(throws: CollectorError.self) { try configuration.check() }
      }
    }

    @Test func `an answer waits for the disk where power loss is provided for`() async throws {
      try await withCollector {
        $0.durability = .powerLoss
      } _: { collector, client in
        let events = (0..<100).map { segmentEvent("m-\($0)") }
        let answer = try await client.post("/v1/batch", segmentBatch(events))
        #expect(answer.status == 200)
        #expect(collector.store.durableOffset == 100)
      }
    }

    @Test func `an event that the log cannot hold is rejected by itself`() async throws {
      try await withCollector {
        $0.maximumEventBytes = 4 << 10
      } _: { collector, client in
        let large = "{\"id\":\"2\",\"name\":\"n\",\"fields\":{\"t\":\"\(String(repeating: "x", count: 5_000))\"}}"
        let deep = String(repeating: "[", count: 60) + String(repeating: "]", count: 60)
        let lines = [
          #"{"id":"1","name":"n","fields":{}}"#, large, "{\"id\":\"3\",\"name\":\"n\",\"fields\":{\"d\":\(deep)}}",
          #"{"id":"4","name":"n","fields":{}}"#,
        ]
        let answer = try await client.post("/events", lines.joined(separator: "\n"))
        #expect(answer.status == 200)
        #expect(answer.json["accepted"] as? Int == 2)
        #expect(try collector.events().map(\.id) == ["1", "4"])
        #expect(try collector.rejected().map(\.id) == ["2", nil])
        #expect(try collector.rejected().map(\.index) == [1, 2])
      }
    }

    @Test func `a value that nests deeper than a log takes is kept as text`() async throws {
      try await withCollector { collector, client in
        for depth in [15, 16, 40, 60] {
          let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
          let body = "{\"id\":\"\(depth)\",\"name\":\"n\",\"fields\":{\"d\":\(value)}}"
          let answer = try await client.post("/events", body)
          #expect(answer.status == (depth == 60 ? 400 : 200))
        }
        let events = try collector.events()
        #expect(events.map(\.id) == ["15", "16", "40"])
        #expect(events.map { FieldValue.object($0.properties).depth } == [16, 17, 41])
        let reader = try EventReader(directory: collector.configuration.directory)
        while let stored = try reader.next() {
          guard case .string? = stored.fields["properties"] else { continue }
          #expect(stored.fields["id"] != "15")
        }
      }
    }

    @Test func `a full log tells clients to come again`() async throws {
      let scratch = try Scratch()
      var configuration = smallConfiguration(scratch)
      configuration.byteLimit = 16 << 20
      let collector = try Collector(configuration)
      let client = RawClient(port: try await collector.start())
      let text = String(repeating: "x", count: 20_000)
      let lines = (0..<200).map { "{\"id\":\"\($0)\",\"name\":\"n\",\"fields\":{\"t\":\"\(text)\"}}" }
      let body = lines.joined(separator: "\n")
      var taken = 0
      var last = RawAnswer()
      for _ in 0..<40 {
        last = try await client.post("/events", body)
        guard last.status == 200 else { break }
        taken += lines.count
      }
      #expect(last.status == 503)
      #expect(last.headers["retry-after"] == "1")
      // What has no room in the log is kept in the lanes, for the next opening.
      await #expect(throws: WeirError.self) { try await collector.stop() }
      configuration.byteLimit = nil
      let next = try Collector(configuration)
      #expect(try next.events().count >= taken)
      try await next.stop()
    }

    @Test func `a contract flags an event that is against it, and takes it`() async throws {
      // A vendor's form has neither the kind nor the parts of the context where a log has them.
      let contract = Contract("shop", version: "1", requiresKind: true) {
        Mandatory("context.globals.app")
      } events: {
        EventRule("paid", kind: .systemAction) {
          Mandatory("context.user")
          Mandatory("amount", .integer, .range(1...))
          Optionally("when", .date)
        }
        EventRule("opened") {}
        EventRule("seen", open: true) {}
      }
      try await withCollector {
        $0.contract = contract
      } _: { collector, client in
        let events = [
          segmentEvent("1", "paid", properties: #"{"amount":5,"when":"2026-11-21"}"#),
          segmentEvent("2", "paid", properties: #"{"amount":0}"#), segmentEvent("3", "paid", properties: #"{"x":1}"#),
          segmentEvent("4", "opened", properties: "{}"), segmentEvent("5", "opened", properties: #"{"x":1}"#),
          segmentEvent("6", "seen", properties: #"{"x":1}"#), segmentEvent("7", "unheard", properties: "{}"),
          // What Weir adds to an event, and the notice that events are missing, are not the program's.
          segmentEvent("8", "opened", properties: #"{"weir_kind":"page_view","weir_defaulted":["x"]}"#),
          segmentEvent("9", "seen", properties: #"{"weir_duplicate_of":["x"]}"#),
          segmentEvent("10", "weir.gap", properties: #"{"reason":"full","dropped":7}"#),
        ]
        #expect(try await client.post("/v1/batch", segmentBatch(events)).status == 200)
        #expect(try collector.events().count == 10)
        #expect(try collector.events().last?.name == "weir.gap")
        let page = try await client.get("/_weir/violations").json["events"] as? [[String: Any]] ?? []
        let found = page.map {
          "\($0["event"] as? Int ?? -1) \($0["field"] as? String ?? "") \($0["rule"] as? String ?? "")"
        }
        #expect(
          found == [
            "1 amount range 1...", "2 amount mandatory", "2 x unknown field", "4 x unknown field", "6  unknown event",
          ])
      }
    }
  }
#endif
