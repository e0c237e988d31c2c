// BrokerOptions: a broker as named on the command line, to deliver to or to collect from.

#if Tool
  import ArgumentParser
  import Weir
  import WeirDelivery
  import WeirFleet

  #if Kafka
    import WeirKafka
  #endif
  #if NATS
    import WeirNATS
  #endif

  /// The options that only brokers have.
  struct BrokerOptions: ParsableArguments {
    @Option(help: "NATS: the stream, which must exist, but for --replicas.")
    var stream: String?

    @Option(help: "NATS: what subjects begin with (default: what the stream's own subjects begin with).")
    var subject: String?

    @Option(
      help: "NATS: a file of credentials (.creds), or the seed of the NKey that --user names.", completion: .file())
    var credentials: String?

    @Option(
      help: "Kafka: the SASL mechanism for --user: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.",
      completion: .list(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]))
    var mechanism: String?

    /// The first given option.
    var first: String? {
      [("--stream", stream), ("--subject", subject), ("--credentials", credentials), ("--mechanism", mechanism)]
        .first { $0.1 != nil }?.0
    }
  }

  /// A broker, and how to connect to it.
  struct BrokerDestination: Sendable {
    static let schemes = ["nats", "tls", "kafka", "kafka+ssl"]

    /// Whether an address is that of a broker.
    static func isAddress(_ text: String) -> Bool {
      schemes.contains { text.lowercased().hasPrefix($0 + "://") }
    }

    var address: String
    var stream: String?
    var subject: String?
    var credentials: String?
    var mechanism: String?
    var user = ""
    var key: DeliveryPlan.Destination.Key?
    var authorities: String?
    var certificate: String?
    var certificateKey: String?
    /// The name of this machine in messages; `nil` for its host name.
    var host: String?

    init(_ address: String, _ options: BrokerOptions) {
      self.address = address
      (stream, subject) = (options.stream, options.subject)
      (credentials, mechanism) = (options.credentials, options.mechanism)
    }

    var isKafka: Bool { address.lowercased().hasPrefix("kafka") }
    var isEncrypted: Bool { ["tls://", "kafka+ssl://"].contains { address.lowercased().hasPrefix($0) } }

    /// Throws for options that no connection could have.
    func validate() throws(ToolError) {
      if isKafka {
        for (option, value) in [("--stream", stream), ("--subject", subject), ("--credentials", credentials)] {
          guard value == nil else { throw ToolError("\(option) is for NATS, and \(address) is Kafka; leave it out") }
        }
      } else {
        guard stream != nil else { throw ToolError("--stream is missing; name the stream of \(address)") }
        guard mechanism == nil else { throw ToolError("--mechanism is for Kafka, and \(address) is NATS") }
      }
      guard isEncrypted || authorities == nil && certificate == nil else {
        throw ToolError("--cacert and --cert need an encrypted connection: tls:// or kafka+ssl://")
      }
    }

    /// A provider of this name: of parts of the log, or of events as JSON.
    func provider(_ name: String, asEvents: Bool) throws -> any Provider {
      try validate()
      #if Kafka
        if isKafka {
          let topic = try kafka()
          if asEvents { return try BrokerProvider.kafka(topic, name: name, host: host) }
          return BatchDelivery(try BrokerBatchProvider.kafka(topic, name: name, host: host))
        }
      #endif
      #if NATS
        if !isKafka {
          let stream = try nats()
          if asEvents { return try BrokerProvider.nats(stream, name: name, host: host) }
          return BatchDelivery(try BrokerBatchProvider.nats(stream, name: name, host: host))
        }
      #endif
      throw missing
    }

    /// The messages of the stream or topic.
    ///
    /// - Parameter replicas: If there is no such stream, it is made, on the disks of so many servers.
    func source(replicas: Int?) throws -> any MessageSource {
      try validate()
      guard replicas == nil || !isKafka else {
        throw ToolError("--replicas is for NATS; make the topic of Kafka with its own tools")
      }
      #if Kafka
        if isKafka { return KafkaTopicSource(try kafka()) }
      #endif
      #if NATS
        if !isKafka { return NATSStreamSource(try nats(), replicas: replicas) }
      #endif
      throw missing
    }

    private var missing: ToolError {
      let name = isKafka ? "Kafka" : "NATS"
      return ToolError(
        "this build of weir does not know \(name); build one with: swift build -c release --product weir "
          + "--traits Tool,\(name)")
    }

    private var secret: Secret? {
      get throws(WeirError) { try key.map { key throws(WeirError) in try Secret(at: key) } }
    }

    private var certificates: (chain: String, key: String)? {
      certificate.map { ($0, certificateKey ?? $0) }
    }

    #if NATS
      private func nats() throws -> NATSConfiguration {
        var configuration = try NATSConfiguration(address, stream: stream ?? "")
        configuration.subject = subject
        configuration.authorities = authorities
        configuration.certificate = certificates
        let secret = try secret
        switch (credentials, user.isEmpty, secret) {
        case (let file?, true, nil): configuration.authentication = .credentials(file: file)
        case (let file?, false, nil): configuration.authentication = .nkey(user, seedFile: file)
        case (nil, false, let password?): configuration.authentication = .user(user, password: password)
        case (nil, true, let token?): configuration.authentication = .token(token)
        case (nil, true, nil): break
        case (nil, false, nil): throw ToolError("--user needs a password: --key-file or --key-env")
        case (.some, _, .some): throw ToolError("--credentials excludes --key-file and --key-env")
        }
        return configuration
      }
    #endif

    #if Kafka
      private func kafka() throws -> KafkaConfiguration {
        var configuration = try KafkaConfiguration(address)
        configuration.authorities = authorities
        configuration.certificate = certificates
        let secret = try secret
        guard user.isEmpty == (secret == nil) else {
          throw ToolError("--user and a password (--key-file or --key-env) belong together")
        }
        if let secret {
          configuration.authentication = .user(user, password: secret, mechanism: mechanism ?? "SCRAM-SHA-512")
        }
        return configuration
      }
    #endif
  }
#endif
