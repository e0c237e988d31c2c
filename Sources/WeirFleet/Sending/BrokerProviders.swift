// BrokerProviders: the providers that deliver to a broker: a batch a message, or an event a message.

package import Weir
public import WeirDelivery

/// Delivers a log to a broker, in parts: each message has up to 256 KiB of consecutive events, packed as they were
/// captured, under their ids. ``Fleet`` makes one log of the parts of many hosts again, each event once.
///
/// ```swift
/// let stream = try NATSConfiguration("nats://n1,n2,n3", stream: "events")
/// try dispatcher.add(batchesTo: try BrokerBatchProvider.nats(stream), options: .asParts)
/// ```
///
/// Made by `nats(_:name:host:)` of WeirNATS and `kafka(_:name:host:)` of WeirKafka.
///
/// Events leave before their segment is sealed. A message is delivered once the broker has acknowledged the message; what
/// an acknowledgement promises is in `Ledger.Entry.durability`. A message without an answer comes again. Up to 16 MiB are
/// in flight: after a failure half as much, and after a success twice as much again.
public final class BrokerBatchProvider: BatchProvider, Sendable {
  public let name: String
  private let delivery: BrokerDelivery

  package init(_ sender: any MessageSender, name: String, host: String?) throws(WeirError) {
    try Cursor.checkProviderName(name)
    self.name = name
    delivery = BrokerDelivery(sender, host: host)
  }

  public func setup() async throws { try await delivery.setup() }
  public func shutdown() async { await delivery.shutdown() }

  /// Throws `DeliveryStopped`: segments are for other providers.
  public func deliver(_ segment: BatchSegment) async throws -> Verdict {
    throw DeliveryStopped("\(name) takes parts of a log, and no segments")
  }
}

extension BrokerBatchProvider: PartProvider, DurabilityTelling {
  package var largestPart: Int { delivery.largestPart }
  package var bytesAtOnce: Int { delivery.bytesAtOnce }
  package var durability: String? { delivery.durability }
  package func deliver(_ parts: [LogPart]) async throws -> [Verdict] { try await delivery.deliver(parts) }
}

/// Delivers events to a broker, each as a message of its own: JSON, as `EventJSON` writes it, for consumers that are not
/// Weir. All else is as in ``BrokerBatchProvider``.
///
/// Made by `nats(_:name:host:)` of WeirNATS and `kafka(_:name:host:)` of WeirKafka.
public final class BrokerProvider: Provider {
  public let name: String
  private let delivery: BrokerDelivery

  package init(_ sender: any MessageSender, name: String, host: String?) throws(WeirError) {
    try Cursor.checkProviderName(name)
    self.name = name
    delivery = BrokerDelivery(sender, host: host)
  }

  public func setup() async throws { try await delivery.setup() }
  public func shutdown() async { await delivery.shutdown() }
  public func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] { try await delivery.deliver(events) }
}

extension BrokerProvider: DurabilityTelling {
  package var durability: String? { delivery.durability }
}
