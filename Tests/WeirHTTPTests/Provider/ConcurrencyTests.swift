// Several requests of one call at a time.

#if HTTP
  import Foundation
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  struct ConcurrencyTests {
    /// Counts the requests that are not answered yet.
    private final class Crowd: Sendable {
      private struct State {
        var count = 0
        var most = 0
      }

      private let state = Mutex(State())

      /// Waits until as many requests were there at the same time.
      func meet(_ wanted: Int) {
        state.withLock { state in
          state.count += 1
          state.most = max(state.most, state.count)
        }
        while state.withLock({ $0.most < wanted }) { usleep(1_000) }
        state.withLock { $0.count -= 1 }
      }

      var most: Int { state.withLock { $0.most } }
    }

    private func events(_ count: Int) -> [PreparedEvent] { (0..<count).map { sampleEvent($0) } }

    private func provider(
      _ server: TestServer, _ concurrency: Int, isOfLines: Bool = true
    ) throws -> HTTPProvider {
      var configuration = HTTPConfiguration.patient
      configuration.concurrency = concurrency
      let limits = HTTPLimits(events: 2)
      return isOfLines
        ? try HTTPProvider(JSONPreset(endpoint: server.url, limits: limits), configuration: configuration)
        : try HTTPProvider(StandardPreset(endpoint: server.url, limits: limits), configuration: configuration)
    }

    @Test(arguments: [true, false]) func `as many requests are in flight as are allowed`(isOfLines: Bool) async throws {
      let crowd = Crowd()
      let server = try TestServer { _ in
        crowd.meet(3)
        return .answer(200)
      }
      defer { server.stop() }
      let provider = try provider(server, 3, isOfLines: isOfLines)
      #expect(try await provider.deliver(events(13)) == Array(repeating: .accepted, count: 13))
      await provider.shutdown()
      #expect(crowd.most == 3)
      #expect(server.requests.count == 7)
      #expect(server.connectionCount >= 3)
    }

    @Test(arguments: [0, 1]) func `one at a time keeps the order`(concurrency: Int) async throws {
      let crowd = Crowd()
      let server = try TestServer { _ in
        crowd.meet(1)
        return .answer(200)
      }
      defer { server.stop() }
      let provider = try provider(server, concurrency)
      _ = try await provider.deliver(events(13))
      await provider.shutdown()
      #expect(crowd.most == 1)
      let ids = server.requests.flatMap { ($0.json as? [[String: Any]] ?? []).map { $0["id"] as? String } }
      #expect(ids == (0..<13).map { sampleID($0) })
    }

    @Test(arguments: [true, false])
    func `a request that fails costs the others no verdict`(isOfLines: Bool) async throws {
      let server = try TestServer { request in
        request.text.contains(sampleID(3)) ? .answer(500) : .answer(200)
      }
      defer { server.stop() }
      let provider = try provider(server, 3, isOfLines: isOfLines)
      let accepted = [Verdict](repeating: .accepted, count: 2)
      let again = [Verdict](repeating: .retry(after: nil), count: 2)
      // The last request is not sent in this call.
      #expect(try await provider.deliver(events(8)) == accepted + again + accepted + again)
      await provider.shutdown()
      #expect(server.requests.count == 3)
    }

    @Test func `all requests that fail throw the error of the first`() async throws {
      let server = try TestServer { request in
        .answer(request.text.contains(sampleID(1)) ? 503 : 401)
      }
      defer { server.stop() }
      let provider = try provider(server, 2)
      let error = await thrown { try await provider.deliver(events(4)) }
      #expect(error is HTTPFailure)
      await provider.shutdown()
    }
  }
#endif
