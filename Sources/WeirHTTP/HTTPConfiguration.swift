// HTTPConfiguration: how an HTTPProvider connects and sends.

#if HTTP
  public import Logging

  /// How an ``HTTPProvider`` connects and sends.
  public struct HTTPConfiguration: Sendable {
    /// How a body is sent.
    public enum Compression: Hashable, Sendable {
      /// As it is.
      case identity
      /// With gzip, if the preset says that the endpoint takes it.
      case gzip
    }

    /// A proxy on the way.
    public struct Proxy: Hashable, Sendable {
      enum Kind: Hashable, Sendable {
        case http
        case socks
      }

      let kind: Kind
      let host: String
      let port: Int
      let user: String
      let password: Secret?

      /// A proxy for HTTP, with a user and a password if it wants them. Requests are tunnelled through it with CONNECT.
      public static func http(host: String, port: Int, user: String = "", password: Secret? = nil) -> Proxy {
        Proxy(kind: .http, host: host, port: port, user: user, password: password)
      }

      /// A SOCKS 5 proxy.
      public static func socks(host: String, port: Int = 1080) -> Proxy {
        Proxy(kind: .socks, host: host, port: port, user: "", password: nil)
      }
    }

    /// TLS beyond what the system trusts. Certificates are always verified.
    public struct TLS: Hashable, Sendable {
      /// A PEM file of certificate authorities, trusted instead of the system's; nil for the system's.
      public var authorities: String?

      /// A PEM file of the certificate that this program shows, with those above it; nil for none.
      public var certificate: String?

      /// The PEM file of that certificate's private key, without a passphrase; nil for the certificate's file, which
      /// then holds both.
      public var privateKey: String?

      /// The system's authorities, and no certificate of its own.
      public init() {}
    }

    /// How bodies are sent. ``Compression/gzip``.
    public var compression = Compression.gzip

    /// How long connecting may take, TLS included. 10 s.
    public var connectTimeout = Duration.seconds(10)

    /// How long an answer may pause. 15 s.
    public var readTimeout = Duration.seconds(15)

    /// How long one request may take, from connecting to the end of the answer. 15 s.
    public var timeout = Duration.seconds(15)

    /// How long after the beginning of a call of ``HTTPProvider/deliver(_:)`` that takes several requests another one
    /// may begin; the events of those that do not are to be given again. 10 s. With ``timeout`` it must stay below
    /// `DeliveryOptions.attemptTimeout`, which is 30 s: a call that is cancelled has nothing to show.
    public var callTime = Duration.seconds(10)

    /// How long a connection that is not used stays open. 60 s.
    public var keepAlive = Duration.seconds(60)

    /// The most bytes of an answer, uncompressed; what is longer is no answer. 1 MiB.
    public var maximumAnswerBytes = 1 << 20

    /// Headers beside those of the preset, which they replace. One with a key is made with
    /// ``HTTPHeader/init(_:secret:)``.
    public var headers: [HTTPHeader] = []

    /// A proxy; nil for none. Nothing is taken from the environment.
    public var proxy: Proxy?

    /// TLS.
    public var tls = TLS()

    /// Where warnings go that no verdict can carry. Nil for nowhere; ``HTTPCounts`` has them all the same.
    public var logger: Logger? = Logger(label: "weir.http")

    /// The defaults.
    public init() {}
  }

  /// What an ``HTTPProvider`` did since it was made.
  public struct HTTPCounts: Hashable, Sendable {
    /// Requests that were sent, or tried to be.
    public internal(set) var requests: UInt64 = 0

    /// Of them, those that brought no answer.
    public internal(set) var unanswered: UInt64 = 0

    /// Bytes of bodies, before compression.
    public internal(set) var bytes: UInt64 = 0

    /// Bytes of bodies as they were sent.
    public internal(set) var sentBytes: UInt64 = 0

    /// Events that the endpoint refused without saying which: they count as accepted, for nobody can tell them from the
    /// others.
    public internal(set) var unnamedRejections: UInt64 = 0

    /// Associations that the vendor refused. Events name their user all the same.
    public internal(set) var refusedAssociations: UInt64 = 0

    /// Nothing yet.
    public init() {}
  }
#endif
