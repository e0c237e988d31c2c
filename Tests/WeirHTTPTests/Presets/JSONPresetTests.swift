// JSON for endpoints of one's own, and presets by name.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct JSONPresetTests {
    private let preset = JSONPreset(endpoint: "http://localhost/in", authorization: .bearer(Secret("tok-12345")))

    @Test func `a body is an array, or lines`() throws {
      let batch = try sampleBatch(2, for: preset)
      let event = String(decoding: EventJSON.object(sampleEvent(0)), as: UTF8.self)
      let array = preset.post(batch)
      #expect(String(decoding: array.body, as: UTF8.self).hasPrefix("[\(event),{"))
      #expect(array.headers.map(\.name) == ["content-type", "idempotency-key", "authorization"])
      #expect(array.headers[1].value.withValue { $0 } == batch.idempotencyKey)
      let lines = JSONPreset(endpoint: "http://localhost/in", form: .lines).post(batch)
      #expect(String(decoding: lines.body, as: UTF8.self).hasPrefix("\(event)\n{"))
      #expect(lines.body.last == 10)
      #expect(lines.headers.map(\.name) == ["content-type", "idempotency-key"])
    }

    @Test func `each way of saying who the client is has its header`() {
      func header(_ authorization: JSONPreset.Authorization) -> String? {
        let preset = JSONPreset(endpoint: "http://localhost", authorization: authorization)
        guard let header = preset.post(HTTPBatch(events: [], encoded: [])).headers.last else { return nil }
        #expect(preset.secrets.allSatisfy { $0.withValue { ["t", "p", "k"].contains($0) } })
        #expect(header.isConfidential || preset.secrets.isEmpty)
        return header.value.withValue { "\(header.name): \($0)" }
      }
      #expect(header(.none) == "idempotency-key: empty")
      #expect(header(.bearer(Secret("t"))) == "authorization: Bearer t")
      #expect(header(.basic(user: "u", password: Secret("p"))) == "authorization: Basic dTpw")
      #expect(header(.header("x-key", Secret("k"))) == "x-key: k")
    }

    @Test(arguments: [
      (answer(200), Outcome.accepted), (answer(202, "queued"), .accepted),
      (answer(200, #"{"rejected":[]}"#), .accepted),
      (
        answer(200, #"{"rejected":[{"id":"\#(sampleID(1))","reason":"no"}]}"#),
        .verdicts([.accepted, .rejected("no"), .accepted])
      ),
      (
        answer(
          200, #"{"rejected":[{"id":"\#(sampleID(0))"}],"retry":[{"id":"\#(sampleID(2))"}]}"#, ("retry-after", "3")),
        .verdicts([.rejected("rejected without a reason"), .accepted, .retry(after: .seconds(3))])
      ),
      (answer(200, #"{"rejected":[{"id":"\#(sampleID(9))"}]}"#), .failed),
      (answer(200, #"{"accepted":3,"rejected":[]}"#), .accepted), (answer(200, #"{"accepted":2}"#), .failed),
      (answer(200, #"{"accepted":4}"#), .failed),
      (answer(200, #"{"accepted":2,"retry":[{"index":0}]}"#), .verdicts([.retry(after: nil), .accepted, .accepted])),
      (answer(200, #"{"rejected":[{"reason":"no"}]}"#), .failed),
      (
        answer(200, #"{"rejected":[{"id":null,"index":2}]}"#),
        .verdicts([.accepted, .accepted, .rejected("rejected without a reason")])
      ),
      (answer(200, #"{"rejected":[{"id":null,"index":3}]}"#), .failed),
      (answer(200, #"{"rejected":[{"id":"\#(sampleID(9))","index":2}]}"#), .failed),
      (answer(200, #"{"retry":["x"]}"#), .failed),
      (answer(200, #"{"rejected":null,"retry":null}"#), .accepted), (answer(200, " \n"), .accepted),
      // What can't be read, or means no events in particular, may have named some that the endpoint does not have.
      (answer(200, #"{"accepted":1,"rejected":[{"ind"#), .failed), (answer(200, " ["), .failed),
      (answer(200, "\u{fffd}", ("content-type", "application/problem+json")), .failed),
      (answer(200, #"{"rejected":2}"#), .failed), (answer(200, #"{"retry":{"id":"x"}}"#), .failed),
      (answer(400), .refused), (answer(413), .refused), (answer(401), .stopped), (answer(503), .failed),
    ])
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }
  }

  @Suite struct HTTPPresetNameTests {
    @Test(arguments: HTTPPresetName.allCases)
    func `every preset's name makes it`(_ name: HTTPPresetName) throws {
      let preset = try name.preset(endpoint: "http://127.0.0.1:1", key: Secret("key-12345"), project: "G-SHOP")
      let provider = try HTTPProvider(preset, configuration: .patient)
      #expect(preset.endpoint == "http://127.0.0.1:1")
      #expect(!provider.name.isEmpty)
    }

    @Test func `vendors have addresses of their own`() throws {
      for name in HTTPPresetName.allCases where name != .json && name != .jsonl {
        #expect(throws: Never.self) { try HTTPProvider(try name.preset(key: Secret("key-12345"), project: "G-SHOP")) }
      }
      #expect(throws: WeirError.self) { try HTTPPresetName.json.preset() }
      #expect(throws: WeirError.self) { try HTTPPresetName.mixpanel.preset(key: Secret("s"), user: "robot") }
    }
  }
#endif
