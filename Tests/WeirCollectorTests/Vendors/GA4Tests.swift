// GA4Tests: a success whatever comes; what is wrong is left out, and the validation server says what it is.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct GA4Tests {
    private static let stream = ["measurement_id": "G-1", "api_secret": "s"]

    private func read(
      _ events: [String], more: String = #""client_id":"1.2","#, isDebug: Bool = false, query: [String: String] = stream
    ) -> Read {
      Read(GA4(isDebug: isDebug), "{\(more)\"events\":[\(events.joined(separator: ","))]}", query: query)
    }

    private static let good = """
      {"name":"paid","timestamp_micros":1763683200123456,"params":{"weir_id":"w1","amount":3,"plan":"pro"}}
      """

    @Test func `good events are taken without a word`() {
      let read = read(
        [Self.good, #"{"name":"seen"}"#],
        more: #""client_id":"1.2","user_id":"ada","user_properties":{"plan":{"value":"pro"}},"#)
      #expect(read.failures.isEmpty)
      #expect(read.events.map(\.name) == ["paid", "seen"])
      #expect(read.events[0].id == "w1")
      #expect(read.events[0].time?.description == "2025-11-21T00:00:00.123456000Z")
      #expect(read.events[0].user == "ada")
      #expect(read.events[0].properties == ["amount": 3, "plan": "pro"])
      #expect(read.events[0].context == ["client_id": "1.2", "user_properties": ["plan": ["value": "pro"]]])
      #expect(read.answer(by: GA4()).status == 204)
      #expect(read.answer(by: GA4()).text.isEmpty)
      let app = self.read([Self.good], more: #""app_instance_id":"0af","#, query: ["firebase_app_id": "1:2:ios:3"])
      #expect(app.events.map(\.user) == ["0af"])
    }

    private static let bad = [
      "7", "{}", #"{"name":"_a"}"#, #"{"name":"a.b"}"#, #"{"name":"session_start"}"#, #"{"name":"ga_x"}"#,
      #"{"name":"\#(text(41))"}"#, #"{"name":"e","params":{"_a":1}}"#, #"{"name":"e","params":{"a":true}}"#,
      #"{"name":"e","params":{"a":"\#(text(101))"}}"#, #"{"name":"e","params":{"page_title":"\#(text(301))"}}"#,
      #"{"name":"e","params":{\#((0..<26).map { "\"p\($0)\":1" }.joined(separator: ","))}}"#,
    ]

    @Test func `bad events are left out, and the answer is the same`() {
      let read = read([Self.good] + Self.bad + [Self.good])
      #expect(read.events.count == 2)
      #expect(read.failures.map(\.index) == Array(1...Self.bad.count))
      #expect(read.answer(by: GA4()).status == 204)
    }

    @Test func `the validation server names what is wrong, and keeps nothing`() throws {
      let read = read([Self.good, #"{"name":"_a"}"#], isDebug: true)
      #expect(read.events.isEmpty)
      let answer = read.answer(by: GA4(isDebug: true))
      #expect(answer.status == 200)
      let messages = try #require(answer.json["validationMessages"] as? [[String: String]])
      #expect(messages.map { $0["validationCode"] } == ["NAME_RESERVED"])
      #expect(messages[0]["description"]?.contains("index: [1]") == true)
      let empty = self.read([Self.good], isDebug: true).answer(by: GA4(isDebug: true))
      #expect(empty.text == #"{"validationMessages":[]}"#)
      let client = self.read([Self.good], more: "", isDebug: true).answer(by: GA4(isDebug: true))
      #expect(client.text.contains(#""fieldPath":"client_id""#))
    }

    @Test(arguments: [
      "", #""client_id":"1","#, #""client_id":"0.1","#,
      #""client_id":"1.2","user_properties":{"user_id":{"value":1}},"#,
      #""client_id":"1.2","user_properties":{"plan":"pro"},"#,
      #""client_id":"1.2","user_properties":{"plan":{"value":"\#(text(37))"}},"#,
    ])
    func `a bad request is taken for a good one, and nothing of it is kept`(_ more: String) {
      let read = read([Self.good], more: more)
      #expect(read.events.isEmpty)
      #expect(read.status == 204)
    }

    @Test func `a request above a limit is left out, one at it is taken`() {
      #expect(read(Array(repeating: Self.good, count: 25)).events.count == 25)
      #expect(read(Array(repeating: Self.good, count: 26)).events.isEmpty)
      let body = "{\"client_id\":\"1.2\",\"events\":[\(Self.good)]}"
      func padded(_ count: Int) -> Read {
        Read(GA4(), body + String(repeating: " ", count: count - body.utf8.count), query: Self.stream)
      }
      #expect(padded(129_999).events.count == 1)
      #expect(padded(130_000).events.isEmpty)
    }

    @Test func `a request without a stream is left out`() {
      #expect(read([Self.good], query: [:]).events.isEmpty)
    }
  }
#endif
