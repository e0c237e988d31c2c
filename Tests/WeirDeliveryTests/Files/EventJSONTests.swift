// EventJSON: the form of an event, byte for byte, and what other readers make of it.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery

struct EventJSONTests {
  private let stored = StoredEvent(
    offset: 500, id: EventID(opening: 0x8f3a_2c55_d0b1_e677, sequence: 5),
    time: Timestamp(nanosecondsSince1970: 1_795_219_200_123_456_789), name: "checkout.completed",
    fields: ["order": .uint(.max), "total": 19.5])

  private func text(_ event: PreparedEvent) -> String { String(decoding: EventJSON.object(event), as: UTF8.self) }

  private func text(_ value: FieldValue, _ form: EventJSON = EventJSON()) -> String {
    var bytes: [UInt8] = []
    form.append(value, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test func `an event without context and flags has them empty`() {
    let line = """
      {"id":"8f3a2c55d0b1e6770000000000000005","offset":500,"time":"2026-11-21T00:00:00.123456789Z",\
      "name":"checkout.completed","fields":{"order":18446744073709551615,"total":19.5},"context":{},"flags":{}}
      """
    #expect(text(PreparedEvent(stored)) == line)
    var bytes: [UInt8] = []
    EventJSON().append(stored, to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == line)
  }

  @Test func `an event has its context, its flags and what the preparation changed`() {
    var event = PreparedEvent(stored)
    event.name = "Order Completed"
    event.fields = [:]
    event.context = EventContext(
      globals: ["app": "shop"], user: EventUser(id: "u\"7", traits: ["plan": "pro"]),
      view: EventView(id: "v1", name: "Cart"), fields: ["request": 9])
    event.context.isGlobalPartLost = true
    event.flags = [
      .duplicate(of: EventID(opening: 1, sequence: 2)), .violating, .defaulted(field: "z"), .defaulted(field: "a"),
    ]
    event.violations = [
      Violation(event: "e", field: "total", rule: "minimum 20", value: 19.5),
      Violation(event: "e", field: "", rule: "unknown event", value: nil),
    ]
    event.kind = .pageAction
    let line = """
      {"id":"8f3a2c55d0b1e6770000000000000005","offset":500,"time":"2026-11-21T00:00:00.123456789Z",\
      "name":"Order Completed","kind":"page_action","fields":{},"context":{"globals":{"app":"shop"},\
      "user":{"id":"u\\"7","traits":{"plan":"pro"}},"view":{"id":"v1","name":"Cart","parent":null},\
      "fields":{"request":9},"globals_lost":true},"flags":{\
      "violations":["total: minimum 20","unknown event"],"defaulted":["a","z"],\
      "duplicate_of":["00000000000000010000000000000002"]}}
      """
    // A set's order changes from process to process, and with what was put in and taken out.
    for _ in 0..<20 {
      #expect(text(event) == line)
      event.flags = Set(event.flags.shuffled())
    }
    event.context = EventContext(view: EventView(id: "v2", name: "Item", parent: "v1"))
    #expect(text(event).contains(#""context":{"view":{"id":"v2","name":"Item","parent":"v1"}}"#))
  }

  @Test func `an event has the kind of its declaration`() {
    let shown = StoredEvent(
      offset: 0, id: EventID(opening: 1, sequence: 2), time: stored.time, name: "shown", fields: [:],
      declaration: EventType("shown", kind: .pageView))
    var bytes: [UInt8] = []
    EventJSON().append(shown, to: &bytes)
    #expect(String(decoding: bytes, as: UTF8.self) == text(PreparedEvent(shown)))
    #expect(text(PreparedEvent(shown)).contains(#""name":"shown","kind":"page_view","fields":{}"#))
  }

  /// A nested value of every kind comes out the same through Foundation.
  @Test func `Foundation reads what is written`() throws {
    let fields: FieldObject = [
      "null": nil, "bool": true, "least": .int(.min), "most": .uint(.max), "double": 0.1, "float": .float(0.1),
      "text": "\u{0}\u{1b}\"\\/é😀\u{2028}", "nested": ["a": [1, ["b": "c"], []]], "uuid": .uuid(UUID()),
      "date": .date(Date(timeIntervalSinceReferenceDate: 0.25)), "na\nme": .string(""),
    ]
    let read = try JSONSerialization.jsonObject(with: Data(EventJSON.object(fields)))
    let object = try #require(read as? [String: Any])
    #expect(object.count == fields.count)
    #expect((object["least"] as? NSNumber)?.int64Value == .min)
    #expect((object["most"] as? NSNumber)?.uint64Value == .max)
    #expect(object["double"] as? Double == 0.1)
    #expect(object["text"] as? String == "\u{0}\u{1b}\"\\/é😀\u{2028}")
    #expect(object["date"] as? String == "2001-01-01T00:00:00.250000000Z")
    #expect(object["na\nme"] as? String == "")
  }

  @Test func `bytes agree with Foundation's base64`() {
    var bytes: [UInt8] = []
    for length in 0..<70 {
      #expect(text(.bytes(bytes)) == "\"\(Data(bytes).base64EncodedString())\"")
      bytes.append(UInt8(truncatingIfNeeded: length &* 89 &+ 251))
    }
    #expect(text(.bytes(Array(0...255))) == "\"\(Data(0...255).base64EncodedString())\"")
  }

  @Test func `integers that a double can't hold are written exactly, or as text if wanted`() {
    var form = EventJSON()
    form.hasLargeIntegersAsText = true
    let exact: UInt64 = 1 << 53
    #expect(text(.uint(exact), form) == "9007199254740992")
    #expect(text(.uint(exact + 1), form) == #""9007199254740993""#)
    #expect(text(.int(-Int64(exact)), form) == "-9007199254740992")
    #expect(text(.int(-Int64(exact) - 1), form) == #""-9007199254740993""#)
    #expect(text(.int(.min), form) == #""-9223372036854775808""#)
    #expect(text(.uint(exact + 1)) == "9007199254740993")
  }

  @Test func `numbers that JSON lacks are texts, or null`() {
    var form = EventJSON()
    form.hasNonFiniteAsNull = true
    let values: FieldValue = [.double(.nan), .double(.infinity), .double(-.infinity), .float(.infinity), 1.5]
    #expect(text(values) == #"["NaN","Infinity","-Infinity","Infinity",1.5]"#)
    #expect(text(values, form) == "[null,null,null,null,1.5]")
    let never: FieldValue = .date(Date(timeIntervalSinceReferenceDate: .nan))
    #expect(text(never) == #""NaN""#)
    #expect(text(never, form) == "null")
  }

  @Test func `a name that is there twice is written twice, or once with its last value`() {
    var form = EventJSON()
    let twice = FieldObject([("a", 1), ("b", 2), ("a", ["c": 3]), ("d", .object(FieldObject([("e", 4), ("e", 5)])))])
    #expect(text(.object(twice)) == #"{"a":1,"b":2,"a":{"c":3},"d":{"e":4,"e":5}}"#)
    form.hasEachNameOnce = true
    #expect(text(.object(twice), form) == #"{"b":2,"a":{"c":3},"d":{"e":5}}"#)
  }

  @Test func `members go on an object that has others`() {
    var bytes = Array(#"{"x":0"#.utf8)
    #expect(EventJSON().append(members: ["a": 1, "b": 2], after: true, to: &bytes))
    #expect(EventJSON().append(members: [:], after: true, to: &bytes))
    #expect(String(decoding: bytes, as: UTF8.self) == #"{"x":0,"a":1,"b":2"#)
    bytes = []
    #expect(!EventJSON().append(members: [:], after: false, to: &bytes))
    #expect(EventJSON().append(members: ["a": 1], after: false, to: &bytes))
    #expect(String(decoding: bytes, as: UTF8.self) == #""a":1"#)
  }

  /// What a C program captured as text and is none.
  @Test func `a text that is not UTF-8 is base64`() throws {
    let value = FieldValue.bytes([0x61, 0xff, 0xc3])
    #expect(text(value) == #""Yf/D""#)
    #expect(String(validating: EventJSON.object(["text": value]), as: UTF8.self) != nil)
  }
}
