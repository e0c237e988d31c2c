// A second endpoint: when it gets the requests, when the first gets them again, and what is counted.

#if HTTP
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct FailoverTests {
    private func provider(
      _ first: TestServer, _ second: TestServer, failures: Int = 2, retryAfter: Duration = .seconds(1 << 20),
      _ change: (inout HTTPConfiguration) -> Void = { _ in }
    ) throws -> HTTPProvider {
      var configuration = HTTPConfiguration.patient
      configuration.logger = nil
      var failover = HTTPConfiguration.Failover(second.url)
      failover.failures = failures
      failover.retryAfter = retryAfter
      configuration.failover = failover
      change(&configuration)
      return try HTTPProvider(StandardPreset(endpoint: first.url), configuration: configuration)
    }

    private func deliver(_ provider: HTTPProvider, _ number: Int = 0) async -> [Verdict]? {
      try? await provider.deliver([sampleEvent(number)])
    }

    @Test(arguments: [nil, 500, 502, 503, 599])
    func `after failures in a row the second endpoint gets the requests`(_ status: Int?) async throws {
      let first = try status.map { try TestServer(.answer($0)) } ?? TestServer.refusing()
      let second = try TestServer(.answer(200))
      defer { for server in [first, second] { server.stop() } }
      let provider = try provider(first, second)
      #expect(await deliver(provider, 0) == nil)
      #expect(second.requests.isEmpty)
      // The failure that is one too many is the call's own affair.
      for number in 1..<5 { #expect(await deliver(provider, number) == [.accepted]) }
      await provider.shutdown()
      #expect(second.requests.map(\.text) == (1..<5).map { "<\(sampleID($0))>" })
      #expect(first.requests.count == (status == nil ? 0 : 2))
      #expect(provider.counts.failedOver == 4)
      #expect(provider.counts.requests == 6)
    }

    @Test(arguments: [400, 401, 404, 408, 413, 429, 302])
    func `an answer that is no failure of the endpoint changes nothing`(_ status: Int) async throws {
      let first = try TestServer(.answer(status))
      let second = try TestServer(.answer(200))
      defer { for server in [first, second] { server.stop() } }
      let provider = try provider(first, second, failures: 1)
      for _ in 0..<5 { #expect(await deliver(provider) == nil) }
      await provider.shutdown()
      #expect(second.requests.isEmpty)
      #expect(first.requests.count == 5)
    }

    @Test func `the first endpoint gets the requests again once it answers`() async throws {
      let isUp = Mutex(false)
      let first = try TestServer { _ in .answer(isUp.withLock { $0 } ? 200 : 503) }
      let second = try TestServer(.answer(200))
      defer { for server in [first, second] { server.stop() } }
      // Each call tries the first endpoint again.
      let provider = try provider(first, second, failures: 1, retryAfter: .nanoseconds(1))
      for number in 0..<3 { #expect(await deliver(provider, number) == [.accepted]) }
      #expect(first.requests.count == 3)
      #expect(second.requests.count == 3)
      isUp.withLock { $0 = true }
      for number in 3..<6 { #expect(await deliver(provider, number) == [.accepted]) }
      await provider.shutdown()
      #expect(first.requests.count == 6)
      #expect(second.requests.count == 3)
    }

    @Test func `if both fail, the call fails after one request to each`() async throws {
      let first = try TestServer(.answer(503))
      let second = try TestServer(.answer(500))
      defer { for server in [first, second] { server.stop() } }
      let provider = try provider(first, second, failures: 1, retryAfter: .nanoseconds(1))
      for call in 1...4 {
        #expect(await deliver(provider) == nil)
        #expect(first.requests.count + second.requests.count <= 2 * call)
      }
      await provider.shutdown()
    }

    @Test func `a pause that the failing endpoint asks for does not hold the other up`() async throws {
      let first = try TestServer(.answer(503, headers: ["retry-after": "3600"]))
      let second = try TestServer(.answer(200))
      defer { for server in [first, second] { server.stop() } }
      let provider = try provider(first, second)
      #expect(await deliver(provider) == [.retry(after: .seconds(3600))])
      #expect(await deliver(provider) == [.accepted])
      await provider.shutdown()
    }

    @Test func `the verdicts of one call are those of both endpoints, each event once`() async throws {
      let count = Mutex(0)
      let first = try TestServer { _ in
        count.withLock { count in
          count += 1
          return .answer(count <= 2 ? 200 : 500)
        }
      }
      let second = try TestServer(.answer(200))
      defer { for server in [first, second] { server.stop() } }
      var configuration = HTTPConfiguration.patient
      configuration.failover = HTTPConfiguration.Failover(second.url)
      configuration.failover?.failures = 1
      let provider = try HTTPProvider(
        StandardPreset(endpoint: first.url, limits: HTTPLimits(events: 2)), configuration: configuration)
      let events = (0..<10).map { sampleEvent($0) }
      #expect(try await provider.deliver(events) == Array(repeating: .accepted, count: 10))
      await provider.shutdown()
      #expect(first.requests.count == 3)
      #expect(second.requests.count == 3)
      #expect(second.requests.first?.text == first.requests.last?.text)
    }

    @Test func `an association goes where the events go`() async throws {
      let first = try TestServer(.answer(503))
      let second = try TestServer(.answer(200, body: "{}"))
      defer { for server in [first, second] { server.stop() } }
      var configuration = HTTPConfiguration.patient
      configuration.failover = HTTPConfiguration.Failover(second.url)
      configuration.failover?.failures = 1
      let provider = try HTTPProvider(
        SegmentPreset(writeKey: Secret("key-12345"), endpoint: first.url), configuration: configuration)
      try await provider.identify(EventUser(id: "u1"))
      await provider.shutdown()
      #expect(second.requests.map(\.path) == ["/v1/batch"])
    }

    @Test func `keys of the second address are secret too`() async throws {
      let first = try TestServer.refusing()
      let second = try TestServer { request in .answer(400, body: "bad \(request.target)") }
      defer { for server in [first, second] { server.stop() } }
      let provider = try provider(first, second, failures: 1) {
        $0.failover?.endpoint += "/in?token=hunter22"
      }
      let error = await thrown { try await provider.deliver([sampleEvent(0)]) }
      await provider.shutdown()
      #expect(error is BatchRefused)
      #expect(error.map { "\($0)".contains("hunter22") } == false)
      #expect(second.requests.map(\.target) == ["/in?token=hunter22"])
    }

    @Test func `a failover that can't be one is refused`() throws {
      func make(_ failover: HTTPConfiguration.Failover) throws -> HTTPProvider {
        var configuration = HTTPConfiguration.patient
        configuration.failover = failover
        return try HTTPProvider(StandardPreset(endpoint: "http://127.0.0.1:1/in"), configuration: configuration)
      }
      #expect(throws: WeirError.self) { try make(.init("ftp://host")) }
      #expect(throws: WeirError.self) { try make(.init("http://127.0.0.1:1/in")) }
      var failover = HTTPConfiguration.Failover("http://127.0.0.1:2/in")
      #expect(throws: Never.self) { try make(failover) }
      failover.failures = 0
      #expect(throws: WeirError.self) { try make(failover) }
      failover.failures = 1
      failover.retryAfter = .zero
      #expect(throws: WeirError.self) { try make(failover) }
    }
  }

  @Suite struct StatusRulesTests {
    private func deliver(
      _ reply: TestReply, _ change: (inout HTTPStatusRules) -> Void
    ) async throws -> Result<[Verdict], any Error> {
      let server = try TestServer(reply)
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      change(&configuration.statusRules)
      let provider = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: configuration)
      let result: Result<[Verdict], any Error>
      do {
        result = .success(try await provider.deliver([sampleEvent(0), sampleEvent(1)]))
      } catch {
        result = .failure(error)
      }
      await provider.shutdown()
      return result
    }

    @Test(arguments: [200, 204, 304, 400, 401, 404, 409, 429, 500, 501, 599])
    func `a rule decides, whatever the table says`(_ status: Int) async throws {
      let reply = TestReply.answer(status, body: [204, 304].contains(status) ? "" : "<html>words")
      #expect(try await deliver(reply) { $0[status] = .accept }.get() == [.accepted, .accepted])
      func error(_ meaning: HTTPStatusRules.Meaning) async throws -> (any Error)? {
        do {
          _ = try await deliver(reply) { $0[class: status / 100] = meaning }.get()
          return nil
        } catch {
          return error
        }
      }
      #expect(try await error(.retry) is HTTPFailure)
      #expect(try await error(.reject) is BatchRefused)
      #expect(try await error(.stop) is DeliveryStopped)
    }

    @Test func `a retry waits as long as the endpoint asks for`() async throws {
      let reply = TestReply.answer(404, headers: ["retry-after": "7"])
      let verdicts = try await deliver(reply) { $0[404] = .retry }.get()
      #expect(verdicts == Array(repeating: .retry(after: .seconds(7)), count: 2))
    }

    @Test func `a status without a rule means what it did`() async throws {
      let result = try await deliver(.answer(404)) { $0[class: 5] = .accept }
      #expect(throws: DeliveryStopped.self) { try result.get() }
    }

    @Test(arguments: HTTPStatusRules.Meaning.allCases)
    func `a rule is for what is told of users, too`(_ meaning: HTTPStatusRules.Meaning) async throws {
      let server = try TestServer(.answer(503, headers: ["retry-after": "1"]))
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      configuration.statusRules[503] = meaning
      configuration.logger = nil
      let provider = try HTTPProvider(
        SegmentPreset(writeKey: Secret("key-12345"), endpoint: server.url), configuration: configuration)
      let error = await thrown { try await provider.identify(EventUser(id: "u1")) }
      await provider.shutdown()
      switch meaning {
      case .accept, .reject: #expect(error == nil)
      case .retry: #expect(error is HTTPFailure)
      case .stop: #expect(error is DeliveryStopped)
      }
      #expect(provider.counts.refusedIdentifications == (meaning == .reject ? 1 : 0))
    }

    @Test func `a failure that a rule takes for an answer is no reason for the second endpoint`() async throws {
      let server = try TestServer(.answer(500))
      let second = try TestServer(.answer(200))
      defer { for server in [server, second] { server.stop() } }
      var configuration = HTTPConfiguration.patient
      configuration.statusRules[500] = .accept
      configuration.failover = HTTPConfiguration.Failover(second.url)
      configuration.failover?.failures = 1
      let provider = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: configuration)
      for _ in 0..<3 { #expect(try await provider.deliver([sampleEvent(0)]) == [.accepted]) }
      await provider.shutdown()
      #expect(second.requests.isEmpty)
    }
  }
#endif
