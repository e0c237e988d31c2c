// Answers with a status that is none, which ended the process: they fail the request, and delivery goes on.

#if HTTP
  import NIOCore
  import AsyncHTTPClient
  import Synchronization
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct AnswerGuardTests {
    private let events = (0..<3).map { sampleEvent($0) }
    private let accepted = Array(repeating: Verdict.accepted, count: 3)

    private static let statuses = ["000", "001", "010", "042", "099", "101"]

    /// What stands around the status: the beginning of the line, and what follows the reason.
    private static let forms = [
      ("HTTP/1.1", "content-length: 0\r\n\r\n"), ("HTTP/1.1", "\r\n"), ("HTTP/1.0", "\r\n"),
      ("HTTP/1.1", "content-length: 5\r\n\r\nhello"), ("HTTP/1.1", "\r\nhello"),
      ("HTTP/1.1", "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
      ("HTTP/1.1", "connection: upgrade\r\nupgrade: other\r\n\r\nhello"),
      ("HTTP/1.1", "content-encoding: gzip\r\ncontent-length: 5\r\n\r\nhello"),
      // An answer of its own comes behind it.
      ("HTTP/1.1", "content-length: 0\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
      ("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1", "content-length: 0\r\n\r\n"),
    ]

    @Test(arguments: statuses, forms)
    func `a status below 200 fails alone`(_ status: String, _ form: (start: String, rest: String)) async throws {
      for closes in [true, false] {
        let text = "\(form.start) \(status) X\r\n\(form.rest)"
        let server = try TestServer(.raw(text, closes: closes), .answer(200))
        defer { server.stop() }
        let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
        let failure = await thrown { try await provider.deliver(events) } as? HTTPFailure
        #expect(failure != nil, "\(text)")
        #expect(try await provider.deliver(events) == accepted)
        await provider.shutdown()
      }
    }

    @Test func `the reason of the failure names the status`() async throws {
      let server = try TestServer(.raw("HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n"))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      let failure = await thrown { try await provider.deliver(events) } as? HTTPFailure
      #expect(failure?.reason == "\(server.url)/events: an answer with the unexpected status 99")
      await provider.shutdown()
    }

    @Test(arguments: statuses)
    func `a status below 200 fails a connection that answered before`(_ status: String) async throws {
      let server = try TestServer(
        .answer(200), .raw("HTTP/1.1 \(status) X\r\ncontent-length: 0\r\n\r\n", closes: false), .answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      #expect(try await provider.deliver(events) == accepted)
      #expect(await thrown { try await provider.deliver(events) } is HTTPFailure)
      #expect(try await provider.deliver(events) == accepted)
      #expect(server.requests[0].connection == server.requests[1].connection)
      #expect(server.requests[1].connection != server.requests[2].connection)
      await provider.shutdown()
    }

    /// It comes where nobody asked for anything, or as the answer to the next request: either is no answer.
    @Test(arguments: statuses)
    func `a status below 200 behind a good answer is no answer`(_ status: String) async throws {
      let two = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\nHTTP/1.1 \(status) X\r\ncontent-length: 0\r\n\r\n"
      let server = try TestServer(.raw(two, closes: false), .answer(200))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      #expect(try await provider.deliver(events) == accepted)
      _ = await thrown { try await provider.deliver(events) }
      #expect(try await provider.deliver(events) == accepted)
      await provider.shutdown()
    }

    @Test func `a status below 200 fails a request of a client that is given`() async throws {
      let server = try TestServer(.raw("HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n"), .answer(200))
      defer { server.stop() }
      let connections = Mutex(0)
      var settings = HTTPClient.Configuration()
      settings.http1_1ConnectionDebugInitializer = { channel in
        connections.withLock { $0 += 1 }
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: HTTPProvider.hardened(settings))
      let provider = try HTTPProvider(
        JSONPreset(endpoint: server.url), configuration: .patient, client: client)
      #expect(await thrown { try await provider.deliver(events) } is HTTPFailure)
      #expect(try await provider.deliver(events) == accepted)
      // What the program does with its connections is still done.
      #expect(connections.withLock { $0 } == 2)
      try await client.shutdown()
    }

    @Test func `a head before the answer is no answer`() async throws {
      let hints = (100...199).filter { $0 != 101 }.map { "HTTP/1.1 \($0) X\r\nlink: </a>\r\n\r\n" }.joined()
      let text = String(repeating: hints, count: 20) + "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"
      let server = try TestServer(.raw(text, closes: false))
      defer { server.stop() }
      let provider = try HTTPProvider(endpoint: server.url, configuration: .patient)
      for _ in 0..<2 { #expect(try await provider.deliver(events) == accepted) }
      #expect(server.connectionCount == 1)
      await provider.shutdown()
    }
  }
#endif
