// SegmentTests: Segment's calls, its limits at, below and above, and its silence about what it does not take.

#if Collector
  import Testing
  import Weir

  @testable import WeirCollector

  struct SegmentTests {
    @Test func `a batch of every kind of call is read`() throws {
      let read = Read(
        Segment(),
        """
        {"context":{"app":"shop"},"batch":[\(segmentEvent("m-1")),
        {"type":"identify","userId":"ada","messageId":"m-2","traits":{"plan":"plus"},"context":{"ip":"::1"}},
        {"type":"page","anonymousId":"anon-1","name":"Cart"},{"type":"group","userId":7,"sentAt":"2026-11-21 00:00:00"}]}
        """)
      #expect(read.failures.isEmpty)
      #expect(read.events.map(\.name) == ["order placed", "identify", "Cart", "group"])
      #expect(read.events.map(\.type) == ["track", "identify", "page", "group"])
      #expect(read.events.map(\.id) == ["m-1", "m-2", nil, nil])
      #expect(read.events.map(\.user) == ["ada", "ada", "anon-1", "7"])
      #expect(read.events[0].time?.description == "2026-11-21T00:00:00.500000000Z")
      #expect(read.events[3].time?.description == "2026-11-21T00:00:00.000000000Z")
      #expect(read.events[1].properties == ["plan": "plus"])
      #expect(read.events[0].context == ["app": "shop"])
      #expect(read.events[1].context == ["ip": "::1"])
      #expect(read.answer(by: Segment()).text == #"{"success":true}"#)
    }

    @Test func `an event that is not taken is answered as if it were`() {
      let read = Read(
        Segment(),
        """
        {"batch":[7,{},{"type":"trak","userId":"a"},{"type":"track","userId":"a"},{"type":"track","event":"","userId":"a"},
        {"type":"track","event":"e"},{"type":"track","event":"e","userId":""},\(segmentEvent("good"))]}
        """)
      #expect(read.faults == ["0 ", "1 type", "2 type", "3 event", "4 event", "5 userId", "6 userId"])
      #expect(read.events.map(\.id) == ["good"])
      #expect(read.answer(by: Segment()).status == 200)
    }

    @Test func `a single call has its type in its path`() throws {
      let track = Read(Segment(call: "track"), #"{"event":"e","userId":"a","messageId":"m"}"#)
      #expect(track.events.map(\.name) == ["e"])
      let identify = Read(Segment(call: "identify"), #"{"userId":"a","traits":{"x":1}}"#)
      #expect(identify.events.map(\.type) == ["identify"])
      #expect(Read(Segment(call: "track"), "{\"event\":\"\(text(33_000))\",\"userId\":\"a\"}").status == 400)
    }

    @Test func `a size above a limit is refused, one at it is taken`() {
      func padded(_ bytes: Int) -> String {
        let body = segmentBatch([segmentEvent("m")])
        return body + String(repeating: " ", count: bytes - body.utf8.count)
      }
      #expect(Read(Segment(), padded(Segment.batchBytes)).events.count == 1)
      #expect(Read(Segment(), padded(Segment.batchBytes + 1)).status == 400)

      func event(_ bytes: Int) -> String {
        let empty = segmentEvent("large", properties: #"{"t":""}"#)
        return segmentEvent("large", properties: "{\"t\":\"\(text(bytes - empty.utf8.count))\"}")
      }
      #expect(Read(Segment(), segmentBatch([event(32 << 10), segmentEvent("m")])).events.count == 2)
      let large = Read(Segment(), segmentBatch([segmentEvent("m"), event((32 << 10) + 1)]))
      #expect(large.status == 400)
      #expect(large.failures.map(\.id) == ["large"])
      #expect(large.failures.map(\.index) == [1])

      let small = #"{"type":"track","event":"e","userId":"a"}"#
      #expect(Read(Segment(), segmentBatch(Array(repeating: small, count: 2_500))).events.count == 2_500)
      #expect(Read(Segment(), segmentBatch(Array(repeating: small, count: 2_501))).status == 400)
    }

    @Test(arguments: ["", "x", "[]", "7", "{}", #"{"batch":{}}"#, #"{"batch":[}"#])
    func `a body that is no batch is refused`(body: String) {
      let read = Read(Segment(), body)
      #expect(read.status == 400)
      #expect(read.answer(by: Segment()).json["success"] as? Bool == false)
    }
  }
#endif
