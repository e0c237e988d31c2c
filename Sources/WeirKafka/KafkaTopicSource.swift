// KafkaTopicSource: reads the messages of a topic, from positions of its own.

#if Kafka
  import CKafka
  import Weir
  import WeirDelivery
  package import WeirFleet

  /// Reads all partitions of a topic without a group, and commits nothing: how far a topic is read is for the log to
  /// know. Whatever is odd ends in an error, and the next ``open(from:)`` begins where the log ends.
  ///
  /// Offsets may jump: a topic that is compacted, and one with transactions, has offsets without messages. What a
  /// host's log lacks, its parts tell.
  package final class KafkaTopicSource: MessageSource {
    /// A partition that could not be asked for its offsets is tried again after so long.
    private static let retryInterval = Duration.seconds(5)
    /// A broken connection that lasts longer is an error.
    private static let patience = Duration.seconds(10)
    private static let watermarkTime = Duration.seconds(3)

    private struct Partition {
      var source: String
      /// The offset at which reading goes on.
      var next: UInt64
      /// The offset after the last message, as of the start.
      var end: UInt64
    }

    private let configuration: KafkaConfiguration
    /// How often new partitions are looked for.
    var lookInterval = Duration.seconds(30)
    private var client: KafkaClient?
    private var cluster: String?
    private var partitions: [Int32: Partition] = [:]
    /// The positions of partitions that are not read yet, since they have no leader at present.
    private var waiting: [Int32: UInt64?] = [:]
    private var nextLook = Duration.zero
    private var lastHeard = Duration.zero
    private var news: [SourceNews] = []

    package init(_ configuration: KafkaConfiguration) { self.configuration = configuration }

    package var description: String { configuration.address.shown }

    package var behind: UInt64? {
      guard let client, waiting.isEmpty else { return nil }
      return partitions.reduce(0) { sum, entry in
        let end = client.knownEnd(of: entry.key, inTopic: configuration.topic) ?? entry.value.end
        return sum + (end > entry.value.next ? end - entry.value.next : 0)
      }
    }

    package func close() {
      client = nil
      partitions = [:]
      waiting = [:]
      news = []
    }

    package func open(from place: (String) -> ReadPlace?) throws {
      close()
      let client = try KafkaClient(
        configuration, RD_KAFKA_CONSUMER,
        [
          // No group is joined. librdkafka asks for a name nevertheless.
          ("group.id", "weir"), ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
          ("allow.auto.create.topics", "false"), ("auto.offset.reset", "error"), ("enable.partition.eof", "true"),
          ("check.crcs", "true"),
          // Weir sends without transactions, and one of others that hangs is nothing to wait for.
          ("isolation.level", "read_uncommitted"),
          ("queued.max.messages.kbytes", "8192"), ("queued.min.messages", "1000"),
          ("fetch.message.max.bytes", "1048576"), ("fetch.max.bytes", "8388608"),
        ])
      let topic = try client.topic(configuration.topic)
      cluster = client.cluster
      for number in topic.partitions.map(\.number) {
        waiting.updateValue(place(source(number))?.next, forKey: number)
      }
      try begin(topic, client)
      client.beginReading()
      lastHeard = KafkaClient.now
      self.client = client
    }

    private func source(_ partition: Int32) -> String {
      let name = "\(configuration.topic)/\(partition)"
      return cluster.map { "\($0)/\(name)" } ?? name
    }

    /// Begins to read the waiting partitions whose leaders answer. Throws if no partition is read then.
    private func begin(_ topic: KafkaClient.Topic, _ client: KafkaClient) throws {
      var new: [(Int32, UInt64)] = []
      var silent: Set<Int32> = [-1]
      var failure = BrokerFailure("no partition of the topic \(configuration.topic) has a leader")
      for partition in topic.partitions {
        guard let position = waiting[partition.number], !silent.contains(partition.leader) else { continue }
        do {
          let kept = try client.watermarks(
            of: partition.number, inTopic: configuration.topic, within: Self.watermarkTime)
          let start = note(position, kept, source(partition.number))
          partitions[partition.number] = Partition(
            source: source(partition.number), next: start, end: kept.upperBound)
          waiting[partition.number] = nil
          new.append((partition.number, start))
        } catch let error as BrokerFailure {
          silent.insert(partition.leader)
          failure = error
        }
      }
      if !new.isEmpty { try client.read(new, ofTopic: configuration.topic) }
      guard !partitions.isEmpty else { throw failure }
      nextLook = KafkaClient.now + (waiting.isEmpty ? lookInterval : Self.retryInterval)
    }

    /// Where to begin, given where reading ended and what the broker has.
    private func note(_ position: UInt64?, _ kept: Range<UInt64>, _ source: String) -> UInt64 {
      guard let position else { return kept.lowerBound }
      if position > kept.upperBound {
        // The partition has lost its end, and will use these offsets again.
        news.append(.restarted(source: source, at: kept.lowerBound))
        return kept.lowerBound
      }
      guard position < kept.lowerBound else { return position }
      news.append(.gone(source: source, positions: position..<kept.lowerBound))
      return kept.lowerBound
    }

    package func next(within time: Duration) throws -> SourceNews {
      if !news.isEmpty { return news.removeFirst() }
      guard let client else { throw BrokerFailure("the topic is not open") }
      let end = KafkaClient.now + time
      repeat {
        if KafkaClient.now >= nextLook { try look(client) }
        if !news.isEmpty { return news.removeFirst() }
        if let message = client.message(within: max(end - KafkaClient.now, .milliseconds(1))) {
          if let found = try take(message, client) { return found }
        } else {
          try lookForTrouble(client)
        }
      } while KafkaClient.now < end
      return .nothing
    }

    private func take(_ message: KafkaMessage, _ client: KafkaClient) throws -> SourceNews? {
      guard var partition = partitions[message.partition] else { return nil }
      switch message.error {
      case RD_KAFKA_RESP_ERR_NO_ERROR:
        heard(client)
        guard let offset = message.offset, offset >= partition.next else { return nil }
        partition.next = offset + 1
        partitions[message.partition] = partition
        return .message(
          ReceivedMessage(
            source: partition.source, position: offset, headers: message.headers, body: message.body))
      case RD_KAFKA_RESP_ERR__PARTITION_EOF:
        heard(client)
        // The last offsets may have no messages.
        partition.next = max(partition.next, message.offset ?? 0)
        partitions[message.partition] = partition
        return nil
      case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__TIMED_OUT:
        try lookForTrouble(client)
        return nil
      case let error:
        if let stop = KafkaClient.stop(error, topic: configuration.topic) { throw stop }
        throw BrokerFailure("\(partition.source): \(message.errorText)")
      }
    }

    private func heard(_ client: KafkaClient) {
      lastHeard = KafkaClient.now
      if client.trouble != nil { client.clearTrouble() }
    }

    /// Throws what keeps the client from its brokers, if it has done so for long.
    private func lookForTrouble(_ client: KafkaClient) throws {
      guard let trouble = client.trouble else { return }
      let silence = KafkaClient.now - max(lastHeard, trouble.since)
      if trouble.needsRepair, silence >= KafkaClient.grace { throw trouble.error }
      guard silence >= Self.patience else { return }
      // A topic may be silent as well, and a connection that is not needed broken. Any broker's answer tells.
      _ = try client.topic(configuration.topic, within: KafkaClient.grace)
    }

    /// Looks for new partitions.
    private func look(_ client: KafkaClient) throws {
      nextLook = KafkaClient.now + lookInterval
      let topic: KafkaClient.Topic
      do {
        topic = try client.topic(configuration.topic, within: .seconds(1))
      } catch is BrokerFailure {
        // If it lasts, the client tells so.
        return
      }
      for partition in topic.partitions where partitions[partition.number] == nil {
        if waiting[partition.number] == nil { waiting.updateValue(nil, forKey: partition.number) }
      }
      if !waiting.isEmpty { try begin(topic, client) }
    }
  }

  extension KafkaClient {
    /// The offset of the first message of a partition, and that after the last one.
    fileprivate func watermarks(of partition: Int32, inTopic topic: String, within time: Duration) throws
      -> Range<UInt64>
    {
      var (low, high): (Int64, Int64) = (-1, -1)
      let error = rd_kafka_query_watermark_offsets(handle, topic, partition, &low, &high, Self.milliseconds(time))
      guard error == RD_KAFKA_RESP_ERR_NO_ERROR, low >= 0, high >= low else {
        throw BrokerFailure("the offsets of the partition \(partition) of the topic \(topic): \(Self.text(error))")
      }
      return UInt64(low)..<UInt64(high)
    }

    /// The offset after the last message of a partition, as the last answer with messages said it.
    fileprivate func knownEnd(of partition: Int32, inTopic topic: String) -> UInt64? {
      var (low, high): (Int64, Int64) = (-1, -1)
      let error = rd_kafka_get_watermark_offsets(handle, topic, partition, &low, &high)
      return error == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? UInt64(high) : nil
    }

    /// Reads further partitions, from these offsets on.
    fileprivate func read(_ partitions: [(number: Int32, offset: UInt64)], ofTopic topic: String) throws {
      let list = rd_kafka_topic_partition_list_new(Int32(clamping: partitions.count))
      defer { rd_kafka_topic_partition_list_destroy(list) }
      for (number, offset) in partitions {
        rd_kafka_topic_partition_list_add(list, topic, number).pointee.offset = Int64(clamping: offset)
      }
      guard let error = rd_kafka_incremental_assign(handle, list) else { return }
      defer { rd_kafka_error_destroy(error) }
      throw BrokerFailure("reading the topic \(topic): \(String(cString: rd_kafka_error_string(error)))")
    }

    fileprivate func message(within time: Duration) -> KafkaMessage? {
      rd_kafka_consumer_poll(handle, max(1, Self.milliseconds(time))).map { KafkaMessage($0) }
    }
  }

  /// A message, or an error in its place. The client must outlive it.
  private final class KafkaMessage {
    private let message: UnsafeMutablePointer<rd_kafka_message_t>

    init(_ message: UnsafeMutablePointer<rd_kafka_message_t>) { self.message = message }

    deinit { rd_kafka_message_destroy(message) }

    var error: rd_kafka_resp_err_t { message.pointee.err }
    var errorText: String {
      rd_kafka_message_errstr(message).map { String(cString: $0) } ?? KafkaClient.text(error)
    }
    var partition: Int32 { message.pointee.partition }
    var offset: UInt64? { UInt64(exactly: message.pointee.offset) }

    var body: [UInt8] {
      guard let payload = message.pointee.payload else { return [] }
      return Array(UnsafeRawBufferPointer(start: payload, count: message.pointee.len))
    }

    /// The headers of a message of Weir: the first value of each name.
    var headers: [String: String] {
      var list: OpaquePointer?
      guard rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR, let list else { return [:] }
      var headers: [String: String] = [:]
      var (index, size) = (0, 0)
      var name: UnsafePointer<CChar>?
      var value: UnsafeRawPointer?
      while rd_kafka_header_get_all(list, index, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR {
        index += 1
        guard let name, let value else { continue }
        let text = String(decoding: UnsafeRawBufferPointer(start: value, count: size), as: UTF8.self)
        if headers[String(cString: name)] == nil { headers[String(cString: name)] = text }
      }
      return headers
    }
  }
#endif
