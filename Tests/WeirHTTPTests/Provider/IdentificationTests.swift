// Which vendors are told of users, and what becomes of it when they refuse.

#if HTTP
  import Foundation
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct IdentificationTests {
    private let user = EventUser(id: "u1", traits: ["plan": "pro"])

    private func provider(_ name: HTTPPresetName, _ server: TestServer) throws -> HTTPProvider {
      try HTTPProvider(
        try name.preset(endpoint: server.url, key: Secret("key-12345"), project: "G-SHOP"), configuration: .patient)
    }

    @Test(arguments: [
      (HTTPPresetName.segment, "/v1/batch"), (.mixpanel, "/engage"), (.amplitude, "/2/httpapi"), (.posthog, "/batch/"),
    ])
    func `vendors that know users are told of them`(_ name: HTTPPresetName, _ path: String) async throws {
      let server = try TestServer(.answer(200, body: #"{"status":1}"#))
      defer { server.stop() }
      let provider = try provider(name, server)
      try await provider.identify(user)
      await provider.shutdown()
      #expect(server.requests.map(\.path) == [path])
      #expect(server.requests.first?.text.contains(#""u1""#) == true)
      #expect(server.requests.first?.text.contains(#""plan":"pro""#) == true)
    }

    @Test(arguments: [HTTPPresetName.json, .jsonl, .ga4, .clickhouse, .otlp])
    func `vendors that know no users are not told of any`(_ name: HTTPPresetName) async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try provider(name, server)
      try await provider.identify(user)
      await provider.shutdown()
      #expect(server.requests.isEmpty)
    }

    @Test func `vendors are not told that there is nobody`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try provider(.segment, server)
      try await provider.identify(EventUser(id: ""))
      await provider.shutdown()
      #expect(server.requests.isEmpty)
    }

    @Test func `a refusal is counted, and holds nothing up`() async throws {
      let server = try TestServer(.answer(400, body: "bad trait"), .answer(200))
      defer { server.stop() }
      let provider = try provider(.segment, server)
      try await provider.identify(user)
      #expect(provider.counts.refusedIdentifications == 1)
      #expect(try await provider.deliver([sampleEvent(0)]) == [.accepted])
      await provider.shutdown()
    }

    @Test(arguments: [429, 500, 503])
    func `a failure that may come right is thrown`(_ status: Int) async throws {
      let server = try TestServer(.answer(status), .answer(status, headers: ["retry-after": "1"]), .answer(200))
      defer { server.stop() }
      let provider = try provider(.segment, server)
      #expect(await thrown { try await provider.identify(user) } is HTTPFailure)
      #expect(await thrown { try await provider.identify(user) } is HTTPFailure)
      try await provider.identify(user)
      await provider.shutdown()
      #expect(provider.counts.refusedIdentifications == 0)
      #expect(server.requests.count == 3)
    }

    @Test func `a wrong key stops delivery`() async throws {
      let server = try TestServer(.answer(401))
      defer { server.stop() }
      let provider = try provider(.posthog, server)
      #expect(await thrown { try await provider.identify(user) } is DeliveryStopped)
      await provider.shutdown()
    }

    /// An event that tells of a user.
    private func telling(_ number: Int, _ plan: String, user: Int? = nil) -> PreparedEvent {
      var event = sampleEvent(number, user: EventUser(id: "u\(user ?? number)", traits: ["plan": .string(plan)]))
      event.identifies = true
      return event
    }

    @Test(arguments: [
      (HTTPPresetName.segment, #""type":"identify""#), (.amplitude, #""event_type":"$identify""#),
      (.posthog, #""event":"$identify""#),
    ])
    func `users are told in the request of their events, before them`(
      _ name: HTTPPresetName, _ mark: String
    ) async throws {
      let server = try TestServer(.answer(200, body: #"{"success":true}"#))
      defer { server.stop() }
      let provider = try provider(name, server)
      #expect(try await provider.deliver([telling(0, "free"), sampleEvent(1), telling(2, "paid")]).count == 3)
      await provider.shutdown()
      let text = try #require(server.requests.first?.text)
      #expect(server.requests.count == 1)
      #expect(text.components(separatedBy: mark).count == 3)
      let id = name == .posthog ? sampleEvent(1).stored.id.uuid.uuidString.lowercased() : sampleID(1)
      let order = [#""plan":"free""#, id, #""plan":"paid""#].map { text.range(of: $0)?.lowerBound }
      #expect(order.allSatisfy { $0 != nil } && order.compactMap { $0 } == order.compactMap { $0 }.sorted())
    }

    @Test func `Mixpanel's profiles are set before the request with the events, the latest of each user`() async throws
    {
      let server = try TestServer(.answer(200, body: #"{"status":1}"#))
      defer { server.stop() }
      let provider = try provider(.mixpanel, server)
      _ = try await provider.deliver([telling(0, "free"), telling(1, "paid", user: 0), sampleEvent(2)])
      await provider.shutdown()
      #expect(server.requests.map(\.path) == ["/engage", "/import"])
      #expect(server.requests[0].text.contains(#""plan":"paid""#))
      #expect(!server.requests[0].text.contains(#""plan":"free""#))
    }

    /// Delivers as a dispatcher does: a batch that is refused is halved, until its fault is alone.
    private func halving(_ events: [PreparedEvent], by provider: HTTPProvider) async throws -> [Verdict] {
      do {
        return try await provider.deliver(events)
      } catch let refused as BatchRefused {
        guard events.count > 1 else { return [.rejected(refused.reason)] }
        let middle = events.count / 2
        let first = try await halving(Array(events[..<middle]), by: provider)
        return try await first + halving(Array(events[middle...]), by: provider)
      }
    }

    @Test(arguments: [
      (HTTPPresetName.mixpanel, #""$set""#, 1), (.segment, #""type":"identify""#, 2),
      (.amplitude, #""event_type":"$identify""#, 2), (.posthog, #""event":"$identify""#, 2),
    ])
    func `halving a batch repeats no user`(_ name: HTTPPresetName, _ mark: String, _ times: Int) async throws {
      let poison = sampleEvent(5).stored.id
      let ids = [poison.description, poison.uuid.uuidString.lowercased()]
      let server = try TestServer { request in
        let isPoisoned = request.text.contains("checkout") && ids.contains { request.text.contains("\"\($0)\"") }
        return isPoisoned ? .answer(400, body: "bad event") : .answer(200, body: #"{"status":1,"success":true}"#)
      }
      defer { server.stop() }
      let provider = try provider(name, server)
      func told() -> Int {
        server.requests.map { $0.text.components(separatedBy: mark).count - 1 }.reduce(0, +)
      }
      let verdicts = try await halving((0..<8).map { telling($0, "free") }, by: provider)
      #expect(verdicts.map { $0 == .accepted } == (0..<8).map { $0 != 5 })
      #expect(told() == 8 * times, "each in the refused request, where the request has users, and once apart")
      // The user of the refused event was told, and needs no call without events.
      let count = server.requests.count
      try await provider.identify(EventUser(id: "u5", traits: ["plan": "free"]))
      #expect(server.requests.count == count)
      // Users of accepted events are told again when they are to be told again.
      #expect(try await provider.deliver([telling(8, "free", user: 0)]) == [.accepted])
      #expect(told() == 8 * times + 1)
      await provider.shutdown()
    }

    @Test func `what a refused event told is told again after something else was told`() async throws {
      let server = try TestServer { request in
        request.path == "/import" ? .answer(400, body: "bad event") : .answer(200, body: #"{"status":1}"#)
      }
      defer { server.stop() }
      let provider = try provider(.mixpanel, server)
      #expect(await thrown { try await provider.deliver([telling(0, "free")]) } is BatchRefused)
      for plan in ["paid", "free"] {
        try await provider.identify(EventUser(id: "u0", traits: ["plan": .string(plan)]))
      }
      await provider.shutdown()
      #expect(server.requests.map(\.path) == ["/engage", "/import", "/engage", "/engage"])
      #expect(server.requests.last?.text.contains(#""plan":"free""#) == true)
    }

    @Test func `events that come again do not tell what is older than what was told`() async throws {
      let asked = Mutex(0)
      let server = try TestServer { request in
        guard request.path == "/import" else { return .answer(200, body: #"{"status":1}"#) }
        let isFirst = asked.withLock { count in
          count += 1
          return count == 1
        }
        return isFirst ? .answer(503, body: "") : .answer(200, body: #"{"status":1}"#)
      }
      defer { server.stop() }
      let provider = try provider(.mixpanel, server)
      let events = [telling(0, "free", user: 0), telling(1, "paid", user: 0)]
      for _ in 0..<2 { _ = try? await provider.deliver(events) }
      await provider.shutdown()
      #expect(server.requests.map(\.path) == ["/engage", "/import", "/import"])
      #expect(server.requests[0].text.contains(#""plan":"paid""#))
    }

    /// A trait that the vendor refuses is told apart, and costs neither the events nor the others' traits.
    @Test func `a refused trait costs no event`() async throws {
      let server = try TestServer { request in
        request.text.contains(#""plan":"bad""#) && request.text.contains("identify")
          ? .answer(400, body: "bad trait") : .answer(200, body: #"{"success":true}"#)
      }
      defer { server.stop() }
      let provider = try provider(.segment, server)
      let events = (0..<8).map { telling($0, $0 == 5 ? "bad" : "good") }
      #expect(try await provider.deliver(events) == Array(repeating: .accepted, count: 8))
      await provider.shutdown()
      #expect(provider.counts.refusedIdentifications == 1)
      let taken = server.requests.filter { !($0.text.contains(#""plan":"bad""#) && $0.text.contains("identify")) }
      for user in [0, 1, 2, 3, 4, 6, 7] {
        #expect(
          taken.contains { $0.text.contains(#""type":"identify""#) && $0.text.contains(#""userId":"u\#(user)""#) })
      }
      #expect(taken.filter { $0.text.contains(#""type":"track""#) }.count == 1)
    }
  }
#endif
