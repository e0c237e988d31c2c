// Batch segments over HTTP: what is put, and what each answer means for the segment.

#if HTTP
  import Foundation
  import Testing

  @testable import Weir
  @testable import WeirDelivery
  @testable import WeirHTTP

  @Suite struct HTTPBatchProviderTests {
    /// Calls `body` with the only segment of a small log, and the bytes of its file.
    private func withSegment(_ body: (BatchSegment, [UInt8]) async throws -> Void) async throws {
      let path = FileManager.default.temporaryDirectory.appending(path: "weir-put-\(UUID().uuidString)").path
      defer { try? FileManager.default.removeItem(atPath: path) }
      var configuration = Tracker.Configuration()
      configuration.logger = nil
      configuration.laneCount = 4
      configuration.segmentBytes = 1 << 20
      let tracker = try Tracker(directory: path, configuration: configuration)
      for number in 0..<20 { tracker.track("e", fields: ["n": .int(Int64(number))]) }
      try tracker.close()
      try LogDirectory(path).batch()
      let name = SegmentName(base: 0, isBatch: true)
      let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + name.text)))
      let segment = BatchSegment(
        try SegmentFile.read(name, in: path), at: path + "/" + name.text, byteCount: bytes.count, isCompressed: true)
      try await body(segment, bytes)
    }

    @Test func `the file is put under its name, and described`() async throws {
      let server = try TestServer(.answer(201))
      defer { server.stop() }
      try await withSegment { segment, bytes in
        let provider = try HTTPBatchProvider(server.url, authorization: .bearer(Secret("kEy")))
        #expect(try await provider.deliver(segment) == .accepted)
        let below = try HTTPBatchProvider(server.url + "/a/b/?x=1")
        let verdict = try await below.deliver(segment)
        await provider.shutdown()
        await below.shutdown()
        let request = try #require(server.requests.first)
        #expect(verdict == .accepted)
        #expect(request.method == "PUT" && request.path == "/batches/" + segment.fileName)
        #expect(server.requests.last?.target == "/a/b/\(segment.fileName)?x=1")
        #expect(request.body == bytes)
        #expect(request.headers["content-length"] == "\(bytes.count)")
        #expect(request.headers["weir-offsets"] == "0-19" && request.headers["weir-events"] == "20")
        #expect(request.headers["weir-opening"]?.count == 16)
        #expect(request.headers["content-digest"]?.hasPrefix("crc32c=:") == true)
        #expect(request.headers["authorization"] == "Bearer kEy")
      }
    }

    private enum Meaning { case accepted, rejected, retried, stopped }

    @Test func `each status has its meaning`() async throws {
      try await withSegment { segment, _ in
        let meanings: [(Int, Meaning)] = [
          (200, .accepted), (204, .accepted), (422, .rejected), (413, .stopped), (400, .retried), (408, .retried),
          (409, .stopped), (429, .retried), (500, .retried), (503, .retried), (507, .retried), (301, .stopped),
          (401, .stopped), (403, .stopped), (404, .stopped), (405, .stopped), (415, .stopped), (418, .stopped),
          (501, .stopped),
        ]
        for (status, wanted) in meanings {
          let server = try TestServer(.answer(status, body: "words"))
          defer { server.stop() }
          let provider = try HTTPBatchProvider(server.url)
          var meaning: Meaning
          do {
            switch try await provider.deliver(segment) {
            case .accepted: meaning = .accepted
            case .rejected: meaning = .rejected
            case .retry: meaning = .retried
            }
          } catch is DeliveryStopped {
            meaning = .stopped
          } catch is HTTPFailure {
            meaning = .retried
          }
          await provider.shutdown()
          #expect(meaning == wanted, "\(status)")
        }
        let server = try TestServer(.answer(503, headers: ["Retry-After": "7"]))
        defer { server.stop() }
        let provider = try HTTPBatchProvider(server.url)
        #expect(try await provider.deliver(segment) == .retry(after: .seconds(7)))
        await provider.shutdown()
      }
    }

    @Test func `what can't be used is refused`() {
      var failing = HTTPConfiguration()
      failing.failover = HTTPConfiguration.Failover("http://other")
      let failover = failing
      #expect(throws: WeirError.self) { try HTTPBatchProvider("ftp://host") }
      #expect(throws: WeirError.self) { try HTTPBatchProvider("http://host", name: "a b") }
      #expect(throws: WeirError.self) { try HTTPBatchProvider("http://host", configuration: failover) }
      #expect(throws: WeirError.self) {
        try HTTPBatchProvider("http://host", authorization: .bearer(Secret("a\nb")))
      }
    }
  }
#endif
