// AmplitudeTests: a 400 lists the bad events by field, and takes nothing.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct AmplitudeTests {
    private let vendor = Amplitude(limitBytes: 1 << 20)

    private func body(_ events: [String], more: String = "") -> String {
      "{\"api_key\":\"k\"\(more),\"events\":[\(events.joined(separator: ","))]}"
    }

    private static let good = """
      {"event_type":"e","user_id":"ada@example.com","time":1396381378123,"insert_id":"a-1","event_properties":{"k":1},\
      "platform":"Linux"}
      """

    @Test func `good events are ingested`() throws {
      let read = Read(vendor, body([Self.good, #"{"event_type":"e","device_id":"device-1"}"#]))
      #expect(read.failures.isEmpty)
      #expect(read.events[0].id == "a-1")
      #expect(read.events[0].time?.description == "2014-04-01T19:42:58.123000000Z")
      #expect(read.events[0].properties == ["k": 1])
      #expect(read.events[0].context == ["platform": "Linux"])
      #expect(read.events[1].user == "device-1")
      let answer = read.answer(by: vendor)
      #expect(answer.status == 200)
      #expect(answer.json["events_ingested"] as? Int == 2)
      #expect(answer.json["server_upload_time"] as? Int != nil)
    }

    @Test func `bad events are listed by field, and nothing is taken`() throws {
      let read = Read(
        vendor,
        body([
          Self.good, "7", #"{"user_id":"longer"}"#, #"{"event_type":"","user_id":"longer"}"#, #"{"event_type":"e"}"#,
          #"{"event_type":"e","user_id":"ada"}"#, #"{"event_type":"e","user_id":"longer","time":"now"}"#,
          #"{"event_type":"e","user_id":"longer","time":-5}"#,
          #"{"event_type":"e","user_id":"longer","event_properties":[]}"#, Self.good,
        ]))
      #expect(
        read.faults == [
          "1 event", "2 event_type", "3 event_type", "4 user_id", "5 user_id", "6 time", "7 time", "8 event_properties",
        ])
      guard case .batch(let batch) = read else { return #expect(Bool(false), "refused") }
      #expect(!vendor.takesGoodOnes(of: batch))
      let answer = read.answer(by: vendor)
      #expect(answer.status == 400)
      let missing = try #require(answer.json["events_with_missing_fields"] as? [String: [Int]])
      #expect(missing == ["event_type": [2], "user_id": [4]])
      let invalid = try #require(answer.json["events_with_invalid_fields"] as? [String: [Int]])
      #expect(invalid == ["event": [1], "event_type": [3], "user_id": [5], "time": [6, 7], "event_properties": [8]])
    }

    @Test func `short ids are taken if the request says so`() {
      let event = #"{"event_type":"e","user_id":"a"}"#
      #expect(Read(vendor, body([event])).events.isEmpty)
      #expect(Read(vendor, body([event], more: ",\"options\":{\"min_id_length\":1}")).events.map(\.user) == ["a"])
    }

    @Test func `a request above a limit is refused, one at it is taken`() {
      #expect(Read(vendor, body(Array(repeating: #"{"event_type":"e","user_id":"longer"}"#, count: 2_000))).status == 0)
      let many = Read(vendor, body(Array(repeating: #"{"event_type":"e","user_id":"longer"}"#, count: 2_001)))
      #expect(many.answer(by: vendor).text == #"{"code":413,"error":"Payload too large"}"#)
      let padding = String(repeating: " ", count: (1 << 20) - body([Self.good]).utf8.count)
      #expect(Read(vendor, body([Self.good]) + padding).events.count == 1)
      #expect(Read(vendor, body([Self.good]) + padding + " ").status == 413)
    }

    @Test func `a request without events says what is missing`() {
      let answer = Read(vendor, #"{"api_key":"k"}"#).answer(by: vendor)
      #expect(answer.status == 400)
      #expect(answer.json["missing_field"] as? String == "events")
      #expect(Read(vendor, "[]").status == 400)
    }
  }
#endif
