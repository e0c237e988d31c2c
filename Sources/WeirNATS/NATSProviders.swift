// NATSProviders: the providers that deliver to a stream, and the source that reads one.

#if NATS
  public import Weir
  public import WeirFleet

  extension BrokerBatchProvider {
    /// Delivers a log to a stream of NATS JetStream, in parts. Makes no connection yet.
    ///
    /// A message is delivered once the stream has acknowledged the message with its place; what that promises is for the
    /// stream's replicas and storage. A message without an answer comes again with the same `Nats-Msg-Id`. The subject is
    /// `SUBJECT.HOST.OPENING`. The headers, which begin with `Weir-`, say what a message has: see the page FileFormat.
    ///
    /// Costs a thread, and five of nats.c. nats.c makes the process ignore SIGPIPE.
    ///
    /// - Parameters:
    ///   - configuration: The stream.
    ///   - name: The name of the provider and its cursor.
    ///   - host: The name of this machine in messages, of at most 64 bytes; `nil` for its host name.
    ///
    /// Throws `invalid` if the name can't be a cursor's name, and `memory` if no thread can be started.
    public static func nats(
      _ configuration: NATSConfiguration, name: String = "nats", host: String? = nil
    ) throws(WeirError) -> BrokerBatchProvider {
      try BrokerBatchProvider(try NATSSender(configuration), name: name, host: host)
    }
  }

  extension BrokerProvider {
    /// Delivers events to a stream, each as a message. `Nats-Msg-Id` is the event's id. All else is as in
    /// `BrokerBatchProvider.nats(_:name:host:)`.
    public static func nats(
      _ configuration: NATSConfiguration, name: String = "nats", host: String? = nil
    ) throws(WeirError) -> BrokerProvider {
      try BrokerProvider(try NATSSender(configuration), name: name, host: host)
    }
  }

  extension FleetSource {
    /// The messages of a stream, from the first one that the log does not have.
    ///
    /// - Parameters:
    ///   - configuration: The stream.
    ///   - replicas: If there is no such stream, it is made, on the disks of so many servers; `nil` (the default) makes
    ///     none.
    public static func nats(_ configuration: NATSConfiguration, replicas: Int? = nil) -> FleetSource {
      FleetSource { NATSStreamSource(configuration, replicas: replicas) }
    }
  }
#endif
