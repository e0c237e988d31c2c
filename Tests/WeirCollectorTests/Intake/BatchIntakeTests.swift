// BatchIntakeTests: batch segments that are put: taken when they are whole, refused otherwise, kept once, under no
// other name than their own.

#if Collector
  import Foundation
  import Testing

  @testable import Weir
  @testable import WeirCollector

  struct BatchIntakeTests {
    /// A closed log with one segment, as the file that is put.
    private struct Source {
      let path: String
      /// A copy of the raw segment.
      let raw: String
      let body: [UInt8]
      let target: String
      let ids: [EventID]

      init(_ scratch: Scratch, _ name: String, events: Int = 40) throws {
        path = scratch.path + "/" + name
        var configuration = Tracker.Configuration()
        configuration.logger = nil
        configuration.laneCount = 4
        configuration.segmentBytes = 1 << 20
        let tracker = try Tracker(directory: path, configuration: configuration)
        ids = (0..<events).compactMap { tracker.track("e", fields: ["n": .int(Int64($0))]).id }
        try tracker.close()
        raw = path + ".raw"
        try FileManager.default.copyItem(atPath: path + "/" + SegmentName(base: 0, isBatch: false).text, toPath: raw)
        try LogDirectory(path).batch()
        let file = SegmentName(base: 0, isBatch: true)
        body = Array(try Data(contentsOf: URL(fileURLWithPath: path + "/" + file.text)))
        target = "/batches/\(try SegmentFile.read(file, in: path).logName)/\(file.text)"
      }
    }

    private static func copy(_ collector: Collector, _ source: Source) -> String {
      collector.configuration.directory
        + source.target.replacing("/" + SegmentName(base: 0, isBatch: true).text, with: "")
    }

    private static func put(
      _ client: RawClient, _ source: Source, _ body: [UInt8]? = nil, to target: String? = nil,
      headers: [String: String] = [:]
    ) async throws -> RawAnswer {
      try await client.send("PUT", target ?? source.target, body ?? source.body, headers)
    }

    @Test func `segments of two logs are there once each, with the same ids`() async throws {
      let scratch = try Scratch()
      let sources = [try Source(scratch, "a"), try Source(scratch, "b", events: 3)]
      try await withCollector { collector, client in
        for status in [201, 200] {
          for source in sources { #expect(try await Self.put(client, source).status == status) }
        }
        for source in sources {
          let copy = Self.copy(collector, source)
          let reader = try EventReader(directory: copy)
          var ids: [EventID] = []
          while let event = try reader.next() { ids.append(event.id) }
          #expect(ids == source.ids)
          #expect(try LogDirectory(copy).verify().findings == 0)
          #expect(try FileManager.default.contentsOfDirectory(atPath: copy).count == 1)
        }
      }
    }

    @Test func `a damaged segment is refused, and kept nowhere`() async throws {
      let scratch = try Scratch()
      let source = try Source(scratch, "a", events: 5)
      try await withCollector { collector, client in
        for at in stride(from: 0, to: source.body.count, by: max(1, source.body.count / 60)) {
          var body = source.body
          body[at] ^= 1 << UInt8(at % 8)
          let answer = try await Self.put(client, source, body)
          #expect(answer.status == 422 && answer.text.contains("not whole"), "byte \(at): \(answer)")
        }
        for body in [[], Array(source.body.dropLast()), source.body + [0], [UInt8](repeating: 0, count: 4096)] {
          #expect(try await Self.put(client, source, body).status == 422)
        }
        let other = source.target.replacing("/00000000000000000000", with: "/00000000000000000001")
        #expect(try await Self.put(client, source, to: other).status == 422)
        let log = "/batches/0123456789abcdef/00000000000000000000.weir.lz4"
        #expect(try await Self.put(client, source, to: log).status == 422)
        let raw = source.target.replacing(".lz4", with: "")
        #expect(try await Self.put(client, source, to: raw).status == 422)
        #expect(try await Self.put(client, source, headers: ["Content-Digest": "crc32c=:AAAAAA==:"]).status == 400)
        let kept = FileManager.default.enumerator(atPath: collector.configuration.directory + "/batches")
        let files = (kept?.allObjects as? [String] ?? []).filter { $0.hasSuffix(".weir") || $0.hasSuffix(".lz4") }
        #expect(files.isEmpty, "\(files)")
        #expect(try await Self.put(client, source).status == 201)
      }
    }

    @Test func `no path leads out of the directory, and no other method in`() async throws {
      let scratch = try Scratch()
      let source = try Source(scratch, "a", events: 5)
      try await withCollector { collector, client in
        let name = "00000000000000000000.weir.lz4"
        for path in [
          "/batches", "/batches/", "/batches/\(name)", "/batches/../\(name)", "/batches/..%2f..%2f/\(name)",
          "/batches/0123456789ABCDEF/\(name)", "/batches/0123456789abcde/\(name)",
          "/batches/0123456789abcdef/../\(name)", "/batches/0123456789abcdef/\(name)/x",
          "/batches/0123456789abcdef/99999999999999999999.weir.lz4", "/batches/0123456789abcdef/0.weir.lz4",
          "/batches/0123456789abcdef/00000000000000000000.weir.active", "/batches//0123456789abcdef/\(name)",
        ] {
          let status = try await Self.put(client, source, to: path).status
          #expect(status == 400, "\(path)")
        }
        let statuses = [
          try await client.post(source.target, source.body).status, try await client.get(source.target).status,
        ]
        #expect(statuses == [405, 405])
        #expect(!FileManager.default.fileExists(atPath: collector.configuration.directory + "/batches"))
      }
    }

    @Test func `a body above the limit is refused, and a half one is no segment`() async throws {
      let scratch = try Scratch()
      let source = try Source(scratch, "a", events: 500)
      try await withCollector {
        $0.maximumSegmentBytes = 4 << 10
      } _: { collector, client in
        let body = [UInt8](repeating: 7, count: 5 << 10)
        let known = try await Self.put(client, source, body).status
        let head =
          "PUT \(source.target) HTTP/1.1\r\nHost: test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        let chunk = Array("1400\r\n".utf8) + body + Array("\r\n0\r\n\r\n".utf8)
        let unknown = try await client.exchange([Array(head.utf8) + chunk]).status
        #expect(known == 413 && unknown == 413)
        let names = try? FileManager.default.contentsOfDirectory(atPath: Self.copy(collector, source))
        #expect(names ?? [] == [])
      }
    }

    @Test func `a client that announces much and sends little is not waited for`() async throws {
      let scratch = try Scratch()
      let source = try Source(scratch, "a", events: 5)
      try await withCollector {
        $0.requestTime = .milliseconds(300)
      } _: { collector, client in
        let head = "PUT \(source.target) HTTP/1.1\r\nHost: test\r\nContent-Length: 1000000000\r\n\r\n"
        let trickle = (0..<40).map { _ in Array("x".utf8) }
        // Whether slow from the start, or after much at once.
        for burst in [0, 2 << 20] {
          let first = Array(head.utf8) + [UInt8](repeating: 7, count: burst)
          #expect(try await client.exchange([first] + trickle, pause: 0.05).status == 408)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.copy(collector, source))
        #expect(names == [])
      }
    }

    @Test func `a segment in its other form is known if it is whole, and replaced if it is damaged`() async throws {
      let scratch = try Scratch()
      let source = try Source(scratch, "a")
      try await withCollector { collector, client in
        let copy = Self.copy(collector, source)
        let raw = copy + "/" + SegmentName(base: 0, isBatch: false).text
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: source.raw))
        try bytes.write(to: URL(fileURLWithPath: raw))
        #expect(try await Self.put(client, source).status == 200)
        #expect(try FileManager.default.contentsOfDirectory(atPath: copy).count == 1)
        var rotten = bytes
        rotten[bytes.count / 2] ^= 1
        try rotten.write(to: URL(fileURLWithPath: raw))
        for status in [201, 200] {
          #expect(try await Self.put(client, source).status == status)
          #expect(try FileManager.default.contentsOfDirectory(atPath: copy).count == 1)
          #expect(try LogDirectory(copy).verify().findings == 0)
          // As after a kill before the damaged file was removed.
          if status == 201 { try rotten.write(to: URL(fileURLWithPath: raw)) }
        }
      }
    }

    @Test func `what a killed collector left half written is removed, and another log's segment is not replaced`()
      async throws
    {
      let scratch = try Scratch()
      let source = try Source(scratch, "a", events: 5)
      let directory = smallConfiguration(scratch).directory
      let copy = directory + source.target.replacing("/" + SegmentName(base: 0, isBatch: true).text, with: "")
      try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
      try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory)
      try Data(source.body.prefix(9)).write(to: URL(fileURLWithPath: copy + "/incoming-77.weir.lz4"))
      let collector = try Collector(smallConfiguration(scratch))
      let client = RawClient(port: try await collector.start())
      #expect(try FileManager.default.contentsOfDirectory(atPath: copy) == [])
      #expect(try await Self.put(client, source).status == 201)
      let path = copy + "/00000000000000000000.weir.lz4"
      // A byte of the kept file rots: the whole one takes its place.
      var rotten = source.body
      rotten[rotten.count / 2] ^= 1
      try Data(rotten).write(to: URL(fileURLWithPath: path))
      #expect([200, 201].contains(try await Self.put(client, source).status))
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(source.body))
      let other = try Source(scratch, "b", events: 6)
      try Data(other.body).write(to: URL(fileURLWithPath: path))
      #expect(try await Self.put(client, source).status == 409)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(other.body))
      try await collector.stop()
    }

    @Test func `faults meet segments too`() async throws {
      let scratch = try Scratch()
      let source = try Source(scratch, "a", events: 5)
      try await withCollector { _, client in
        let statuses = [
          try await Self.put(client, source, headers: ["X-Weir-Fault": "status=503"]).status,
          try await Self.put(client, source, headers: ["X-Weir-Fault": "drop-answer"]).status,
          try await Self.put(client, source).status,
        ]
        #expect(statuses == [503, 0, 200])
      }
    }
  }
#endif
