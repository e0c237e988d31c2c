// OwnFormTests: events as Weir writes them come back as they were, and each bad one is told by its index.

#if Collector
  import Testing
  import Weir
  import WeirContracts
  import WeirDelivery

  @testable import WeirCollector

  struct OwnFormTests {
    @Test func `the events that Weir writes are read back`() throws {
      var event = PreparedEvent(
        StoredEvent(
          offset: 7, id: EventID(opening: 1, sequence: 2),
          time: Timestamp(nanosecondsSince1970: 1_795_219_200_000_000_001),
          name: "paid", fields: ["n": .uint(.max), "t": "é\u{0}\u{2028}", "o": ["a": [1, .null, true]]],
          context: EventContext(globals: ["app": "shop"], user: EventUser(id: "ada"))))
      event.flags = [.violating]
      event.violations = [Violation(event: "paid", field: "n", rule: "maximum 7", value: nil)]
      event.kind = .systemAction
      let object = String(decoding: EventJSON.object(event), as: UTF8.self)
      for body in ["[\(object),\(object)]", object + "\n" + object, object + "\r\n\n" + object + "\n"] {
        let read = Read(OwnForm(), body)
        #expect(read.failures.isEmpty)
        #expect(read.events.count == 2)
        #expect(read.events[1].id == "00000000000000010000000000000002")
        #expect(read.events[1].name == "paid")
        #expect(read.events[1].time == event.stored.time)
        #expect(read.events[1].properties == event.fields)
        #expect(read.events[1].user == "ada")
        #expect(read.events[1].context["globals"] == ["app": "shop"])
        #expect(read.events[1].context["flags"] == ["violations": ["n: maximum 7"]])
        #expect(read.events[1].context["kind"] == "system_action")
        #expect(read.answer(by: OwnForm()).text == #"{"accepted":2,"rejected":[]}"#)
      }
    }

    @Test func `a bad line is a fault of its own`() throws {
      let lines = [
        "7", #"{"name":"n"}"#, #"{"id":"2"}"#, #"{"id":"3","name":""}"#, #"{"id":"4","name":"n","time":"x"}"#,
        #"{"id":"5","name":"n","fields":[]}"#, "{\"id\":", #"{"id":"7","name":"n"}"#,
      ]
      let read = Read(OwnForm(), lines.joined(separator: "\n"))
      #expect(read.faults == ["0 ", "1 id", "2 name", "3 name", "4 time", "5 fields", "6 "])
      #expect(read.events.map(\.id) == ["7"])
      let answer = read.answer(by: OwnForm())
      #expect(answer.status == 200)
      #expect(answer.json["accepted"] as? Int == 1)
      let rejected = try #require(answer.json["rejected"] as? [[String: Any]])
      #expect(rejected.compactMap { $0["index"] as? Int } == Array(0..<7))
      #expect(rejected[4]["id"] as? String == "4")
    }

    @Test func `a request without one good line is a bad request`() {
      #expect(Read(OwnForm(), "x\ny").status == 400)
      #expect(Read(OwnForm(), "x\ny").failures.count == 2)
      #expect(Read(OwnForm(), "[{]").status == 400)
      #expect(Read(OwnForm(), "").events.isEmpty)
      #expect(Read(OwnForm(), "").status == 0)
    }
  }
#endif
