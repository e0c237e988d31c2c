// UntrustedCertificate: why a certificate is not trusted, which the failed handshake does not say.

#if HTTP
  import NIOCore
  import NIOPosix
  import NIOSSL
  import Weir

  enum UntrustedCertificate {
    private static let longest = TimeAmount.seconds(5)

    /// The certificates that an endpoint shows, its own first; none if it can't be asked. Sends nothing.
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
              // Ends the connection: what is seen is never trusted here.
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

    /// What is wrong, as far as the certificates tell, and what to do.
    ///
    /// - Parameters:
    ///   - shown: What the endpoint shows, its own certificate first.
    ///   - authorities: The file of the authorities that are trusted; nil for the system's.
    ///   - now: The time, in seconds since 1970.
    static func reason(shown: [NIOSSLCertificate], authorities: String?, now: Int) -> String {
      for (index, certificate) in shown.enumerated() {
        let which = index == 0 ? "the endpoint's certificate" : "a certificate above the endpoint's"
        if certificate.notValidAfter < now {
          return "\(which) expired at \(time(certificate.notValidAfter)); it must be renewed there"
        }
        if certificate.notValidBefore > now {
          return "\(which) is valid from \(time(certificate.notValidBefore)) on; see whether this machine's clock is "
            + "right"
        }
      }
      let trusted = authorities.flatMap { try? HTTPConfiguration.TLS.certificates(in: $0) } ?? []
      if let authorities, let expired = trusted.map({ Int($0.notValidAfter) }).filter({ $0 < now }).max() {
        return "the endpoint's certificate is not trusted, and \(authorities) has an authority that expired at "
          + "\(time(expired)); set the authorities that are"
      }
      return "the endpoint's certificate is not trusted; set the authorities that are"
    }

    private static func time(_ seconds: Int) -> String {
      let (nanoseconds, isOver) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
      return Timestamp(nanosecondsSince1970: isOver ? (seconds < 0 ? .min : .max) : nanoseconds).description
    }
  }
#endif
