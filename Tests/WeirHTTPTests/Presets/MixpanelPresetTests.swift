// Mixpanel: what an event becomes, and what every answer means.

#if HTTP
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct MixpanelPresetTests {
    private let service = MixpanelPreset(
      account: .service(user: "robot", secret: Secret("hush-hush"), project: "42", token: Secret("tok-12345")))
    private let preset = MixpanelPreset(account: .project(token: Secret("tok-12345")))

    @Test func `an event has its id and time among its properties`() throws {
      let event = sampleEvent(5, ["order": 7, "time": "noon", "$insert_id": "mine"])
      let expected = #"""
        {"event":"checkout.completed","properties":{"time":1763683200123,"distinct_id":"u1",
         "$insert_id":"0123456789abcdef0000000000000005","order":7,"time_2":"noon","$insert_id_2":"mine"}}
        """#
      #expect(json(try preset.encode(event)) == json(expected))
    }

    @Test func `an event without a user has an empty one`() throws {
      let text = String(decoding: try preset.encode(sampleEvent(user: nil)), as: UTF8.self)
      #expect(text.contains(#""distinct_id":"""#))
    }

    @Test func `a service account names its project`() throws {
      let post = service.post(try sampleBatch(2, for: service))
      #expect(post.query.map { "\($0.name)=\($0.value)" } == ["strict=1", "project_id=42"])
      #expect(post.headers.last?.value == HTTPHeader.basic(user: "robot", password: Secret("hush-hush")).value)
      #expect(json(post.body) != nil)
    }

    @Test func `a token is the user of its project`() throws {
      let post = preset.post(try sampleBatch(1, for: preset))
      #expect(post.query.map(\.name) == ["strict"])
      #expect(post.headers.last?.value == HTTPHeader.basic(user: "tok-12345", password: Secret("")).value)
      #expect(post.headers.last?.isConfidential == true)
    }

    @Test func `the limits are the vendor's`() {
      #expect(preset.limits == HTTPLimits(events: 2_000, bytes: 10_000_000, eventBytes: 1_048_575))
      #expect(preset.path == "/import")
      #expect(preset.endpoint == "https://api.mixpanel.com")
    }

    private static func failed(_ records: String, imported: Int?) -> HTTPAnswer {
      let count = imported.map { #""num_records_imported":\#($0),"# } ?? ""
      return answer(400, #"{"code":400,"error":"some data points failed",\#(count)"failed_records":[\#(records)]}"#)
    }

    private static func record(_ index: Int?, _ id: String?, key: String = "insert_id") -> String {
      let parts = [
        index.map { #""index":\#($0)"# }, id.map { #""\#(key)":"\#($0)""# }, #""field":"properties.time""#,
        #""message":"is invalid""#,
      ]
      return "{" + parts.compactMap { $0 }.joined(separator: ",") + "}"
    }

    private static let second = Outcome.verdicts([.accepted, .rejected("properties.time: is invalid"), .accepted])

    @Test(arguments: [
      failed(record(1, sampleID(1)), imported: 2), failed(record(1, sampleID(1)), imported: nil),
      failed(record(1, nil), imported: 2), failed(record(nil, sampleID(1)), imported: 2),
      failed(record(1, sampleID(1), key: "$insert_id"), imported: 2), failed(record(1, ""), imported: 2),
    ])
    func `the events that are named failed, and the others are there`(_ answer: HTTPAnswer) throws {
      #expect(try Outcome(preset, answer) == Self.second)
    }

    @Test func `an event that failed twice has both reasons`() throws {
      let twice = Self.failed(Self.record(0, nil) + "," + Self.record(0, nil), imported: 2)
      let reason = "properties.time: is invalid; properties.time: is invalid"
      #expect(try Outcome(preset, twice) == .verdicts([.rejected(reason), .accepted, .accepted]))
    }

    @Test(arguments: [
      failed("", imported: 3), failed(record(3, nil), imported: 2), failed(record(-1, nil), imported: 2),
      failed(record(1, sampleID(2)), imported: 2), failed(record(nil, sampleID(7)), imported: 2),
      failed(record(1, nil), imported: 1), failed(record(nil, nil), imported: 2), failed("17", imported: 2),
      answer(400), answer(400, "what?"), answer(400, #"{"error":"bad JSON","failed_records":null}"#),
    ])
    func `an answer that does not add up refuses the batch`(_ answer: HTTPAnswer) throws {
      #expect(try Outcome(preset, answer) == .refused)
    }

    @Test(arguments: [
      (answer(200, #"{"code":200,"num_records_imported":3,"status":"OK"}"#), Outcome.accepted),
      (answer(200, "{}"), .accepted), (answer(200), .failed), (answer(200, "1"), .failed),
      (answer(200, "<html>"), .failed),
      (answer(200, #"{"num_records_imported":2}"#), .failed), (answer(200, #"{"num_records_imported":4}"#), .failed),
      (answer(401), .stopped), (answer(403), .stopped), (answer(413), .refused), (answer(429), .failed),
      (answer(429, "", ("Retry-After", "2")), .retry(2)), (answer(502), .failed), (answer(503), .failed),
    ])
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    @Test func `groups have profiles of their own, and are named by events`() throws {
      let preset = MixpanelPreset(account: .project(token: Secret("tok-12345")), groups: ["company"])
      let user = EventUser(id: "u1", traits: ["company": ["id": "c7", "name": "Acme"]])
      let posts = preset.identify([user, user])
      #expect(posts.map(\.path) == ["/engage", "/groups"])
      let group = #"{"$token":"tok-12345","$group_key":"company","$group_id":"c7","$set":{"name":"Acme"}}"#
      #expect(json(posts[1].body) == json("[\(group),\(group)]"))
      let event = String(decoding: try preset.encode(sampleEvent(3, user: user)), as: UTF8.self)
      #expect(event.contains(#""company":"c7""#))
      #expect(preset.identify(Array(repeating: user, count: 2_001)).map(\.path).filter { $0 == "/engage" }.count == 2)
    }

    @Test func `what is known about a user sets the profile`() throws {
      let post = try #require(service.identify([EventUser(id: "u1", traits: ["plan": "pro"])]).first)
      #expect(post.path == "/engage")
      #expect(json(post.body) == json(#"[{"$token":"tok-12345","$distinct_id":"u1","$set":{"plan":"pro"}}]"#))
      #expect(throws: Never.self) { try service.readIdentify(answer(200, #"{"status":1}"#)) }
      #expect(throws: BatchRefused.self) { try service.readIdentify(answer(200, #"{"status":0,"error":"no"}"#)) }
      #expect(throws: BatchRefused.self) { try service.readIdentify(answer(200, "0")) }
      #expect(throws: HTTPFailure.self) { try service.readIdentify(answer(429, "", ("retry-after", "1"))) }
      let withoutToken = MixpanelPreset(account: .service(user: "robot", secret: Secret("x"), project: "1"))
      #expect(withoutToken.identify([EventUser(id: "u1")]).isEmpty)
    }
  }
#endif
