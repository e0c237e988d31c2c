// KafkaProviders: the providers that deliver to a topic: a batch a message, or an event a message.

#if Kafka
  public import Weir
  public import WeirDelivery
  public import WeirFleet

  /// Delivers a log to a topic of Kafka, in parts: each message has up to 256 KiB of consecutive events, packed as they
  /// were captured, under their ids. `weir collect --from` makes one log of the parts of many hosts again, each event
  /// once.
  ///
  /// ```swift
  /// let topic = try KafkaConfiguration("kafka://k1,k2,k3/events")
  /// try dispatcher.add(batchesTo: try KafkaBatchProvider(topic), options: .asParts)
  /// ```
  ///
  /// Events leave before their segment is sealed. A message is delivered once all replicas in sync have acknowledged it
  /// (`acks=all`, idempotent); how many those are at least is for the topic's `min.insync.replicas`. A message that was
  /// not acknowledged comes again with the same `Weir-Id`. Up to 16 MiB are in flight.
  ///
  /// The key is `HOST.OPENING`, so that the parts of an opening keep their order in one partition. The headers, which
  /// begin with `Weir-`, say what a message has: see the page FileFormat.
  ///
  /// Costs a thread, and of librdkafka two and one for each broker.
  public final class KafkaBatchProvider: BatchProvider, Sendable {
    public let name: String
    private let delivery: BrokerDelivery

    /// Creates a provider. Makes no connection.
    ///
    /// - Parameters:
    ///   - configuration: The topic.
    ///   - name: The name of the provider and its cursor.
    ///   - host: The name of this machine in messages, of at most 64 bytes; `nil` for its host name.
    ///
    /// Throws `invalid` if the name can't be a cursor's name, and `memory` if no thread can be started.
    public init(
      _ configuration: KafkaConfiguration, name: String = "kafka", host: String? = nil
    ) throws(WeirError) {
      try Cursor.checkProviderName(name)
      self.name = name
      delivery = BrokerDelivery(try KafkaSender(configuration), host: host)
    }

    public func setup() async throws { try await delivery.setup() }
    public func shutdown() async { await delivery.shutdown() }

    public func deliver(_ segment: BatchSegment) async throws -> Verdict {
      throw DeliveryStopped("\(name) takes parts of a log, and no segments")
    }
  }

  extension KafkaBatchProvider: PartProvider {
    package var largestPart: Int { delivery.largestPart }
    package var bytesAtOnce: Int { delivery.bytesAtOnce }
    package func deliver(_ parts: [LogPart]) async throws -> [Verdict] { try await delivery.deliver(parts) }
  }

  extension KafkaBatchProvider: DurabilityTelling {
    package var durability: String? { delivery.durability }
  }

  /// Delivers events to a topic of Kafka, each as a message of its own: JSON, as `EventJSON` writes it, for consumers
  /// that are not Weir.
  ///
  /// The key is `HOST.OPENING`, and the header `Weir-Id` the event's id. All else is as in ``KafkaBatchProvider``.
  public final class KafkaProvider: Provider {
    public let name: String
    private let delivery: BrokerDelivery

    /// As ``KafkaBatchProvider/init(_:name:host:)``.
    public init(
      _ configuration: KafkaConfiguration, name: String = "kafka", host: String? = nil
    ) throws(WeirError) {
      try Cursor.checkProviderName(name)
      self.name = name
      delivery = BrokerDelivery(try KafkaSender(configuration), host: host)
    }

    public func setup() async throws { try await delivery.setup() }
    public func shutdown() async { await delivery.shutdown() }
    public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await delivery.deliver(events) }
  }

  extension KafkaProvider: DurabilityTelling {
    package var durability: String? { delivery.durability }
  }

  extension FleetSource {
    /// The messages of a topic, from the first ones that the log does not have.
    public static func kafka(_ configuration: KafkaConfiguration) -> FleetSource {
      FleetSource { KafkaTopicSource(configuration) }
    }
  }
#endif
