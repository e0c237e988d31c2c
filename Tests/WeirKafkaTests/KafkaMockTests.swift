// A log goes through a topic into another log, each event once; and what brokers refuse is told, and not lost. The
// brokers are librdkafka's own, in memory: they keep some 5 MiB a partition, and drop nothing that comes twice.

#if Kafka
  import CKafka
  import Foundation
  import Synchronization
  import TestSupport
  import Testing
  import Weir
  import WeirDelivery
  import WeirFleet

  @testable import WeirKafka

  /// A cluster in memory.
  private final class MockCluster {
    static let produce: Int16 = 0
    static let fetch: Int16 = 1

    private let handle: OpaquePointer
    private let cluster: OpaquePointer
    private let brokers: Int32

    init(brokers: Int32 = 3) throws {
      let options = rd_kafka_conf_new()
      rd_kafka_conf_set_log_cb(options) { _, _, _, _ in }
      var text = [CChar](repeating: 0, count: 512)
      handle = try #require(rd_kafka_new(RD_KAFKA_PRODUCER, options, &text, text.count))
      cluster = try #require(rd_kafka_mock_cluster_new(handle, brokers))
      self.brokers = brokers
    }

    deinit {
      rd_kafka_mock_cluster_destroy(cluster)
      rd_kafka_destroy(handle)
    }

    func configuration(topic: String = "events") throws -> KafkaConfiguration {
      try KafkaConfiguration("kafka://\(String(cString: rd_kafka_mock_cluster_bootstraps(cluster)))/\(topic)")
    }

    func makeTopic(_ topic: String = "events", partitions: Int32 = 3) {
      #expect(
        rd_kafka_mock_topic_create(cluster, topic, partitions, brokers) == RD_KAFKA_RESP_ERR_NO_ERROR)
    }

    /// The next requests of a kind fail, each with one of the errors.
    func fail(_ request: Int16, _ errors: [rd_kafka_resp_err_t]) {
      rd_kafka_mock_push_request_errors_array(cluster, request, errors.count, errors)
    }

    func heal(_ request: Int16) { rd_kafka_mock_clear_request_errors(cluster, request) }

    func fail(topic: String, _ error: rd_kafka_resp_err_t) { rd_kafka_mock_topic_set_error(cluster, topic, error) }

    /// Gives a partition another leader; none with -1.
    func lead(_ partition: Int32, by broker: Int32) {
      #expect(
        rd_kafka_mock_partition_set_leader(cluster, "events", partition, broker) == RD_KAFKA_RESP_ERR_NO_ERROR)
    }

    func setAll(up isUp: Bool) {
      for broker in 1...brokers {
        _ = isUp ? rd_kafka_mock_broker_set_up(cluster, broker) : rd_kafka_mock_broker_set_down(cluster, broker)
      }
    }
  }

  /// A log, its dispatcher and a cluster.
  private final class Scene {
    let directory: String
    let cluster: MockCluster
    let tracker: Tracker
    let dispatcher: Dispatcher
    let configuration: KafkaConfiguration
    let lines = LoggedLines()

    init(_ directory: String) throws {
      self.directory = directory
      cluster = try MockCluster()
      configuration = try cluster.configuration()
      tracker = try Tracker(directory: directory + "/log", configuration: quiet { $0.whenFull = .block })
      var options = Dispatcher.Configuration()
      options.logger = lines.logger
      options.cursorInterval = .zero
      dispatcher = try Dispatcher(tracker, configuration: options)
      try dispatcher.start()
    }

    func add() throws {
      var options = DeliveryOptions.asParts
      options.flush.interval = .milliseconds(10)
      options.backoff.least = .milliseconds(10)
      options.backoff.most = .milliseconds(200)
      options.backoff.openFor = .milliseconds(50)
      try dispatcher.add(batchesTo: try BrokerBatchProvider.kafka(configuration, host: "web-1"), options: options)
    }

    var entry: Ledger.Entry? { dispatcher.ledger["kafka"] }

    func capture(_ count: Int) throws -> [EventID] {
      let ids = (0..<count).compactMap { number in
        tracker.track("e", fields: ["n": .int(Int64(number)), "text": .string("some text \(number % 7)")]).id
      }
      #expect(ids.count == count)
      try tracker.drain()
      return ids
    }

    /// Waits until everything is delivered, and compares what a collector finds.
    func check(_ ids: [EventID]) async throws {
      let isDone = await eventually { entry?.pending == 0 }
      #expect(isDone, "\(String(describing: entry))")
      _ = await dispatcher.shutdown(budget: patience)
      let events = try collect()
      #expect(events.map(\.id) == ids)
      #expect(events.allSatisfy { $0.host == "web-1" })
    }

    /// Collects everything that the topic has, and returns the events of the log.
    func collect() throws -> [StoredEvent] {
      let reader = FleetReader(directory: directory + "/fleet")
      let end = ContinuousClock.now + patience
      var calm = 0
      try reader.run(KafkaTopicSource(configuration)) {
        calm = reader.report.isAtEnd ? calm + 1 : 0
        return calm > 3 || ContinuousClock.now > end
      }
      #expect(reader.report.trouble == nil)
      #expect(reader.report.missing == 0)
      return try EventReader(directory: directory + "/fleet").all().filter { !$0.isNotice }
    }
  }

  extension SendOutcome {
    fileprivate var isFailed: Bool { if case .failed = self { true } else { false } }
    fileprivate var isTooLarge: Bool { if case .tooLarge = self { true } else { false } }
  }

  @Suite(.serialized)
  struct KafkaMockTests {
    @Test func `a log goes through a topic into another log`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        scene.cluster.makeTopic()
        try scene.add()
        let first = try scene.capture(3_000)
        #expect(await eventually { scene.entry?.pending == 0 })
        // This cluster tells no configuration of a topic.
        #expect(scene.entry?.durability?.hasPrefix("unknown: in the page cache of 1 to 3 brokers") == true)
        let second = try scene.capture(2_000)
        try await scene.check(first + second)
        // A second collector goes on at the end of the log, and has nothing more to do.
        #expect(try scene.collect().count == 5_000)
        let status = try #require(FleetStatus.read(in: directory + "/fleet"))
        #expect(status.rows.map(\.host) == ["web-1"])
        #expect(status.rows.first?.events == 5_000)
      }
    }

    @Test func `events go as JSON, each in a message`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        scene.cluster.makeTopic(partitions: 1)
        try scene.dispatcher.add(try BrokerProvider.kafka(scene.configuration, host: "web-1"))
        let ids = try scene.capture(50)
        #expect(await eventually { scene.entry?.pending == 0 })
        _ = await scene.dispatcher.shutdown(budget: patience)
        let found = try read(scene.configuration, 50) { _ in nil }
        let names = try found.map { message in
          let object = try JSONSerialization.jsonObject(with: Data(message.body)) as? [String: Any]
          #expect(message.headers["Content-Type"] == "application/json")
          #expect(message.headers["Weir-Id"] == object?["id"] as? String)
          return object?["id"] as? String
        }
        #expect(names == ids.map(\.description))
      }
    }

    // MARK: Bad brokers

    @Test func `what brokers refuse for a while is delivered later`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        scene.cluster.makeTopic()
        try scene.add()
        var ids = try scene.capture(1_000)
        #expect(await eventually { scene.entry?.pending == 0 })
        for error in [
          RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
          RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_INVALID_MSG,
          RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER,
        ] {
          scene.cluster.fail(MockCluster.produce, [error, error])
          ids += try scene.capture(500)
          let isDone = await eventually { scene.entry?.pending == 0 }
          #expect(isDone, "\(error): \(String(describing: scene.entry))")
          scene.cluster.heal(MockCluster.produce)
        }
        // A broken connection while the topic is read.
        scene.cluster.fail(
          MockCluster.fetch, [RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION])
        try await scene.check(ids)
      }
    }

    @Test func `brokers that are down for a while get everything once they are back`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        scene.cluster.makeTopic()
        try scene.add()
        let before = try scene.capture(1_000)
        #expect(await eventually { scene.entry?.pending == 0 })
        scene.cluster.setAll(up: false)
        let meanwhile = try scene.capture(1_000)
        try await Task.sleep(for: .seconds(2))
        #expect(scene.entry?.acknowledged == 1_000)
        scene.cluster.setAll(up: true)
        let after = try scene.capture(1_000)
        try await scene.check(before + meanwhile + after)
      }
    }

    @Test func `brokers that stay down are told as the reason, and a call ends`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic(partitions: 1)
      let sender = try KafkaSender(cluster.configuration())
      #expect(try await sender.send([message(0)]) == [.stored])
      cluster.setAll(up: false)
      let outcomes = try await sender.send([message(1), message(2)])
      #expect(outcomes.count == 2)
      for outcome in outcomes {
        guard case .failed(let reason) = outcome else {
          Issue.record("\(outcome)")
          continue
        }
        #expect(reason.contains("no acknowledgement for 20 s"), "\(reason)")
        #expect(reason.contains("Connection refused") || reason.contains("Disconnected"), "\(reason)")
      }
      await #expect(throws: BrokerFailure.self) { try await sender.connect() }
      cluster.setAll(up: true)
      #expect(try await sender.send([message(1), message(2)]) == [.stored, .stored])
      await sender.disconnect()
      let found = try read(cluster.configuration(), 3) { _ in nil }
      #expect(found.map(\.body) == (0..<3).map { message($0).body })
    }

    @Test func `a task that is cancelled ends its call`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic(partitions: 1)
      let sender = try KafkaSender(cluster.configuration())
      #expect(try await sender.send([message(0)]) == [.stored])
      cluster.setAll(up: false)
      // A call gives up by itself after 20 s, and says so: where the sleep took longer, nothing was cancelled.
      for _ in 0..<5 {
        let call = Task { try await sender.send([message(1)]) }
        try await Task.sleep(for: .milliseconds(300))
        call.cancel()
        guard case .failed(let reason)? = try await call.value.first else {
          Issue.record("the brokers are down, and have the message")
          return
        }
        if !reason.contains("no acknowledgement for 20 s") { return }
      }
      Issue.record("the call ended by itself alone")
    }

    @Test func `what a topic takes only one by one is sent so, and what it does not take is told`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic(partitions: 1)
      let sender = try KafkaSender(cluster.configuration())
      let before = try await sender.connect().largestMessage
      let large = message(0, bytes: 300_000)
      // Perhaps only the batch was too large.
      cluster.fail(MockCluster.produce, [RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE])
      #expect(try await sender.send([large]).first?.isFailed == true)
      // On its own it is the message.
      cluster.fail(MockCluster.produce, [RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE])
      #expect(try await sender.send([large]).first?.isTooLarge == true)
      let after = try await sender.connect().largestMessage
      #expect(after < 300_000)
      #expect(after < before)
      #expect(try await sender.send([message(1), large, message(2)]) == [.stored, .stored, .stored])
      // Beyond all bounds, for librdkafka itself.
      let outcomes = try await sender.send([message(3), message(4, bytes: 65 << 20), message(5)])
      #expect(outcomes.first == .stored)
      #expect(outcomes.last == .stored)
      #expect(outcomes[1].isTooLarge, "\(outcomes)")
    }

    @Test func `a part that is too large is cut, and nothing is lost`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        scene.cluster.makeTopic()
        scene.cluster.fail(
          MockCluster.produce, [RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE])
        // All of it is there when delivery begins: a part of a few events could not be cut to half its size.
        let ids = try scene.capture(3_000)
        try scene.add()
        let isDone = await eventually { scene.entry?.pending == 0 }
        #expect(isDone, "\(String(describing: scene.entry))")
        #expect(scene.entry?.rejected == 0)
        try await scene.check(ids)
      }
    }

    @Test func `a user who may not write is told, and nothing is lost`() async throws {
      try await withDirectoryAsync { directory in
        let scene = try Scene(directory)
        scene.cluster.makeTopic()
        try scene.add()
        var ids = try scene.capture(100)
        #expect(await eventually { scene.entry?.pending == 0 })
        scene.cluster.fail(MockCluster.produce, [RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED])
        ids += try scene.capture(100)
        // The line stays. The state may be over when the test looks, because a stopped delivery is tried again.
        let isTold = await eventually {
          scene.lines.lines.withLock { lines in
            lines.contains { $0.text.contains("delivery is stopped") && $0.text.contains("allow the user") }
          }
        }
        #expect(isTold, "\(scene.lines.last)")
        scene.dispatcher.resume("kafka")
        try await scene.check(ids)
      }
    }

    @Test(arguments: [
      (RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, "there is no topic events"),
      (RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "allow the user Describe"),
    ])
    func `a topic that is not there, or not for this user, is told`(_ error: rd_kafka_resp_err_t, _ text: String)
      async throws
    {
      let cluster = try MockCluster()
      cluster.makeTopic()
      cluster.fail(topic: "events", error)
      let sender = try KafkaSender(cluster.configuration())
      let stop = await #expect(throws: DeliveryStopped.self) { try await sender.connect() }
      #expect(stop?.reason.contains(text) == true)
      let source = KafkaTopicSource(try cluster.configuration())
      #expect(throws: DeliveryStopped.self) { try source.open { _ in nil } }
      cluster.fail(topic: "events", RD_KAFKA_RESP_ERR_NO_ERROR)
      #expect(try await sender.send([message(0)]) == [.stored])
    }

    @Test func `properties that delivery depends on can not be set`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic()
      for (name, value) in [("acks", "1"), ("sasl.password", "p"), ("no.such.property", "1"), ("linger.ms", "x")] {
        var configuration = try cluster.configuration()
        configuration.properties = [name: value]
        let sender = try KafkaSender(configuration)
        let stop = await #expect(throws: DeliveryStopped.self) { try await sender.connect() }
        #expect(stop?.reason.contains(name) == true)
      }
    }

    // MARK: Positions

    @Test func `messages that the brokers have removed, and a partition that lost its end, are told`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic(partitions: 1)
      let sender = try KafkaSender(cluster.configuration())
      for number in 0..<6 {
        let messages = (0..<10).map { message(number * 10 + $0, bytes: 256 << 10) }
        #expect(try await sender.send(messages).allSatisfy { $0 == .stored })
      }
      await sender.disconnect()
      let source = KafkaTopicSource(try cluster.configuration())
      try source.open { name in name.hasSuffix("events/0") ? ReadPlace(next: 3) : nil }
      guard case .gone(let name, let positions) = try source.next(within: .seconds(60)) else {
        Issue.record("nothing is gone")
        return
      }
      #expect(name.hasSuffix("/events/0"))
      #expect(positions.lowerBound == 3)
      #expect(positions.upperBound > 3)
      #expect(source.behind == 60 - positions.upperBound)
      let found = try read(source, 60 - positions.count - 3)
      #expect(found.map(\.position) == Array(positions.upperBound..<60))
      #expect(found.allSatisfy { $0.headers["Weir-Id"] == "id-\($0.position)" })
      #expect(source.behind == 0)
      source.close()
      try source.open { _ in ReadPlace(next: 1_000) }
      guard case .restarted(_, let at) = try source.next(within: .seconds(60)) else {
        Issue.record("the partition is as it was")
        return
      }
      #expect(at == positions.upperBound)
      #expect(try read(source, 1).first?.position == at)
      // At the end there is nothing, and no error.
      try source.open { _ in ReadPlace(next: 60) }
      guard case .nothing = try source.next(within: .seconds(1)) else {
        Issue.record("a message came")
        return
      }
      #expect(source.behind == 0)
    }

    @Test func `brokers that stay down end the reading, and it goes on where it was`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic(partitions: 1)
      let sender = try KafkaSender(cluster.configuration())
      #expect(try await sender.send((0..<3).map { message($0) }).allSatisfy { $0 == .stored })
      let source = KafkaTopicSource(try cluster.configuration())
      try source.open { _ in nil }
      #expect(try read(source, 3).count == 3)
      cluster.setAll(up: false)
      let end = ContinuousClock.now + patience
      #expect(throws: BrokerFailure.self) {
        while ContinuousClock.now < end { _ = try source.next(within: .milliseconds(200)) }
      }
      #expect(throws: BrokerFailure.self) { try source.open { _ in ReadPlace(next: 3) } }
      cluster.setAll(up: true)
      #expect(try await sender.send([message(3)]) == [.stored])
      try source.open { _ in ReadPlace(next: 3) }
      #expect(try read(source, 1).first?.body == message(3).body)
    }

    @Test func `a partition without a leader is read once it has one, and the others meanwhile`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic(partitions: 2)
      let sender = try KafkaSender(cluster.configuration())
      #expect(try await sender.send((0..<40).map { message($0, host: "web-\($0)") }).allSatisfy { $0 == .stored })
      cluster.lead(1, by: -1)
      let source = KafkaTopicSource(try cluster.configuration())
      try source.open { _ in nil }
      #expect(source.behind == nil)
      var found = try read(source, 1)
      #expect(found.first?.source.hasSuffix("/0") == true)
      cluster.lead(1, by: 2)
      found += try read(source, 39)
      #expect(Set(found.map { $0.headers["Weir-Id"] }).count == 40)
      #expect(source.behind == 0)
      // Without any leader there is nothing to read.
      source.close()
      cluster.lead(0, by: -1)
      cluster.lead(1, by: -1)
      #expect(throws: BrokerFailure.self) { try source.open { _ in nil } }
    }

    @Test func `looking for new partitions disturbs no message`() async throws {
      let cluster = try MockCluster()
      cluster.makeTopic()
      let sender = try KafkaSender(cluster.configuration())
      #expect(try await sender.send((0..<500).map { message($0, host: "web-\($0)") }).allSatisfy { $0 == .stored })
      let source = KafkaTopicSource(try cluster.configuration())
      try source.open { _ in nil }
      var found = try read(source, 10)
      // An answer may wait behind one with messages.
      source.lookInterval = .zero
      try source.open { name in found.last { $0.source == name }.map { ReadPlace(next: $0.position + 1) } }
      found += try read(source, 10)
      source.lookInterval = .seconds(3_600)
      found += try read(source, 480)
      #expect(Set(found.map { $0.headers["Weir-Id"] }).count == 500)
    }

    // MARK: Messages

    private func message(_ number: Int, bytes: Int = 100, host: String = "web-1") -> OutgoingMessage {
      var body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bytes)
      body.replaceSubrange(0..<8, with: Array("m\(number)       ".utf8.prefix(8)))
      return OutgoingMessage(place: [host, "0"], id: "id-\(number)", headers: [("A", "ä")], body: body)
    }

    private func read(_ configuration: KafkaConfiguration, _ count: Int, from place: (String) -> ReadPlace?) throws
      -> [ReceivedMessage]
    {
      let source = KafkaTopicSource(configuration)
      defer { source.close() }
      try source.open(from: place)
      return try read(source, count)
    }

    /// Reads so many messages.
    private func read(_ source: KafkaTopicSource, _ count: Int) throws -> [ReceivedMessage] {
      var found: [ReceivedMessage] = []
      let end = ContinuousClock.now + patience
      while found.count < count, ContinuousClock.now < end {
        if case .message(let message) = try source.next(within: .seconds(1)) { found.append(message) }
      }
      return found
    }
  }
#endif
