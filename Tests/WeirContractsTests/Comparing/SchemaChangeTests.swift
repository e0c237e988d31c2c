// SchemaChangeTests: every kind of change, whom it breaks, and that this is true of the readers themselves.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirJSON

private typealias What = SchemaChange.What
private typealias Broken = SchemaChange.Broken

/// What a test expects of a change: all of it but the sentence.
private struct Expected: Hashable, CustomStringConvertible {
  var what: What
  var event: String
  var field: String
  var breaks: Set<Broken>

  init(_ what: What, _ event: String = "e", _ field: String = "", _ breaks: Set<Broken> = []) {
    self.what = what
    self.event = event
    self.field = field
    self.breaks = breaks
  }

  init(_ change: SchemaChange) {
    self.init(change.what, change.event, change.field, change.breaks)
  }

  var description: String { "\(what.rawValue) \(event) \(field) \(breaks.map(\.rawValue).sorted())" }
}

private func changes(_ old: [EventType], _ new: [EventType]) -> [Expected] {
  Schema(of: old).changes(to: Schema(of: new)).map { Expected($0) }
}

/// What differs between two sets of fields of one event.
private func changes(_ old: [Field], _ new: [Field]) -> [Expected] {
  changes([EventType("e", old)], [EventType("e", new)])
}

private let both: Set<Broken> = [.newReaders, .oldReaders]
private let a = Field("a", .int32)

struct EventChangeTests {
  @Test func `equal types have no difference`() {
    let types = SchemaSample.eventTypes + Checkout.eventTypes
    #expect(changes(types, types) == [])
    #expect(changes([], [] as [EventType]) == [])
    // Neither the order nor the counts are a difference.
    #expect(changes(types, types.reversed()) == [])
    let counted = Schema(events: types.map { .init($0, count: 7, firstOffset: 1, lastOffset: 8) })
    #expect(Schema(of: types).changes(to: counted) == [])
  }

  @Test func `an event may be added and retired`() {
    let (x, y) = (EventType("x", [a]), EventType("y", [Field("b", .string)]))
    #expect(changes([x], [x, y]) == [Expected(.eventAdded, "y")])
    #expect(changes([x, y], [x]) == [Expected(.eventRetired, "y")])
  }

  @Test func `an event renamed with a trace is told as renamed`() {
    let old = EventType("e.x", [a], wireID: 3)
    #expect(changes([old], [EventType("e.y", [a], wireID: 3)]) == [Expected(.eventRenamed, "e.x")])
    #expect(
      changes([EventType("e.x", [a])], [EventType("e.y", [a], formerNames: ["e.w", "e.x"])])
        == [Expected(.eventRenamed, "e.x")])
    // Back again: the old log knows the name.
    #expect(
      changes([EventType("e.y", [a], formerNames: ["e.x"])], [EventType("e.x", [a])])
        == [Expected(.eventRenamed, "e.y")])
    // Without either, it can only look like it: and with fields of its own, or ids, it does not.
    #expect(changes([EventType("e.x", [a])], [EventType("e.y", [a])]) == [Expected(.eventRenamed, "e.x", "", both)])
    #expect(
      changes([EventType("e.x", [a], wireID: 1)], [EventType("e.y", [a], wireID: 2)])
        == [Expected(.eventRetired, "e.x"), Expected(.eventAdded, "e.y")])
    #expect(
      changes([EventType("e.x")], [EventType("e.y")])
        == [Expected(.eventRetired, "e.x"), Expected(.eventAdded, "e.y")])
  }

  @Test func `a changed wire ID is told`() {
    let none = EventType("e.x", [a])
    let one = EventType("e.x", [a], wireID: 1)
    let two = EventType("e.x", [a], wireID: 2)
    #expect(changes([none], [one]) == [Expected(.wireIDChanged, "e.x")])
    #expect(changes([one], [none]) == [Expected(.wireIDChanged, "e.x")])
    #expect(changes([one], [two]) == [Expected(.wireIDChanged, "e.x", "", both)])
    let thief = EventType("e.z", [a], wireID: 1)
    #expect(
      changes([one], [two, thief]) == [Expected(.wireIDReused, "e.x", "", both), Expected(.eventAdded, "e.x")])
    #expect(changes([one], [none, thief]).contains(Expected(.wireIDReused, "e.x", "", both)))
  }

  /// A name that another event has now: readers of old logs, or old readers, take the one for the other.
  @Test func `a name that another event has now is told`() {
    let old = [EventType("x", [a])]
    let new = [EventType("y", [a], formerNames: ["x"]), EventType("x", [Field("b", .optional(.bool))])]
    #expect(changes(old, new).contains(Expected(.nameReused, "y", "", [.oldReaders])))
    // Two events made one: the second's old readers never see it again.
    #expect(
      changes([EventType("x", [a]), EventType("y", [a])], [EventType("z", [a], formerNames: ["x", "y"])])
        == [Expected(.eventRenamed, "x"), Expected(.eventRenamed, "y", "", [.oldReaders])])
  }

  @Test func `a changed kind of an event is told`() {
    #expect(
      changes([EventType("e", [a])], [EventType("e", [a], kind: .pageView)]) == [Expected(.eventKindChanged)])
  }

  /// Of several forms of an event the last count, and the earlier ones for what can't be read of them any more.
  @Test func `the last of several forms counts`() {
    func schema(_ forms: [[Field]]) -> Schema {
      Schema(events: forms.map { .init(EventType("e", $0), count: 1) })
    }
    let first = [a]
    let second = [a, Field("b", .optional(.bool))]
    let third = [Field("b", .optional(.bool))]
    func found(_ old: [[Field]], _ new: [[Field]]) -> [Expected] {
      schema(old).changes(to: schema(new)).map { Expected($0) }
    }
    #expect(found([first, second], [first, second]) == [])
    #expect(found([first], [first, second]) == [Expected(.fieldAdded, "e", "b")])
    #expect(found([first, second], [second]) == [])
    // The last forms agree; the new one's readers still can't read the first.
    #expect(found([third, second], [second]) == [Expected(.fieldAdded, "e", "a", [.newReaders])])
    #expect(found([second], [third, second]) == [Expected(.fieldRemoved, "e", "a", [.oldReaders])])
  }

  /// A log that lived through a rename has the event under both names, and is not at odds with itself.
  @Test func `a rename within one log is not at odds with itself`() {
    let (x, y) = (EventType("e.x", [a], wireID: 3), EventType("e.y", [a], wireID: 3, formerNames: ["e.x"]))
    func log(_ types: EventType...) -> Schema { Schema(events: types.map { .init($0, count: 1) }) }
    #expect(log(x, y).changes(to: log(y)) == [])
    #expect(log(x).changes(to: log(x, y)).map { Expected($0) } == [Expected(.eventRenamed, "e.x")])
    #expect(log(x, y).changes(to: log(x, y)) == [])
    #expect(log(x, y).changes(to: Schema(of: [y])) == [])
  }
}

struct FieldChangeTests {
  @Test func `a field that is added or removed breaks whoever needs it`() {
    #expect(changes([a], [a, Field("b", .optional(.bool))]) == [Expected(.fieldAdded, "e", "b")])
    #expect(changes([a], [a, Field("b", .bool)]) == [Expected(.fieldAdded, "e", "b", [.newReaders])])
    #expect(changes([a], [a, Field("b", .any)]) == [Expected(.fieldAdded, "e", "b")])
    #expect(changes([a, Field("b", .optional(.bool))], [a]) == [Expected(.fieldRemoved, "e", "b")])
    #expect(changes([a, Field("b", .bool)], [a]) == [Expected(.fieldRemoved, "e", "b", [.oldReaders])])
  }

  @Test func `a field made optional or mandatory breaks whoever needs it`() {
    #expect(changes([a], [Field("a", .optional(.int32))]) == [Expected(.fieldMadeOptional, "e", "a", [.oldReaders])])
    #expect(changes([Field("a", .optional(.int32))], [a]) == [Expected(.fieldMadeMandatory, "e", "a", [.newReaders])])
    #expect(changes([Field("a", .any)], [Field("a", .optional(.any))]) == [Expected(.fieldMadeOptional, "e", "a")])
  }

  @Test func `a field renamed with a trace is told as renamed`() {
    let renamed = [Field("b", .int32, formerNames: ["a"])]
    #expect(changes([a], renamed) == [Expected(.fieldRenamed, "e", "a")])
    #expect(changes(renamed, [a]) == [Expected(.fieldRenamed, "e", "b")])
    #expect(
      changes([a], [Field("b", .int32)])
        == [Expected(.fieldRemoved, "e", "a", [.oldReaders]), Expected(.fieldAdded, "e", "b", [.newReaders])])
    // The former name is another field's now.
    #expect(changes([a], [a] + renamed) == [Expected(.fieldRenamed, "e", "b", [.oldReaders])])
    // Two fields made one, the one that readers know by its name.
    let optional = Field("a", .optional(.int32))
    #expect(changes([optional, Field("b", .int32)], renamed) == [Expected(.fieldRemoved, "e", "a", [.oldReaders])])
  }

  @Test func `a field that is no longer sensitive breaks privacy`() {
    let hidden = Field("a", .int32, sensitive: true)
    #expect(changes([a], [hidden]) == [Expected(.fieldMarkedSensitive, "e", "a")])
    #expect(changes([hidden], [a]) == [Expected(.fieldUnmarkedSensitive, "e", "a", [.privacy])])
    func object(_ outer: Bool, _ inner: Bool) -> [Field] {
      [Field("o", .array(.object([Field("i", .string, sensitive: inner)])), sensitive: outer)]
    }
    // Hidden with what is around it is hidden.
    #expect(changes(object(false, true), object(true, false)) == [Expected(.fieldMarkedSensitive, "e", "o")])
    #expect(changes(object(false, true), object(false, false)).map(\.breaks) == [[.privacy]])
    #expect(changes(object(true, true), object(false, true)).map(\.field) == ["o"])
    #expect(changes(object(true, false), object(true, true)) == [])
  }

  @Test func `a change within an object is told with its path`() {
    func object(_ fields: [Field]) -> [Field] { [Field("o", .optional(.array(.object(fields))))] }
    #expect(changes(object([a]), object([a, Field("b", .bool)])) == [Expected(.fieldAdded, "e", "o.b", [.newReaders])])
    // Within objects nothing finds a field by its former name.
    #expect(
      changes(object([a]), object([Field("b", .int32, formerNames: ["a"])]))
        == [Expected(.fieldRenamed, "e", "o.a", both)])
  }

  @Test func `only kinds that can be known are compared of what was seen`() {
    func seen(_ kind: FieldKind) -> Schema {
      Schema(events: [.init(EventType("e", [Field("a", kind)]), isInferred: true)])
    }
    func declared(_ kind: FieldKind) -> Schema { Schema(of: [EventType("e", [Field("a", kind)])]) }
    for (kind, other) in [(.int64, .uint8), (.any, .string), (.array(.any), .array(.bool))] as [(FieldKind, FieldKind)]
    {
      #expect(seen(kind).changes(to: declared(other)) == [])
      #expect(declared(other).changes(to: seen(kind)) == [])
    }
    #expect(seen(.string).changes(to: declared(.int64)).map(\.what) == [.fieldKindChanged])
  }
}

/// Types as which a field is written and read, for holding what is said of kinds against what readers do.
private let readers: [any EventValue.Type] = [
  Bool.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt8.self, UInt16.self, UInt32.self, UInt64.self,
  Float.self, Double.self, String.self, Data.self, UUID.self, Date.self, FieldValue.self,
  [Int32].self, [Int64].self, [String].self, [String?].self, Int32?.self, Int64?.self, String?.self,
]

/// Values of a kind as a reader is given them, the extreme ones among them.
private func values(of kind: FieldKind) -> [FieldValue] {
  func integers<T: FixedWidthInteger>(_ type: T.Type) -> [FieldValue] {
    [T.min, 0, T.max].map { T.isSigned ? .int(Int64($0)) : .uint(UInt64($0)) }
  }
  switch kind {
  case .bool: return [true]
  case .int8: return integers(Int8.self)
  case .int16: return integers(Int16.self)
  case .int32: return integers(Int32.self)
  case .int64: return integers(Int64.self)
  case .uint8: return integers(UInt8.self)
  case .uint16: return integers(UInt16.self)
  case .uint32: return integers(UInt32.self)
  case .uint64: return integers(UInt64.self)
  case .float: return [.float(1.5)]
  case .double: return [1.5]
  case .string: return ["s"]
  case .bytes: return [.bytes([1])]
  case .uuid: return [.uuid(UUID())]
  case .date: return [.date(Date(timeIntervalSinceReferenceDate: 0))]
  case .optional(let inner): return [.null] + values(of: inner)
  case .array(let element): return values(of: element).map { .array([$0]) }
  case .object: return [["a": 1]]
  case .any: return ["s", 1, true, .null, .bytes([1])]
  }
}

private func canRead<T: EventValue>(_ value: FieldValue, as type: T.Type) -> Bool {
  let event = StoredEvent(
    offset: 0, id: EventID(opening: 0, sequence: 0), time: Timestamp(nanosecondsSince1970: 0), name: "e",
    fields: ["a": value])
  return (try? event.value(Field("a", T.fieldKind)) as T) != nil
}

struct KindChangeTests {
  /// For every pair of kinds: what is said to break is what a reader fails to read, and nothing else.
  @Test func `readers do what is said of them`() {
    for written in readers {
      for reader in readers {
        let (old, new) = (written.fieldKind, reader.fieldKind)
        let found = changes([Field("a", old)], [Field("a", new)])
        let said = found.reduce(into: Set<Broken>()) { $0.formUnion($1.breaks) }
        let newFails = values(of: old).contains { !canRead($0, as: reader) }
        let oldFails = values(of: new).contains { !canRead($0, as: written) }
        #expect(said.contains(.newReaders) == newFails, "\(old.text) read as \(new.text)")
        #expect(said.contains(.oldReaders) == oldFails, "\(new.text) read as \(old.text)")
        #expect(found.isEmpty == (old == new), "\(old.text) to \(new.text)")
      }
    }
  }

  @Test func `a change says in a sentence what it breaks`() throws {
    func why(_ old: FieldKind, _ new: FieldKind) throws -> String {
      let all = Schema(of: [EventType("e", [Field("a", old)])]).changes(
        to: Schema(of: [EventType("e", [Field("a", new)])]))
      return try #require(all.first).description
    }
    #expect(
      try why(.int32, .int64)
        == "breaking: e: a: field kind changed: was int32, is int64: new readers read int32 in old events, old readers "
        + "read int64 only if it fits in int32 in new ones")
    #expect(try why(.string, .double).contains("new readers can't read string in old events"))
  }
}
