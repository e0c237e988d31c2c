// PostHogTests: batches, single events, and a bad event as the whole request's fault.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct PostHogTests {
    @Test func `a batch and a single event are read`() throws {
      let event = """
        {"event":"paid","distinct_id":"ada","uuid":"0191-a","timestamp":"2026-11-21T01:00:00+01:00",\
        "properties":{"amount":3,"token":"t"}}
        """
      let identify = #"{"event":"$identify","properties":{"distinct_id":"ada"},"$set":{"plan":"plus"}}"#
      for body in ["{\"api_key\":\"k\",\"batch\":[\(event),\(identify)]}", "[\(event),\(identify)]"] {
        let read = Read(PostHog(), body)
        #expect(read.events.map(\.name) == ["paid", "$identify"])
        #expect(read.events[0].id == "0191-a")
        #expect(read.events[0].time?.description == "2026-11-21T00:00:00.000000000Z")
        #expect(read.events[0].properties == ["amount": 3])
        #expect(read.events[1].type == "identify")
        #expect(read.events[1].user == "ada")
        #expect(read.events[1].context == ["$set": ["plan": "plus"]])
        #expect(read.answer(by: PostHog()).text == #"{"status":1}"#)
      }
      #expect(Read(PostHog(), event).events.count == 1)
    }

    @Test(arguments: [
      "{}", #"{"batch":{}}"#, #"{"batch":[]}"#, "[]", "7", #"{"batch":[7]}"#, #"{"batch":[{"event":"e"}]}"#,
      #"{"batch":[{"event":"","distinct_id":"d"}]}"#, #"{"batch":[{"distinct_id":"d"}]}"#,
      #"{"batch":[{"event":"e","distinct_id":"d"},{"event":"e"}]}"#,
    ])
    func `a bad event is the request's fault`(body: String) {
      let read = Read(PostHog(), body)
      #expect(read.status == 400)
      #expect(read.events.isEmpty)
      #expect(!read.answer(by: PostHog()).text.isEmpty)
    }

    @Test func `the event at fault is known`() {
      let read = Read(PostHog(), #"{"batch":[{"event":"e","distinct_id":"d"},{"event":"e","uuid":"u-2"}]}"#)
      #expect(read.failures.map(\.id) == ["u-2"])
      #expect(read.faults == ["1 distinct_id"])
    }

    @Test func `a request above the limit is refused, one at it is taken`() {
      let event = #"{"event":"e","distinct_id":"d"}"#
      let padding = String(repeating: " ", count: (20 << 20) - event.utf8.count)
      #expect(Read(PostHog(), event + padding).events.count == 1)
      #expect(Read(PostHog(), event + padding + " ").status == 413)
    }
  }
#endif
