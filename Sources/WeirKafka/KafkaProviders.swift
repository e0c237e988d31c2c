// KafkaProviders: the providers that deliver to a topic, and the source that reads one.

#if Kafka
  public import Weir
  public import WeirFleet

  extension BrokerBatchProvider {
    /// Delivers a log to a topic of Kafka, in parts. Makes no connection yet.
    ///
    /// A message is delivered once all replicas in sync have acknowledged the message (`acks=all`, idempotent); how many
    /// those are at least is for the topic's `min.insync.replicas`. A message that was not acknowledged comes again with
    /// the same `Weir-Id`. The key is `HOST.OPENING`, so that the parts of an opening keep their order in one partition.
    /// The headers, which begin with `Weir-`, say what a message has: see the page FileFormat.
    ///
    /// Costs a thread, and of librdkafka two and one for each broker.
    ///
    /// - Parameters:
    ///   - configuration: The topic.
    ///   - name: The name of the provider and its cursor.
    ///   - host: The name of this machine in messages, of at most 64 bytes; `nil` for its host name.
    ///
    /// Throws `invalid` if the name can't be a cursor's name, and `memory` if no thread can be started.
    public static func kafka(
      _ configuration: KafkaConfiguration, name: String = "kafka", host: String? = nil
    ) throws(WeirError) -> BrokerBatchProvider {
      try BrokerBatchProvider(try KafkaSender(configuration), name: name, host: host)
    }
  }

  extension BrokerProvider {
    /// Delivers events to a topic, each as a message. The header `Weir-Id` is the event's id. All else is as in
    /// `BrokerBatchProvider.kafka(_:name:host:)`.
    public static func kafka(
      _ configuration: KafkaConfiguration, name: String = "kafka", host: String? = nil
    ) throws(WeirError) -> BrokerProvider {
      try BrokerProvider(try KafkaSender(configuration), name: name, host: host)
    }
  }

  extension FleetSource {
    /// The messages of a topic, from the first ones that the log does not have.
    public static func kafka(_ configuration: KafkaConfiguration) -> FleetSource {
      FleetSource { KafkaTopicSource(configuration) }
    }
  }
#endif
