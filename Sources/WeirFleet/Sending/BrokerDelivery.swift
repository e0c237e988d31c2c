// BrokerDelivery: delivers parts of a log, or events, as messages of a broker.

import Synchronization
package import Weir
package import WeirDelivery

/// What the providers of all brokers do: messages out of parts or events, and verdicts out of acknowledgements.
package final class BrokerDelivery: Sendable {
  /// A part has at most so many bytes by default.
  package static let usualPart = 256 << 10
  /// The headers of a part take at most so many bytes.
  private static let headerBytes = 12 << 10
  /// What the headers of a part with one lane take.
  private static let leastHeaderBytes = 512

  private let sender: any MessageSender
  private let host: String
  private let mostPart: Int
  private let terms = Mutex<BrokerTerms?>(nil)

  /// - Parameters:
  ///   - sender: The broker's client.
  ///   - host: The name of this machine in messages; `nil` for its host name.
  ///   - mostPart: The largest part, in bytes, if the broker takes that.
  package init(_ sender: any MessageSender, host: String?, mostPart: Int = usualPart) {
    self.sender = sender
    self.host = PartMessage.host(host ?? BrokerHost.name)
    self.mostPart = mostPart
  }

  package func setup() async throws {
    let terms = try await sender.connect()
    self.terms.withLock { $0 = terms }
  }

  package func shutdown() async { await sender.disconnect() }

  package var durability: String? { terms.withLock { $0?.durability } }

  package var largestPart: Int {
    let largest = terms.withLock { $0?.largestMessage } ?? .max
    return min(mostPart, max(largest - Self.headerBytes, LogCutter.leastBytes))
  }

  /// So many bytes are in flight together.
  package var bytesAtOnce: Int { 16 << 20 }

  package func deliver(_ parts: [LogPart]) async throws -> [Verdict] {
    let least = LogCutter.leastBytes + Self.leastHeaderBytes
    if let largest = terms.withLock({ $0?.largestMessage }), largest < least {
      throw DeliveryStopped(
        "the broker takes at most \(largest) bytes a message, and parts of a log need \(least); raise that limit")
    }
    let messages = parts.map { part in
      let message = PartMessage(part, host: host, sent: Timestamp.now.nanosecondsSince1970)
      return OutgoingMessage(
        place: [host, PartMessage.digits(message.opening)],
        id: message.id(of: part.bytes),
        headers: message.headers, body: part.bytes)
    }
    // A part of several events can be cut into smaller ones.
    return try await verdicts(messages) { parts[$0].summary.offsets.count == 1 }
  }

  package func deliver(_ events: [PreparedEvent]) async throws -> [Verdict] {
    let messages = events.map { event in
      var body: [UInt8] = []
      EventJSON().append(event, to: &body)
      let id = event.stored.id.description
      return OutgoingMessage(
        place: [host, String(id.prefix(16))], id: id, headers: [("Content-Type", "application/json")], body: body)
    }
    return try await verdicts(messages) { _ in true }
  }

  private func verdicts(_ messages: [OutgoingMessage], isWhole: (Int) -> Bool) async throws -> [Verdict] {
    let outcomes = try await sender.send(messages)
    // What the broker takes may have changed.
    if outcomes.contains(where: { if case .tooLarge = $0 { true } else { false } }) { try await setup() }
    if case .failed(let reason)? = outcomes.first { throw BrokerFailure(reason) }
    var verdicts: [Verdict] = []
    for (index, outcome) in outcomes.enumerated() {
      switch outcome {
      case .stored: verdicts.append(.accepted)
      case .failed: verdicts.append(.retry(after: nil))
      case .tooLarge(let reason):
        verdicts.append(isWhole(index) ? .rejected(reason) : .retry(after: .zero))
      }
    }
    return verdicts
  }
}
