// Segment: what an event becomes, and what every answer means.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct SegmentPresetTests {
    private static let now = Timestamp(nanosecondsSince1970: 1_763_683_201_000_000_000)

    private let preset = SegmentPreset(writeKey: Secret("abc123"), now: { Self.now })

    @Test func `an event is a call of track`() throws {
      var event = sampleEvent(5, ["order": 7, "wide": .uint(.max)], user: EventUser(id: "u1", traits: ["plan": "pro"]))
      event.context.globals = ["version": "1.0"]
      let expected = #"""
        {"type":"track","messageId":"0123456789abcdef0000000000000005","timestamp":"2025-11-21T00:00:00.123456789Z",
         "userId":"u1","event":"checkout.completed",
         "properties":{"order":7,"wide":"18446744073709551615","version":"1.0"},
         "context":{"library":{"name":"weir"},"weir":{"event":"checkout.completed","offset":5},"traits":{"plan":"pro"}}}
        """#
      #expect(json(try preset.encode(event)) == json(expected))
    }

    @Test func `an event without a user is anonymous`() throws {
      let text = String(decoding: try preset.encode(sampleEvent(user: nil)), as: UTF8.self)
      #expect(text.contains(#""anonymousId":"weir-0123456789abcdef""#))
      #expect(!text.contains("userId"))
    }

    @Test(
      arguments: [
        (EventKind.pageView, ["page": "/cart"], #""type":"page""#, #""name":"/cart""#),
        (.pageView, [:], #""type":"page""#, #""name":"feed.shown""#),
        (.pageView, ["page": 7], #""type":"page""#, #""name":"feed.shown""#),
        (.pageView, ["screen": "Cart"], #""type":"screen""#, #""name":"Cart""#),
        (.pageView, ["screen": "Cart", "page": "/cart"], #""type":"page""#, #""name":"/cart""#),
        (.pageView, ["screen": ""], #""type":"page""#, #""name":"feed.shown""#),
        (.pageAction, ["page": "/cart"], #""type":"track""#, #""event":"feed.shown""#),
        (.systemAction, [:], #""type":"track""#, #""event":"feed.shown""#),
      ] as [(EventKind, FieldObject, String, String)])
    func `an event that is declared a view is a page`(
      _ kind: EventKind, _ fields: FieldObject, _ type: String, _ name: String
    ) throws {
      let event = sampleEvent(name: "feed.shown", fields, kind: kind)
      let text = String(decoding: try preset.encode(event), as: UTF8.self)
      #expect(text.contains(type))
      #expect(text.contains(name))
    }

    @Test func `an event without a name is unfit`() {
      #expect(throws: EventUnfit.self) { try preset.encode(sampleEvent(name: "")) }
    }

    @Test func `the request has the key in its header alone`() throws {
      let batch = try sampleBatch(2, for: preset)
      let post = preset.post(batch)
      #expect(post.headers.map(\.name) == ["content-type", "authorization"])
      #expect(post.headers[1].value.withValue { $0 } == "Basic YWJjMTIzOg==")
      let text = String(decoding: post.body, as: UTF8.self)
      #expect(text.hasPrefix(#"{"batch":[{"type""#))
      #expect(text.hasSuffix(#"}],"sentAt":"2025-11-21T00:00:01.000000000Z"}"#))
      #expect(!text.contains("abc123"))
      #expect(json(post.body) != nil)
      #expect(json(preset.post(HTTPBatch(events: [], encoded: [])).body) != nil)
    }

    @Test func `the limits are the vendor's`() {
      #expect(preset.limits == HTTPLimits(events: 2_500, bytes: 500_000, eventBytes: 32_768))
      #expect(preset.path == "/v1/batch")
      #expect(preset.endpoint == "https://api.segment.io")
    }

    @Test(arguments: [
      (answer(200, #"{"success":true}"#), Outcome.accepted), (answer(200, "OK"), .accepted), (answer(200), .accepted),
      (answer(200, "garbage"), .failed), (answer(200, "[]"), .failed), (answer(200, "<html>"), .failed),
      (answer(200, #"{"success":false,"message":"no"}"#), .refused), (answer(400, "malformed JSON"), .refused),
      (answer(413), .refused), (answer(401), .stopped), (answer(403), .stopped), (answer(404), .stopped),
      (answer(429, "", ("Retry-After", "5")), .retry(5)), (answer(429), .failed), (answer(500), .failed),
      (answer(503, "", ("retry-after", "9")), .retry(9)), (answer(302, "", ("location", "/login")), .stopped),
    ])
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    @Test func `what is known about a user is a call of identify, and of a group one of group`() throws {
      let user = EventUser(id: "u1", traits: ["plan": "pro", "company": ["id": "c7", "name": "Acme"]])
      let preset = SegmentPreset(writeKey: Secret("k"), groups: ["company", "team"])
      let calls = preset.identification(of: user, before: sampleEvent(3)).map { json($0) }
      let time = "2025-11-21T00:00:00.123456789Z"
      #expect(
        calls == [
          json(
            #"""
            {"type":"identify","messageId":"\#(sampleID(3))-identify","timestamp":"\#(time)","userId":"u1",
             "traits":{"plan":"pro","company":{"id":"c7","name":"Acme"}},"context":{"library":{"name":"weir"}}}
            """#),
          json(
            #"""
            {"type":"group","messageId":"\#(sampleID(3))-group-company","timestamp":"\#(time)","userId":"u1",
            "groupId":"c7",
             "traits":{"name":"Acme"},"context":{"library":{"name":"weir"}}}
            """#),
        ])
      let event = try preset.encode(sampleEvent(3, user: user))
      #expect(String(decoding: event, as: UTF8.self).contains(#""groupId":"c7""#))
    }

    @Test func `a user whom no event names is told alone`() throws {
      let parts = preset.identification(of: EventUser(id: "u1", traits: ["plan": "pro"]), before: nil)
      let post = preset.post(HTTPBatch(events: [], encoded: [], identifications: [0: parts]))
      let expected = #"""
        {"batch":[{"type":"identify","userId":"u1","traits":{"plan":"pro"},"context":{"library":{"name":"weir"}}}],
         "sentAt":"2025-11-21T00:00:01.000000000Z"}
        """#
      #expect(json(post.body) == json(expected))
      #expect(post.headers.map(\.name) == ["content-type", "authorization"])
    }
  }
#endif
