// HTTPTransport: sends one request and returns its answer, within limits of time and size.

#if HTTP
  import NIOHTTPCompression
  import WeirDelivery
  import AsyncHTTPClient
  import NIOCore
  import NIOHTTP1
  import NIOPosix
  import NIOSSL
  import Synchronization
  import Weir

  #if canImport(Glibc)
    import Glibc
  #else
    import Musl
  #endif

  /// The only code that uses async-http-client.
  ///
  /// An own client is created with the first request, and shut down by ``shutdown()`` or when the transport is
  /// released. A given client is not shut down.
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
        // A client that is released without a shutdown ends a debug build.
        if case .own(let own) = client { own.shutdown { _ in } }
      }
    }

    /// Sends a request. Follows redirects on the same host that repeat the same request (307, 308).
    ///
    /// Throws ``HTTPFailure`` if there is no answer: not reached, too slow, truncated, too long. Throws
    /// ``DeliveryStopped`` if TLS or the client's files are at fault.
    func send(_ post: HTTPPost, to endpoint: HTTPEndpoint, compress: Bool) async throws -> (HTTPAnswer, sent: Int) {
      let client = try current()
      let body =
        compress && post.body.count >= Gzip.leastBytes ? ProcessorMeter.measure { Gzip.compressed(post.body) } : nil
      let bytes = body ?? post.body
      let headers = headers(of: post, to: endpoint, isCompressed: body != nil)
      var target = endpoint
      let query = post.query + post.secretQuery.map { secret in (secret.name, secret.value.withValue { $0 }) }
      var url = endpoint.url(path: post.path, query: query)
      for _ in 0...Self.maximumRedirects {
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers = headers
        request.body = .bytes(ByteBuffer(bytes: bytes))
        let answer = try await exchange(request, with: target, by: client)
        // Other redirects make clients fetch a page instead of repeating the request: a 200 from there accepts no
        // events.
        guard [307, 308].contains(answer.status), let location = answer["location"],
          let next = target.redirected(to: location)
        else { return (answer, bytes.count) }
        target = next
        // The request's query is kept, unless the redirect has its own.
        url = next.url(query: location.contains("?") ? [] : query)
      }
      throw DeliveryStopped("\(endpoint) redirects more than \(Self.maximumRedirects) times; set the address")
    }

    /// Closes the connections. Later requests fail.
    func shutdown() async {
      let before = client.withLock { client in
        defer { client = .gone }
        return client
      }
      if case .own(let own) = before { try? await own.shutdown() }
    }

    // MARK: One request

    func exchange(
      _ request: HTTPClientRequest, with endpoint: HTTPEndpoint, by client: HTTPClient
    ) async throws -> HTTPAnswer {
      let most = configuration.maximumAnswerBytes
      return try await within(configuration.timeout, by: client) {
        do {
          // `within` enforces the deadline, which includes the body.
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
          // The error's type can't be named here without another dependency.
          if "\(type(of: error))" == "DecompressionError" {
            throw HTTPFailure("the answer can't be decompressed, or exceeds \(most) bytes: \(error)")
          }
          let explained = Self.explained(error)
          guard explained is CertificateNotTrusted else { throw explained }
          throw DeliveryStopped(await self.whyNotTrusted(endpoint))
        }
      }
    }

    /// Asks the endpoint for its certificates once more, and for nothing else. Delivery stops afterwards.
    private func whyNotTrusted(_ endpoint: HTTPEndpoint) async -> String {
      var shown: [NIOSSLCertificate] = []
      // What a proxy or a given client sees can't be observed here.
      if configuration.proxy == nil, case .own = client.withLock({ $0 }) {
        shown = await UntrustedCertificate.shown(by: endpoint.host, port: endpoint.port)
      }
      return UntrustedCertificate.reason(
        shown: shown, authorities: configuration.tls.authorities,
        now: Int(Timestamp.now.nanosecondsSince1970 / 1_000_000_000))
    }

    /// The error of a handshake that failed because of the endpoint's certificate.
    struct CertificateNotTrusted: Error {}

    /// Runs `body`, and cancels it when the time is over. An event loop measures the time: a `Task.sleep` that is
    /// cancelled keeps its memory until its time is over, which for thousands of requests a second is a lot.
    private func within<Result: Sendable>(
      _ time: Duration, by client: HTTPClient, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
      // A clock can't represent longer times: "forever" would end the process.
      let time = min(time, Self.longest)
      let isLate = Atomic<Bool>(false)
      let running = Task { try await body() }
      let timer = client.eventLoopGroup.any().scheduleTask(in: time.timeAmount) {
        isLate.store(true, ordering: .relaxed)
        running.cancel()
      }
      defer { timer.cancel() }
      do {
        return try await withTaskCancellationHandler {
          try await running.value
        } onCancel: {
          running.cancel()
        }
      } catch {
        guard isLate.load(ordering: .relaxed), !Task.isCancelled else { throw error }
        throw HTTPFailure.late("no answer within \(time)")
      }
    }

    /// Returns the error as a text with a remedy.
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
          return HTTPFailure("no connection: the host is not found")
        }
        return explained(first.error)
      case let error as IOError:
        return HTTPFailure("no connection: \(String(cString: strerror(error.errnoCode)))")
      case let error as NIOSSLExtraError:
        return DeliveryStopped("the endpoint's certificate is not for this host: \(error)")
      case NIOSSLError.handshakeFailed(let reason):
        return explained(handshake: "\(reason)")
      // A server checks this program's certificate after the handshake has ended here.
      case let error as BoringSSLError:
        return explained(handshake: "\(error)")
      case HTTPParserError.invalidConstant, HTTPParserError.invalidVersion:
        return HTTPFailure(noHTTP)
      default: return HTTPFailure("no answer: \(error)")
      }
    }

    private static let noHTTP =
      "no answer: the server does not speak HTTP/1.1, perhaps only HTTP/2; set the right address and port"

    private static var alertOfCertificate: Regex<(Substring, Substring)> {
      #/ALERT_((?:BAD|UNSUPPORTED)_CERTIFICATE|CERTIFICATE_(?:EXPIRED|REVOKED|UNKNOWN)|UNKNOWN_CA|ACCESS_DENIED)/#
    }

    static func explained(handshake reason: String) -> any Error {
      // A certificate does not become valid by waiting. A truncated handshake may succeed later.
      if reason.contains("CERTIFICATE_VERIFY_FAILED") { return CertificateNotTrusted() }
      if reason.contains("ALERT_CERTIFICATE_REQUIRED") {
        return DeliveryStopped("the endpoint requires a certificate of this program; set one")
      }
      if let alert = reason.firstMatch(of: alertOfCertificate) {
        return DeliveryStopped(
          "the endpoint refuses this program's certificate, or requires one (\(alert.1)); set the right one")
      }
      if reason.contains("ALERT_HANDSHAKE_FAILURE") {
        return HTTPFailure(
          "no answer: the endpoint refuses the TLS handshake; check whether it requires a certificate of this program")
      }
      if reason.contains("NO_APPLICATION_PROTOCOL") { return HTTPFailure(noHTTP) }
      if reason.contains("WRONG_VERSION_NUMBER") || reason.contains("HTTP_REQUEST") {
        return HTTPFailure("no answer: the server does not speak TLS; check whether the address must be http")
      }
      // The rest is the position in the library's sources, on the machine that built the library.
      let words = reason.replacing(#/ at [^\s,\]]*/#, with: "")
      return HTTPFailure("no answer: TLS failed: \(words)")
    }

    func headers(of post: HTTPPost, to endpoint: HTTPEndpoint, isCompressed: Bool) -> HTTPHeaders {
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

    func current() throws -> HTTPClient {
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
      client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(configuration.concurrency, 8)
      // Delivery has its own back-off, and reports the error.
      client.connectionPool.retryConnectionEstablishment = false
      // A small answer may decompress to a large one.
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
      // Half of the range: the times that it is added to are in the range, too.
      .nanoseconds(Int64(clamping: min(wholeNanoseconds, UInt64(Int64.max / 2))))
    }
  }
#endif
