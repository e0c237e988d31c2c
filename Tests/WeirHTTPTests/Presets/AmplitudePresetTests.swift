// Amplitude: what an event becomes, and what every answer means.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct AmplitudePresetTests {
    private let preset = AmplitudePreset(apiKey: Secret(#"k"ey-12345"#))

    @Test func `an event has its id and time`() throws {
      let expected = #"""
        {"event_type":"checkout.completed","user_id":"u1","time":1763683200123,
         "insert_id":"0123456789abcdef0000000000000005","event_properties":{"order":7}}
        """#
      #expect(json(try preset.encode(sampleEvent(5))) == json(expected))
      let anonymous = String(decoding: try preset.encode(sampleEvent(user: nil)), as: UTF8.self)
      #expect(anonymous.contains(#""device_id":"weir-0123456789abcdef""#))
      #expect(!anonymous.contains("user_id"))
    }

    @Test func `the key stands in the body, and short ids are kept`() throws {
      let post = preset.post(try sampleBatch(1, for: preset))
      let text = String(decoding: post.body, as: UTF8.self)
      #expect(text.hasPrefix(#"{"api_key":"k\"ey-12345","options":{"min_id_length":1},"events":[{"#))
      #expect(json(post.body) != nil)
      #expect(post.headers.map(\.name) == ["content-type"])
      #expect(preset.secrets == [Secret(#"k"ey-12345"#)])
    }

    @Test func `the limits are the vendor's`() {
      #expect(preset.limits == HTTPLimits(events: 1_999, bytes: 999_999))
      #expect(!preset.takesGzip)
      #expect(preset.path == "/2/httpapi")
      #expect(preset.endpoint == "https://api2.amplitude.com")
    }

    private static let again = Verdict.retry(after: .zero)

    @Test func `the events that are listed are rejected, and the others come again`() throws {
      let body = #"""
        {"code":400,"error":"Request missing required field","events_with_missing_fields":{"time":[0]},
         "events_with_invalid_fields":{"price":[0,2],"time":[2]},"silenced_events":[3]}
        """#
      let error = "Request missing required field"
      let expected: [Verdict] = [
        .rejected("\(error): missing time, invalid price"), Self.again,
        .rejected("\(error): invalid price, invalid time"),
        .rejected("\(error): its device is silenced"), Self.again,
      ]
      #expect(try Outcome(preset, answer(400, body), events: 5) == .verdicts(expected))
    }

    @Test(arguments: [
      answer(400), answer(400, "what?"), answer(400, #"{"error":"bad"}"#),
      answer(400, #"{"error":"bad","events_with_invalid_fields":{"time":[3]}}"#),
      answer(400, #"{"error":"bad","events_with_missing_fields":{"time":[-1]}}"#),
      answer(400, #"{"error":"bad","silenced_events":["x"]}"#),
      answer(400, #"{"error":"Request missing required field","missing_field":"events"}"#),
    ])
    func `an answer that names none of the events, or others, refuses the batch`(_ answer: HTTPAnswer) throws {
      #expect(try Outcome(preset, answer) == .refused)
    }

    @Test(arguments: [
      answer(400, #"{"code":400,"error":"Invalid API key: k"}"#), answer(400, #"{"missing_field":"api_key"}"#),
      answer(401), answer(403), answer(404),
    ])
    func `a wrong key stops delivery`(_ answer: HTTPAnswer) throws {
      #expect(try Outcome(preset, answer) == .stopped)
      #expect(throws: DeliveryStopped.self) { try preset.readIdentify(answer) }
    }

    @Test func `a sender that is too fast waits`() throws {
      let body = #"{"code":429,"error":"Too many requests","eps_threshold":30,"throttled_events":[1,9]}"#
      let slow = Verdict.retry(after: .seconds(30))
      #expect(try Outcome(preset, answer(429, body)) == .verdicts([Self.again, slow, Self.again]))
      let later = Verdict.retry(after: .seconds(45))
      let asked = answer(429, body, ("retry-after", "45"))
      #expect(try Outcome(preset, asked) == .verdicts([Self.again, later, Self.again]))
    }

    @Test(arguments: [
      (answer(200, #"{"code":200,"events_ingested":3}"#), Outcome.accepted), (answer(200), .failed),
      (answer(200, "success"), .failed), (answer(200, #"{"code":200,"events_ingested":4}"#), .failed),
      (answer(413), .refused),
      (answer(429), .failed), (answer(429, "", ("retry-after", "3")), .retry(3)), (answer(500), .failed),
      (answer(429, #"{"throttled_events":[7]}"#), .failed), (answer(504), .failed),
    ])
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    @Test func `groups are told after their user, and named by events`() throws {
      let preset = AmplitudePreset(apiKey: Secret("k"), groups: ["company", "team"])
      let user = EventUser(id: "u1", traits: ["company": ["id": 7, "name": "Acme"], "team": "red"])
      let parts = preset.identification(of: user, before: sampleEvent(3)).map { json($0) }
      #expect(
        parts == [
          json(
            #"""
            {"event_type":"$identify","user_id":"u1","time":1763683200123,"insert_id":"\#(sampleID(3))-$identify",
             "user_properties":{"$set":{"company":{"id":7,"name":"Acme"},"team":"red"}},
             "groups":{"company":"7","team":"red"}}
            """#),
          json(
            #"""
            {"event_type":"$groupidentify","user_id":"u1","time":1763683200123,
             "insert_id":"\#(sampleID(3))-$groupidentify-company","groups":{"company":"7"},
             "group_properties":{"$set":{"name":"Acme"}}}
            """#),
        ])
      let event = String(decoding: try preset.encode(sampleEvent(3, user: user)), as: UTF8.self)
      #expect(event.contains(#""groups":{"company":"7","team":"red"}"#))
    }

    @Test func `an answer's places count what is told of users`() throws {
      let events = (0..<2).map { sampleEvent($0) }
      let user = EventUser(id: "u1", traits: ["a": 1])
      let batch = HTTPBatch(
        events: events, encoded: try events.map(preset.encode),
        identifications: [1: preset.identification(of: user, before: events[1])])
      let invalid = answer(400, #"{"error":"bad","events_with_invalid_fields":{"user_properties":[1]}}"#)
      #expect(
        try preset.read(invalid, of: batch).verdicts == [
          .retry(after: .zero), .rejected("bad: invalid user_properties"),
        ])
    }

    @Test func `what is known about a user sets the user's properties`() throws {
      let parts = preset.identification(of: EventUser(id: "u1", traits: ["plan": "pro"]), before: nil)
      let post = preset.post(HTTPBatch(events: [], encoded: [], identifications: [0: parts]))
      let expected = #"""
        {"api_key":"k\"ey-12345","options":{"min_id_length":1},
         "events":[{"event_type":"$identify","user_id":"u1","user_properties":{"$set":{"plan":"pro"}}}]}
        """#
      #expect(json(post.body) == json(expected))
      #expect(throws: BatchRefused.self) { try preset.readIdentify(answer(400, "{}")) }
      #expect(throws: Never.self) { try preset.readIdentify(answer(200)) }
    }
  }
#endif
