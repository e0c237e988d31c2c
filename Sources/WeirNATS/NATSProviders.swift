// NATSProviders: the providers that deliver to a stream: a batch a message, or an event a message.

#if NATS
  public import Weir
  public import WeirDelivery
  public import WeirFleet

  /// Delivers a log to a stream of NATS JetStream, in parts: each message has up to 256 KiB of consecutive events, packed
  /// as they were captured, under their ids. `weir collect --from` makes one log of the parts of many hosts again, each
  /// event once.
  ///
  /// ```swift
  /// let stream = try NATSConfiguration("nats://n1,n2,n3", stream: "events")
  /// try dispatcher.add(batchesTo: try NATSBatchProvider(stream), options: .asParts)
  /// ```
  ///
  /// Events leave before their segment is sealed. A message is delivered once the stream has acknowledged it with its
  /// place; what an acknowledgement promises is for the stream's replicas and storage. A message without an answer comes
  /// again with the same `Nats-Msg-Id`. Up to 16 MiB are in flight.
  ///
  /// The subject is `SUBJECT.HOST.OPENING`. The headers, which begin with `Weir-`, say what a message has: see the page
  /// FileFormat.
  ///
  /// Costs a thread, and five of nats.c. nats.c makes the process ignore SIGPIPE.
  public final class NATSBatchProvider: BatchProvider, Sendable {
    public let name: String
    private let delivery: BrokerDelivery

    /// Creates a provider. Makes no connection.
    ///
    /// - Parameters:
    ///   - configuration: The stream.
    ///   - name: The name of the provider and its cursor.
    ///   - host: The name of this machine in messages, of at most 64 bytes; `nil` for its host name.
    ///
    /// Throws `invalid` if the name can't be a cursor's name, and `memory` if no thread can be started.
    public init(
      _ configuration: NATSConfiguration, name: String = "nats", host: String? = nil
    ) throws(WeirError) {
      try Cursor.checkProviderName(name)
      self.name = name
      delivery = BrokerDelivery(try NATSSender(configuration), host: host)
    }

    public func setup() async throws { try await delivery.setup() }
    public func shutdown() async { await delivery.shutdown() }

    public func deliver(_ segment: BatchSegment) async throws -> Verdict {
      throw DeliveryStopped("\(name) takes parts of a log, and no segments")
    }
  }

  extension NATSBatchProvider: PartProvider {
    package var largestPart: Int { delivery.largestPart }
    package var bytesAtOnce: Int { delivery.bytesAtOnce }
    package func deliver(_ parts: [LogPart]) async throws -> [Verdict] { try await delivery.deliver(parts) }
  }

  extension NATSBatchProvider: DurabilityTelling {
    package var durability: String? { delivery.durability }
  }

  /// Delivers events to a stream of NATS JetStream, each as a message of its own: JSON, as `EventJSON` writes it, for
  /// consumers that are not Weir.
  ///
  /// The subject is `SUBJECT.HOST.OPENING`, and `Nats-Msg-Id` the event's id. All else is as in ``NATSBatchProvider``.
  public final class NATSProvider: Provider {
    public let name: String
    private let delivery: BrokerDelivery

    /// As ``NATSBatchProvider/init(_:name:host:)``.
    public init(
      _ configuration: NATSConfiguration, name: String = "nats", host: String? = nil
    ) throws(WeirError) {
      try Cursor.checkProviderName(name)
      self.name = name
      delivery = BrokerDelivery(try NATSSender(configuration), host: host)
    }

    public func setup() async throws { try await delivery.setup() }
    public func shutdown() async { await delivery.shutdown() }
    public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await delivery.deliver(events) }
  }

  extension NATSProvider: DurabilityTelling {
    package var durability: String? { delivery.durability }
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
