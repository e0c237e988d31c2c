// KafkaClient: a handle of librdkafka, to send or to read with.

#if Kafka
  import CKafka
  import Synchronization
  import Weir
  import WeirDelivery
  import WeirFleet

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// One handle of librdkafka, which keeps up its connections by itself. Belongs to one thread; a child of a fork must
  /// not use it.
  final class KafkaClient {
    /// What keeps the client from its brokers.
    struct Trouble: Sendable {
      var text: String
      /// Whether nobody but a person can repair that.
      var needsRepair: Bool
      var since: Duration

      var error: any Error { needsRepair ? DeliveryStopped(text) : BrokerFailure(text) }
    }

    /// What became of a message that was to be sent.
    struct Report: Sendable {
      var token: Int
      var error: rd_kafka_resp_err_t
    }

    private struct Notes: Sendable {
      var trouble: Trouble?
      /// An error after which the handle sends no more.
      var fatal: (error: rd_kafka_resp_err_t, text: String)?
      /// The last warning in librdkafka's log: some of what it tries again for ever is told nowhere else.
      var warning: String?
      var reports: [Report] = []
    }

    /// What librdkafka tells. Warnings come on its own threads, until the handle is destroyed; all else comes within a
    /// poll.
    private final class Told: Sendable {
      let notes = Mutex(Notes())

      static func of(_ opaque: UnsafeMutableRawPointer?) -> Told? {
        opaque.map { Unmanaged<Told>.fromOpaque($0).takeUnretainedValue() }
      }
    }

    /// What needs repair is told after so long without anything good: a broker that has just started may know no user
    /// and no topic yet.
    static let grace = Duration.seconds(3)
    private static let answerTime = Duration.seconds(5)

    let handle: OpaquePointer
    private let told = Told()
    private let address: String
    private var isReading = false

    /// Makes a handle. Connects in the background.
    ///
    /// - Parameters:
    ///   - configuration: The topic and its brokers.
    ///   - type: Whether to send or to read.
    ///   - properties: Properties of librdkafka that the configuration must not change.
    ///
    /// Throws `DeliveryStopped` for a configuration that librdkafka does not take.
    init(_ configuration: KafkaConfiguration, _ type: rd_kafka_type_t, _ properties: [(name: String, value: String)])
      throws
    {
      address = configuration.address.shown
      guard let options = rd_kafka_conf_new() else { throw BrokerFailure("no memory for the options of librdkafka") }
      var isOwned = true
      defer { if isOwned { rd_kafka_conf_destroy(options) } }
      try Self.set(options, configuration, properties)
      rd_kafka_conf_set_opaque(options, Unmanaged.passUnretained(told).toOpaque())
      rd_kafka_conf_set_error_cb(options, Self.noteError)
      rd_kafka_conf_set_log_cb(options, Self.noteWarning)
      if type == RD_KAFKA_PRODUCER { rd_kafka_conf_set_dr_msg_cb(options, Self.noteReport) }
      var text = [CChar](repeating: 0, count: 512)
      guard let handle = rd_kafka_new(type, options, &text, text.count) else {
        let words = "\(address): \(Self.string(text))"
        guard rd_kafka_last_error() != RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE else { throw BrokerFailure(words) }
        throw DeliveryStopped(words)
      }
      isOwned = false
      self.handle = handle
    }

    // No callback comes after that: it waits for librdkafka's threads.
    deinit { rd_kafka_destroy_flags(handle, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) }

    // MARK: What was told

    /// What keeps the client from its brokers, since the last ``clearTrouble()``.
    var trouble: Trouble? { told.notes.withLock { $0.trouble } }

    /// Notes that the brokers answer.
    func clearTrouble() {
      told.notes.withLock { ($0.trouble, $0.warning) = (nil, nil) }
    }

    /// The error after which the handle sends no more.
    var fatal: (error: rd_kafka_resp_err_t, text: String)? { told.notes.withLock { $0.fatal } }

    /// The last error or warning, for people.
    var lastText: String? { told.notes.withLock { $0.trouble?.text ?? $0.warning } }

    func takeReports() -> [Report] {
      told.notes.withLock { notes in
        defer { notes.reports = [] }
        return notes.reports
      }
    }

    /// Waits for callbacks.
    func poll(within time: Duration) {
      // Callbacks come with messages then, and a message that came here would end the process.
      if !isReading { rd_kafka_poll(handle, Self.milliseconds(time)) }
    }

    /// Lets messages and errors come by `rd_kafka_consumer_poll` alone, from now on.
    func beginReading() {
      isReading = true
      rd_kafka_poll_set_consumer(handle)
    }

    // MARK: The topic

    /// What the brokers say of a topic.
    struct Topic {
      struct Partition {
        var number: Int32
        /// The number of the broker that leads; negative if none does.
        var leader: Int32
        var replicas: Int
        var inSync: Int
      }

      var partitions: [Partition]

      /// The number of brokers that have the topic: of its partitions the least.
      var replicas: Int { partitions.map(\.replicas).min() ?? 0 }
    }

    /// Asks for a topic. Throws `DeliveryStopped` if there is none, or for a user who may not know of it.
    func topic(_ name: String, within time: Duration = answerTime) throws -> Topic {
      guard let topic = rd_kafka_topic_new(handle, name, nil) else {
        throw BrokerFailure("the topic \(name): \(Self.text(rd_kafka_last_error()))")
      }
      defer { rd_kafka_topic_destroy(topic) }
      let start = Self.now
      while true {
        do {
          let found = try ask(topic, name)
          clearTrouble()
          return found
        } catch {
          let passed = Self.now - start
          guard passed < time, !(error is DeliveryStopped && passed >= Self.grace), !Task.isCancelled else {
            throw error
          }
          usleep(100_000)
        }
      }
    }

    private func ask(_ topic: OpaquePointer, _ name: String) throws -> Topic {
      var answer: UnsafePointer<rd_kafka_metadata>?
      let error = rd_kafka_metadata(handle, 0, topic, &answer, 1_000)
      poll(within: .zero)
      guard error == RD_KAFKA_RESP_ERR_NO_ERROR, let answer else {
        throw trouble?.error ?? BrokerFailure("\(address): \(Self.text(error))")
      }
      defer { rd_kafka_metadata_destroy(answer) }
      let topics = UnsafeBufferPointer(start: answer.pointee.topics, count: Int(answer.pointee.topic_cnt))
      guard let found = topics.first(where: { String(cString: $0.topic) == name }) else {
        throw BrokerFailure("the brokers do not answer about the topic \(name)")
      }
      guard found.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw Self.stop(found.err, topic: name) ?? BrokerFailure("the topic \(name): \(Self.text(found.err))")
      }
      let partitions = UnsafeBufferPointer(start: found.partitions, count: Int(found.partition_cnt))
      guard !partitions.isEmpty else { throw BrokerFailure("the topic \(name) has no partitions") }
      return Topic(
        partitions: partitions.map {
          Topic.Partition(
            number: $0.id, leader: $0.leader, replicas: Int($0.replica_cnt), inSync: Int($0.isr_cnt))
        })
    }

    /// The id of the cluster, if it has one. Known once the brokers have answered.
    var cluster: String? {
      guard let text = rd_kafka_clusterid(handle, 1_000) else { return nil }
      defer { rd_kafka_mem_free(handle, text) }
      return String(cString: text)
    }

    /// What a topic's configuration says, by property. Throws `BrokerFailure` if the brokers do not tell.
    func properties(ofTopic name: String) throws -> [String: String] {
      guard let queue = rd_kafka_queue_new(handle) else { throw BrokerFailure("no memory for a queue of librdkafka") }
      defer { rd_kafka_queue_destroy(queue) }
      let options = rd_kafka_AdminOptions_new(handle, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)
      defer { rd_kafka_AdminOptions_destroy(options) }
      var text = [CChar](repeating: 0, count: 512)
      let time = Self.milliseconds(Self.grace)
      guard
        rd_kafka_AdminOptions_set_request_timeout(options, time, &text, text.count) == RD_KAFKA_RESP_ERR_NO_ERROR
      else { throw BrokerFailure(Self.string(text)) }
      var resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, name)
      defer { rd_kafka_ConfigResource_destroy(resource) }
      rd_kafka_DescribeConfigs(handle, &resource, 1, options, queue)
      guard let event = rd_kafka_queue_poll(queue, time * 2) else { throw BrokerFailure("no broker answers") }
      defer { rd_kafka_event_destroy(event) }
      guard rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR_NO_ERROR else {
        throw BrokerFailure(rd_kafka_event_error_string(event).map { String(cString: $0) } ?? "an unknown error")
      }
      var count = 0
      guard let result = rd_kafka_event_DescribeConfigs_result(event),
        let resources = rd_kafka_DescribeConfigs_result_resources(result, &count), count > 0, let first = resources[0]
      else { throw BrokerFailure("the answer is empty") }
      let error = rd_kafka_ConfigResource_error(first)
      guard error == RD_KAFKA_RESP_ERR_NO_ERROR else { throw BrokerFailure(Self.text(error)) }
      var properties: [String: String] = [:]
      let entries = rd_kafka_ConfigResource_configs(first, &count)
      for entry in UnsafeBufferPointer(start: entries, count: entries == nil ? 0 : count) {
        guard let name = rd_kafka_ConfigEntry_name(entry) else { continue }
        guard let value = rd_kafka_ConfigEntry_value(entry) else { continue }
        properties[String(cString: name)] = String(cString: value)
      }
      guard !properties.isEmpty else { throw BrokerFailure("the answer is empty") }
      return properties
    }

    // MARK: Options and errors

    private static func set(
      _ options: OpaquePointer, _ configuration: KafkaConfiguration, _ properties: [(name: String, value: String)]
    ) throws {
      var firm = properties
      firm.append(("bootstrap.servers", configuration.address.hosts.joined(separator: ",")))
      let isUser = configuration.authentication != .none
      let `protocol` = (isUser ? "sasl_" : "") + (configuration.isEncrypted ? "ssl" : "plaintext")
      // Such as Kerberos, which the configuration has no case for.
      let isOther = !isUser && configuration.properties["sasl.mechanism"] != nil
      firm.append(("security.protocol", (isOther ? "sasl_" : "") + `protocol`))
      if let file = configuration.authorities { firm.append(("ssl.ca.location", file)) }
      if let (chain, key) = configuration.certificate {
        firm += [("ssl.certificate.location", chain), ("ssl.key.location", key)]
      }
      if case .user(let user, _, let mechanism) = configuration.authentication {
        firm += [("sasl.mechanism", mechanism), ("sasl.username", user)]
      }
      // Within seconds of a broker's return the delivery goes on.
      let usual = [
        ("client.id", "weir"), ("reconnect.backoff.max.ms", "1000"), ("socket.keepalive.enable", "true"),
        ("topic.metadata.refresh.interval.ms", "30000"),
      ]
      for (name, value) in usual { try set(options, name, value) }
      for (name, value) in configuration.properties.sorted(by: { $0.key < $1.key }) {
        guard !firm.contains(where: { $0.name == name }), name != "sasl.password", name != "transactional.id" else {
          throw DeliveryStopped("the property \(name) can't be set, since the delivery depends on it; leave it out")
        }
        try set(options, name, value)
      }
      for (name, value) in firm { try set(options, name, value) }
      if case .user(_, let password, _) = configuration.authentication {
        try password.withValue { try set(options, "sasl.password", $0) }
      }
    }

    private static func set(_ options: OpaquePointer, _ name: String, _ value: String) throws {
      var text = [CChar](repeating: 0, count: 512)
      guard rd_kafka_conf_set(options, name, value, &text, text.count) != RD_KAFKA_CONF_OK else { return }
      throw DeliveryStopped("the property \(name): \(string(text))")
    }

    /// The stop that an error is, if nobody but a person can repair it.
    static func stop(_ error: rd_kafka_resp_err_t, topic: String) -> DeliveryStopped? {
      switch error {
      case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
        DeliveryStopped("there is no topic \(topic), or the user may not know of it; make it, or name another one")
      case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION: DeliveryStopped("the topic \(topic): \(text(error)); name another one")
      case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
        DeliveryStopped(
          "the topic \(topic): \(text(error)); allow the user Describe, and Write to deliver or Read to collect")
      case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
        DeliveryStopped("\(text(error)); allow the user Write to the topic \(topic), or IdempotentWrite to the cluster")
      case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, RD_KAFKA_RESP_ERR__AUTHENTICATION,
        RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM, RD_KAFKA_RESP_ERR_ILLEGAL_SASL_STATE,
        RD_KAFKA_RESP_ERR_SECURITY_DISABLED:
        DeliveryStopped("\(text(error)); the brokers know no such user, or not with that password or mechanism")
      case RD_KAFKA_RESP_ERR__SSL:
        DeliveryStopped("\(text(error)); the certificates do not fit, see the authorities given")
      default: nil
      }
    }

    static func text(_ error: rd_kafka_resp_err_t) -> String { String(cString: rd_kafka_err2str(error)) }

    static func string(_ text: [CChar]) -> String {
      String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func milliseconds(_ time: Duration) -> Int32 { Int32(clamping: max(0, time.wholeNanoseconds / 1_000_000)) }

    static var now: Duration { .nanoseconds(Int64(clamping: MonotonicTime.now.nanoseconds)) }

    // MARK: Callbacks

    private static let noteError:
      @convention(c) (OpaquePointer?, Int32, UnsafePointer<CChar>?, UnsafeMutableRawPointer?) -> Void = {
        handle, code, reason, opaque in
        let error = rd_kafka_resp_err_t(rawValue: code)
        let words = reason.map { String(cString: $0) } ?? KafkaClient.text(error)
        if error == RD_KAFKA_RESP_ERR__FATAL {
          var text = [CChar](repeating: 0, count: 512)
          let cause = rd_kafka_fatal_error(handle, &text, text.count)
          Told.of(opaque)?.notes.withLock { $0.fatal = (cause, KafkaClient.string(text)) }
          return
        }
        let remedy = KafkaClient.remedy(error, words)
        let new = Trouble(text: words + (remedy ?? ""), needsRepair: remedy != nil, since: KafkaClient.now)
        Told.of(opaque)?.notes.withLock { notes in
          let old = notes.trouble
          if let old {
            // What is more than a broken connection, or says which one, is the better reason.
            guard new.needsRepair || !old.needsRepair, error != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN else { return }
          }
          notes.trouble = new
          if let old, old.needsRepair == new.needsRepair { notes.trouble?.since = old.since }
        }
      }

    /// What to do about an error of a connection; `nil` for what may pass. A connection that ends within a handshake is
    /// mostly a broker that restarts.
    private static func remedy(_ error: rd_kafka_resp_err_t, _ words: String) -> String? {
      switch error {
      case RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
        return "; the brokers know no such user, or not with that password or mechanism"
      case RD_KAFKA_RESP_ERR__SSL:
        let mayPass = ["unexpected eof", "Connection reset", "Broken pipe"].contains { words.contains($0) }
        return mayPass ? nil : "; the certificates do not fit, see the authorities given"
      case RD_KAFKA_RESP_ERR__TRANSPORT where words.contains("SSL alert number"):
        return "; the brokers do not take the certificate, or want one"
      default: return nil
      }
    }

    private static let noteWarning:
      @convention(c) (OpaquePointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?) -> Void = {
        handle, level, facility, text in
        guard level <= 4, let handle, let text, let facility, String(cString: facility) != "CONFWARN" else { return }
        var words = String(cString: text)
        if words.hasPrefix("["), let end = words.firstRange(of: "]: ") { words.removeSubrange(..<end.upperBound) }
        Told.of(rd_kafka_opaque(handle))?.notes.withLock { [words] in $0.warning = words }
      }

    // Of a report only the error's code is read: its text would be the message's own bytes.
    private static let noteReport:
      @convention(c) (OpaquePointer?, UnsafePointer<rd_kafka_message_t>?, UnsafeMutableRawPointer?) -> Void = {
        _, message, opaque in
        guard let message else { return }
        let report = Report(token: Int(bitPattern: message.pointee._private), error: message.pointee.err)
        Told.of(opaque)?.notes.withLock { $0.reports.append(report) }
      }
  }
#endif
