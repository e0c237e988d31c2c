// MixpanelTests: the import's rules for an event, one by one, and the answers with and without strict.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct MixpanelTests {
    private static func event(
      _ id: String = "i-1", name: String = "\"e\"", time: String = "1618716477000", user: String = "\"ada\"",
      more: String = ""
    ) -> String {
      "{\"event\":\(name),\"properties\":{\"time\":\(time),\"distinct_id\":\(user),\"$insert_id\":\"\(id)\"\(more)}}"
    }

    @Test func `good events are imported`() throws {
      let events = [
        Self.event("i-1", more: #","token":"secret","k":2"#), Self.event("i-2", time: "1618716477.25", user: "\"\""),
        Self.event(String(repeating: "a", count: 36)),
      ]
      let read = Read(Mixpanel(), "[\(events.joined(separator: ","))]")
      #expect(read.faults == [])
      #expect(read.events[0].properties == ["k": 2])
      #expect(read.events[0].id == "i-1")
      #expect(read.events[0].user == "ada")
      #expect(read.events[0].time?.description == "2021-04-18T03:27:57.000000000Z")
      #expect(read.events[1].time?.description == "2021-04-18T03:27:57.250000000Z")
      #expect(read.events[1].user == nil)
      let answer = read.answer(by: Mixpanel())
      #expect(answer.text == #"{"code":200,"num_records_imported":3,"status":"OK"}"#)
      let lines = Read(Mixpanel(), events.joined(separator: "\n") + "\n", type: "application/x-ndjson")
      #expect(lines.events.count == 3)
    }

    /// Each event breaks one rule; the field that the answer is to name stands beside it.
    static let bad: [(String, String)] = [
      ("7", ""), ("{}", "properties"), (#"{"event":"e","properties":[]}"#, "properties"), (event(name: "7"), "event"),
      (event(name: "\"\""), "event"), (event(name: "\"\(text(256))\""), "event"),
      (event(time: "\"x\""), "properties.time"),
      (event(time: "null"), "properties.time"), (event(time: "-1"), "properties.time"),
      (event(time: "1000"), "properties.time"), (event(user: "\"Anonymous\""), "properties.distinct_id"),
      (event("has space"), "properties.$insert_id"), (event(text(37)), "properties.$insert_id"),
      (event(more: (0..<252).map { ",\"p\($0)\":1" }.joined()), "properties"),
      (event(more: ",\"d\":[[[[]]]]"), "properties"), (event(more: ",\"t\":\"\(text(1 << 20))\""), "event"),
      (#"{"event":"e","properties":{"time":1618716477,"$insert_id":"i"}}"#, "properties.distinct_id"),
      (#"{"event":"e","properties":{"time":1618716477,"distinct_id":"d"}}"#, "properties.$insert_id"),
    ]

    @Test func `a broken rule is told with its field, and the other events are taken`() throws {
      let bodies = Self.bad.flatMap { [$0.0, Self.event("good")] }
      let read = Read(Mixpanel(), "[\(bodies.joined(separator: ","))]")
      #expect(read.faults == Self.bad.enumerated().map { "\($0 * 2) \($1.1)" })
      #expect(read.events.count == Self.bad.count)
      let answer = read.answer(by: Mixpanel())
      #expect(answer.status == 400)
      #expect(answer.json["num_records_imported"] as? Int == Self.bad.count)
      let records = try #require(answer.json["failed_records"] as? [[String: Any]])
      #expect(records.compactMap { $0["index"] as? Int } == Self.bad.indices.map { $0 * 2 })
      #expect(records[10]["insert_id"] as? String == "i-1")
      #expect(records.allSatisfy { !($0["message"] as? String ?? "").isEmpty })
    }

    @Test func `an event just within the rules is taken`() {
      let bodies = [
        Self.event(name: "\"\(text(255))\""), Self.event(time: "31536000"), Self.event(more: ",\"d\":[[[]]]"),
        Self.event(more: (0..<251).map { ",\"p\($0)\":1" }.joined()),
      ]
      #expect(Read(Mixpanel(), "[\(bodies.joined(separator: ","))]").faults == [])
    }

    @Test func `an import that is not strict says nothing of what it leaves out`() {
      let read = Read(Mixpanel(), "[7,\(Self.event())]", query: ["strict": "0"])
      #expect(read.events.count == 1)
      #expect(read.answer(by: Mixpanel()).text == #"{"code":200,"num_records_imported":1,"status":"OK"}"#)
    }

    @Test func `a request above a limit is refused, one at it is taken`() {
      let events = Array(repeating: Self.event(), count: 2_000)
      #expect(Read(Mixpanel(), "[\(events.joined(separator: ","))]").events.count == 2_000)
      let more = events + [Self.event()]
      #expect(Read(Mixpanel(), "[\(more.joined(separator: ","))]").status == 400)
      let large = "[\(Self.event())" + String(repeating: " ", count: 10 << 20) + "]"
      let refused = Read(Mixpanel(), large)
      #expect(refused.status == 413)
      #expect(refused.answer(by: Mixpanel()).json["status"] as? String == "Request Entity Too Large")
    }

    @Test func `profiles are events`() {
      let read = Read(MixpanelProfiles(), #"[{"$token":"t","$distinct_id":"ada","$set":{"plan":"plus"}}]"#)
      #expect(read.events.map(\.name) == ["$identify"])
      #expect(read.events.map(\.properties) == [["plan": "plus"]])
      #expect(read.answer(by: MixpanelProfiles()).json["status"] as? Int == 1)
      #expect(Read(MixpanelProfiles(), #"[{"$set":{}}]"#).status == 400)
    }
  }
#endif
