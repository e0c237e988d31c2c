// UntrustedCertificate: finds out why a certificate is not trusted, which the failed handshake does not tell.

#if HTTP
  import NIOCore
  import NIOPosix
  import NIOSSL
  import Weir

  enum UntrustedCertificate {
    private static let longest = TimeAmount.seconds(5)

    /// Returns the certificates that an endpoint presents, its own first; none if the endpoint can't be reached. Sends
    /// nothing.
    static func shown(by host: String, port: Int) async -> [NIOSSLCertificate] {
      let isAddress = (try? SocketAddress(ipAddress: host, port: port)) != nil
      let shown = Shown()
      guard let context = try? NIOSSLContext(configuration: .makeClientConfiguration()) else { return [] }
      let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup).connectTimeout(longest)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            let handler = try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host) {
              (certificates, promise: EventLoopPromise<NIOSSLVerificationResult>) in
              shown.certificates.withLock { $0 = certificates }
              // Ends the connection: certificates presented here are never trusted.
              promise.succeed(.failed)
            }
            try channel.pipeline.syncOperations.addHandler(handler)
          }
        }
      guard let channel = try? await bootstrap.connect(host: host, port: port).get() else { return [] }
      let closing = channel.eventLoop.scheduleTask(in: longest) { channel.close(promise: nil) }
      try? await channel.closeFuture.get()
      closing.cancel()
      return shown.certificates.withLock { $0 }
    }

    private final class Shown: Sendable {
      let certificates = Lock<[NIOSSLCertificate]>([])
    }

    /// Returns the problem, as far as the certificates show it, and a remedy.
    ///
    /// - Parameters:
    ///   - shown: The certificates that the endpoint presents, its own first.
    ///   - authorities: The file of the trusted authorities; `nil` for the system's.
    ///   - now: The time, in seconds since 1970.
    static func reason(shown: [NIOSSLCertificate], authorities: String?, now: Int) -> String {
      for (index, certificate) in shown.enumerated() {
        let which = index == 0 ? "the endpoint's certificate" : "a certificate above the endpoint's"
        if certificate.notValidAfter < now {
          return "\(which) expired at \(time(certificate.notValidAfter)); the endpoint must renew it"
        }
        if certificate.notValidBefore > now {
          return "\(which) is valid only from \(time(certificate.notValidBefore)) on; check this machine's clock"
        }
      }
      let trusted = authorities.flatMap { try? HTTPConfiguration.TLS.certificates(in: $0) } ?? []
      if let authorities, let expired = trusted.map({ Int($0.notValidAfter) }).filter({ $0 < now }).max() {
        return "the endpoint's certificate is not trusted, and \(authorities) has an authority that expired at "
          + "\(time(expired)); set the authorities that sign it"
      }
      return "the endpoint's certificate is not trusted; set the authorities that sign it"
    }

    private static func time(_ seconds: Int) -> String {
      let (nanoseconds, isOver) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
      return Timestamp(nanosecondsSince1970: isOver ? (seconds < 0 ? .min : .max) : nanoseconds).description
    }
  }
#endif
