// Google Analytics 4: what an event becomes, what is rejected before Google drops it, and what every answer means.

#if HTTP
  import Foundation
  import Testing
  import Weir
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct GA4PresetTests {
    private static let secret = Secret("sEcReT-+/12345")
    /// An hour after the capture of the samples.
    private static let later = Timestamp(nanosecondsSince1970: 1_763_683_200_123_456_789 + 3_600_000_000_000)

    private static func preset(
      _ stream: GA4Preset.Stream = .web(measurementID: "G-SHOP"), endpoint: String = "https://www.google-analytics.com",
      adConsent: Bool? = nil, debug: Bool = false, now: Timestamp = later
    ) -> GA4Preset {
      GA4Preset(
        stream: stream, apiSecret: secret, endpoint: endpoint, adConsent: adConsent, debug: debug, now: { now })
    }

    private let preset = Self.preset()
    private let app = Self.preset(.app(firebaseAppID: "1:23:android:0af"))

    /// Why an event is rejected; nil if it is not.
    private func unfit(_ event: PreparedEvent, _ preset: GA4Preset? = nil) -> String? {
      do {
        _ = try (preset ?? self.preset).encode(event)
        return nil
      } catch {
        return "\(error)"
      }
    }

    private func body(_ events: [PreparedEvent], _ preset: GA4Preset? = nil) throws -> [UInt8] {
      let preset = preset ?? self.preset
      return preset.post(HTTPBatch(events: events, encoded: try events.map { try preset.encode($0) })).body
    }

    // MARK: Requests

    @Test func `an event has its name, time and parameters`() throws {
      let expected = #"""
        {"name":"checkout_completed","timestamp_micros":1763683200123456,
         "params":{"weir_id":"0123456789abcdef0000000000000005","weir_name":"checkout.completed","order":7,
         "engagement_time_msec":1}}
        """#
      #expect(json(try preset.encode(sampleEvent(5))) == json(expected))
      let named = String(decoding: try preset.encode(sampleEvent(name: "login")), as: UTF8.self)
      #expect(!named.contains("weir_name"))
    }

    @Test func `nested values are flattened, and each keeps what it says`() throws {
      let fields: FieldObject = [
        "price": ["amount": 1990, "unit-name": "cent"], "express": true, "coupon": .null, "tags": ["a", 2],
        "empty": [:], "big": .int(9_007_199_254_740_993), "session_id": 1_763_683_100, "engagement_time_msec": 250,
        "price_amount": 5, "bytes": .bytes([1, 2, 3]), "ratio": .double(0.5),
      ]
      let expected = #"""
        {"name":"paid","timestamp_micros":1763683200123456,"params":{
         "weir_id":"0123456789abcdef0000000000000000","price_amount":1990,"price_unit_name":"cent","express":"true",
         "tags":"[\"a\",2]","big":"9007199254740993","session_id":1763683100,"engagement_time_msec":250,
         "price_amount_2":5,"bytes":"AQID","ratio":0.5}}
        """#
      #expect(json(try preset.encode(sampleEvent(name: "paid", fields))) == json(expected))
    }

    @Test func `items stay a list of objects`() throws {
      let item: FieldValue = ["item_id": "a", "price": 3, "size": ["eu": 42], "none": .null]
      let text = String(
        decoding: try preset.encode(sampleEvent(name: "purchase", ["items": .array([item])])), as: UTF8.self)
      #expect(text.contains(#""items":[{"item_id":"a","price":3,"size_eu":42}]"#), "\(text)")
      func items(_ count: Int, own: Int) -> PreparedEvent {
        let item = FieldObject([("item_id", "a")] + (0..<own).map { ("own\($0)", .int(1)) })
        return sampleEvent(name: "purchase", ["items": .array(Array(repeating: .object(item), count: count))])
      }
      #expect(unfit(items(200, own: 10)) == nil)
      #expect(unfit(items(201, own: 0))?.contains("201 items") == true)
      #expect(unfit(items(1, own: 11))?.contains("11 parameters") == true)
    }

    @Test func `a request names the client, the user and the user's traits once`() throws {
      var event = sampleEvent(name: "a", ["client_id": "12.34"], user: EventUser(id: "u1", traits: ["plan": "pro"]))
      event.context.globals = ["app": "shop"]
      let event2 = sampleEvent(1, name: "b", ["client_id": "12.34"], user: event.context.user)
      let expected = #"""
        {"client_id":"12.34","user_id":"u1","user_properties":{"plan":{"value":"pro"}},"events":[
          {"name":"a","timestamp_micros":1763683200123456,
           "params":{"weir_id":"0123456789abcdef0000000000000000","app":"shop","engagement_time_msec":1}},
          {"name":"b","timestamp_micros":1763683200123456,
           "params":{"weir_id":"0123456789abcdef0000000000000001","engagement_time_msec":1}}]}
        """#
      #expect(json(try body([event, event2])) == json(expected))
      #expect(json(preset.post(HTTPBatch(events: [], encoded: [])).body) == json(#"{"events":[]}"#))
    }

    @Test func `a client is two numbers, the same for the same user`() throws {
      func client(_ event: PreparedEvent) throws -> String {
        let object = try #require(json(try body([event])) as? [String: Any])
        return try #require(object["client_id"] as? String)
      }
      let first = try client(sampleEvent(0))
      #expect(first.wholeMatch(of: #/[1-9][0-9]*\.[1-9][0-9]*/#) != nil)
      #expect(try client(sampleEvent(1)) == first)
      #expect(try client(sampleEvent(0, user: EventUser(id: "u2"))) != first)
      #expect(try client(sampleEvent(0, user: nil)) == "19088743.2309737967")
      var bound = sampleEvent(0)
      bound.context.fields = ["client_id": "5.6"]
      #expect(try client(bound) == "5.6")
    }

    @Test(arguments: ["", "1", "1.", ".2", "1.2.3", "0.1", "1.0", "-1.2", "a.b", "GA1.1.2.3", "1 .2"])
    func `a client that is no two numbers is refused`(_ id: String) {
      #expect(unfit(sampleEvent(0, ["client_id": .string(id)]))?.contains("client_id") == true)
    }

    @Test func `an app stream needs the instance's id`() throws {
      #expect(unfit(sampleEvent(), app)?.contains("app_instance_id") == true)
      #expect(unfit(sampleEvent(0, ["app_instance_id": ""]), app) != nil)
      let post = app.post(HTTPBatch(events: [], encoded: []))
      #expect(post.query.map { "\($0.name)=\($0.value)" } == ["firebase_app_id=1:23:android:0af"])
      let text = String(decoding: try body([sampleEvent(0, ["app_instance_id": "0af1"])], app), as: UTF8.self)
      #expect(text.hasPrefix(#"{"app_instance_id":"0af1","user_id":"u1","events""#), "\(text)")
    }

    @Test func `consent is said if it is set`() {
      let event = sampleEvent()
      func shared(_ consent: Bool?) -> String {
        String(decoding: Self.preset(adConsent: consent).sharedPart(of: event), as: UTF8.self)
      }
      #expect(!shared(nil).contains("consent"))
      #expect(shared(false).contains(#""consent":{"ad_user_data":"DENIED","ad_personalization":"DENIED"}"#))
      #expect(shared(true).contains(#""ad_personalization":"GRANTED""#))
    }

    @Test func `events of another client, user or other traits are another request`() {
      let events = [
        sampleEvent(0), sampleEvent(1, user: EventUser(id: "u2")), sampleEvent(2),
        sampleEvent(3, user: EventUser(id: "u1", traits: ["plan": "pro"])), sampleEvent(4, ["client_id": "1.2"]),
        sampleEvent(5, user: nil), sampleEvent(6),
      ]
      #expect(RequestCutter(events, for: preset).requests == [[0, 2, 6], [1], [3], [4], [5]])
      let many = (0..<51).map { sampleEvent($0) }
      #expect(RequestCutter(many, for: preset).requests.map(\.count) == [25, 25, 1])
    }

    @Test func `a body stays below the limit`() {
      let events = (0..<200).map { number in
        let fields = (0..<20).map { ("field\($0)", FieldValue.string(String(repeating: "\u{1}", count: 100))) }
        return sampleEvent(number, FieldObject(fields))
      }
      let cut = RequestCutter(events, for: preset)
      #expect(cut.requests.flatMap { $0 } == Array(0..<200))
      for request in cut.requests {
        let batch = HTTPBatch(events: request.map { events[$0] }, encoded: request.map { cut.encoded[$0] })
        #expect(preset.post(batch).body.count < 130_000)
      }
    }

    @Test func `the limits are the vendor's`() {
      #expect(preset.limits == HTTPLimits(events: 25, bytes: 129_999))
      #expect(!preset.takesGzip)
      #expect(preset.path == "/mp/collect")
      #expect(preset.endpoint == "https://www.google-analytics.com")
      #expect(Self.preset(debug: true).path == "/debug/mp/collect")
      #expect(preset.identify([EventUser(id: "u1")]).isEmpty)
    }

    // MARK: What Google would drop

    @Test(arguments: [
      ("a", true), (String(repeating: "a", count: 40), true), (String(repeating: "a", count: 41), false), ("", false),
      ("1st", false), ("_a", false), ("é", false), ("a,b", false), ("a\u{0}b", false), ("a b-c.d/e:f", true),
      ("ga_x", false), ("google.x", false), ("firebase_x", false), ("session_start", false), ("session.start", false),
      ("error", false), ("screen_view", false), ("page_view", true), ("Session_start", true),
    ])
    func `a name that Google drops is rejected`(_ name: String, _ isFit: Bool) {
      #expect((unfit(sampleEvent(name: name)) == nil) == isFit, "\(unfit(sampleEvent(name: name)) ?? "fit")")
    }

    @Test func `names of apps are for apps`() {
      let event = sampleEvent(name: "screen_view", ["app_instance_id": "0af1"])
      #expect(unfit(event, app) == nil)
      #expect(unfit(event) != nil)
    }

    @Test(arguments: [
      ("order.id", true), (String(repeating: "a", count: 40), true), (String(repeating: "a", count: 41), false),
      ("", false), ("7", false), ("_x", false), ("ga_x", false), ("google_x", false), ("firebase_conversion", false),
      ("ключ", false),
    ])
    func `a parameter's name that Google drops is rejected`(_ name: String, _ isFit: Bool) {
      #expect((unfit(sampleEvent(0, FieldObject([(name, .int(1))]))) == nil) == isFit)
    }

    @Test func `a suffix that makes a name too long is noticed`() {
      let name = String(repeating: "a", count: 40)
      #expect(unfit(sampleEvent(0, FieldObject([(name, .int(1)), (name, .int(2))])))?.contains("42") == true)
    }

    @Test(arguments: [
      ("text", 100), ("page_title", 300), ("page_referrer", 420), ("page_location", 1_000),
    ])
    func `a value that is too long is rejected`(_ name: String, _ most: Int) {
      func event(_ count: Int) -> PreparedEvent {
        sampleEvent(0, FieldObject([(name, .string(String(repeating: "é", count: count)))]))
      }
      #expect(unfit(event(most)) == nil)
      #expect(
        unfit(event(most + 1)) == """
          the value of \(name) has \(most + 1) characters, and the limit of Google Analytics is \(most); cut with \
          EventMapper.limiting(valueBytes:)
          """)
    }

    @Test func `more than 25 parameters are rejected`() {
      func event(_ count: Int) -> PreparedEvent {
        sampleEvent(name: "e", FieldObject((0..<count).map { ("f\($0)", .int(1)) }))
      }
      #expect(unfit(event(23)) == nil)
      #expect(unfit(event(24))?.contains("26 parameters") == true)
    }

    /// The user properties of a request, and what the event says of them.
    private func properties(_ traits: FieldObject, telling: Bool = true) throws -> (sent: NSObject?, said: String?) {
      var event = sampleEvent(user: EventUser(id: "u", traits: traits))
      event.identifies = telling
      let request = try #require(json(try body([event])) as? [String: Any])
      let events = try #require(request["events"] as? [[String: Any]])
      let parameters = try #require(events.first?["params"] as? [String: Any])
      return (request["user_properties"] as? NSObject, parameters["weir_traits"] as? String)
    }

    @Test func `a trait that Google does not take is cut or left out, and costs no event`() throws {
      func name(_ count: Int) -> String { String(repeating: "n", count: count) }
      let full = String(repeating: "é", count: 36)
      let whole = try properties(FieldObject([(name(24), .string(full))]))
      #expect(whole.sent == json(#"{"\#(name(24))":{"value":"\#(full)"}}"#))
      #expect(whole.said == nil)

      let some = try properties(
        FieldObject([
          ("bio", .string(full + "é")), (name(25), 1), ("user_id", "x"), ("1st", 1), ("plan", "pro"),
          ("tags", .array(Array(repeating: "tag", count: 9))), ("none", .null), ("nothing", [:]),
          // Thirty-six characters, of which the last has two units.
          ("smile", .string(String(repeating: "a", count: 35) + "😀")),
        ]))
      let smile = String(repeating: "a", count: 35)
      #expect(
        some.sent
          == json(#"{"bio":{"value":"\#(full)"},"plan":{"value":"pro"},"smile":{"value":"\#(smile)"}}"#))
      let said = "bio: cut; \(name(25)): left out; user_id: left out; 1st: left out; tags: left out"
      #expect(some.said?.hasPrefix(said) == true, "\(some.said ?? "")")
      #expect(try properties(["user_id": "x"]).sent == nil)
      #expect(try properties(["user_id": "x"]).said == "user_id: left out")
      #expect(try properties(["user_id": "x"], telling: false).said == nil)

      let many = try properties(FieldObject((0..<27).map { ("t\($0)", .int(1)) }))
      #expect((many.sent as? [String: Any])?.count == 25)
      #expect(many.said == "t25: left out; t26: left out")
      #expect(try properties(FieldObject([(name(24), 1), (name(24), 2)])).said == "\(name(24)): left out")
    }

    @Test func `what is said of traits takes no other parameter's place`() throws {
      var event = sampleEvent(name: "e", FieldObject((0..<23).map { ("f\($0)", .int(1)) }))
      event.context.user = EventUser(id: "u", traits: ["user_id": "x"])
      event.identifies = true
      #expect(!String(decoding: try preset.encode(event), as: UTF8.self).contains("weir_traits"))
      event.fields = FieldObject((0..<22).map { ("f\($0)", .int(1)) })
      #expect(String(decoding: try preset.encode(event), as: UTF8.self).contains("weir_traits"))
    }

    @Test func `a user's id that is too long is rejected`() {
      func user(_ count: Int) -> EventUser { EventUser(id: String(repeating: "n", count: count)) }
      #expect(unfit(sampleEvent(user: user(256))) == nil)
      #expect(unfit(sampleEvent(user: user(257))) != nil)
    }

    @Test func `an event of more than 72 hours ago is rejected`() {
      let captured: Int64 = 1_763_683_200_123_456_789
      let most: Int64 = 72 * 3_600 * 1_000_000_000
      func now(_ nanoseconds: Int64) -> GA4Preset { Self.preset(now: Timestamp(nanosecondsSince1970: nanoseconds)) }
      #expect(unfit(sampleEvent(), now(captured + most)) == nil)
      #expect(unfit(sampleEvent(), now(captured + most + 1))?.contains("72 hours") == true)
      // A clock that was set back.
      #expect(unfit(sampleEvent(), now(0)) == nil)
      #expect(unfit(sampleEvent(), now(.min)) == nil)
    }

    // MARK: Answers

    @Test(arguments: [
      (answer(204), Outcome.accepted), (answer(200), .accepted), (answer(200, "<html>"), .failed),
      (answer(404), .stopped), (answer(413), .refused), (answer(429, "", ("retry-after", "3")), .retry(3)),
      (answer(500), .failed),
    ])
    func `an answer gives the events their verdicts`(_ answer: HTTPAnswer, _ expected: Outcome) throws {
      #expect(try Outcome(preset, answer) == expected)
    }

    private static func messages(_ messages: String...) -> HTTPAnswer {
      answer(200, #"{"validationMessages":["# + messages.joined(separator: ",") + "]}")
    }

    @Test func `the validation server's messages are verdicts by event`() throws {
      let named = #"""
        {"fieldPath":"events","validationCode":"NAME_INVALID",
         "description":"Event at index: [1] has invalid name [_a]. Names must start with an alphabetic character."}
        """#
      let placed = #"{"fieldPath":"events[2].params.items","validationCode":"VALUE_INVALID","description":"no"}"#
      let expected: [Verdict] = [
        .accepted,
        .rejected(
          "NAME_INVALID: Event at index: [1] has invalid name [_a]. Names must start with an alphabetic character."),
        .rejected("VALUE_INVALID: no; VALUE_INVALID: no"),
      ]
      for debug in [Self.preset(debug: true), Self.preset(endpoint: "http://127.0.0.1:1/debug/mp/collect")] {
        #expect(try Outcome(debug, Self.messages(named, placed, placed)) == .verdicts(expected))
        #expect(try Outcome(debug, Self.messages()) == .accepted)
        #expect(try Outcome(debug, answer(200, "{}")) == .accepted)
        #expect(try Outcome(debug, answer(204)) == .failed)
        #expect(try Outcome(debug, Self.messages(#"{"fieldPath":"client_id","description":"bad"}"#)) == .refused)
        #expect(try Outcome(debug, Self.messages(#"{"fieldPath":"events[3]","description":"bad"}"#)) == .refused)
        #expect(try Outcome(debug, answer(500)) == .failed)
      }
      let shared = String(decoding: Self.preset(debug: true).sharedPart(of: sampleEvent()), as: UTF8.self)
      #expect(shared.contains(#""validation_behavior":"ENFORCE_RECOMMENDATIONS""#))
    }

    // MARK: The secret

    @Test func `the secret is in the request's query, and nowhere else`() async throws {
      let server = try TestServer { request in .answer(400, body: "refused: \(request.target)") }
      defer { server.stop() }
      let preset = Self.preset(endpoint: server.url)
      let provider = try HTTPProvider(preset, configuration: .patient)
      let error = await thrown { try await provider.deliver([sampleEvent(0)]) }
      await provider.shutdown()
      let request = try #require(server.requests.first)
      #expect(request.query == "measurement_id=G-SHOP&api_secret=sEcReT-%2B%2F12345")
      #expect(!request.text.contains("sEcReT"))
      #expect(request.headers.values.allSatisfy { !$0.contains("sEcReT") })
      #expect(error is BatchRefused)
      var dumped = ""
      dump(preset.post(try sampleBatch(1, for: preset)), to: &dumped)
      dump(preset, to: &dumped)
      for text in ["\(error.map { "\($0)" } ?? "")", dumped, "\(preset)"] {
        #expect(!text.contains("sEcReT"), "\(text)")
      }
    }

    @Test(arguments: [307, 308])
    func `the secret stays on the host`(_ status: Int) async throws {
      let elsewhere = try TestServer(.answer(204))
      defer { elsewhere.stop() }
      let server = try TestServer { request in
        switch request.path {
        case "/mp/collect": .answer(status, headers: ["location": "/moved"])
        default: .answer(status, headers: ["location": elsewhere.url + "/mp/collect"])
        }
      }
      defer { server.stop() }
      let provider = try HTTPProvider(Self.preset(endpoint: server.url), configuration: .patient)
      let error = await thrown { try await provider.deliver([sampleEvent(0)]) }
      await provider.shutdown()
      #expect(error is DeliveryStopped)
      #expect(error.map { "\($0)".contains("sEcReT") } == false)
      #expect(server.requests.map(\.path) == ["/mp/collect", "/moved"])
      #expect(server.requests.allSatisfy { $0.query.contains("api_secret=") })
      #expect(elsewhere.requests.isEmpty)
    }
  }
#endif
