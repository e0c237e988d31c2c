// Several requests of one call: what their verdicts come to when some fail.

#if HTTP
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  /// Several requests of one call, and what their answers come to.
  @Suite struct MergingTests {
    private func events(_ count: Int) -> [PreparedEvent] { (0..<count).map { sampleEvent($0) } }

    /// Delivers 10 events, two a request.
    private func deliver(
      to server: TestServer, callTime: Duration = .seconds(600)
    ) async throws -> [Verdict] {
      var configuration = HTTPConfiguration.patient
      configuration.callTime = callTime
      let provider = try HTTPProvider(
        StandardPreset(endpoint: server.url, limits: HTTPLimits(events: 2)), configuration: configuration)
      do {
        let verdicts = try await provider.deliver(events(10))
        await provider.shutdown()
        return verdicts
      } catch {
        await provider.shutdown()
        throw error
      }
    }

    private func verdicts(accepted: Int, then rest: Verdict) -> [Verdict] {
      Array(repeating: .accepted, count: accepted) + Array(repeating: rest, count: 10 - accepted)
    }

    /// A link, or a server, that is too slow for more than a few events.
    @Test(arguments: [nil, 408, 504])
    func `a request that takes too long is sent smaller, and not again as it is`(_ status: Int?) async throws {
      let most = 200
      let server = try TestServer { request in
        if request.content.count <= most { return .answer(200) }
        return status.map { .answer($0) } ?? .hang
      }
      defer { server.stop() }
      var configuration = HTTPConfiguration.patient
      if status == nil { configuration.timeout = .milliseconds(300) }
      let provider = try HTTPProvider(StandardPreset(endpoint: server.url), configuration: configuration)
      var rest = events(40)
      // The time of a silent server is real: on a busy machine a good answer may come too late as well.
      for _ in 0..<(status == nil ? 400 : 20) where !rest.isEmpty {
        guard let verdicts = try? await provider.deliver(rest) else { continue }
        rest = zip(rest, verdicts).filter { $0.1 != .accepted }.map(\.0)
      }
      #expect(rest.isEmpty, "\(rest.count) of 40 events never arrived")
      // 40 events, then 9, and then what fits.
      let large = server.requests.map(\.content.count).filter { $0 > most }
      #expect(status == nil || large == [1321, 298], "\(server.requests.map(\.content.count))")
      await provider.shutdown()
    }

    @Test func `a name has as many letters as a cursor's may`() throws {
      let longest = String(repeating: "x", count: 64)
      #expect(try HTTPProvider(StandardPreset(), name: longest).name == longest)
      for name in ["", longest + "x", "a b"] {
        #expect(throws: WeirError.self) { try HTTPProvider(StandardPreset(), name: name) }
      }
    }

    @Test func `requests go in order`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      #expect(try await deliver(to: server) == verdicts(accepted: 10, then: .accepted))
      #expect(server.requests.map(\.text) == (0..<5).map { "<\(sampleID($0 * 2))\n\(sampleID($0 * 2 + 1))>" })
    }

    @Test func `an answer stands if a later request fails`() async throws {
      let server = try TestServer(.answer(200), .answer(200), .answer(500), .answer(200))
      defer { server.stop() }
      #expect(try await deliver(to: server) == verdicts(accepted: 4, then: .retry(after: nil)))
      #expect(server.requests.count == 3)
    }

    @Test func `a pause that a later answer asks for is for its events alone`() async throws {
      let server = try TestServer(.answer(200), .answer(429, headers: ["retry-after": "7"]), .answer(200))
      defer { server.stop() }
      let pause = Verdict.retry(after: .seconds(7))
      let expected: [Verdict] = [.accepted, .accepted, pause, pause] + Array(repeating: .accepted, count: 6)
      #expect(try await deliver(to: server) == expected)
    }

    @Test(arguments: [400, 413, 401, 404])
    func `an event that is refused or stopped later comes first in the next call`(_ status: Int) async throws {
      let server = try TestServer(.answer(200), .answer(status), .answer(status))
      defer { server.stop() }
      let provider = try HTTPProvider(
        StandardPreset(endpoint: server.url, limits: HTTPLimits(events: 2)), configuration: .patient)
      let first = try await provider.deliver(events(10))
      #expect(first == verdicts(accepted: 2, then: .retry(after: .zero)))
      let error = await thrown { try await provider.deliver(Array(events(10).dropFirst(2))) }
      #expect(status == 400 || status == 413 ? error is BatchRefused : error is DeliveryStopped)
      await provider.shutdown()
      #expect(server.requests.count == 3)
    }

    @Test func `a first request that is refused refuses the batch`() async throws {
      let server = try TestServer(.answer(400, body: "bad"))
      defer { server.stop() }
      #expect(await thrown { try await deliver(to: server) } as? BatchRefused == BatchRefused("400 Bad Request: bad"))
      #expect(server.requests.count == 1)
    }

    @Test func `no request begins after the time of a call`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      // The first one always goes, or nothing ever would.
      #expect(try await deliver(to: server, callTime: .zero) == verdicts(accepted: 2, then: .retry(after: .zero)))
      #expect(server.requests.count == 1)
    }

    @Test func `events that are unfit stand among the others`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(
        StandardPreset(endpoint: server.url, limits: HTTPLimits(events: 2)), configuration: .patient)
      var given = events(5)
      given[1].name = "unfit"
      given[4].name = "unfit"
      let unfit = Verdict.rejected("unfit for this")
      #expect(try await provider.deliver(given) == [.accepted, unfit, .accepted, .accepted, unfit])
      await provider.shutdown()
      #expect(server.requests.map(\.text) == ["<\(sampleID(0))\n\(sampleID(2))>", "<\(sampleID(3))>"])
    }

    @Test func `an event that is too large for Segment is rejected, and not cut`() async throws {
      let server = try TestServer(.answer(200, body: #"{"success":true}"#))
      defer { server.stop() }
      let provider = try HTTPProvider(
        SegmentPreset(writeKey: Secret("key-12345"), endpoint: server.url), configuration: .patient)
      let large = sampleEvent(1, ["text": .string(String(repeating: "x", count: 33 << 10))])
      let verdicts = try await provider.deliver([sampleEvent(0), large, sampleEvent(2)])
      await provider.shutdown()
      guard case .rejected(let reason) = verdicts[1] else { return #expect(Bool(false), "\(verdicts)") }
      #expect(reason.contains("32768"))
      #expect(verdicts[0] == .accepted)
      #expect(verdicts[2] == .accepted)
      #expect(server.requests.first?.path == "/v1/batch")
      #expect(server.requests.first?.text.contains("xxx") == false)
    }

    @Test func `a request for Segment has at most 500 KB`() async throws {
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(
        SegmentPreset(writeKey: Secret("key-12345"), endpoint: server.url), configuration: .patient)
      let given = (0..<100).map { sampleEvent($0, ["text": .string(String(repeating: "é", count: 10_000))]) }
      #expect(try await provider.deliver(given) == Array(repeating: .accepted, count: 100))
      await provider.shutdown()
      #expect(server.requests.count == 5)
      #expect(server.requests.allSatisfy { $0.content.count <= 500_000 })
    }

    // MARK: Again at once

    /// A server of Amplitude's kind that refuses requests with an event it does not like.
    private func amplitude(_ bad: Int...) throws -> (server: TestServer, provider: HTTPProvider) {
      let ids = Set(bad.map { sampleID($0) })
      let server = try TestServer { request in
        let events = (request.json as? [String: Any])?["events"] as? [[String: Any]] ?? []
        let places = events.indices.filter { ids.contains(events[$0]["insert_id"] as? String ?? "") }
        guard let first = places.first else { return .answer(200, body: "{}") }
        // One a time, to see that this comes to an end.
        return .answer(400, body: #"{"error":"invalid","events_with_invalid_fields":{"price":[\#(first)]}}"#)
      }
      let preset = AmplitudePreset(apiKey: Secret("key-12345"), endpoint: server.url)
      return (server, try HTTPProvider(preset, configuration: .patient))
    }

    @Test func `the events that are not named go again at once`() async throws {
      let (server, provider) = try amplitude(1, 3)
      defer { server.stop() }
      let bad = Verdict.rejected("invalid: invalid price")
      #expect(try await provider.deliver(events(5)) == [.accepted, bad, .accepted, bad, .accepted])
      await provider.shutdown()
      #expect(server.requests.count == 3)
    }

    @Test func `nothing is sent again where every event is named`() async throws {
      let (server, provider) = try amplitude(0, 1)
      defer { server.stop() }
      let bad = Verdict.rejected("invalid: invalid price")
      #expect(try await provider.deliver(events(2)) == [bad, bad])
      await provider.shutdown()
      #expect(server.requests.count == 2)
    }

    @Test func `a preset that asks for all again is not followed for ever`() async throws {
      struct Stubborn: HTTPPreset {
        let providerName = "stubborn"
        let endpoint: String
        func encode(_ event: PreparedEvent) throws -> [UInt8] { [] }
        func post(_ batch: HTTPBatch) -> HTTPPost { HTTPPost(headers: [], body: []) }
        func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
          HTTPReading(.retry(after: .zero), count: batch.count)
        }
      }
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(Stubborn(endpoint: server.url), configuration: .patient)
      #expect(try await provider.deliver(events(3)) == Array(repeating: .retry(after: .zero), count: 3))
      await provider.shutdown()
      #expect(server.requests.count == 1)
    }

    @Test(arguments: [0, 1, 3])
    func `a preset that reads the wrong number of verdicts settles nothing`(_ count: Int) async throws {
      struct Miscounting: HTTPPreset {
        let providerName = "miscounting"
        let endpoint: String
        let count: Int
        func encode(_ event: PreparedEvent) throws -> [UInt8] { [] }
        func post(_ batch: HTTPBatch) -> HTTPPost { HTTPPost(headers: [], body: []) }
        func read(_ answer: HTTPAnswer, of batch: HTTPBatch) throws -> HTTPReading {
          HTTPReading(.accepted, count: count)
        }
      }
      let server = try TestServer(.answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(Miscounting(endpoint: server.url, count: count), configuration: .patient)
      let error = await thrown { try await provider.deliver(events(2)) }
      await provider.shutdown()
      #expect(error as? HTTPFailure == HTTPFailure("the preset read \(count) verdicts for 2 events"))
    }

    @Test func `records that nobody names are counted`() async throws {
      let server = try TestServer(
        .answer(200, body: #"{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"too old"}}"#))
      defer { server.stop() }
      let provider = try HTTPProvider(OTLPLogsPreset(endpoint: server.url), configuration: .patient)
      #expect(try await provider.deliver(events(5)) == Array(repeating: .accepted, count: 5))
      await provider.shutdown()
      #expect(provider.counts.unnamedRejections == 2)
      #expect(server.requests.count == 1)
      #expect(server.requests.first?.path == "/v1/logs")
    }
  }
#endif
