// PipelineTests: what developers see of the collector: pages of its logs, counts.

#if Collector
  import Foundation
  import Testing
  import Weir
  import WeirContracts
  import WeirContracts

  import WeirCollector

  struct PipelineTests {
    private func ids(_ answer: RawAnswer) -> [String] {
      (answer.json["events"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
    }

    @Test func `events are listed in pages`() async throws {
      try await withCollector { _, client in
        let events = (0..<10).map { segmentEvent("m\($0)", $0 % 2 == 0 ? "even" : "odd") }
        #expect(try await client.post("/v1/batch", segmentBatch(events)).status == 200)
        let first = try await client.get("/_weir/events?limit=4")
        #expect(ids(first) == ["m0", "m1", "m2", "m3"])
        #expect(first.json["after"] as? Int == 3)
        let second = try await client.get("/_weir/events?limit=4&after=3")
        #expect(ids(second) == ["m4", "m5", "m6", "m7"])
        let rest = try await client.get("/_weir/events?after=7")
        #expect(ids(rest) == ["m8", "m9"])
        let end = try await client.get("/_weir/events?after=9")
        #expect(ids(end) == [])
        #expect(end.json["after"] as? Int == 9)
        let odd = try await client.get("/_weir/events?name=odd&limit=2&after=1")
        #expect(ids(odd) == ["m3", "m5"])
        let event = try #require((first.json["events"] as? [[String: Any]])?.first)
        #expect(event["name"] as? String == "even")
        #expect(event["vendor"] as? String == "segment")
        #expect(event["time"] as? String == "2026-11-21T00:00:00.500000000Z")
        #expect((event["properties"] as? [String: Int]) == ["n": 1])
        for wrong in ["limit=0", "limit=1001", "limit=x", "after=-1", "after=18446744073709551615"] {
          #expect(try await client.get("/_weir/events?\(wrong)").status == 400)
        }
      }
    }

    @Test func `rejected events are listed with their reasons`() async throws {
      try await withCollector { _, client in
        #expect(ids(try await client.get("/_weir/rejected")).isEmpty)
        _ = try await client.post("/events", "{\"id\":\"1\",\"name\":\"n\"}\n{\"id\":\"2\"}\n")
        _ = try await client.post("/v1/batch", "nonsense")
        let page = try await client.get("/_weir/rejected").json["events"] as? [[String: Any]] ?? []
        #expect(page.map { $0["vendor"] as? String } == ["weir", "segment"])
        #expect(page.map { $0["id"] as? String } == ["2", nil])
        #expect(page.map { $0["index"] as? Int } == [1, nil])
        #expect(page.map { $0["text"] as? String } == [#"{"id":"2"}"#, "nonsense"])
        #expect(page[0]["reason"] as? String == "name is missing")
      }
    }

    @Test func `violations are counted as far as events were taken`() async throws {
      try await withCollector {
        $0.contract = Contract("shop", version: "1") { EventRule("paid") {} }
      } _: { collector, client in
        for round in 1...5 {
          let events = (0..<1_000).map { segmentEvent("m\(round)-\($0)", "unheard") }
          let answer = try await client.post("/v1/batch", segmentBatch(events))
          let shown = try await client.get("/_weir/stats").json["violations"] as? Int
          let counted = try await collector.statistics().violations
          #expect(answer.status == 200)
          #expect(shown == 1_000 * round)
          #expect(counted == UInt64(1_000 * round))
        }
      }
    }

    @Test func `events are counted by vendor and by name`() async throws {
      try await withCollector { collector, client in
        for _ in 0..<2 {
          _ = try await client.post(
            "/events", "{\"id\":\"1\",\"name\":\"a\"}\n{\"id\":\"2\",\"name\":\"b\"}\n{\"id\":\"3\"}")
        }
        _ = try await client.post(
          "/v1/batch", segmentBatch([segmentEvent("1", "a"), #"{"type":"identify","userId":"u"}"#]))
        let stats = try await client.get("/_weir/stats").json
        #expect(stats["events"] as? Int == 6)
        #expect(stats["ids"] as? Int == 3)
        #expect(stats["duplicates"] as? Int == 2)
        #expect(stats["without_id"] as? Int == 1)
        #expect(stats["vendors"] as? [String: Int] == ["weir": 4, "segment": 2])
        #expect(stats["names"] as? [String: Int] == ["a": 3, "b": 2, "identify": 1])
        #expect(stats["rejected"] as? Int == 2)
        #expect(stats["reasons"] as? [String: Int] == ["name is missing": 2])
        #expect(try await collector.statistics().offset == 6)
        #expect(try await client.get("/_weir").status == 200)
        #expect(try await client.get("/_weir/health").json["status"] as? String == "ok")
        #expect(try await client.get("/_weir/violations").json["events"] as? [Int] == [])
      }
    }
  }
#endif
