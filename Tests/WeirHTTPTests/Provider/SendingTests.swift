// What goes over the wire when all is well.

#if HTTP
  import AsyncHTTPClient
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct SendingTests {
    private func events(_ count: Int) -> [PreparedEvent] { (0..<count).map { sampleEvent($0) } }

    @Test func `a request has the method, path, headers and body that it is meant to have`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: "\(server.url)/in?source=shop", configuration: .patient)
      #expect(try await provider.deliver(events(20)) == Array(repeating: .accepted, count: 20))
      await provider.shutdown()
      let request = try #require(server.requests.first)
      #expect(server.requests.count == 1)
      #expect(request.method == "POST")
      #expect(request.target == "/in?source=shop")
      #expect(request.headers["content-type"] == "application/json")
      #expect(request.headers["user-agent"] == "weir")
      #expect(request.headers["host"] == "127.0.0.1:\(server.port)")
      #expect(request.headers["content-encoding"] == "gzip")
      #expect(request.headers["accept-encoding"] == "gzip")
      #expect(request.body.count < request.content.count / 4)
      #expect((request.json as? [[String: Any]])?.map { $0["id"] as? String } == (0..<20).map { sampleID($0) })
      #expect(provider.counts.requests == 1)
      #expect(provider.counts.unanswered == 0)
      #expect(provider.counts.bytes == UInt64(request.content.count))
      #expect(provider.counts.sentBytes == UInt64(request.body.count))
    }

    /// No clock can count to the end of that.
    @Test func `a time limit may be for ever`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      for time in [Duration.seconds(Int64.max), .seconds(1 << 40)] {
        configuration.connectTimeout = time
        configuration.readTimeout = time
        configuration.timeout = time
        configuration.callTime = time
        configuration.keepAlive = time
        let provider = try HTTPProvider(endpoint: server.url, configuration: configuration)
        #expect(try await provider.deliver(events(2)) == [.accepted, .accepted])
        await provider.shutdown()
      }
    }

    @Test func `compression is left out where it is not wanted or not taken`() async throws {
      let server = try TestServer(.answer(200, body: "{}"))
      defer { server.stop() }
      var identity = HTTPConfiguration.patient
      identity.compression = .identity
      for provider in [
        try HTTPProvider(JSONPreset(endpoint: server.url), configuration: identity),
        try HTTPProvider(JSONPreset(endpoint: server.url, takesGzip: false), configuration: .patient),
        try HTTPProvider(AmplitudePreset(apiKey: Secret("key-12345"), endpoint: server.url), configuration: .patient),
      ] {
        _ = try await provider.deliver(events(20))
        await provider.shutdown()
      }
      // Too small to gain anything.
      let small = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: .patient)
      _ = try await small.deliver(events(1))
      await small.shutdown()
      #expect(server.requests.map { $0.headers["content-encoding"] } == [nil, nil, nil, nil])
    }

    @Test func `an answer may be compressed`() async throws {
      let body = #"{"rejected":[{"id":"\#(sampleID(1))","reason":"no such order"}]}"#
      let packed = try #require(Gzip.compressed(Array(body.utf8)))
      let server = try TestServer(.bytes(200, headers: ["content-encoding": "gzip"], body: packed))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      #expect(try await provider.deliver(events(3)) == [.accepted, .rejected("no such order"), .accepted])
      await provider.shutdown()
    }

    @Test func `one connection serves all requests`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(
        StandardPreset(endpoint: server.url, limits: HTTPLimits(events: 2)), configuration: .patient)
      for _ in 0..<3 { _ = try await provider.deliver(events(5)) }
      await provider.shutdown()
      #expect(server.requests.count == 9)
      #expect(server.connectionCount == 1)
    }

    @Test func `a connection that the server closed is replaced`() async throws {
      let server = try TestServer(.raw("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"))
      defer { server.stop() }
      let provider = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: .patient)
      // The second request may find the connection just closing, and then is to be given again.
      for _ in 0..<3 {
        var tries = 0
        while await thrown({ try await provider.deliver(events(1)) }) != nil, tries < 10 { tries += 1 }
        #expect(tries < 10)
      }
      await provider.shutdown()
      #expect(server.connectionCount >= 3)
    }

    @Test func `nothing is sent for no events`() async throws {
      let server = try TestServer(.answer(500))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      #expect(try await provider.deliver([]) == [])
      let unfit = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: .patient)
      #expect(try await unfit.deliver([sampleEvent(0, name: "unfit")]) == [.rejected("unfit for this")])
      await provider.shutdown()
      await unfit.shutdown()
      #expect(server.requests.isEmpty)
    }

    @Test func `headers of the configuration replace those of the preset`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      configuration.headers = [.content("text/special"), HTTPHeader("x-extra", secret: Secret("hush-hush"))]
      let provider = try HTTPProvider(
        JSONPreset(endpoint: server.url, authorization: .bearer(Secret("t"))), configuration: configuration)
      _ = try await provider.deliver(events(1))
      await provider.shutdown()
      let headers = try #require(server.requests.first?.headers)
      #expect(headers["content-type"] == "text/special")
      #expect(headers["x-extra"] == "hush-hush")
      #expect(headers["authorization"] == "Bearer t")
    }

    @Test func `user and password of the address are sent as a header alone`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(
        endpoint: "http://user:hunter22@127.0.0.1:\(server.port)/in", configuration: .patient)
      _ = try await provider.deliver(events(1))
      await provider.shutdown()
      let request = try #require(server.requests.first)
      #expect(request.headers["authorization"] == "Basic dXNlcjpodW50ZXIyMg==")
      #expect(request.target == "/in")
    }

    @Test func `a client that is given is used, and left open`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let client = HTTPClient(eventLoopGroupProvider: .singleton)
      let provider = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: .patient, client: client)
      _ = try await provider.deliver(events(1))
      await provider.shutdown()
      #expect(await thrown { try await provider.deliver(events(1)) } is HTTPFailure)
      let other = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: .patient, client: client)
      #expect(try await other.deliver(events(1)) == [.accepted])
      try #require(server.requests.count == 2)
      #expect(server.requests[0].headers["accept-encoding"] == nil)
      try await client.shutdown()
    }

    @Test func `a provider that is let go of ends its client`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      // A client that is not shut down ends a debug build.
      var provider: HTTPProvider? = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: .patient)
      _ = try await provider?.deliver(events(1))
      provider = nil
      #expect(server.requests.count == 1)
    }

    @Test(arguments: ["", "with space", "dot.ted", "ü", "a/b"])
    func `a name that can't name a cursor is refused`(_ name: String) {
      #expect(throws: WeirError.self) { try HTTPProvider(StandardPreset(), name: name) }
    }

    @Test func `a provider may be given a name`() throws {
      #expect(try HTTPProvider(StandardPreset()).name == "standard")
      #expect(try HTTPProvider(StandardPreset(), name: "Other_1-x").name == "Other_1-x")
      #expect(throws: WeirError.self) { try HTTPProvider(StandardPreset(endpoint: "nowhere")) }
    }
  }
#endif
