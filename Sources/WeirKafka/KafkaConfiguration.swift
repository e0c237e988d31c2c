// KafkaConfiguration: where a topic is, and how to connect to its brokers.

#if Kafka
  public import Weir
  public import WeirDelivery
  import WeirFleet

  /// A topic of Kafka, and how to connect to its brokers.
  ///
  /// ```swift
  /// var topic = try KafkaConfiguration("kafka+ssl://k1.example.com,k2.example.com/events")
  /// topic.authentication = .user("weir", password: password, mechanism: "SCRAM-SHA-512")
  /// ```
  public struct KafkaConfiguration: Sendable {
    /// How the client tells who it is.
    public enum Authentication: Hashable, Sendable {
      case none
      /// SASL with `PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`.
      case user(String, password: Secret, mechanism: String)
    }

    let address: BrokerAddress
    var topic: String { address.path }

    public var authentication = Authentication.none

    /// A PEM file with the certificate authorities to trust; `nil` (the default) for the system's.
    public var authorities: String?

    /// PEM files with the client's certificate and its key, for brokers that ask for a certificate; `nil` for none.
    public var certificate: (chain: String, key: String)?

    /// Further properties of librdkafka, such as `sasl.kerberos.service.name`. Those that the delivery depends on can't
    /// be set.
    public var properties: [String: String] = [:]

    /// Names a topic: `kafka://host:port/topic`, or several hosts with commas between them: any brokers of the cluster.
    /// With `kafka+ssl://`, the connection is encrypted. The port is 9092 by default. Weir makes no topic.
    ///
    /// Throws `invalid` for an address or a topic that Kafka can't have.
    public init(_ address: String) throws(WeirError) {
      self.address = try BrokerAddress(address, schemes: ["kafka", "kafka+ssl"], port: 9092)
      let topic = self.address.path
      let isName = topic.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) }
      guard !topic.isEmpty, topic.utf8.count <= 249, isName, topic != ".", topic != ".." else {
        throw WeirError(
          .invalid,
          "\(self.address.shown) names no topic; write kafka://host:port/topic, with letters, digits, ., - and _")
      }
    }

    /// Whether the connection must be encrypted.
    var isEncrypted: Bool { address.scheme == "kafka+ssl" }
  }
#endif
