// Requests within limits, at, below and above them; and the small parts that a request is made of.

#if HTTP
  import Testing
  import Weir
  import WeirContracts
  import WeirDelivery

  @testable import WeirHTTP

  @Suite struct RequestCutterTests {
    /// Each event takes 32 bytes, the frame 2, and what separates two takes 1.
    private func cut(_ count: Int, _ limits: HTTPLimits) -> RequestCutter {
      RequestCutter((0..<count).map { sampleEvent($0) }, for: StandardPreset(limits: limits))
    }

    @Test(arguments: [(0, []), (1, [1]), (2, [2]), (3, [2, 1]), (4, [2, 2]), (5, [2, 2, 1])])
    func `a batch is cut by the number of events`(_ count: Int, _ expected: [Int]) {
      #expect(cut(count, HTTPLimits(events: 2)).requests.map(\.count) == expected)
    }

    @Test(arguments: [(34, [1, 1, 1]), (66, [1, 1, 1]), (67, [2, 1]), (99, [2, 1]), (100, [3])])
    func `a batch is cut by the bytes of the body`(_ bytes: Int, _ expected: [Int]) throws {
      let preset = StandardPreset(limits: HTTPLimits(bytes: bytes))
      let cut = cut(3, preset.limits)
      #expect(cut.requests.map(\.count) == expected)
      #expect(cut.unfit.isEmpty)
      let events = (0..<3).map { sampleEvent($0) }
      for request in cut.requests {
        let batch = HTTPBatch(events: request.map { events[$0] }, encoded: request.map { cut.encoded[$0] })
        #expect(preset.post(batch).body.count <= bytes)
      }
    }

    @Test func `a cut keeps the order, and loses no event`() {
      #expect(cut(1000, HTTPLimits(events: 7, bytes: 150)).requests.flatMap { $0 } == Array(0..<1000))
    }

    @Test(arguments: [(32, true), (31, false)])
    func `an event above its limit is unfit`(_ most: Int, _ isFit: Bool) {
      let cut = cut(2, HTTPLimits(eventBytes: most))
      #expect(cut.requests == (isFit ? [[0, 1]] : []))
      #expect(cut.unfit[0] == (isFit ? nil : "the event takes 32 bytes; the endpoint's limit is 31"))
    }

    @Test func `an event that no request holds is unfit`() {
      #expect(cut(1, HTTPLimits(bytes: 34)).unfit.isEmpty)
      #expect(cut(1, HTTPLimits(bytes: 33)).unfit.count == 1)
      #expect(cut(1, HTTPLimits(bytes: 0)).unfit.count == 1)
    }

    @Test func `an event that the preset can't encode is unfit, and the others go`() {
      let events = [sampleEvent(0), sampleEvent(1, name: "unfit"), sampleEvent(2)]
      let cut = RequestCutter(events, for: StandardPreset())
      #expect(cut.requests == [[0, 2]])
      #expect(cut.unfit == [1: "unfit for this"])
    }

    @Test(arguments: [(nil, [3]), (100, [3]), (99, [2, 1]), (67, [2, 1]), (66, [1, 1, 1]), (0, [1, 1, 1])])
    func `the bytes that arrive in time bound a request, and no event`(_ most: Int?, _ expected: [Int]) {
      let events = (0..<3).map { sampleEvent($0) }
      let cut = RequestCutter(events, for: StandardPreset(), most: most)
      #expect(cut.requests.map(\.count) == expected)
      #expect(cut.unfit.isEmpty)
    }

    @Test func `what is told of users counts as events do`() throws {
      let events = (0..<4).map { number in
        var event = sampleEvent(number, user: EventUser(id: "u", traits: ["plan": "pro"]))
        event.identifies = number.isMultiple(of: 2)
        return event
      }
      let preset = SegmentPreset(writeKey: Secret("k"))
      let cut = RequestCutter(events, for: preset)
      #expect(cut.identifications.keys.sorted() == [0, 2])
      let body = preset.post(
        HTTPBatch(events: events, encoded: cut.encoded, identifications: cut.identifications)
      ).body.count
      for most in [body, body - 1] {
        let cut = RequestCutter(events, for: preset, most: most)
        #expect(cut.requests.map(\.count) == (most == body ? [4] : [3, 1]))
      }
    }

    @Test func `events with different parts don't share a request, and those of one part keep their order`() {
      let users = ["a", "a", "b", "a", "c", "b", "a", "a"]
      let events = users.enumerated().map { sampleEvent($0, user: EventUser(id: $1)) }
      let preset = StandardPreset(limits: HTTPLimits(events: 3), sharesUsers: true)
      #expect(RequestCutter(events, for: preset).requests == [[0, 1, 3], [2, 5], [4], [6, 7]])
    }

    @Test(arguments: [(67, [1, 1]), (77, [1, 1]), (78, [2])])
    func `the part counts towards the bytes of a request`(_ bytes: Int, _ expected: [Int]) {
      let events = (0..<2).map { sampleEvent($0, user: EventUser(id: "12345678901")) }
      let preset = StandardPreset(limits: HTTPLimits(bytes: bytes), sharesUsers: true)
      let cut = RequestCutter(events, for: preset)
      #expect(cut.requests.map(\.count) == expected)
      for request in cut.requests {
        let batch = HTTPBatch(events: request.map { events[$0] }, encoded: request.map { cut.encoded[$0] })
        #expect(preset.post(batch).body.count <= bytes)
      }
      let small = StandardPreset(limits: HTTPLimits(bytes: 44), sharesUsers: true)
      #expect(RequestCutter(events, for: small).unfit.count == 2)
    }

    @Test func `events go one by one where a limit is nothing`() {
      #expect(cut(3, HTTPLimits(events: 0)).requests == [[0], [1], [2]])
    }
  }

  @Suite struct HTTPBatchTests {
    private func key(_ numbers: [Int]) -> String {
      HTTPBatch(events: numbers.map { sampleEvent($0) }, encoded: numbers.map { _ in [] }).idempotencyKey
    }

    @Test func `the idempotency key is the same for the same events alone`() {
      #expect(key([1, 2, 3]) == key([1, 2, 3]))
      // The same range and count, and another event in between.
      #expect(key([1, 2, 5]) != key([1, 3, 5]))
      #expect(Set([[], [1], [2], [1, 2], [1, 2, 3], [1, 3]].map(key)).count == 6)
    }

    @Test func `the idempotency key has a fixed form`() {
      #expect(key([1, 2]) == "weir-0123456789abcdef0000000000000001-1-2-2-fd16d86580a8ccd6")
    }
  }

  @Suite struct GzipTests {
    @Test(arguments: [0, 1, 255, 65_536, 300_000])
    func `packed bytes come back as they were`(_ count: Int) throws {
      var generator = SystemRandomNumberGenerator()
      let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      let packed = try #require(Gzip.compressed(bytes))
      #expect(packed.starts(with: [0x1f, 0x8b]))
      #expect(gunzip(packed) == bytes)
    }

    @Test func `events are packed well`() throws {
      let text = Array(String(repeating: #"{"event":"checkout.completed","order":7},"#, count: 1_000).utf8)
      #expect(try #require(Gzip.compressed(text)).count < text.count / 20)
    }
  }

  @Suite struct JSONValueTests {
    @Test func `a text of JSON is read as what it says`() throws {
      let value = try #require(JSONValue(Array(#"{"a":[1,"2",null,true,{"b":1.5}],"n":9007199254740993}"#.utf8)))
      #expect(value["a"]?.array?.map(\.integer) == [1, 2, nil, nil, nil])
      #expect(value["a"]?.array?[3].bool == true)
      #expect(value["b"] == nil)
      #expect(value["a"]?["x"] == nil)
    }

    @Test(arguments: ["", "{", "<html>", "\u{0}", #"{"a":}"#, "[1,]x"])
    func `garbage is read as nothing`(_ text: String) {
      #expect(JSONValue(Array(text.utf8)) == nil)
    }

    @Test func `deep nesting is garbage, and no crash`() {
      let deep = String(repeating: "[", count: 500_000) + String(repeating: "]", count: 500_000)
      #expect(JSONValue(Array(deep.utf8)) == nil)
      #expect(
        JSONValue(Array(#"["[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"[["]"#.utf8)) != nil)
    }
  }

  @Suite struct FlatFieldsTests {
    @Test func `every name is there once, and no value is lost`() {
      var event = sampleEvent(0, [:])
      event.fields = FieldObject([("plan", .int(1)), ("plan", .int(2)), ("time", .int(3)), ("", .int(4))])
      event.context.fields = ["plan": 5, "request": 6]
      event.context.globals = ["plan": 7, "view_id": 8, "deep": .object(FieldObject([("a", 1), ("a", 2)]))]
      event.context.view = EventView(id: "v1", name: "cart", parent: "v0")
      let expected = FieldObject([
        ("plan", 1), ("plan_2", 2), ("time_2", 3), ("", 4), ("plan_3", 5), ("request", 6), ("view_id", "v1"),
        ("view_name", "cart"), ("view_parent", "v0"), ("plan_4", 7), ("view_id_2", 8), ("deep", ["a": 1, "a_2": 2]),
      ])
      #expect(event.properties(reserved: ["time"]) == expected)
    }

    @Test func `a contract's default does not stand beside a value of its name`() throws {
      let own = Contract("shop", version: "1") { EventRule("checkout.completed") { Mandatory("app", default: "none") } }
      let global = Contract("shop", version: "1") {
        Mandatory("context.globals.app", default: "none")
      } events: {
        EventRule("checkout.completed", open: true)
      }
      func properties(_ contract: Contract, _ fields: FieldObject, _ context: EventContext) throws -> FieldObject? {
        var options = DeliveryOptions()
        options.annotations = []
        options.contract = try contract.compiled()
        var preparation = Preparation(options)
        let event = StoredEvent(
          offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: 0),
          name: "checkout.completed", fields: fields, context: context)
        return preparation.prepare(event)?.properties()
      }
      for contract in [own, global] {
        #expect(try properties(contract, [:], EventContext(globals: ["app": "shop"])) == ["app": "shop"])
        #expect(try properties(contract, [:], EventContext(fields: ["app": "shop"])) == ["app": "shop"])
        #expect(try properties(contract, ["app": "own"], EventContext()) == ["app": "own"])
        #expect(try properties(contract, [:], EventContext()) == ["app": "none"])
      }
    }

    @Test func `an event without a user has the opening for one`() {
      #expect(sampleEvent(user: nil).userID == nil)
      #expect(sampleEvent(user: EventUser(id: "")).userID == nil)
      #expect(sampleEvent(5, user: nil).anonymousID == "weir-0123456789abcdef")
    }

    @Test func `milliseconds are rounded down`() {
      func milliseconds(_ nanoseconds: Int64) -> Int64 {
        PreparedEvent(
          StoredEvent(
            offset: 0, id: EventID(opening: 1, sequence: 1), time: Timestamp(nanosecondsSince1970: nanoseconds),
            name: "e", fields: [:])
        ).milliseconds
      }
      #expect([0, 999_999, 1_000_000, -1, .min].map(milliseconds) == [0, 0, 1, -1, -9_223_372_036_855])
    }
  }
#endif
