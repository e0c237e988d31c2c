// SchemaTests: what a log says of its events, from what was captured into it.

import Foundation
import TestSupport
import Testing

@testable import Weir
@testable import WeirContracts
@testable import WeirJSON

private func stored(
  _ name: String, _ fields: FieldObject, as type: EventType? = nil, at offset: Offset
) -> StoredEvent {
  StoredEvent(
    offset: offset, id: EventID(opening: 1, sequence: offset), time: Timestamp(nanosecondsSince1970: 1), name: name,
    fields: fields, declaration: type)
}

private func schema(of objects: [FieldObject], name: String = "e") -> Schema {
  var builder = SchemaBuilder()
  for (index, fields) in objects.enumerated() { builder.add(stored(name, fields, at: Offset(index))) }
  return builder.schema()
}

/// The kinds inferred, as text: {"a": "int64?"}.
private func kinds(of objects: [FieldObject]) -> [String: String] {
  let fields = schema(of: objects).events.first?.type.fields ?? []
  return Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.kind.text) })
}

struct SchemaTests {
  /// All that was declared comes back from the log, whoever reads it.
  @Test func `declarations come back`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(SchemaSample.sold)
      tracker.track(Checkout.started(cart: 1))
      tracker.track(SchemaSample.sold)
      try tracker.drain()
      // Of a live log, and of a closed one.
      let live = try Schema(of: LogDirectory(directory))
      try tracker.close()
      let schema = try Schema(of: LogDirectory(directory))
      #expect(schema == live)
      #expect(schema.events.map(\.type) == [SchemaSample.eventTypes[0], Checkout.eventTypes[0]])
      #expect(schema.events.map(\.count) == [2, 1])
      #expect(schema.events.map(\.firstOffset) == [0, 1])
      #expect(schema.events.map(\.lastOffset) == [2, 1])
      #expect(schema.events.allSatisfy { !$0.isInferred && !$0.isPartial })
      #expect(schema.others == 0)
      #expect(schema.undefined == 0)
    }
  }

  /// A log that two versions of a program wrote has both forms, in their order, also after the first came again.
  @Test func `an event of two versions has both forms, in their order`() throws {
    try withDirectory { directory in
      for event in [AnyDeclared.first, .second, .first] {
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track(event)
        try tracker.close()
      }
      let schema = try Schema(of: LogDirectory(directory))
      #expect(schema.events.map(\.type) == [AnyDeclared.first.type, AnyDeclared.second.type])
      #expect(schema.events.map(\.count) == [2, 1])
      #expect(schema.events.map(\.lastOffset) == [2, 1])
    }
  }

  @Test func `codable and dynamic events are inferred`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      tracker.track(CodedSample.sold(order: 1, coupon: nil))
      tracker.track(CodedSample.sold(order: 2, coupon: "x"))
      tracker.track("named", fields: ["a": 1])
      let schema = try Schema(of: LogDirectory(directory).drained(by: tracker))
      #expect(schema.events.map(\.type.name) == ["CodedSample.sold", "named"])
      #expect(schema.events.map(\.isInferred) == [true, true])
      #expect(
        schema.events.map(\.type.fields) == [
          [Field("order", .int64), Field("coupon", .optional(.string))], [Field("a", .int64)],
        ])
      try tracker.close()
    }
  }

  @Test func `a program's own schema is what it declares`() {
    let schema = Schema(of: Checkout.eventTypes + CodedSample.eventTypes)
    #expect(schema.events.map(\.type) == Checkout.eventTypes)
    #expect(schema.events.allSatisfy { $0.count == 0 && $0.firstOffset == nil })
  }

  /// Damage costs what it hits; the rest of the schema is read.
  @Test func `damage is passed over`() throws {
    try withDirectory { directory in
      let cart: UInt64 = 0x1122_3344_5566_7788
      for _ in 0..<2 {
        let tracker = try Tracker(directory: directory, configuration: quiet())
        tracker.track(Checkout.started(cart: cart))
        try tracker.close()
      }
      let segment = try #require(
        FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".weir") }.min())
      let path = directory + "/" + segment
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      let record = try #require(bytes.range(of: withUnsafeBytes(of: cart.littleEndian) { Data($0) }))
      bytes[record.lowerBound] ^= 1
      try bytes.write(to: URL(fileURLWithPath: path))
      var skips = 0
      let schema = try Schema(of: LogDirectory(directory)) { _ in skips += 1 }
      #expect(skips > 0)
      #expect(schema.events.map(\.type) == [Checkout.eventTypes[0]])
      #expect(schema.events.first?.firstOffset == 1)
    }
  }

  @Test func `a directory without a log is an error`() throws {
    try withDirectory { directory in
      let error = #expect(throws: WeirError.self) { try Schema(of: LogDirectory(directory)) }
      #expect(error?.code == .missing)
    }
  }
}

struct InferredFieldTests {
  @Test func `each value has its kind`() {
    let uuid = UUID()
    let values: [(FieldValue, String)] = [
      (true, "bool"), (-1, "int64"), (.uint(1), "uint64"), (.float(1), "float"), (1.5, "double"), ("s", "string"),
      (.bytes([1]), "bytes"), (.uuid(uuid), "uuid"), (.date(Date(timeIntervalSinceReferenceDate: 0)), "date"),
      (.null, "any?"), ([], "[any]"), ([1, 2], "[int64]"), (["a": 1], "object"), ([["a": 1]], "[object]"),
      (.array([1, .null]), "[int64?]"), (.array(["x", 1]), "[any]"),
    ]
    for (value, kind) in values { #expect(kinds(of: [["f": value]]) == ["f": kind], "\(value)") }
  }

  @Test func `a field that is missing or null is optional`() {
    #expect(kinds(of: [["a": 1], [:]]) == ["a": "int64?"])
    #expect(kinds(of: [[:], ["a": 1]]) == ["a": "int64?"])
    #expect(kinds(of: [["a": 1], ["a": .null]]) == ["a": "int64?"])
    #expect(kinds(of: [["a": .null], [:]]) == ["a": "any?"])
    #expect(kinds(of: [["a": 1], ["a": 2]]) == ["a": "int64"])
    // Twice in one event does not make up for none in another.
    #expect(kinds(of: [FieldObject([("a", 1), ("a", 2)]), [:]]) == ["a": "int64?"])
  }

  @Test func `kinds that come together have one that holds both`() {
    #expect(kinds(of: [["a": .int(-1)], ["a": .uint(1)]]) == ["a": "int64"])
    #expect(kinds(of: [["a": .float(1)], ["a": 1.5]]) == ["a": "double"])
    #expect(kinds(of: [["a": 1], ["a": "x"]]) == ["a": "any"])
    #expect(kinds(of: [["a": []], ["a": ["x"]]]) == ["a": "[string]"])
  }

  @Test func `nested objects are inferred with their fields`() throws {
    let schema = schema(of: [["o": ["x": 1, "y": "s"]], ["o": ["x": 2]], ["o": ["x": 3, "z": [["w": true]]]]])
    let expected = FieldKind.object([
      Field("x", .int64), Field("y", .optional(.string)),
      Field("z", .optional(.array(.object([Field("w", .bool)])))),
    ])
    #expect(schema.events.map(\.type.fields) == [[Field("o", expected)]])
  }
}

struct SchemaLimitTests {
  @Test func `forms above the limit are counted as others`() {
    for (limit, others) in [(9, 4 as UInt64), (10, 2), (11, 0), (12, 0)] {
      var builder = SchemaBuilder(maximumVersions: limit)
      for round in 0..<2 {
        for number in 0..<11 { builder.add(stored("e\(number)", [:], at: Offset(round * 11 + number))) }
      }
      let schema = builder.schema()
      #expect(schema.events.count == min(limit, 11))
      #expect(schema.others == others, "\(limit)")
      #expect(schema.events.reduce(0) { $0 + $1.count } + schema.others == 22)
    }
  }

  @Test func `an event of more fields than the limit is partial`() {
    for count in [3, 4, 5] {
      var builder = SchemaBuilder(maximumInferredFields: 4)
      let names = (0..<count).map { ("f\($0)", FieldValue.int(1)) }
      builder.add(stored("e", FieldObject(names), at: 0))
      let version = builder.schema().events.first
      #expect(version?.type.fields.count == min(count, 4))
      #expect(version?.isPartial == (count > 4))
    }
    // Nested ones count too.
    var builder = SchemaBuilder(maximumInferredFields: 4)
    builder.add(stored("e", ["a": ["b": 1, "c": 1, "d": 1, "e": 1]], at: 0))
    #expect(builder.schema().events.first?.isPartial == true)
  }

  @Test func `the memory of a schema is bounded, and the rest counted as others`() {
    var builder = SchemaBuilder(maximumBytes: 64 << 10)
    let long = String(repeating: "n", count: 1000)
    for number in 0..<100 { builder.add(stored("\(long)\(number)", [long: 1], at: Offset(number))) }
    let schema = builder.schema()
    #expect(schema.events.count > 5)
    #expect(schema.events.count < 64)
    #expect(schema.others + UInt64(schema.events.count) == 100)
  }

  @Test func `undefined events and notices are no types`() {
    var builder = SchemaBuilder()
    builder.add(stored(StoredEvent.undefinedName, ["payload": .bytes([])], at: 0))
    builder.add(stored("weir.gap", ["count": 1], at: 1))
    #expect(builder.schema() == Schema(undefined: 1))
  }
}

struct SchemaCodingTests {
  private func decode(_ text: String) throws -> Schema {
    try JSONDecoder().decode(Schema.self, from: Data(text.utf8))
  }

  @Test func `a schema comes back from JSON`() throws {
    let schema = Schema(
      events: [
        .init(SchemaSample.eventTypes[0], count: 3, firstOffset: 1, lastOffset: 9),
        .init(EventType("empty"), isInferred: true, isPartial: true),
      ], others: 5, undefined: 6)
    let bytes = try JSONEncoder().encode(schema)
    #expect(try JSONDecoder().decode(Schema.self, from: bytes) == schema)
  }

  @Test func `the JSON of a schema has its documented keys`() throws {
    let type = EventType("e", [Field("a", .optional(.array(.object([Field("b", .int8)]))), sensitive: true)], wireID: 7)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let text = String(decoding: try encoder.encode(Schema(events: [.init(type)])), as: UTF8.self)
    #expect(
      text
        == #"{"events":[{"count":0,"event":"e","fields":[{"fields":[{"formerly":[],"kind":"int8","name":"b","#
        + #""optional":false,"sensitive":false}],"formerly":[],"kind":"[object]","name":"a","optional":true,"#
        + #""sensitive":true}],"first_offset":null,"formerly":[],"inferred":false,"kind":null,"last_offset":null,"#
        + #""partial":false,"wire_id":7}],"others":0,"undefined":0}"#)
  }

  @Test func `keys that are left out have their defaults`() throws {
    let schema = try decode(#"{"events":[{"event":"e","fields":[{"name":"a","kind":"[string?]?"}]}]}"#)
    #expect(schema == Schema(events: [.init(EventType("e", [Field("a", .optional(.array(.optional(.string))))]))]))
  }

  @Test(arguments: [
    "", "[]", "{}", #"{"events":[{}]}"#, #"{"events":[{"event":"e","kind":"page"}]}"#,
    #"{"events":[{"event":"e","fields":[{"name":"a","kind":"text"}]}]}"#,
    #"{"events":[{"event":"e","fields":[{"name":"a","kind":"[int8"}]}]}"#,
    #"{"events":[{"event":"e","fields":[{"name":"a","kind":"int8","fields":[{"name":"b","kind":"int8"}]}]}]}"#,
    #"{"events":[{"event":"e","wire_id":-1}]}"#,
  ])
  func `nonsense is refused`(_ text: String) {
    #expect(throws: DecodingError.self) { try decode(text) }
  }

  /// Nesting is bounded, so that a forged file can't use up the stack.
  @Test func `nesting in a kind's text is bounded`() {
    let deep = 100_000
    let text = String(repeating: "[", count: deep) + "int8" + String(repeating: "]", count: deep)
    #expect(FieldKind(text: text, fields: []) == nil)
    #expect(FieldKind(text: "[[int8]]", fields: []) == .array(.array(.int8)))
    #expect(FieldKind(text: String(repeating: "?", count: deep), fields: []) == nil)
  }
}

/// Declares all that a declaration can say.
enum SchemaSample: Event {
  case sold

  static let eventTypes = [
    EventType(
      "shop.sold",
      [
        Field("order", .uint64), Field("email", .optional(.string), sensitive: true),
        Field("amount", .double, formerNames: ["total", "sum"]),
        Field(
          "address", .object([Field("street", .string, sensitive: true), Field("lines", .array(.optional(.string)))])),
      ], wireID: 41, kind: .pageAction, formerNames: ["shop.done"])
  ]

  func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(1 as UInt64)
    encoder.put("a@b.c" as String?)
    encoder.put(1.5)
    encoder.put(SampleAddress())
  }

  init?(_ stored: StoredEvent) throws { return nil }
}

private struct SampleAddress: EventValue {
  static let fieldKind = FieldKind.object([
    Field("street", .string, sensitive: true), Field("lines", .array(.optional(.string))),
  ])

  init() {}
  init(fieldValue: FieldValue) throws {}

  func encode(into encoder: inout EventEncoder) {
    encoder.beginObject()
    encoder.put("Main St")
    encoder.put(["a", nil] as [String?])
  }
}

/// One event in two versions of its program.
private struct AnyDeclared: Event {
  let type: EventType
  let isSecond: Bool

  static let first = AnyDeclared(type: eventTypes[0], isSecond: false)
  static let second = AnyDeclared(type: eventTypes[1], isSecond: true)

  static let eventTypes = [
    EventType("versioned", [Field("a", .int32)]), EventType("versioned", [Field("a", .int32), Field("b", .bool)]),
  ]

  init(type: EventType, isSecond: Bool) {
    self.type = type
    self.isSecond = isSecond
  }

  init?(_ stored: StoredEvent) throws { return nil }

  func encode(into encoder: inout EventEncoder) {
    encoder.begin(isSecond ? 1 : 0)
    encoder.put(1 as Int32)
    if isSecond { encoder.put(true) }
  }
}

private enum CodedSample: Codable, Event {
  case sold(order: Int, coupon: String?)
}

extension LogDirectory {
  fileprivate func drained(by tracker: Tracker) throws -> LogDirectory {
    try tracker.drain()
    return self
  }
}
