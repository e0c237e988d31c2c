// HTTPTransport: sends one request and gives its answer, within limits of time and size.

#if HTTP
  import NIOHTTPCompression
  import WeirDelivery
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// The door to async-http-client.
  ///
  /// A client of its own is made with the first request and shut down by ``shutdown()``, or when the transport goes;
  /// one that was given is left as it is.
  final class HTTPTransport: Sendable {
    private enum Client {
      case none
      case own(HTTPClient)
      case shared(HTTPClient)
      case gone
    }

    private static let maximumRedirects = 3
    static let longest = Duration.seconds(1 << 30)

    private let configuration: HTTPConfiguration
    private let client: Lock<Client>

    init(_ configuration: HTTPConfiguration, shared: HTTPClient?) {
      self.configuration = configuration
      client = Lock(shared.map { .shared($0) } ?? .none)
    }

    deinit {
      client.withLock { client in
        // A client that is let go of without this ends a debug build.
        if case .own(let own) = client { own.shutdown { _ in } }
      }
    }

    /// Sends a request; follows redirects on the same host that say that the same request is wanted there (307, 308).
    ///
    /// Throws ``HTTPFailure`` where there is no answer: not reached, too slow, cut off, too long; and
    /// ``DeliveryStopped`` where TLS or the client's own files are at fault.
    func send(_ post: HTTPPost, to endpoint: HTTPEndpoint, compress: Bool) async throws -> (HTTPAnswer, sent: Int) {
      let client = try current()
      let body = compress && post.body.count >= Gzip.leastBytes ? Gzip.compressed(post.body) : nil
      let bytes = body ?? post.body
      let headers = headers(of: post, to: endpoint, isCompressed: body != nil)
      var target = endpoint
      var url = endpoint.url(path: post.path, query: post.query)
      for _ in 0...Self.maximumRedirects {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = headers
        request.body = .bytes(ByteBuffer(bytes: bytes))
        let answer = try await exchange(request, with: target, by: client)
        // The others lead clients to ask for a page in place of sending: what answers there with 200 has nothing of it.
        guard [307, 308].contains(answer.status), let location = answer["location"],
          let next = target.redirected(to: location)
        else { return (answer, bytes.count) }
        target = next
        // The query of the request goes along, unless the redirect has its own.
        url = next.url(query: location.contains("?") ? [] : post.query)
      }
      throw DeliveryStopped("\(endpoint) redirects over \(Self.maximumRedirects) times; set the address")
    }

    /// Closes connections. Requests after it fail.
    func shutdown() async {
      let before = client.withLock { client in
        defer { client = .gone }
        return client
      }
      if case .own(let own) = before { try? await own.shutdown() }
    }

    // MARK: One request

    private func exchange(
      _ request: HTTPClientRequest, with endpoint: HTTPEndpoint, by client: HTTPClient
    ) async throws -> HTTPAnswer {
      let most = configuration.maximumAnswerBytes
      return try await within(configuration.timeout) {
        do {
          // The deadline is that of `within`, which covers the body too.
          let response = try await client.execute(request, deadline: .distantFuture)
          let body: ByteBuffer
          do {
            body = try await response.body.collect(upTo: most)
          } catch is NIOTooManyBytesError {
            throw HTTPFailure("the answer (\(response.status.code)) has more than \(most) bytes")
          }
          return HTTPAnswer(
            status: Int(response.status.code), headers: response.headers.map { ($0.name, $0.value) },
            body: Array(body.readableBytesView), time: .now)
        } catch {
          // The type has no name that can be said here without another package.
          if "\(type(of: error))" == "DecompressionError" {
            throw HTTPFailure("the answer can't be unpacked, or not within \(most) bytes: \(error)")
          }
          let explained = Self.explained(error)
          guard explained is CertificateNotTrusted else { throw explained }
          throw DeliveryStopped(await self.whyNotTrusted(endpoint))
        }
      }
    }

    /// The endpoint is asked for its certificates once more, and for nothing else: delivery stops behind it.
    private func whyNotTrusted(_ endpoint: HTTPEndpoint) async -> String {
      var shown: [NIOSSLCertificate] = []
      // What a proxy, or a client that was given, sees is not to be seen from here.
      if configuration.proxy == nil, case .own = client.withLock({ $0 }) {
        shown = await UntrustedCertificate.shown(by: endpoint.host, port: endpoint.port)
      }
      return UntrustedCertificate.reason(
        shown: shown, authorities: configuration.tls.authorities,
        now: Int(Timestamp.now.nanosecondsSince1970 / 1_000_000_000))
    }

    /// The handshake failed at the endpoint's certificate.
    struct CertificateNotTrusted: Error {}

    /// Runs `body`, and cancels it when the time is over.
    private func within<Result: Sendable>(
      _ time: Duration, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
      // A clock can't count further: "for ever" would end the process.
      let time = min(time, Self.longest)
      return try await withThrowingTaskGroup(of: Result?.self) { group in
        group.addTask { try await body() }
        group.addTask {
          try await Task.sleep(for: time)
          return nil
        }
        defer { group.cancelAll() }
        // Both are there, so one comes first.
        guard let result = try await group.next() ?? nil else {
          try Task.checkCancellation()
          throw HTTPFailure.late("no answer within \(time)")
        }
        return result
      }
    }

    /// What went wrong, in words that tell what to do.
    private static func explained(_ error: any Error) -> any Error {
      switch error {
      case is HTTPFailure, is CancellationError: return error
      case let error as HTTPClientError:
        if error == .cancelled { return CancellationError() }
        if error == .proxyAuthenticationRequired {
          return DeliveryStopped("the proxy does not accept the user and password")
        }
        if error.shortDescription.hasPrefix("Invalid header") {
          return DeliveryStopped("a header can't be sent: \(error.shortDescription); set the right key")
        }
        let reason = "no answer: \(error.shortDescription)"
        let isLate = [.readTimeout, .writeTimeout, .deadlineExceeded].contains(error)
        return isLate ? HTTPFailure.late(reason) : HTTPFailure(reason)
      case let error as NIOConnectionError:
        guard let first = error.connectionErrors.first else {
          return HTTPFailure("no connection: no host of this name is found")
        }
        return explained(first.error)
      case let error as IOError:
        return HTTPFailure("no connection: \(String(cString: strerror(error.errnoCode)))")
      case let error as NIOSSLExtraError:
        return DeliveryStopped("the endpoint's certificate is not for this host: \(error)")
      case NIOSSLError.handshakeFailed(let reason):
        return explained(handshake: "\(reason)")
      // A server looks at a certificate of this program when the handshake is over here.
      case let error as BoringSSLError:
        return explained(handshake: "\(error)")
      case HTTPParserError.invalidConstant, HTTPParserError.invalidVersion:
        return HTTPFailure(noHTTP)
      default: return HTTPFailure("no answer: \(error)")
      }
    }

    private static let noHTTP =
      "no answer: what listens there does not speak HTTP/1.1, perhaps HTTP/2 alone; set the right address and port"

    private static var alertOfCertificate: Regex<(Substring, Substring)> {
      #/ALERT_((?:BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(?:EXPIRED|REVOKED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)/#
    }

    static func explained(handshake reason: String) -> any Error {
      // A certificate does not become right by waiting; a handshake that was cut off may.
      if reason.contains("CERTIFICATE_VERIFY_FAILED") { return CertificateNotTrusted() }
      if reason.contains("ALERT_CERTIFICATE_REQUIRED") {
        return DeliveryStopped("the endpoint wants a certificate of this program; set one")
      }
      if let alert = reason.firstMatch(of: alertOfCertificate) {
        return DeliveryStopped(
          "the endpoint wants another certificate of this program, or one at all (\(alert.1)); set the right one")
      }
      if reason.contains("ALERT_HANDSHAKE_FAILURE") {
        return HTTPFailure(
          "no answer: the endpoint refuses the TLS handshake; see whether it wants a certificate of this program")
      }
      if reason.contains("NO_APPLICATION_PROTOCOL") { return HTTPFailure(noHTTP) }
      if reason.contains("WRONG_VERSION_NUMBER") || reason.contains("HTTP_REQUEST") {
        return HTTPFailure("no answer: what listens there does not speak TLS; see whether the address is http")
      }
      // Behind it stands where in its sources the library was, on the machine that built it.
      let words = reason.replacing(#/ at [^\s,\]]*/#, with: "")
      return HTTPFailure("no answer: TLS failed: \(words)")
    }

    private func headers(of post: HTTPPost, to endpoint: HTTPEndpoint, isCompressed: Bool) -> HTTPHeaders {
      var headers = HTTPHeaders()
      headers.add(name: "user-agent", value: "weir")
      headers.add(name: "accept", value: "*/*")
      if case .own = client.withLock({ $0 }) { headers.add(name: "accept-encoding", value: "gzip") }
      for header in [endpoint.authorization].compactMap({ $0 }) + post.headers + configuration.headers {
        header.value.withValue { headers.replaceOrAdd(name: header.name, value: $0) }
      }
      if isCompressed { headers.replaceOrAdd(name: "content-encoding", value: "gzip") }
      return headers
    }

    // MARK: The client

    private func current() throws -> HTTPClient {
      try client.withLock { client in
        switch client {
        case .own(let own): return own
        case .shared(let shared): return shared
        case .gone: throw HTTPFailure("the provider is shut down")
        case .none:
          let made = HTTPClient(eventLoopGroupProvider: .singleton, configuration: try clientConfiguration())
          client = .own(made)
          return made
        }
      }
    }

    private func clientConfiguration() throws -> HTTPClient.Configuration {
      var client = HTTPClient.Configuration()
      client.timeout = .init(
        connect: configuration.connectTimeout.timeAmount, read: configuration.readTimeout.timeAmount)
      client.redirectConfiguration = .disallow
      client.connectionPool.idleTimeout = configuration.keepAlive.timeAmount
      // Delivery has its own back-off, and says what went wrong.
      client.connectionPool.retryConnectionEstablishment = false
      // A small answer can be a large one compressed.
      client.decompression = .enabled(limit: .size(configuration.maximumAnswerBytes))
      client.tlsConfiguration = try tls()
      if let proxy = configuration.proxy {
        switch proxy.kind {
        case .socks: client.proxy = .socksServer(host: proxy.host, port: proxy.port)
        case .http where proxy.user.isEmpty && proxy.password == nil:
          client.proxy = .server(host: proxy.host, port: proxy.port)
        case .http:
          let password = proxy.password ?? Secret("")
          let authorization = password.withValue {
            HTTPClient.Authorization.basic(username: proxy.user, password: $0)
          }
          client.proxy = .server(host: proxy.host, port: proxy.port, authorization: authorization)
        }
      }
      return HTTPProvider.hardened(client)
    }

    private func tls() throws -> TLSConfiguration {
      do throws(WeirError) {
        return try configuration.tls.clientConfiguration()
      } catch {
        throw DeliveryStopped(error.message)
      }
    }
  }

  extension Duration {
    fileprivate var timeAmount: TimeAmount {
      let (seconds, attoseconds) = components
      let nanoseconds = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      return .nanoseconds(nanoseconds.overflow ? .max / 2 : nanoseconds.partialValue + attoseconds / 1_000_000_000)
    }
  }
#endif
