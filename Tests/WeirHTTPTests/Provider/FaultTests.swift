// Endpoints that fail in every way there is, and servers that repeat the keys they were sent.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  /// Endpoints that are down, slow, wrong or hostile: a failure or a stop, and no event is settled.
  @Suite struct FaultTests {
    private let events = (0..<3).map { sampleEvent($0) }

    private func quick() -> HTTPConfiguration {
      var configuration = HTTPConfiguration()
      configuration.timeout = .milliseconds(300)
      return configuration
    }

    /// What a delivery to this server throws.
    private func error(
      _ server: TestServer, _ configuration: HTTPConfiguration = .patient
    ) async throws -> (any Error)? {
      let preset = JSONPreset(endpoint: "\(server.url)/in?token=abcdefgh", authorization: .bearer(Secret("key-12345")))
      let provider = try HTTPProvider(preset, configuration: configuration)
      let error = await thrown { try await provider.deliver(events) }
      #expect(provider.counts.requests == 1)
      await provider.shutdown()
      return error
    }

    @Test func `an endpoint that is down is a failure`() async throws {
      let server = try TestServer.refusing()
      defer { server.stop() }
      let reason = try #require(try await error(server) as? HTTPFailure).reason
      #expect(reason == "\(server.url)/in: no connection: Connection refused")
      #expect(!reason.contains("abcdefgh"))
    }

    @Test func `an endpoint with a name that there is not is a failure`() async throws {
      let provider = try HTTPProvider(endpoint: "http://weir.invalid/in", configuration: .patient)
      let failure = await thrown { try await provider.deliver(events) } as? HTTPFailure
      #expect(failure?.reason == "http://weir.invalid/in: no connection: the host is not found")
      #expect(provider.counts.unanswered == 1)
      await provider.shutdown()
    }

    @Test func `an endpoint that does not answer in time is a failure`() async throws {
      let server = try TestServer(.hang)
      defer { server.stop() }
      let failure = try await error(server, quick()) as? HTTPFailure
      #expect(failure == HTTPFailure("\(server.url)/in: no answer within 0.3 seconds"))
    }

    @Test func `an answer that pauses too long is a failure`() async throws {
      let server = try TestServer(.hang)
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      configuration.readTimeout = .milliseconds(200)
      configuration.timeout = .seconds(60)
      #expect(try await error(server, configuration) is HTTPFailure)
    }

    @Test func `an answer whose body takes too long is a failure`() async throws {
      let server = try TestServer(.trickle(1_000, every: .milliseconds(20)))
      defer { server.stop() }
      #expect(try await error(server, quick()) is HTTPFailure)
    }

    @Test(arguments: [
      "", "\r\n\r\n", "what?\r\n\r\n", "HTTP/1.1 abc OK\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
      "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 200 O", "\u{0}\u{1}\u{2}",
      "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello",
    ])
    func `garbage and an answer that is cut off are failures`(_ text: String) async throws {
      let server = try TestServer(.raw(text))
      defer { server.stop() }
      #expect(try await error(server) is HTTPFailure)
    }

    /// A server of HTTP/2 alone begins with its settings, whatever it was asked.
    @Test func `a server of HTTP 2 alone is named as such`() async throws {
      let server = try TestServer(.raw("\u{0}\u{0}\u{6}\u{4}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{3}\u{0}\u{0}\u{0}\u{64}"))
      defer { server.stop() }
      let failure = try #require(try await error(server) as? HTTPFailure)
      #expect(failure.reason.contains("no answer: the server does not speak HTTP/1.1"), "\(failure)")
      #expect(failure.reason.contains("only HTTP/2; set the right address and port"), "\(failure)")
    }

    @Test func `an answer that is too long is a failure`() async throws {
      let server = try TestServer(.answer(200, body: String(repeating: " ", count: (1 << 20) + 1)))
      defer { server.stop() }
      let failure = try #require(try await error(server) as? HTTPFailure)
      #expect(failure.reason.contains("more than 1048576 bytes"))
      let most = try TestServer(.answer(200, body: String(repeating: " ", count: 1 << 20)))
      defer { most.stop() }
      #expect(try await self.error(most) == nil)
    }

    @Test func `a small answer that is large unpacked is a failure`() async throws {
      let packed = try #require(Gzip.compressed(Array(repeating: 0x20, count: 64 << 20)))
      #expect(packed.count < 1 << 20)
      let server = try TestServer(.bytes(200, headers: ["content-encoding": "gzip"], body: packed))
      defer { server.stop() }
      // Found while unpacking, and not when all of it is there.
      let failure = try await error(server) as? HTTPFailure
      #expect(
        failure == HTTPFailure("\(server.url)/in: the answer can't be decompressed, or exceeds 1048576 bytes: limit"))
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect elsewhere stops delivery, and is not followed`(_ status: Int) async throws {
      let other = try TestServer(.answer(200))
      defer { other.stop() }
      let server = try TestServer(.answer(status, headers: ["location": "\(other.url)/in?session=secretive"]))
      defer { server.stop() }
      let stopped = try await error(server) as? DeliveryStopped
      #expect(stopped?.reason == "the endpoint redirects to \(other.url)/in (\(status)); set the address")
      #expect(other.requests.isEmpty)
      #expect(server.requests.count == 1)
    }

    /// Whoever goes there asks for a page, and its 200 says nothing of events.
    @Test(arguments: [301, 302, 303])
    func `a redirect that wants no post is not followed anywhere`(_ status: Int) async throws {
      let server = try TestServer { request in
        request.path == "/in" ? .answer(status, headers: ["location": "/login"]) : .answer(200)
      }
      defer { server.stop() }
      let stopped = try await error(server) as? DeliveryStopped
      #expect(stopped?.reason == "the endpoint redirects to /login (\(status)); set the address")
      #expect(server.requests.map(\.path) == ["/in"])
    }

    @Test(arguments: [307, 308])
    func `a redirect on the same host is followed with the body`(_ status: Int) async throws {
      let server = try TestServer { request in
        request.path == "/in" ? .answer(status, headers: ["location": "/in/"]) : .answer(200)
      }
      defer { server.stop() }
      #expect(try await error(server) == nil)
      #expect(server.requests.map(\.target) == ["/in?token=abcdefgh", "/in/?token=abcdefgh"])
      #expect(server.requests.map(\.method) == ["POST", "POST"])
      #expect(server.requests[0].content == server.requests[1].content)
    }

    @Test func `redirects in a circle stop delivery`() async throws {
      let server = try TestServer(.answer(307, headers: ["location": "/in"]))
      defer { server.stop() }
      #expect(try await error(server) is DeliveryStopped)
      #expect(server.requests.count == 4)
    }

    /// The words of BoringSSL tell where its sources were, on the machine that built it.
    @Test func `a port without TLS is told in words`() {
      let reason = "sslError([Error: 268435703 error:100000f7:SSL routines:OPENSSL_internal:"
      let plain = HTTPTransport.explained(handshake: reason + "WRONG_VERSION_NUMBER at /build/ssl/tls_record.cc:127])")
      #expect("\(plain)" == "no answer: the server does not speak TLS; check whether the address must be http")
      let other = HTTPTransport.explained(handshake: reason + "INAPPROPRIATE_FALLBACK at /build/ssl/x.cc:1])")
      #expect("\(other)" == "no answer: TLS failed: \(reason)INAPPROPRIATE_FALLBACK])")
      let untrusted = HTTPTransport.explained(handshake: "CERTIFICATE_VERIFY_FAILED at /b/x.cc:1")
      #expect(untrusted is HTTPTransport.CertificateNotTrusted)
    }

    @Test(arguments: [
      ("TLSV1_ALERT_CERTIFICATE_REQUIRED", "the endpoint requires a certificate of this program; set one"),
      ("TLSV1_ALERT_UNKNOWN_CA", "(UNKNOWN_CA)"), ("SSLV3_ALERT_BAD_CERTIFICATE", "(BAD_CERTIFICATE)"),
      ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "(CERTIFICATE_EXPIRED)"), ("TLSV1_ALERT_ACCESS_DENIED", "(ACCESS_DENIED)"),
    ])
    func `an alert of the server about a certificate stops delivery`(_ alert: String, _ words: String) {
      let error = HTTPTransport.explained(handshake: "sslError([SSL routines:OPENSSL_internal:\(alert) at /b/x.cc:1])")
      #expect((error as? DeliveryStopped)?.reason.contains(words) == true, "\(error)")
    }

    @Test(arguments: [401, 403, 404])
    func `a wrong key or address stops delivery`(_ status: Int) async throws {
      let server = try TestServer(.answer(status, body: "no key-12345 here\r\n\u{1b}[2J"))
      defer { server.stop() }
      let reason = try #require(try await error(server) as? DeliveryStopped).reason
      #expect(reason.contains("\(status)"))
      #expect(reason.contains("no [secret] here"))
      #expect(reason.contains("set the right"))
      #expect(!reason.contains("\u{1b}"))
      #expect(!reason.contains("\n"))
    }

    @Test func `a pause is kept, in seconds and as a date`() async throws {
      let server = try TestServer(
        .answer(429, headers: ["retry-after": "7"]),
        .answer(
          503,
          headers: ["retry-after": "Sun, 06 Nov 1994 08:50:37 GMT", "date": "Sun, 06 Nov 1994 08:49:37 GMT"]))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      #expect(try await provider.deliver(events) == Array(repeating: .retry(after: .seconds(7)), count: 3))
      #expect(try await provider.deliver(events) == Array(repeating: .retry(after: .seconds(60)), count: 3))
      await provider.shutdown()
    }

    @Test func `an endpoint that acknowledges events that it was not given is a failure`() async throws {
      let server = try TestServer(.answer(200, body: #"{"rejected":[{"id":"\#(sampleID(77))"}]}"#))
      defer { server.stop() }
      #expect(try await error(server) is HTTPFailure)
    }

    @Test func `a call that is cancelled ends, and the next one works`() async throws {
      let server = try TestServer(.hang, .answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      let task = Task { try await provider.deliver(events) }
      while server.requests.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
      task.cancel()
      #expect(await thrown { try await task.value } != nil)
      #expect(try await provider.deliver(events) == Array(repeating: .accepted, count: 3))
      await provider.shutdown()
    }

    @Test func `an answer stands if the call is cancelled after it`() async throws {
      let server = try TestServer(.answer(200), .hang)
      defer { server.stop() }
      let provider = try HTTPProvider(
        StandardPreset(endpoint: server.url, limits: HTTPLimits(events: 1)), configuration: .patient)
      let task = Task { try await provider.deliver(events) }
      while server.requests.count < 2 { try await Task.sleep(for: .milliseconds(1)) }
      task.cancel()
      let verdicts = try await task.value
      #expect(verdicts.first == .accepted)
      #expect(verdicts.dropFirst().allSatisfy { $0 != .accepted })
      await provider.shutdown()
    }

    @Test func `nothing is sent after the shutdown`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      await provider.shutdown()
      await provider.shutdown()
      #expect(await thrown { try await provider.deliver(events) } is HTTPFailure)
      #expect(server.requests.isEmpty)
    }
  }

  /// Keys, in whatever a server says.
  @Suite struct SecrecyTests {
    @Test(arguments: HTTPPresetName.allCases, [200, 302, 400, 401, 404, 429, 500])
    func `a server that echoes the request shows no key`(_ name: HTTPPresetName, _ status: Int) async throws {
      let server = try TestServer { request in
        let headers = request.headers.map { "\($0.key): \($0.value)" }.joined(separator: "\n")
        // What it made of the header, too: the key without the name of its scheme.
        let credentials = request.headers["authorization"]?.split(separator: " ").last ?? ""
        let said = "\(credentials) \(request.target) \(headers)\n\(request.text.prefix(300))"
        return .answer(status, headers: ["location": "http://\(request.headers["authorization"] ?? "x")/"], body: said)
      }
      defer { server.stop() }
      let key = Secret("hush-zyxwv-hush")
      let address = "http://user:hunter22@127.0.0.1:\(server.port)/?token=abcdefgh"
      let preset = try name.sample(endpoint: address, key: key, project: "1")
      let provider = try HTTPProvider(preset, configuration: .patient)
      let said = await thrown { try await provider.deliver([sampleEvent(0)]) }.map { "\($0) \(String(reflecting: $0))" }
      let association = await thrown { try await provider.identify(EventUser(id: "u1")) }.map { "\($0)" }
      await provider.shutdown()
      for text in [said, association].compactMap({ $0 }) {
        for part in ["zyxwv", "hunter22", "abcdefgh", "aHVzaC16", "dXNlcjpodW50ZXIyMg"] {
          #expect(!text.contains(part), "\(text)")
        }
      }
      // The server did have it.
      #expect(server.requests.contains { "\($0.target) \($0.text) \($0.headers)".contains(/zyxwv|aHVzaC16/) })
    }
  }
#endif
