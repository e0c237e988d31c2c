// A log goes through a stream into another log, each event once; and what servers refuse is told, and not lost.

#if NATS
  import Foundation
  import TestSupport
  import Testing
  import Weir
  import WeirDelivery
  import WeirFleet

  @testable import WeirNATS

  private let isThere = NATSServer.binary != nil

  @Suite(.enabled(if: isThere, "nats-server is not installed"), .serialized)
  struct NATSDeliveryTests {
    /// A log, its dispatcher and a server.
    private final class Scene {
      let directory: String
      let server: NATSServer
      let tracker: Tracker
      let dispatcher: Dispatcher
      var configuration: NATSConfiguration

      init(_ directory: String, stream: String = "events", _ more: String = "") throws {
        self.directory = directory
        server = try NATSServer(directory + "/server", more)
        configuration = try NATSConfiguration(server.address, stream: stream)
        tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
        dispatcher = try Dispatcher(tracker, configuration: dispatcherConfiguration())
        try dispatcher.start()
      }

      func add() throws {
        try dispatcher.add(batchesTo: try BrokerBatchProvider.nats(configuration, host: "web-1"), options: soon())
      }

      var entry: Ledger.Entry? { dispatcher.ledger["nats"] }

      var isStopped: Bool { if case .stopped = entry?.state { true } else { false } }

      /// Waits for an error with a text, and that nothing is lost by it.
      func awaitError(_ text: String, isStop: Bool, _ count: UInt64) async throws {
        let isTold = await eventually {
          guard let entry, let error = entry.error else { return false }
          if case .stopped = entry.state { return isStop && error.contains(text) }
          return !isStop && error.contains(text)
        }
        #expect(isTold, "\(String(describing: entry))")
        #expect(entry.map { $0.acknowledged + $0.pending } == count, "\(String(describing: entry))")
      }

      /// Waits until everything is delivered, and compares what a collector finds.
      func check(_ ids: [EventID], missing: UInt64 = 0) async throws {
        dispatcher.resume("nats")
        let isDone = await eventually { entry?.pending == 0 }
        #expect(isDone, "\(String(describing: entry))")
        _ = await dispatcher.shutdown(budget: .seconds(60))
        let events = try collect(NATSStreamSource(configuration), in: directory + "/fleet", missing: missing)
        #expect(events.map(\.id) == ids)
        #expect(events.allSatisfy { $0.host == "web-1" })
      }
    }

    @Test func `a log goes through a stream into another log`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events")
        try scene.add()
        let first = try capture(3_000, in: scene.tracker)
        #expect(await eventually { scene.entry?.pending == 0 })
        #expect(scene.entry?.durability?.contains("written by 1 server") == true)
        // Killed with what it has, and back.
        scene.server.kill()
        let second = try capture(2_000, in: scene.tracker)
        try scene.server.start()
        try await scene.check(first + second)
        // A second collector begins anew; the first has nothing more to do.
        let again = try collect(NATSStreamSource(scene.configuration), in: directory + "/fleet")
        #expect(again.count == 5_000)
        let status = try #require(FleetStatus.read(in: directory + "/fleet"))
        #expect(status.rows.map(\.host) == ["web-1"])
        #expect(status.rows.first?.events == 5_000)
        #expect(status.rows.first?.pending == 0)
      }
    }

    @Test func `a log and its copy, which give the same offsets to other events, both deliver all they have`()
      async throws
    {
      try await withDirectoryAsync { directory in
        let server = try NATSServer(directory + "/server")
        try server.makeStream("events")
        let configuration = try NATSConfiguration(server.address, stream: "events")
        var ids: Set<EventID> = []
        do {
          let tracker = try Tracker(directory: directory + "/a", configuration: quiet { $0.whenFull = .block })
          ids.formUnion(try capture(10, in: tracker))
          try tracker.close()
        }
        try FileManager.default.copyItem(atPath: directory + "/a", toPath: directory + "/b")
        for name in ["a", "b"] {
          let tracker = try Tracker(directory: directory + "/" + name, configuration: quiet { $0.whenFull = .block })
          ids.formUnion(try capture(10, in: tracker))
          let dispatcher = try Dispatcher(tracker, configuration: dispatcherConfiguration())
          try dispatcher.start()
          try dispatcher.add(batchesTo: try BrokerBatchProvider.nats(configuration, host: name), options: soon())
          _ = await dispatcher.shutdown(budget: .seconds(60))
          #expect(dispatcher.ledger["nats"]?.pending == 0)
          try tracker.close()
        }
        let events = try collect(NATSStreamSource(configuration), in: directory + "/fleet")
        #expect(ids.count == 30)
        #expect(events.map(\.id).count == 30 && Set(events.map(\.id)) == ids)
      }
    }

    @Test func `a stream that went back, and grew beyond what was read, is read from its beginning`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events")
        try scene.add()
        /// Makes a message of each call.
        func deliver(_ messages: Int) async throws -> [EventID] {
          var ids: [EventID] = []
          for _ in 0..<messages {
            ids += try capture(10, in: scene.tracker)
            #expect(await eventually { scene.entry?.pending == 0 })
          }
          return ids
        }
        let store = directory + "/server/store"
        var ids = try await deliver(2)
        scene.server.kill()
        try FileManager.default.copyItem(atPath: store, toPath: store + ".old")
        try scene.server.start()
        ids += try await deliver(3)
        let first = try collect(NATSStreamSource(scene.configuration), in: directory + "/fleet")
        #expect(first.map(\.id) == ids)
        scene.server.kill()
        try FileManager.default.removeItem(atPath: store)
        try FileManager.default.moveItem(atPath: store + ".old", toPath: store)
        try scene.server.start()
        ids += try await deliver(9)
        try await scene.check(ids)
      }
    }

    @Test func `events go as JSON, each in a message`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events")
        try scene.dispatcher.add(try BrokerProvider.nats(scene.configuration, host: "web-1"))
        let ids = try capture(50, in: scene.tracker)
        #expect(await eventually { scene.entry?.pending == 0 })
        _ = await scene.dispatcher.shutdown(budget: .seconds(60))
        let source = NATSStreamSource(scene.configuration)
        try source.open { _ in nil }
        var found: [String] = []
        while found.count < 50, case .message(let message) = try source.next(within: .seconds(30)) {
          let object = try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any]
          found.append(object?["id"] as? String ?? "")
          #expect(message.headers["Nats-Msg-Id"] == found.last)
        }
        source.close()
        #expect(found == ids.map(\.description))
      }
    }

    // MARK: Bad servers

    @Test func `a stream that is not there is told, and made later`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.add()
        let ids = try capture(100, in: scene.tracker)
        try await scene.awaitError("there is no stream events", isStop: true, 100)
        try scene.server.makeStream("events")
        try await scene.check(ids)
      }
    }

    @Test func `a stream that takes other subjects is told`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events", subjects: "orders.*.paid")
        try scene.add()
        let ids = try capture(100, in: scene.tracker)
        try await scene.awaitError("takes the subjects orders.*.paid", isStop: true, 100)
        try scene.server.makeStream("events", update: true)
        try await scene.check(ids)
      }
    }

    @Test func `a stream that acknowledges what nobody keeps is told`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events", more: #","retention":"interest""#)
        try scene.add()
        _ = try capture(100, in: scene.tracker)
        try await scene.awaitError("retention interest", isStop: true, 100)
        _ = await scene.dispatcher.shutdown(budget: .zero)
      }
    }

    @Test func `a stream that is full loses nothing`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events", more: #","max_msgs":2"#)
        try scene.add()
        var ids: [EventID] = []
        for _ in 0..<3 {
          ids += try capture(100, in: scene.tracker)
          _ = await scene.dispatcher.flush(timeout: .milliseconds(200))
        }
        try await scene.awaitError("is full: maximum messages exceeded", isStop: false, 300)
        try scene.server.makeStream("events", update: true)
        try await scene.check(ids)
      }
    }

    private static func users(_ password: String, _ permissions: String = "") -> String {
      """
      authorization { users: [
        { user: "admin", password: "admin" }, { user: "weir", password: "\(password)" \(permissions) }
      ] }
      """
    }

    @Test func `a user who may not publish is told`() async throws {
      try await withDirectoryAsync { directory in
        let denied = Self.users("key", #", permissions: { publish: { deny: ["events.>"] } }"#)
        let scene = try Scene(directory, denied)
        try scene.server.makeStream("events", user: "admin")
        scene.configuration.authentication = .user("weir", password: Secret("key"))
        try scene.add()
        let ids = try capture(100, in: scene.tracker)
        try await scene.awaitError("Permissions Violation for Publish", isStop: true, 100)
        try scene.server.reload(Self.users("key"))
        try await scene.check(ids)
      }
    }

    @Test func `a user who may only publish delivers, and what is promised is unknown`() async throws {
      try await withDirectoryAsync { directory in
        let denied = Self.users("key", #", permissions: { publish: ["events.>"] }"#)
        let scene = try Scene(directory, denied)
        try scene.server.makeStream("events", user: "admin")
        scene.configuration.authentication = .user("weir", password: Secret("key"))
        try scene.add()
        let ids = try capture(100, in: scene.tracker)
        #expect(await eventually { scene.entry?.pending == 0 })
        #expect(scene.entry?.durability?.hasPrefix("unknown") == true)
        scene.configuration.authentication = .user("admin", password: Secret("admin"))
        try await scene.check(ids)
      }
    }

    @Test func `a password that is changed while messages are on the way is told`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory, Self.users("key"))
        try scene.server.makeStream("events", user: "admin")
        scene.configuration.authentication = .user("weir", password: Secret("key"))
        try scene.add()
        var ids = try capture(1_000, in: scene.tracker)
        #expect(await eventually { scene.entry?.pending == 0 })
        try scene.server.reload(Self.users("another"))
        // Until a message meets the change.
        for _ in 0..<200 where !scene.isStopped {
          ids += try capture(10, in: scene.tracker)
          try await Task.sleep(for: .milliseconds(50))
        }
        try await scene.awaitError("the server knows no such user", isStop: true, UInt64(ids.count))
        try scene.server.reload(Self.users("key"))
        try await scene.check(ids)
      }
    }

    @Test func `a server that takes less than a part gets smaller ones, and an event that is too large is kept`()
      async throws
    {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory, "max_payload: 32768")
        try scene.server.makeStream("events")
        try scene.add()
        var random = Seeded(seed: 7)
        let noise = String(
          (0..<50_000).map { _ in "abcdefghijklmnopqrstuvwxyz0123456789".randomElement(using: &random)! })
        let before = try capture(1_000, in: scene.tracker)
        #expect(scene.tracker.track("large", fields: ["text": .string(noise)]).id != nil)
        let after = try capture(1_000, in: scene.tracker)
        #expect(await eventually { scene.entry?.pending == 0 })
        #expect(scene.entry?.rejected == 1)
        try await scene.check(before + after, missing: 1)
      }
    }

    @Test func `a server that is replaced by one that takes less gets smaller parts`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events")
        try scene.add()
        let before = try capture(10, in: scene.tracker)
        #expect(await eventually { scene.entry?.pending == 0 })
        scene.server.kill()
        var random = Seeded(seed: 8)
        let ids = (0..<2_000).compactMap { _ in
          scene.tracker.track(
            "e",
            fields: [
              "n": .int(Int64.random(in: .min ... .max, using: &random)),
              "text": .string("\(UInt64.random(in: .min ... .max, using: &random))"),
            ]
          ).id
        }
        try scene.server.start("max_payload: 32768")
        try await scene.check(before + ids)
      }
    }

    @Test func `a server without TLS gets nothing in the clear`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        try scene.server.makeStream("events")
        let plain = scene.configuration
        scene.configuration = try NATSConfiguration("tls://127.0.0.1:\(scene.server.port)", stream: "events")
        try scene.add()
        _ = try capture(10, in: scene.tracker)
        try await scene.awaitError("the server has no TLS", isStop: true, 10)
        _ = await scene.dispatcher.shutdown(budget: .zero)
        let source = NATSStreamSource(plain)
        try source.open { _ in nil }
        #expect(source.behind == 0)
      }
    }
  }

  struct StreamInfoTests {
    @Test(
      arguments: [
        (["events.>"], nil, "events"), (["a.>", "events.>"], nil, "events"), (["a.b.>"], nil, "a.b"),
        (["a.>", "b.*.*"], "b", "b"), (["*.*.*"], nil, "events"), ([], nil, "events"),
      ] as [([String], String?, String)])
    func `subjects begin as the stream has them`(_ subjects: [String], _ wanted: String?, _ prefix: String) throws {
      let info = StreamInfo(config: StreamInfo.Configuration(subjects: subjects))
      #expect(try info.subject(wanted, of: "events") == prefix)
    }

    @Test(
      arguments: [(["events"], nil), (["a.>"], "b"), (["events.*"], nil), (["events.x.*"], nil)]
        as [([String], String?)])
    func `a subject that the stream does not take is refused`(_ subjects: [String], _ wanted: String?) throws {
      let info = StreamInfo(config: StreamInfo.Configuration(subjects: subjects))
      #expect(throws: DeliveryStopped.self) { try info.subject(wanted, of: "events") }
    }

    @Test(arguments: [
      ("nats://h", ["h:4222"]), ("TLS://a:1,b,c:3", ["a:1", "b:4222", "c:3"]), ("nats://[::1]:5", ["[::1]:5"]),
    ])
    func `addresses name servers`(_ text: String, _ hosts: [String]) throws {
      #expect(try NATSConfiguration(text, stream: "s").address.hosts == hosts)
    }

    @Test(arguments: ["nats:/h", "http://h", "nats://", "nats://h:0", "nats://h,", "nats://u:p@h", "nats://h/x"])
    func `other addresses are refused`(_ text: String) {
      #expect(throws: WeirError.self) { try NATSConfiguration(text, stream: "s") }
    }

    @Test(arguments: ["", "a b", "a.b", "a*", "a>", "a/b"])
    func `names that no stream has are refused`(_ name: String) {
      #expect(throws: WeirError.self) { try NATSConfiguration("nats://h", stream: name) }
    }
  }
#endif
