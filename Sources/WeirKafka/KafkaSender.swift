// KafkaSender: produces messages to a topic, and waits for its acknowledgements.

#if Kafka
  import CKafka
  import Weir
  import WeirDelivery
  import WeirFleet

  /// Produces to a topic. librdkafka tries messages again by itself, in their order, and brokers drop what they have
  /// from the same handle. What a handle leaves unacknowledged at its end comes again with the same `Weir-Id`.
  actor KafkaSender: MessageSender {
    /// Without any acknowledgement for so long, the rest is left for another call.
    private static let patience = Duration.seconds(20)
    /// The largest message that is given to librdkafka. A broker's own bound is mostly 1 MiB.
    private static let mostMessageBytes = 64 << 20
    /// All messages of a call, and one of the largest: nothing else is ever in the queue.
    private static let queueBytes = 16 << 20 + mostMessageBytes
    /// What a broker takes that says nothing else: the default of the oldest ones.
    private static let usualLargest = 1_000_000
    /// What a message needs beside its headers and its body.
    private static let overhead = 1_024
    private static let flushTime = Duration.seconds(1)

    private nonisolated let executor: ThreadExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let configuration: KafkaConfiguration
    private var client: KafkaClient?
    /// Whether the brokers were asked for their terms.
    private var isKnown = false
    /// The largest message that the topic takes, as far as the brokers tell it.
    private var toldLargest: Int?
    /// The smallest message that was refused as too large, on its own.
    private var refused: Int?
    /// So many bytes of messages go together. A topic refuses them together as well.
    private var batchBytes = usualLargest
    private var leastInSync: Int?

    init(_ configuration: KafkaConfiguration) throws(WeirError) {
      self.configuration = configuration
      executor = try ThreadExecutor("weir-kafka")
    }

    func connect() throws -> BrokerTerms {
      do {
        return try ask(opened())
      } catch {
        client = nil
        throw error
      }
    }

    private func ask(_ client: KafkaClient) throws -> BrokerTerms {
      let topic = try client.topic(configuration.topic)
      var untold = ""
      var largest: Int?
      do {
        let properties = try client.properties(ofTopic: configuration.topic)
        largest = properties["max.message.bytes"].flatMap { Int($0) }
        leastInSync = properties["min.insync.replicas"].flatMap { Int($0) }
        if leastInSync == nil { untold = "the brokers do not tell min.insync.replicas" }
      } catch let failure as BrokerFailure {
        leastInSync = nil
        untold = failure.description
      }
      if largest != toldLargest {
        (toldLargest, refused) = (largest, nil)
        // A handle keeps its properties.
        let bytes = largest.map { min(Self.usualLargest, max($0 - Self.overhead, 1)) } ?? batchBytes
        if bytes != batchBytes { self.client = nil }
        batchBytes = bytes
      }
      isKnown = true
      return BrokerTerms(
        largestMessage: min(
          (largest ?? Self.usualLargest) - Self.overhead, refused.map { $0 / 4 * 3 } ?? .max, Self.mostMessageBytes),
        durability: durability(topic.replicas, untold))
    }

    /// What an acknowledgement promises. Brokers sync later, when the system does.
    private func durability(_ replicas: Int, _ untold: String) -> String {
      if replicas == 1 { return "in the page cache of 1 broker; Kafka syncs later" }
      guard let leastInSync else {
        return "unknown: in the page cache of 1 to \(replicas) brokers, as min.insync.replicas says (\(untold)); "
          + "Kafka syncs later"
      }
      return "in the page cache of \(leastInSync) of \(replicas) brokers (min.insync.replicas \(leastInSync)); "
        + "Kafka syncs later"
    }

    func disconnect() { client = nil }

    private func opened() throws -> KafkaClient {
      if let client { return client }
      let made = try KafkaClient(
        configuration, RD_KAFKA_PRODUCER,
        [
          ("enable.idempotence", "true"), ("acks", "all"), ("allow.auto.create.topics", "false"),
          // With five, librdkafka 2.0 takes a whole core while a broker is silent.
          ("max.in.flight", "4"),
          // Never: whatever is given up is told by the end of the handle, and leaves no gap behind.
          ("message.timeout.ms", "0"),
          // Parts are packed already.
          ("compression.codec", "none"), ("linger.ms", "5"), ("batch.size", "\(batchBytes)"),
          ("message.max.bytes", "\(Self.mostMessageBytes)"),
          ("queue.buffering.max.kbytes", "\(Self.queueBytes >> 10)"),
        ])
      client = made
      return made
    }

    // MARK: A call

    /// The messages of a call, and what became of them.
    private struct Call {
      let messages: [OutgoingMessage]
      var outcomes: [SendOutcome?]
      var unanswered: Int
      /// The messages before this one were given to librdkafka.
      var next = 0
      var progress: Duration
      var reason: String?
      var stop: DeliveryStopped?
      /// Whether the handle is of no more use.
      var isOver = false

      init(_ messages: [OutgoingMessage], at now: Duration) {
        self.messages = messages
        outcomes = messages.map { _ in nil }
        unanswered = messages.count
        progress = now
      }

      var isDone: Bool { unanswered == 0 || stop != nil || isOver }

      mutating func settle(_ index: Int, _ outcome: SendOutcome) {
        guard outcomes.indices.contains(index), outcomes[index] == nil else { return }
        outcomes[index] = outcome
        unanswered -= 1
      }
    }

    func send(_ messages: [OutgoingMessage]) throws -> [SendOutcome] {
      if !isKnown { _ = try connect() }
      let client = try opened()
      var call = Call(messages, at: KafkaClient.now)
      while !call.isDone, !Task.isCancelled, KafkaClient.now - call.progress < Self.patience {
        produce(&call, client)
        client.poll(within: .milliseconds(100))
        takeReports(&call, client)
        lookForTrouble(&call, client)
      }
      if call.unanswered > 0 { giveUp(&call, client) }
      if let stop = call.stop, call.outcomes.first.map({ $0 != .stored }) ?? true { throw stop }
      let reason = call.stop?.reason ?? call.reason ?? "the brokers do not acknowledge"
      return call.outcomes.map { $0 ?? .failed(reason) }
    }

    /// Gives librdkafka what it takes.
    private func produce(_ call: inout Call, _ client: KafkaClient) {
      while call.next < call.messages.count, !call.isDone {
        let message = call.messages[call.next]
        switch client.produce(message, toTopic: configuration.topic, token: call.next) {
        case RD_KAFKA_RESP_ERR_NO_ERROR: break
        case RD_KAFKA_RESP_ERR__QUEUE_FULL: return
        case RD_KAFKA_RESP_ERR__FATAL:
          call.isOver = true
          return
        case let error: take(error, call.next, &call)
        }
        call.next += 1
      }
    }

    private func takeReports(_ call: inout Call, _ client: KafkaClient) {
      for report in client.takeReports() {
        switch report.error {
        case RD_KAFKA_RESP_ERR_NO_ERROR:
          call.settle(report.token, .stored)
          call.progress = KafkaClient.now
          client.clearTrouble()
        // What was purged is not known to be anywhere.
        case RD_KAFKA_RESP_ERR__PURGE_QUEUE, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT: break
        case let error: take(error, report.token, &call)
        }
      }
    }

    /// Takes the error of a message that librdkafka does not try again.
    private func take(_ error: rd_kafka_resp_err_t, _ index: Int, _ call: inout Call) {
      guard call.messages.indices.contains(index) else { return }
      let text = "the topic \(configuration.topic): \(KafkaClient.text(error))"
      if let stop = KafkaClient.stop(error, topic: configuration.topic) {
        call.stop = stop
      } else if error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE {
        call.settle(index, tooLarge(Self.size(call.messages[index]), text, &call))
      } else {
        call.reason = text
        call.settle(index, .failed(text))
      }
    }

    /// What a message is whose batch was refused as too large.
    private func tooLarge(_ size: Int, _ text: String, _ call: inout Call) -> SendOutcome {
      guard size + Self.overhead > batchBytes else {
        // It may have been too large only together with others. The next handle sends each on its own.
        batchBytes = 1
        client = nil
        call.isOver = true
        call.reason = text
        return .failed(text)
      }
      refused = min(refused ?? .max, size)
      return .tooLarge(text)
    }

    private static func size(_ message: OutgoingMessage) -> Int {
      message.headers.reduce(message.body.count) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    }

    private func lookForTrouble(_ call: inout Call, _ client: KafkaClient) {
      if client.fatal != nil { call.isOver = true }
      guard let trouble = client.trouble, trouble.needsRepair else { return }
      guard KafkaClient.now - max(call.progress, trouble.since) >= KafkaClient.grace else { return }
      call.stop = DeliveryStopped(trouble.text)
    }

    /// Ends the handle, with what it has not brought to the brokers: they may have it or not. Another one begins with
    /// nothing on the way.
    private func giveUp(_ call: inout Call, _ client: KafkaClient) {
      if let (error, text) = client.fatal {
        call.reason = text
        if let stop = KafkaClient.stop(error, topic: configuration.topic) {
          call.stop = DeliveryStopped("\(text): \(stop.reason)")
        }
      } else if !call.isDone, !Task.isCancelled {
        explain(&call, client)
      } else if call.reason == nil {
        call.reason = client.lastText ?? (Task.isCancelled ? "the delivery was cancelled" : nil)
      }
      client.purge(within: Self.flushTime)
      takeReports(&call, client)
      self.client = nil
    }

    /// Finds out why nothing was acknowledged: librdkafka tries again without a word.
    private func explain(_ call: inout Call, _ client: KafkaClient) {
      let told = client.lastText
      call.reason = told ?? call.reason
      do {
        let topic = try client.topic(configuration.topic, within: KafkaClient.grace)
        if let partition = topic.partitions.first(where: { $0.leader < 0 }) {
          call.reason = "the partition \(partition.number) of the topic \(configuration.topic) has no leader"
        } else if let leastInSync, let least = topic.partitions.map(\.inSync).min(), least < leastInSync {
          call.reason =
            "only \(least) of \(topic.replicas) brokers are in sync, and min.insync.replicas is \(leastInSync)"
        }
      } catch let stop as DeliveryStopped {
        call.stop = stop
      } catch {
        call.reason = told ?? "\(error)"
      }
      if let reason = call.reason {
        call.reason = "no acknowledgement for \(Self.patience.components.seconds) s: \(reason)"
      }
    }
  }

  extension KafkaClient {
    /// Hands a message to librdkafka, which copies it. Its report comes with the token.
    fileprivate func produce(_ message: OutgoingMessage, toTopic topic: String, token: Int) -> rd_kafka_resp_err_t {
      let headers = rd_kafka_headers_new(message.headers.count + 1)
      for (name, value) in [("Weir-Id", message.id)] + message.headers {
        var value = value
        _ = value.withUTF8 { rd_kafka_header_add(headers, name, -1, $0.baseAddress, $0.count) }
      }
      var key = message.place.joined(separator: ".")
      let error = key.withUTF8 { key in
        message.body.withUnsafeBytes { body in
          topic.withCString { topic in
            var values: [rd_kafka_vu_t] = []
            Self.add(RD_KAFKA_VTYPE_TOPIC, to: &values) { $0.cstr = topic }
            Self.add(RD_KAFKA_VTYPE_KEY, to: &values) {
              $0.mem = .init(ptr: UnsafeMutableRawPointer(mutating: key.baseAddress), size: key.count)
            }
            Self.add(RD_KAFKA_VTYPE_VALUE, to: &values) {
              $0.mem = .init(ptr: UnsafeMutableRawPointer(mutating: body.baseAddress), size: body.count)
            }
            Self.add(RD_KAFKA_VTYPE_MSGFLAGS, to: &values) { $0.i = RD_KAFKA_MSG_F_COPY }
            Self.add(RD_KAFKA_VTYPE_OPAQUE, to: &values) { $0.ptr = UnsafeMutableRawPointer(bitPattern: token) }
            Self.add(RD_KAFKA_VTYPE_HEADERS, to: &values) { $0.headers = headers }
            return rd_kafka_produceva(handle, &values, values.count)
          }
        }
      }
      guard let error else { return RD_KAFKA_RESP_ERR_NO_ERROR }
      // The headers are librdkafka's once it has taken the message.
      rd_kafka_headers_destroy(headers)
      defer { rd_kafka_error_destroy(error) }
      return rd_kafka_error_is_fatal(error) != 0 ? RD_KAFKA_RESP_ERR__FATAL : rd_kafka_error_code(error)
    }

    private static func add(
      _ type: rd_kafka_vtype_t, to values: inout [rd_kafka_vu_t],
      _ set: (inout rd_kafka_vu_t.__Unnamed_union_u) -> Void
    ) {
      var value = rd_kafka_vu_t()
      value.vtype = type
      set(&value.u)
      values.append(value)
    }

    /// Takes back what has not been acknowledged, with the reports of what has.
    fileprivate func purge(within time: Duration) {
      rd_kafka_purge(handle, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
      rd_kafka_flush(handle, Self.milliseconds(time))
    }
  }
#endif
