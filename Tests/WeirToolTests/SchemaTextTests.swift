// SchemaTextTests: a schema as people see it, whatever is in it, and contexts as columns and keys.

#if Tool
  import Foundation
  import Testing
  import Weir
  import WeirContracts

  @testable import WeirTool

  struct SchemaTextTests {
    @Test func `a schema's text has every part of it`() {
      let schema = Schema(
        events: [
          .init(EventType("a", [Field("x", .int32)]), count: 1, firstOffset: 5, lastOffset: 5),
          .init(
            EventType("a", [Field("x", .int32, formerNames: ["w", "v"])]), count: 1_234, firstOffset: 6,
            lastOffset: 2_000
          ),
          .init(EventType("b"), isInferred: true, isPartial: true),
        ], others: 1_000, undefined: 1)
      #expect(
        SchemaText.of(schema) == """
          a  form 1 of 2  1 event, offset 5
            x  int32

          a  form 2 of 2  1,234 events, offsets 6 to 2000
            x  int32  formerly w, v

          b  as seen
            and more fields, which are not listed

          1,000 more events, of other forms than the 3 above

          1 more events, whose definitions are lost to damage

          """)
      #expect(SchemaText.of(Schema()) == "no events\n")
    }

    /// Names are the log's, and may be anything; none shall reach a terminal as a command or pass for two lines.
    @Test func `a name with control characters can't break a line`() {
      let odd = "a\u{1B}[2J\n b"
      let type = EventType(odd, [Field(odd, .object([Field(odd, .bool)]), formerNames: [odd])], formerNames: [odd])
      let text = SchemaText.of(Schema(events: [.init(type)]))
      #expect(text.split(separator: "\n").count == 3)
      #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 0x20 })
      let changes = Schema(events: [.init(type)]).changes(to: Schema())
      let diff = DiffReport(changes).text
      #expect(diff.split(separator: "\n").count == 2)
      #expect(!diff.contains("\u{1B}"))
    }
  }

  struct EventContextFormatTests {
    private func printed(_ event: StoredEvent, _ format: EventFormat) -> String {
      var bytes: [UInt8] = []
      format.append(event, withContext: true, to: &bytes)
      return String(decoding: bytes, as: UTF8.self)
    }

    private func event(_ context: EventContext, kind: EventKind? = nil, boot: UUID? = nil) -> StoredEvent {
      StoredEvent(
        offset: 1, id: EventID(opening: 2, sequence: 3), time: Timestamp(nanosecondsSince1970: 0), name: "e",
        fields: [:],
        declaration: EventType("e", kind: kind), context: context, monotonicNanoseconds: boot == nil ? nil : 17,
        bootID: boot)
    }

    @Test func `an event of which nothing is known has empty columns`() {
      let event = event(EventContext())
      let uuid = event.id.uuid.uuidString
      #expect(
        printed(event, .jsonl).hasSuffix(
          #""fields":{},"host":null,"uuid":"\#(uuid)","kind":null,"monotonic":null,"boot":null,"user":null,"#
            + #""view":null,"context":{}}"# + "\n"))
      #expect(printed(event, .csv).hasSuffix("e,{},,\(uuid),,,,,,{}\n"))
      #expect(printed(event, .text) == "1  1970-01-01T00:00:00.000000000Z  e\n")
      #expect(EventFormat.csv.header(withContext: true).split(separator: ",").count == 13)
    }

    /// Bound fields stand over global ones, and nothing of a context can break a line.
    @Test func `an event of which everything is known has it in its columns`() throws {
      let boot = try #require(UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8"))
      let context = EventContext(
        globals: ["app": "shop", "region": "eu"], user: EventUser(id: "u\n\"7", traits: ["plan": "gold"]),
        view: EventView(id: "v2", name: "Cart, open", parent: "v1"), fields: ["region": "us"])
      let event = event(context, kind: .pageView, boot: boot)
      #expect(
        printed(event, .jsonl).hasSuffix(
          #""kind":"page_view","monotonic":17,"boot":"\#(boot)","user":{"id":"u\n\"7","traits":{"plan":"gold"}},"#
            + #""view":{"id":"v2","name":"Cart, open","parent":"v1"},"context":{"app":"shop","region":"us"}}"# + "\n"))
      #expect(
        printed(event, .csv).hasSuffix(
          #"page_view,17,\#(boot),"{""id"":""u\n\""7"",""traits"":{""plan"":""gold""}}","#
            + #""{""id"":""v2"",""name"":""Cart, open"",""parent"":""v1""}","{""app"":""shop"",""region"":""us""}""#
            + "\n"))
      #expect(
        printed(event, .text).hasSuffix(
          #"e  |  kind="page_view" user="u\n\"7" user.plan="gold" view="Cart, open" app="shop" region="us""# + "\n"))
    }
  }
#endif
