// NATSConfiguration: where a stream is, and how to connect to its servers.

#if NATS
  public import Weir
  public import WeirDelivery
  import WeirFleet

  /// A stream of NATS JetStream, and how to connect to its servers.
  ///
  /// ```swift
  /// var stream = try NATSConfiguration("tls://n1.example.com,n2.example.com", stream: "events")
  /// stream.authentication = .credentials(file: "/etc/weir/events.creds")
  /// ```
  public struct NATSConfiguration: Sendable {
    /// How the client tells who it is.
    public enum Authentication: Hashable, Sendable {
      case none
      case user(String, password: Secret)
      case token(Secret)
      /// A file with a user's JWT and NKey seed, as `nsc` writes it (`.creds`).
      case credentials(file: String)
      /// A user's public NKey (`U…`), and a file with its seed.
      case nkey(String, seedFile: String)
    }

    let address: BrokerAddress
    let stream: String

    /// The first tokens of the subjects of messages: `subject.HOST.OPENING`. Default `nil`: what the stream's own
    /// subjects begin with, or the stream's name.
    public var subject: String?

    public var authentication = Authentication.none

    /// A PEM file with the certificate authorities to trust; `nil` (the default) for the system's.
    public var authorities: String?

    /// PEM files with the client's certificate and its key, for servers that ask for a certificate; `nil` for none.
    public var certificate: (chain: String, key: String)?

    /// Names a stream.
    ///
    /// - Parameters:
    ///   - address: `nats://host:port`, or several hosts with commas between them: any servers of the cluster. With
    ///     `tls://`, the connection is encrypted, and a server that can't do that is refused. The port is 4222 by default.
    ///   - stream: The stream's name. Weir makes no stream.
    ///
    /// Throws `invalid` for an address or a name that NATS can't have.
    public init(_ address: String, stream: String) throws(WeirError) {
      self.address = try BrokerAddress(address, schemes: ["nats", "tls"], port: 4222)
      guard self.address.path.isEmpty else {
        throw WeirError(.invalid, "\(self.address.shown) has a path, which NATS does not; leave it out")
      }
      guard !stream.isEmpty, stream.utf8.count <= 255, !stream.contains(where: Self.isForbidden) else {
        throw WeirError(
          .invalid,
          "\(stream.debugDescription) is no name of a stream: it must have no spaces, dots, slashes, * and >")
      }
      self.stream = stream
    }

    private static func isForbidden(_ letter: Character) -> Bool {
      letter.isWhitespace || !letter.isASCII || ".*>/\\".contains(letter) || letter == "\0"
    }

    /// Whether the connection must be encrypted.
    var isEncrypted: Bool { address.scheme == "tls" }
  }
#endif
