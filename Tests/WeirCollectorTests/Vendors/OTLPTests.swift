// OTLPTests: log records as events, the kinds of attribute values, and answers.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct OTLPTests {
    private func body(_ records: String) -> String {
      """
      {"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
      "scopeLogs":[{"scope":{"name":"weir"},"logRecords":[\(records)]}]}]}
      """
    }

    @Test func `records are events`() throws {
      let read = Read(
        OTLP(),
        body(
          """
          {"timeUnixNano":"1795219200000000001","severityText":"INFO","eventName":"paid","body":{"stringValue":"b"},
          "attributes":[{"key":"weir.id","value":{"stringValue":"o-1"}},{"key":"user.id","value":{"stringValue":"ada"}},
          {"key":"i","value":{"intValue":"9007199254740993"}},{"key":"n","value":{"intValue":7}},
          {"key":"d","value":{"doubleValue":0.5}},{"key":"f","value":{"doubleValue":"NaN"}},
          {"key":"b","value":{"boolValue":true}},{"key":"y","value":{"bytesValue":"AQI="}},{"key":"z","value":{}},
          {"key":"a","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"x"}]}}},
          {"key":"k","value":{"kvlistValue":{"values":[{"key":"v","value":{"intValue":"2"}}]}}}]},
          {"observedTimeUnixNano":1795219200000000002,"attributes":[{"key":"event.name","value":{"stringValue":"seen"}},
          {"key":"log.record.uid","value":{"stringValue":"o-2"}}]},{}
          """))
      #expect(read.failures.isEmpty)
      #expect(read.events.map(\.name) == ["paid", "seen", "log"])
      #expect(read.events.map(\.id) == ["o-1", "o-2", nil])
      #expect(read.events[0].time == Timestamp(nanosecondsSince1970: 1_795_219_200_000_000_001))
      #expect(read.events[1].time == Timestamp(nanosecondsSince1970: 1_795_219_200_000_000_002))
      #expect(read.events[0].user == "ada")
      let fields = read.events[0].properties
      #expect(fields.map(\.name) == ["i", "n", "d", "f", "b", "y", "z", "a", "k"])
      #expect(fields["i"] == .int(9_007_199_254_740_993))
      #expect(fields["n"] == .int(7))
      #expect(fields["d"] == .double(0.5))
      guard case .double(let none)? = fields["f"] else { return #expect(Bool(false), "no double") }
      #expect(none.isNaN)
      #expect(fields["y"] == .bytes([1, 2]))
      #expect(fields["z"] == .null)
      #expect(fields["a"] == [1, "x"])
      #expect(fields["k"] == ["v": 2])
      #expect(read.events[0].context["resource"] == ["service.name": "shop"])
      #expect(read.events[0].context["body"] == "b")
      #expect(read.answer(by: OTLP()).text == #"{"partialSuccess":{}}"#)
    }

    @Test(arguments: [
      "[]", "x", #"{"resourceLogs":7}"#, #"{"resourceLogs":[7]}"#, #"{"resourceLogs":[{"scopeLogs":[[]]}]}"#,
    ])
    func `a body that is no request of logs is refused`(body: String) {
      let answer = Read(OTLP(), body).answer(by: OTLP())
      #expect(answer.status == 400)
      #expect(answer.json["code"] as? Int == 3)
      #expect(answer.json["message"] is String)
    }

    @Test func `Protobuf is said to be unknown`() {
      #expect(Read(OTLP(), "", type: "application/x-protobuf").status == 415)
      #expect(Read(OTLP(), "{}").events.isEmpty)
    }

    @Test func `a partial success says how many records were rejected`() throws {
      guard case .batch(var batch) = Read(OTLP(), body("{},{},{}")) else { return }
      let failed = batch.events.removeFirst()
      batch.failures = [
        Failure(index: failed.index, id: nil, field: "", kind: .invalid, reason: "too large", value: .null)
      ]
      let answer = OTLP().answer(to: batch, taken: 2)
      #expect(answer.status == 200)
      #expect(
        String(decoding: answer.body, as: UTF8.self)
          == #"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too large"}}"#)
    }
  }
#endif
