// FaultyAnswerTests: each fault as it is on the wire, and what is in the log after it.

#if Collector
  import Foundation
  import Testing
  import Weir

  @testable import WeirCollector

  struct FaultyAnswerTests {
    private static let events = (0..<8).map { index in
      "{\"event\":\"e\",\"properties\":{\"time\":1618716477,\"distinct_id\":\"d\",\"$insert_id\":\"i\(index)\"}}"
    }
    private static let body = "[\(events.joined(separator: ","))]"

    private func post(_ client: RawClient, _ fault: String, _ path: String = "/import?strict=1") async throws
      -> RawAnswer
    {
      try await client.post(path, Self.body, ["X-Weir-Fault": fault])
    }

    @Test(arguments: [("status=500", 500), ("status=429", 429), ("retry-after=3s", 429), ("redirect", 302)])
    func `a fault that refuses a request stores nothing of it`(fault: String, status: Int) async throws {
      try await withCollector { collector, client in
        let answer = try await post(client, fault)
        #expect(answer.status == status)
        #expect(answer.isWhole)
        #expect(answer.headers["retry-after"] == (fault.hasPrefix("retry") ? "3" : nil))
        #expect(try collector.events().isEmpty)
        if status == 302 {
          // Whoever follows it is told that all is well, and has lost its events.
          let place = try #require(answer.headers["location"])
          #expect(try await client.get(place).status == 200)
          #expect(try collector.events().isEmpty)
        }
      }
    }

    @Test func `a fault of the answer alone stores all of the request`() async throws {
      try await withCollector { collector, client in
        let cut = try await post(client, "cut")
        #expect(cut.status == 200)
        #expect(!cut.isWhole)
        #expect(!cut.body.isEmpty)

        let dropped = try await post(client, "drop-answer")
        #expect(dropped.status == 0)

        let garbage = try await post(client, "garbage")
        #expect(garbage.status == 200)
        #expect(garbage.isWhole)
        #expect(garbage.json.isEmpty)

        let stranger = try await post(client, "stranger")
        #expect(stranger.json["num_records_imported"] as? Int == 9)

        let start = ContinuousClock.now
        let slow = try await post(client, "slow=150ms")
        #expect(ContinuousClock.now - start >= .milliseconds(150))
        #expect(slow.json["num_records_imported"] as? Int == 8)

        #expect(try collector.events().count == 5 * 8)
        let statistics = try await collector.statistics()
        #expect(statistics.ids == 8)
        #expect(statistics.duplicates == 32)
        #expect(statistics.faults == ["cut": 1, "drop-answer": 1, "garbage": 1, "stranger": 1, "slow": 1])
      }
    }

    @Test func `an answer without a body is cut, too`() async throws {
      try await withCollector { collector, client in
        let path = "/?query=INSERT%20INTO+t%20FORMAT%20JSONEachRow"
        let answer = try await client.post(path, "{\"id\":\"1\"}", ["X-Weir-Fault": "cut"])
        #expect(answer.status == 200)
        #expect(!answer.isWhole)
        #expect(try collector.events().map(\.id) == ["1"])
      }
    }

    @Test func `a part is refused in the vendor's way`() async throws {
      try await withCollector { collector, client in
        let answer = try await post(client, "partial")
        #expect(answer.status == 400)
        let failed = try #require(answer.json["failed_records"] as? [[String: Any]])
        let refused = failed.compactMap { $0["insert_id"] as? String }
        #expect((1..<8).contains(refused.count))
        #expect(answer.json["num_records_imported"] as? Int == 8 - refused.count)
        #expect(
          try collector.events().compactMap(\.id) + refused
            == refused.reduce(into: (0..<8).map { "i\($0)" }) { ids, id in
              ids.removeAll { $0 == id }
              ids.append(id)
            })
        #expect(try collector.rejected().map(\.id) == refused)
      }
    }

    @Test func `a vendor that cannot name events stores a part, and fails`() async throws {
      try await withCollector { collector, client in
        let body = segmentBatch((0..<8).map { segmentEvent("m\($0)") })
        let answer = try await client.post("/v1/batch", body, ["X-Weir-Fault": "partial"])
        #expect(answer.status == 500)
        let count = try collector.events().count
        #expect((1..<8).contains(count))
        #expect(try collector.rejected().isEmpty)
      }
    }

    @Test func `a vendor that takes all or nothing takes nothing`() async throws {
      try await withCollector { collector, client in
        let events = (0..<8).map { "{\"event_type\":\"e\",\"user_id\":\"longer\",\"insert_id\":\"a\($0)\"}" }
        let body = "{\"events\":[\(events.joined(separator: ","))]}"
        let answer = try await client.post("/2/httpapi", body, ["X-Weir-Fault": "partial"])
        #expect(answer.status == 400)
        let invalid = try #require(answer.json["events_with_invalid_fields"] as? [String: [Int]])
        #expect(invalid["event"]?.isEmpty == false)
        #expect(try collector.events().isEmpty)
      }
    }

    @Test func `the other answers name a stranger, too`() {
      func changed(_ json: String) -> String {
        String(decoding: Stranger.answer(Answer(200, [], Array(json.utf8))).body, as: UTF8.self)
      }
      #expect(changed(#"{"events_ingested":2}"#) == #"{"events_ingested":3}"#)
      #expect(changed(#"{"accepted":2,"rejected":[]}"#).contains(#""accepted":3,"rejected":[{"index":1000000,"#))
      #expect(changed(#"{"partialSuccess":{}}"#).contains(#""rejectedLogRecords":"1000000""#))
      #expect(changed(#"{"success":true}"#).contains("accepted_ids"))
      #expect(changed("Ok.") == "Ok.")
    }

    @Test func `faults follow the seed, and can be set at run time`() async throws {
      let faults = try Faults("status=503:0.5", seed: 11)
      let draw = FaultDraw(faults)
      let expected = (0..<20).map { _ in draw.next(asked: nil).map { _ in 503 } ?? 200 }
      try await withCollector {
        $0.faults = faults
      } _: { collector, client in
        var statuses: [Int] = []
        for _ in 0..<20 { statuses.append(try await client.post("/events", #"{"id":"1","name":"n"}"#).status) }
        #expect(statuses == expected)
        // The pipeline's own endpoints never fail.
        #expect(try await client.get("/_weir/health").status == 200)
        let set = try await client.post("/_weir/faults", #"{"faults":"status=418:1*2","seed":5}"#)
        #expect(set.json["faults"] as? String == "status=418:1.0*2")
        statuses = []
        for _ in 0..<3 { statuses.append(try await client.post("/events", #"{"id":"1","name":"n"}"#).status) }
        #expect(statuses == [418, 418, 200])
        for wrong in ["", "{}", #"{"faults":7}"#, #"{"faults":"x"}"#, #"{"faults":"","seed":-1}"#] {
          #expect(try await client.post("/_weir/faults", wrong).status == 400)
        }
        #expect(try await client.get("/_weir/faults").json["seed"] as? Int == 5)
        collector.setFaults(.none)
        #expect(try await client.post("/events", #"{"id":"1","name":"n"}"#).status == 200)
        #expect(try await client.post("/events", "{}", ["X-Weir-Fault": "nonsense"]).status == 400)
      }
    }
  }
#endif
