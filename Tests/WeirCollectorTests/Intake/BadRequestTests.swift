// BadRequestTests: what clients may do to the collector, over the wire: it answers, bounded, and goes on.

#if Collector
  import Foundation
  import Testing
  import Weir

  @testable import WeirCollector

  struct BadRequestTests {
    private static let paths = [
      "/v1/batch", "/v1/track", "/import", "/engage", "/2/httpapi", "/batch", "/capture", "/v1/logs", "/events",
      "/?query=INSERT+INTO+t+FORMAT+JSONEachRow",
    ]

    @Test func `a body that is no events is refused, and kept as rejected`() async throws {
      let deep = String(repeating: "[", count: 100_000)
      let bodies: [[UInt8]] = [
        Array("x".utf8), Array("{".utf8), Array(deep.utf8), Array("{\"a\":".utf8) + [0xC3, 0x28] + Array("}".utf8),
        [0, 0xFF, 0xFE], Array(("[{\"a\":" + deep).utf8), Array("\"\\ud800\"".utf8), Array("1e999".utf8),
        Array(("{\"batch\":[" + String(repeating: "{\"a\":", count: 60)).utf8),
      ]
      try await withCollector { collector, client in
        for path in Self.paths {
          for body in bodies {
            let answer = try await client.post(path, body)
            #expect((400..<500).contains(answer.status), "\(path) \(String(decoding: body.prefix(20), as: UTF8.self))")
            #expect(answer.isWhole)
          }
        }
        #expect(try collector.events().isEmpty)
        #expect(try collector.rejected().count >= Self.paths.count * bodies.count)
        #expect(try await client.post("/v1/batch", segmentBatch([segmentEvent("m")])).status == 200)
      }
    }

    @Test func `a path or method that there is not is refused`() async throws {
      try await withCollector { _, client in
        for path in ["/nope", "/v1", "/v1/batch/x", "/_weir/nope", "/v1/batchx"] {
          #expect(try await client.get(path).status == 404, "\(path)")
          #expect(try await client.post(path, text(100_000)).status == 404, "\(path)")
        }
        for path in Self.paths where !path.hasPrefix("/?") {
          for method in ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"] {
            let answer = try await client.send(method, path, [], [:])
            #expect(answer.status == 405, "\(method) \(path)")
            #expect(answer.headers["allow"] == "POST")
          }
        }
        #expect(try await client.send("DELETE", "/_weir/events", [], [:]).status == 405)
        #expect(try await client.get("/ping").text == "Ok.\n")
        #expect(try await client.post("/v1/batch/", segmentBatch([segmentEvent("m")])).status == 200)
      }
    }

    private static let event = #"{"id":"1","name":"n"}"#

    private func head(_ lines: String..., path: String = "/events", version: String = "1.1") -> String {
      (["POST \(path) HTTP/\(version)", "Host: x"] + lines).map { $0 + "\r\n" }.joined() + "\r\n"
    }

    @Test func `a client that waits for word before the body is told to go on`() async throws {
      try await withCollector { collector, client in
        let length = "Content-Length: \(Self.event.utf8.count)"
        let expecting = head("Expect: 100-continue", length)
        let chunked = head("Expect: 100-Continue", "Transfer-Encoding: chunked", "Connection: close")
        let chunks = "\(String(Self.event.utf8.count, radix: 16))\r\n\(Self.event)\r\n0\r\n\r\n"
        let (answers, ends) = try await client.talk([
          expecting, Self.event, head(length) + Self.event, expecting, Self.event, chunked, chunks,
        ])
        #expect(answers.map(\.status) == [100, 200, 200, 100, 200, 100, 200])
        #expect(answers[0].headers.isEmpty)
        #expect(ends)
        #expect(try collector.events().count == 4)
        // Who does not wait gets the word all the same, before the answer.
        let both = try await client.talk([head("Expect: 100-continue", length, "Connection: close") + Self.event, ""])
        #expect(both.answers.map(\.status) == [100, 200])
        let order = #"{"faults":""}"#
        let faults = head(
          "Expect: 100-continue", "Content-Length: \(order.utf8.count)", "Connection: close", path: "/_weir/faults")
        #expect(try await client.talk([faults, order]).answers.map(\.status) == [100, 200])
      }
    }

    @Test func `a client that waits for word is refused before the body`() async throws {
      try await withCollector {
        $0.maximumBodyBytes = 64 << 10
      } _: { collector, client in
        let waits = "Expect: 100-continue"
        let cases = [
          (head(waits, "Content-Length: \((64 << 10) + 1)"), 413), (head(waits, "Content-Length: 2000000000"), 413),
          (head(waits, "Content-Length: 5", "Content-Encoding: br"), 415),
          (head(waits, "Content-Length: 5", path: "/nowhere"), 404),
          (head(waits, "Content-Length: 5", "X-Weir-Fault: none-such"), 400),
          (head(waits, "Content-Length: 5").replacing("POST", with: "PUT"), 405),
          (head(waits, "Content-Length: 5", path: "/_weir/stats").replacing("POST", with: "PUT"), 405),
        ]
        for (head, status) in cases {
          let (answers, ends) = try await client.talk([head])
          #expect(answers.map(\.status) == [status], "\(head)")
          #expect(answers[0].headers["connection"] == "close", "\(head)")
          #expect(answers[0].isWhole, "\(head)")
          #expect(ends, "\(head)")
        }
        #expect(try collector.events().isEmpty)
        #expect(collector.bufferedBytes == 0)
      }
    }

    /// A client of HTTP/1.0 knows no answer before the answer, and keeps a connection only if it asks to.
    @Test func `a client of an old HTTP keeps its connection only if it asks to`() async throws {
      try await withCollector { collector, client in
        let length = "Content-Length: \(Self.event.utf8.count)"
        let (answers, ends) = try await client.talk([head("Expect: 100-continue", length, version: "1.0") + Self.event])
        try #require(answers.map(\.status) == [200])
        #expect(answers[0].headers["connection"] == "close")
        #expect(ends)
        let kept = head("Connection: keep-alive", length, version: "1.0") + Self.event
        let last = try await client.talk([kept, head(length, version: "1.0") + Self.event])
        #expect(last.answers.map(\.status) == [200, 200])
        #expect(last.ends)
        #expect(last.answers.map { $0.headers["connection"] } == [nil, "close"])
        #expect(try collector.events().count == 3)
      }
    }

    @Test(arguments: ["close", "Close", "keep-alive, close"])
    func `an answer says that the connection ends if the client wants that`(_ word: String) async throws {
      try await withCollector { _, client in
        let get = "GET /_weir/health HTTP/1.1\r\nHost: x\r\n"
        let (answers, ends) = try await client.talk(["\(get)\r\n", "\(get)Connection: \(word)\r\n\r\n"])
        #expect(answers.map(\.status) == [200, 200])
        #expect(ends)
        #expect(answers.map { $0.headers["connection"] } == [nil, "close"])
      }
    }

    @Test func `a body above the collector's own limit is refused, one at it is taken`() async throws {
      try await withCollector {
        $0.maximumBodyBytes = 64 << 10
      } _: { collector, client in
        let event = #"{"id":"1","name":"n"}"#
        let largest = event + String(repeating: " ", count: (64 << 10) - event.utf8.count)
        for (body, status) in [(largest, 200), (largest + " ", 413), (largest + text(1 << 20), 413)] {
          let plain = try await client.post("/events", body)
          #expect(plain.status == status)
          let packed = try await client.post("/events", gzipped(Array(body.utf8)), ["Content-Encoding": "gzip"])
          #expect(packed.status == status)
        }
        // Without a length, in chunks.
        let chunks = (0..<20).map { _ in Array("2000\r\n\(text(0x2000))\r\n".utf8) }
        let head = Array(
          "POST /events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let chunked = try await client.exchange([head] + chunks + [Array("0\r\n\r\n".utf8)])
        #expect(chunked.status == 413)
        #expect(try collector.events().count == 2)
      }
    }

    @Test func `a bomb is refused, and takes no memory`() async throws {
      try await withCollector { collector, client in
        let bomb = gzipped([UInt8](repeating: 0x20, count: 64 << 20), level: 9)
        for path in Self.paths {
          let answer = try await client.post(path, bomb, ["Content-Encoding": "gzip"])
          #expect(answer.status == 413, "\(path)")
        }
        #expect(collector.bufferedBytes == 0)
      }
    }

    /// Thirty kilobytes unpack to millions of values, each of which would take tens of bytes, an answer and a
    /// rejection.
    @Test func `a bomb of values is refused before it is read`() async throws {
      try await withCollector { collector, client in
        let values = (0...VendorLimits.values).flatMap { _ in [UInt8(ascii: "0"), UInt8(ascii: ",")] }
        let bomb = gzipped(Array("[".utf8) + values + Array("0]".utf8), level: 9)
        #expect(bomb.count < 32 << 10)
        for path in ["/events", "/v1/logs"] {
          let answer = try await client.post(path, bomb, ["Content-Encoding": "gzip"])
          #expect(answer.status == 413, "\(path)")
        }
        let order = Array(#"{"faults":"","seed":[\#(String(repeating: "0,", count: 40_000))0]}"#.utf8)
        #expect(try await client.post("/_weir/faults", order).status == 413)
        #expect(try collector.rejected().isEmpty)
        #expect(collector.bufferedBytes == 0)
      }
    }

    /// Of vendors that know no limit; 100,000 is what the preset for ClickHouse sends at a time.
    @Test func `more events than are taken at a time are refused`() throws {
      func items(_ item: String, _ separator: String, _ count: Int) -> String {
        Array(repeating: item, count: count).joined(separator: separator)
      }
      let insert = ["query": "INSERT INTO t FORMAT JSONEachRow"]
      let most = VendorLimits.events
      #expect(Read(OwnForm(), "[" + items("0", ",", most) + "]").status == 0)
      // Its lines are no events, which is told then.
      #expect(Read(OwnForm(), items("0", "\n", most)).status == 400)
      #expect(Read(OwnForm(), "[" + items("0", ",", most + 1) + "]").status == 413)
      #expect(Read(OwnForm(), items("0", "\n", most + 1)).status == 413)
      #expect(Read(ClickHouse(), "[" + items("{}", ",", most) + "]", query: insert).status == 0)
      #expect(Read(ClickHouse(), "[" + items("{}", ",", most + 1) + "]", query: insert).status == 413)
      #expect(Read(ClickHouse(), items("{}", "\n", most + 1), query: insert).status == 413)
      #expect(Read(PostHog(), "[" + items("0", ",", most + 1) + "]").status == 413)
      #expect(Read(MixpanelProfiles(), "[" + items("0", ",", most + 1) + "]").status == 413)
      let half = "{\"logRecords\":[" + items("{}", ",", most / 2) + "]}"
      for (scopes, status) in [([half, half], 0), ([half, half, "{\"logRecords\":[{}]}"], 413)] {
        let body = "{\"resourceLogs\":[{\"scopeLogs\":[\(scopes.joined(separator: ","))]}]}"
        #expect(Read(OTLP(), body).status == status)
      }
    }

    @Test func `values are counted before they are read`() {
      func count(_ text: String) -> Int { JSONSize.values(in: Array(text.utf8)) }
      #expect(count("") == 1)
      #expect(count("7") == 1)
      #expect(count(#"",{[\",{[""#) == 1)
      #expect(count("[1,2]") == 3)
      #expect(count(#"{"a":{"b":[0,0,0]},"c":1}"#) == 7)
      #expect(count("1\n2\n3") == 3)
      // What is broken in one line hides nothing of the next.
      #expect(count("\"a\n[1,2,3]") == 5)
      #expect(count("\"\\\"\n[1,2]") == 4)
    }

    @Test func `the memory for values is bounded for all requests together`() throws {
      let scratch = try Scratch()
      var configuration = smallConfiguration(scratch)
      configuration.maximumBodyBytes = 64 << 10
      configuration.maximumBufferedBytes = 64 << 10
      let intake = BodyIntake(configuration)
      let most = (64 << 10) / JSONSize.bytesOfValue
      // One that is alone is always read.
      #expect(intake.takeValues(10 * most))
      #expect(!intake.takeValues(1))
      intake.releaseValues(10 * most)
      #expect(intake.takeValues(most - 1))
      #expect(intake.takeValues(1))
      #expect(!intake.takeValues(1))
    }

    /// No clock can count to the end of that.
    @Test func `a time limit may be for ever`() async throws {
      try await withCollector {
        $0.requestTime = .seconds(Int64.max)
        $0.idleTime = .seconds(Int64.max)
        $0.stopTime = .seconds(Int64.max)
      } _: { _, client async throws in
        #expect(try await client.post("/events", #"{"id":"1","name":"n"}"#).status == 200)
        #expect(try await client.post("/nope", "x").status == 404)
      }
    }

    @Test func `a packed body is taken, an unknown packing is refused`() async throws {
      try await withCollector { collector, client async throws in
        let body = Array(segmentBatch([segmentEvent("m")]).utf8)
        let packed = gzipped(body)
        for name in ["gzip", "GZIP", "x-gzip"] {
          #expect(try await client.post("/v1/batch", packed, ["Content-Encoding": name]).status == 200)
        }
        #expect(try await client.post("/v1/batch", body, ["Content-Encoding": "identity"]).status == 200)
        for name in ["deflate", "br", "gzip, gzip", "zstd"] {
          #expect(try await client.post("/v1/batch", packed, ["Content-Encoding": name]).status == 415)
        }
        let cut = Array(packed.dropLast(9))
        #expect(try await client.post("/v1/batch", cut, ["Content-Encoding": "gzip"]).status == 400)
        #expect(try await client.post("/v1/batch", body, ["Content-Encoding": "gzip"]).status == 400)
        #expect(try collector.events().count == 4)
        #expect(collector.bufferedBytes == 0)
      }
    }

    /// A client that never ends its body is not waited for, whether it sends nothing more or a byte at a time.
    @Test func `a client that dawdles is not waited for`() async throws {
      try await withCollector {
        $0.requestTime = .milliseconds(300)
      } _: { collector, client in
        let head = "POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        let trickle = (0..<40).map { _ in Array("x".utf8) }
        let trickled = try await client.exchange([Array(head.utf8)] + trickle, pause: 0.05)
        #expect(trickled.status == 408)
        let silent = try await client.exchange([Array(head.utf8)])
        #expect(silent.status == 408)
        // Nobody wants this body; its answer waits for it no longer.
        let unwanted = try await client.exchange([Array(head.replacing("/events", with: "/nope").utf8)])
        #expect(unwanted.status == 404)
        #expect(try collector.events().isEmpty)
        #expect(collector.bufferedBytes == 0)
      }
    }

    @Test func `a connection without a request is closed`() async throws {
      try await withCollector {
        $0.idleTime = .seconds(1)
      } _: { _, client in
        let headless = try await client.exchange([Array("POST /eve".utf8)])
        #expect(headless.status == 0)
        // A client that gets no processor for a second is closed too, and asks again.
        var kept = 0
        for _ in 0..<100 where kept == 0 {
          kept = try await client.exchange([Array("GET /_weir/health HTTP/1.1\r\nHost: x\r\n\r\n".utf8)]).status
        }
        #expect(kept == 200)
      }
    }

    /// A client that goes away in the middle of its body has sent nothing.
    @Test func `half a body is no body`() async throws {
      try await withCollector { collector, client in
        let event = #"{"id":"1","name":"n"}"# + "\n"
        let head = "POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n"
        for _ in 0..<5 { try client.hold(Array((head + event).utf8)).leave() }
        #expect(try await client.post("/events", event).status == 200)
        #expect(try collector.events().count == 1)
      }
    }

    @Test func `the memory for bodies is bounded for all requests together`() async throws {
      try await withCollector {
        $0.maximumBodyBytes = 64 << 10
        $0.maximumBufferedBytes = 64 << 10
        $0.requestTime = .seconds(900)
      } _: { collector, client in
        // One client takes most of it and does not finish.
        let head = "POST /events HTTP/1.1\r\nHost: x\r\nContent-Length: 65000\r\n\r\n"
        let holder = try client.hold(Array((head + text(60_000)).utf8))
        try await eventually { collector.bufferedBytes >= 60_000 }
        let other = try await client.post("/events", text(10_000))
        #expect(other.status == 503)
        #expect(other.headers["retry-after"] == "1")
        #expect(try await client.post("/events", #"{"id":"1","name":"n"}"#).status == 200)
        holder.leave()
        try await eventually { collector.bufferedBytes == 0 }
        #expect(try await client.post("/events", text(10_000)).status == 400)
      }
    }

    @Test func `keys are not kept`() async throws {
      try await withCollector { collector, client in
        _ = try await client.post("/2/httpapi", #"{"api_key" : "S3CR\"ET","x":"#, ["Authorization": "Basic S3CR"])
        _ = try await client.post("/batch", #"{"api_key":"S3CRET","batch":7}"#)
        _ = try await client.post("/batch", #"{"api_key":"S3CRET"#)
        _ = try await client.post("/import", #"[{"event":"e","properties":{"token":"S3CRET"}}]"#)
        _ = try await client.post("/engage", #"[{"$token":"S3CRET","$set":{"a":1}}]"#)
        _ = try await client.post("/v1/batch", #"{"writeKey":"S3CRET","batch":{}}"#)
        _ = try await client.post("/v1/batch", "event=x&Api_Key=S3CRET&a=1\ntoken=S3CRET")
        let texts = try collector.rejected().map(\.text)
        #expect(texts.count == 7)
        #expect(texts.last == "event=x&Api_Key=[redacted]&a=1\ntoken=[redacted]")
        #expect(texts.allSatisfy { $0.contains("[redacted]") && !$0.contains("S3CR") && !$0.contains("ET\"") })
      }
    }
  }
#endif
