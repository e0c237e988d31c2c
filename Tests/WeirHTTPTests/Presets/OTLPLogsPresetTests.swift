// OpenTelemetry: what a record is, and what every answer means, partial success above all.

#if HTTP
  import Foundation
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct OTLPLogsPresetTests {
    private let preset = OTLPLogsPreset(serviceName: "shop", authorization: .bearer(Secret("tok-12345")))

    @Test func `an event is a record with typed attributes`() throws {
      let fields: FieldObject = [
        "text": "a", "yes": true, "int": -7, "wide": .uint(.max), "double": 1.5, "nan": .double(.nan),
        "bytes": .bytes([0, 255]), "none": nil, "list": [1, "b"], "object": ["a": 1],
        "date": .date(Date(timeIntervalSince1970: 0)), "late": .date(Date(timeIntervalSinceReferenceDate: 1e18)),
      ]
      let record = try #require(
        JSONSerialization.jsonObject(with: Data(try preset.encode(sampleEvent(5, fields)))) as? [String: Any])
      #expect(record["timeUnixNano"] as? String == "1763683200123456789")
      #expect(record["observedTimeUnixNano"] as? String == "1763683200123456789")
      #expect(record["severityNumber"] as? Int == 9)
      #expect(record["eventName"] as? String == "checkout.completed")
      let attributes = try #require(record["attributes"] as? [[String: Any]])
      let values = attributes.map { "\($0["key"] ?? "")" }
      #expect(values == ["log.record.uid", "weir.offset", "user.id"] + fields.map(\.name))
      let expected = #"""
        [{"stringValue":"0123456789abcdef0000000000000005"},{"intValue":"5"},{"stringValue":"u1"},
         {"stringValue":"a"},{"boolValue":true},{"intValue":"-7"},{"stringValue":"18446744073709551615"},
         {"doubleValue":1.5},{"doubleValue":"NaN"},{"bytesValue":"AP8="},{},
         {"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"b"}]}},
         {"kvlistValue":{"values":[{"key":"a","value":{"intValue":"1"}}]}},
         {"stringValue":"1970-01-01T00:00:00Z"},{"doubleValue":1e18}]
        """#
      #expect(attributes.map { $0["value"] as? NSObject } == (json(expected) as? [NSObject])?.map { $0 })
    }

    @Test func `a time before 1970 is an attribute`() throws {
      let event = PreparedEvent(
        StoredEvent(
          offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: -1), name: "e",
          fields: [:]))
      let text = String(decoding: try preset.encode(event), as: UTF8.self)
      #expect(text.contains(#""timeUnixNano":"0""#))
      #expect(text.contains("1969-12-31T23:59:59.999999999Z"))
    }

    @Test func `a request is one resource and scope`() throws {
      let post = preset.post(try sampleBatch(2, for: preset))
      let text = String(decoding: post.body, as: UTF8.self)
      #expect(json(post.body) != nil)
      #expect(text.contains(#"{"stringValue":"shop"}"#))
      #expect(text.hasPrefix(#"{"resourceLogs":[{"resource":"#))
      #expect(preset.path == "/v1/logs")
      #expect(post.headers.map(\.name) == ["content-type", "authorization"])
    }

    private static func partial(_ count: String, _ message: String = "why") -> HTTPAnswer {
      answer(200, #"{"partialSuccess":{"rejectedLogRecords":\#(count),"errorMessage":"\#(message)"}}"#)
    }

    @Test(arguments: [
      (answer(200), Outcome.accepted), (answer(200, "garbage"), .failed), (answer(200, "<html>"), .failed),
      (answer(200, "{}"), .accepted),
      (answer(200, #"{"partialSuccess":{}}"#), .accepted),
      (answer(200, #"{"partialSuccess":null}"#), .accepted), (partial("0"), .accepted), (partial(#""0""#), .accepted),
      (partial("1"), .unnamed(1)), (partial(#""2""#), .unnamed(2)),
      (partial("3"), .verdicts([.rejected("why"), .rejected("why"), .rejected("why")])),
      (partial("99"), .verdicts([.rejected("why"), .rejected("why"), .rejected("why")])), (partial("-1"), .accepted),
      (answer(400), .refused), (answer(413), .refused), (answer(422), .refused), (answer(500), .refused),
      (answer(408), .refused), (answer(599), .refused), (answer(401), .stopped), (answer(403), .stopped),
      (answer(404), .stopped), (answer(429), .failed), (answer(502), .failed), (answer(503), .failed),
      (answer(504), .failed), (answer(503, "", ("retry-after", "8")), .retry(8)),
    ])
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    @Test func `a partial success may be kept as dead letters`() throws {
      let careful = OTLPLogsPreset(unnamedRejections: .rejected)
      let reason = "1 of 3 records were refused, the receiver does not say which: why"
      #expect(try Outcome(careful, Self.partial("1")) == .verdicts(Array(repeating: .rejected(reason), count: 3)))
      #expect(try Outcome(careful, Self.partial("0")) == .accepted)
    }
  }
#endif
