// Which vendors are told of users, and what becomes of it when they refuse.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct AssociationTests {
    private let user = EventUser(id: "u1", traits: ["plan": "pro"])

    private func provider(_ name: HTTPPresetName, _ server: TestServer) throws -> HTTPProvider {
      try HTTPProvider(try name.preset(endpoint: server.url, key: Secret("key-12345")), configuration: .patient)
    }

    @Test(arguments: [
      (HTTPPresetName.segment, "/v1/batch"), (.mixpanel, "/engage"), (.amplitude, "/2/httpapi"), (.posthog, "/batch/"),
    ])
    func `vendors that know users are told of them`(_ name: HTTPPresetName, _ path: String) async throws {
      let server = try TestServer(.answer(200, body: #"{"status":1}"#))
      defer { server.stop() }
      let provider = try provider(name, server)
      try await provider.associate(user)
      try await provider.disassociate()
      await provider.shutdown()
      #expect(server.requests.map(\.path) == [path])
      #expect(server.requests.first?.text.contains(#""u1""#) == true)
      #expect(server.requests.first?.text.contains(#""plan":"pro""#) == true)
    }

    @Test(arguments: [HTTPPresetName.json, .jsonl, .clickhouse, .otlp])
    func `vendors that know no users are not told of any`(_ name: HTTPPresetName) async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try provider(name, server)
      try await provider.associate(user)
      await provider.shutdown()
      #expect(server.requests.isEmpty)
    }

    @Test func `vendors are not told that there is nobody`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try provider(.segment, server)
      try await provider.associate(EventUser(id: ""))
      await provider.shutdown()
      #expect(server.requests.isEmpty)
    }

    @Test func `a refusal is counted, and holds nothing up`() async throws {
      let server = try TestServer(.answer(400, body: "bad trait"), .answer(200))
      defer { server.stop() }
      let provider = try provider(.segment, server)
      try await provider.associate(user)
      #expect(provider.counts.refusedAssociations == 1)
      #expect(try await provider.deliver([sampleEvent(0)]) == [.accepted])
      await provider.shutdown()
    }

    @Test(arguments: [429, 500, 503])
    func `a failure that may come right is thrown`(_ status: Int) async throws {
      let server = try TestServer(.answer(status), .answer(status, headers: ["retry-after": "1"]), .answer(200))
      defer { server.stop() }
      let provider = try provider(.segment, server)
      #expect(await thrown { try await provider.associate(user) } is HTTPFailure)
      #expect(await thrown { try await provider.associate(user) } is HTTPFailure)
      try await provider.associate(user)
      await provider.shutdown()
      #expect(provider.counts.refusedAssociations == 0)
      #expect(server.requests.count == 3)
    }

    @Test func `a wrong key stops delivery`() async throws {
      let server = try TestServer(.answer(401))
      defer { server.stop() }
      let provider = try provider(.posthog, server)
      #expect(await thrown { try await provider.associate(user) } is DeliveryStopped)
      await provider.shutdown()
    }
  }
#endif
