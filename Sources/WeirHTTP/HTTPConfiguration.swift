// HTTPConfiguration: the options for connecting and sending.

#if HTTP
  public import Logging
  public import WeirDelivery

  /// The options of an ``HTTPProvider`` for connecting and sending.
  public struct HTTPConfiguration: Sendable {
    /// The encoding of bodies.
    public enum Compression: Hashable, Sendable {
      /// Bodies are not compressed.
      case identity
      /// Bodies are compressed with gzip, if the preset says that the endpoint accepts gzip.
      case gzip
    }

    /// A proxy.
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

      /// An HTTP proxy, with a user and a password if the proxy requires them. Requests use a CONNECT tunnel.
      public static func http(host: String, port: Int, user: String = "", password: Secret? = nil) -> Proxy {
        Proxy(kind: .http, host: host, port: port, user: user, password: password)
      }

      /// A SOCKS 5 proxy.
      public static func socks(host: String, port: Int = 1080) -> Proxy {
        Proxy(kind: .socks, host: host, port: port, user: "", password: nil)
      }
    }

    /// A second endpoint, which gets the requests for as long as the first fails.
    ///
    /// An endpoint fails a request if there is no answer (not reached, reset, too slow, cut off) or if the status is
    /// 500 to 599. Whether both endpoints keep their events in one place is up to you: events that the first endpoint
    /// stored before it failed may be sent to the second endpoint too, with the same ids.
    public struct Failover: Hashable, Sendable {
      /// The address: an `http` or `https` URL. An address without a path gets the preset's path.
      public var endpoint: String

      /// The number of failed requests in a row after which requests go to the other endpoint. Default 3; at least 1.
      public var failures = 3

      /// The time after which one request tries the failed endpoint again. The time doubles with each such request that
      /// fails, up to 5 minutes. Default 30 s.
      public var retryAfter = Duration.seconds(30)

      /// Creates a failover to this address, with the default values.
      public init(_ endpoint: String) {
        self.endpoint = endpoint
      }
    }

    /// TLS options. Certificates are always verified.
    public struct TLS: Hashable, Sendable {
      /// A PEM file of certificate authorities, trusted instead of the system's; `nil` for the system's.
      public var authorities: String?

      /// A PEM file with this program's certificate and its chain; `nil` for no certificate.
      public var certificate: String?

      /// The PEM file with the certificate's private key, without a passphrase; `nil` if the certificate's file holds
      /// both.
      public var privateKey: String?

      /// Creates options with the system's authorities and without a certificate.
      public init() {}
    }

    /// The second endpoint; `nil` for none. The key, the headers and the TLS options are those of the first.
    public var failover: Failover?

    /// What statuses mean for the events of a request, where that differs from the preset's reading.
    public var statusRules = HTTPStatusRules()

    /// The encoding of bodies. Default ``Compression/gzip``.
    public var compression = Compression.gzip

    /// The maximum time for connecting, TLS included. Default 10 s.
    public var connectTimeout = Duration.seconds(10)

    /// The maximum pause within an answer. Default 15 s.
    public var readTimeout = Duration.seconds(15)

    /// The maximum time for a request, from connecting to the end of the answer. Default 15 s.
    public var timeout = Duration.seconds(15)

    /// The time after the start of a ``HTTPProvider/deliver(_:)`` call in which further requests of that call may
    /// begin. The events of requests that don't begin are retried. Default 10 s. Together with ``timeout``, the time
    /// must stay below `DeliveryOptions.attemptTimeout`, which is 30 s: a cancelled call returns no verdicts.
    public var callTime = Duration.seconds(10)

    /// The maximum number of requests of one ``HTTPProvider/deliver(_:)`` call that are in flight at the same time,
    /// each on a connection of its own. Default 1, which keeps the order: a request is sent when the request before it
    /// is answered. With more, the endpoint may get the requests of a call in any order, and the next call begins when
    /// all of them are answered. At least 1.
    ///
    /// A call has as many requests as its events need by ``HTTPLimits``. So to have `n` requests in flight, let a call
    /// have `n` times the vendor's limit of events, with `FlushPolicy.maximumEvents` and `FlushPolicy.maximumBytes`.
    public var concurrency = 1

    /// The time for which an unused connection stays open. Default 60 s.
    public var keepAlive = Duration.seconds(60)

    /// The maximum size of a decompressed answer, in bytes. A longer answer counts as no answer. Default 1 MiB.
    public var maximumAnswerBytes = 1 << 20

    /// Further headers. They replace headers of the preset with the same name. For a header that contains a key, use
    /// ``HTTPHeader/init(_:secret:)``.
    public var headers: [HTTPHeader] = []

    /// The proxy; `nil` for none. The environment is not consulted.
    public var proxy: Proxy?

    /// The TLS options.
    public var tls = TLS()

    /// The logger for warnings that no verdict can carry; `nil` logs nothing. ``HTTPCounts`` counts them in any case.
    public var logger: Logger? = Logger(label: "weir.http")

    /// Creates a configuration with the default values.
    public init() {}

    /// Returns the configuration with a ``timeout`` and a ``callTime`` whose sum is below the time of a call. A call
    /// that is cancelled returns no verdicts and counts as no failure of the endpoint, so a second endpoint would get
    /// nothing.
    func fitting(_ attemptTimeout: Duration) -> HTTPConfiguration {
      guard callTime + timeout >= attemptTimeout else { return self }
      var configuration = self
      configuration.timeout = min(timeout, attemptTimeout / 2)
      configuration.callTime = min(callTime, attemptTimeout / 3)
      return configuration
    }
  }

  /// The counts of an ``HTTPProvider`` since it was created.
  public struct HTTPCounts: Hashable, Sendable {
    /// Requests that were sent, or whose sending failed.
    public internal(set) var requests: UInt64 = 0

    /// Requests that got no answer.
    public internal(set) var unanswered: UInt64 = 0

    /// Requests that were sent to the second endpoint (``HTTPConfiguration/Failover``).
    public internal(set) var failedOver: UInt64 = 0

    /// Bytes of bodies, before compression.
    public internal(set) var bytes: UInt64 = 0

    /// Bytes of bodies as sent.
    public internal(set) var sentBytes: UInt64 = 0

    /// Events that the endpoint refused without naming them. They count as accepted, because they can't be told from
    /// the others.
    public internal(set) var unnamedRejections: UInt64 = 0

    /// Requests that tell of users, and that the vendor refused. Events name their user nevertheless.
    public internal(set) var refusedIdentifications: UInt64 = 0

    /// Creates counts of zero.
    public init() {}
  }
#endif
