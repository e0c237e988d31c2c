// Delivery through a proxy.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct ProxyTests {
    private func deliver(by proxy: HTTPConfiguration.Proxy, to endpoint: String) async throws -> [Verdict] {
      var configuration = HTTPConfiguration.patient
      configuration.proxy = proxy
      let provider = try HTTPProvider(endpoint: endpoint, configuration: configuration)
      do {
        let verdicts = try await provider.deliver([sampleEvent(0)])
        await provider.shutdown()
        return verdicts
      } catch {
        await provider.shutdown()
        throw error
      }
    }

    @Test func `requests go through the proxy`() async throws {
      let proxy = try TestServer(.answer(200))
      defer { proxy.stop() }
      let verdicts = try await deliver(
        by: .http(host: "127.0.0.1", port: proxy.port, user: "robot", password: Secret("hush-hush")),
        to: "http://weir.invalid/in")
      #expect(verdicts == [.accepted])
      #expect(proxy.requests.map(\.method) == ["CONNECT", "POST"])
      #expect(proxy.requests.map(\.target) == ["weir.invalid:80", "/in"])
      // The proxy's password is not for the endpoint.
      let passwords = proxy.requests.map { $0.headers["proxy-authorization"] }
      #expect(passwords == ["Basic cm9ib3Q6aHVzaC1odXNo", nil])
    }

    @Test func `a wrong password for the proxy stops delivery`() async throws {
      let proxy = try TestServer(.answer(407, body: "hush-hush is wrong"))
      defer { proxy.stop() }
      for endpoint in ["http://weir.invalid/in", "https://weir.invalid/in"] {
        let failure = await thrown {
          try await deliver(
            by: .http(host: "127.0.0.1", port: proxy.port, user: "robot", password: Secret("hush-hush")), to: endpoint)
        }
        let error = try #require(failure, "\(endpoint)")
        #expect(error is DeliveryStopped, "\(endpoint): \(error)")
        #expect(!"\(error)".contains("hush"), "\(endpoint): \(error)")
      }
      #expect(proxy.requests.map(\.method) == ["CONNECT", "CONNECT"])
    }

    @Test func `a proxy that is down is a failure`() async throws {
      let proxy = try TestServer.refusing()
      defer { proxy.stop() }
      #expect(
        await thrown {
          try await deliver(by: .http(host: "127.0.0.1", port: proxy.port), to: "http://weir.invalid/in")
        } is HTTPFailure)
      #expect(
        await thrown {
          try await deliver(by: .socks(host: "127.0.0.1", port: proxy.port), to: "http://weir.invalid/in")
        } is HTTPFailure)
    }
  }
#endif
