// PostHog: what an event becomes, and what every answer means.

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  import WeirHTTP

  @Suite struct PostHogPresetTests {
    private let preset = PostHogPreset(apiKey: Secret("phc-12345"))

    @Test func `an event has its id as a UUID`() throws {
      let event = sampleEvent(5)
      let expected = #"""
        {"event":"checkout.completed","distinct_id":"u1","uuid":"\#(event.stored.id.uuid.uuidString.lowercased())",
         "timestamp":"2025-11-21T00:00:00.123456789Z","properties":{"$lib":"weir","order":7}}
        """#
      #expect(json(try preset.encode(event)) == json(expected))
    }

    @Test func `an event without a user makes no person`() throws {
      let text = String(decoding: try preset.encode(sampleEvent(0, ["distinct_id": "x"], user: nil)), as: UTF8.self)
      #expect(text.contains(#""distinct_id":"weir-0123456789abcdef""#))
      #expect(text.contains(#""$process_person_profile":false"#))
      #expect(text.contains(#""distinct_id_2":"x""#))
    }

    @Test func `the key stands in the body`() throws {
      let post = preset.post(try sampleBatch(2, for: preset))
      #expect(String(decoding: post.body, as: UTF8.self).hasPrefix(#"{"api_key":"phc-12345","batch":[{"#))
      #expect(json(post.body) != nil)
      #expect(preset.limits.bytes == 20_000_000)
      #expect(preset.path == "/batch/")
    }

    @Test(arguments: [
      (answer(200, #"{"status":1}"#), Outcome.accepted), (answer(200, #"{"status":"Ok"}"#), .accepted),
      (answer(200), .failed), (answer(200, "1"), .failed), (answer(200, "{}"), .accepted),
      (answer(200, #"{"status":1,"quota_limited":["recordings"]}"#), .accepted),
      (answer(200, #"{"status":1,"quota_limited":["events"]}"#), .failed), (answer(200, #"{"status":0}"#), .failed),
      (answer(400, "maximum event size exceeded"), .refused), (answer(401, "API key is not valid"), .stopped),
      (answer(413), .refused), (answer(429, "billing limit reached"), .failed), (answer(503), .failed),
      (answer(503, "", ("retry-after", "4")), .retry(4)),
    ])
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    @Test func `groups are told after their person, and named by events`() throws {
      let preset = PostHogPreset(apiKey: Secret("k"), groups: ["company"])
      let user = EventUser(id: "u1", traits: ["company": ["id": "c7", "name": "Acme"]])
      let group = try #require(preset.identification(of: user, before: nil).last)
      let expected = #"""
        {"event":"$groupidentify","distinct_id":"u1",
         "properties":{"$lib":"weir","$group_type":"company","$group_key":"c7","$group_set":{"name":"Acme"}}}
        """#
      #expect(json(group) == json(expected))
      // What is sent again has the same ids, and each part has another.
      let parts = preset.identification(of: user, before: sampleEvent(3)).map { String(decoding: $0, as: UTF8.self) }
      #expect(
        parts == preset.identification(of: user, before: sampleEvent(3)).map { String(decoding: $0, as: UTF8.self) })
      let ids = try parts.map { try #require($0.firstMatch(of: /"uuid":"([0-9a-f-]{36})"/)).1 }
      #expect(Set(ids).count == 2)
      #expect(parts.allSatisfy { $0.contains(#""timestamp":"2025-11-21T00:00:00.123456789Z""#) })
      let event = String(decoding: try preset.encode(sampleEvent(3, user: user)), as: UTF8.self)
      #expect(event.contains(#""$groups":{"company":"c7"}"#))
    }

    @Test func `what is known about a user sets the person's properties`() throws {
      let parts = preset.identification(of: EventUser(id: "u1", traits: ["plan": "pro"]), before: nil)
      let post = preset.post(HTTPBatch(events: [], encoded: [], identifications: [0: parts]))
      let expected = #"""
        {"api_key":"phc-12345","batch":[{"event":"$identify","distinct_id":"u1",
         "properties":{"$lib":"weir","$set":{"plan":"pro"}}}]}
        """#
      #expect(json(post.body) == json(expected))
    }
  }
#endif
