// RedactionTests: what is marked is hidden wherever it stands, and nothing else is touched.

import Foundation
import TestSupport
import Testing
import Weir
import WeirContracts
import WeirDelivery

private let address = FieldKind.object([Field("street", .string, sensitive: true), Field("city", .string)])

private let signedUp = EventType(
  "signed.up",
  [
    Field("id", .uint64), Field("email", .optional(.string), sensitive: true), Field("home", address),
    Field("others", .array(.optional(address))), Field("tags", .array(.string), sensitive: true),
    Field("deep", .optional(.object([Field("inner", .object([Field("pin", .int32, sensitive: true)]))]))),
  ])

private func stored(
  _ fields: FieldObject, as type: EventType? = signedUp, name: String? = nil, context: EventContext = EventContext()
) -> StoredEvent {
  StoredEvent(
    offset: 3, id: EventID(opening: 1, sequence: 2), time: Timestamp(nanosecondsSince1970: 4),
    name: name ?? type?.name ?? "dynamic", fields: fields, declaration: type, context: context,
    monotonicNanoseconds: 5, bootID: UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)))
}

private func home(_ street: FieldValue) -> FieldValue { ["street": street, "city": "Bonn"] }

struct RedactionTests {
  @Test func `marks count within objects, optionals and arrays`() {
    let event = stored([
      "id": 7, "email": "a@b.c", "home": home("Main St"), "others": .array([home("A"), .null, home("B")]),
      "tags": ["vip"], "deep": ["inner": ["pin": 1234]],
    ])
    let redacted = event.redacted()
    #expect(
      redacted.fields == [
        "id": 7, "email": .redacted, "home": home(.redacted),
        "others": .array([home(.redacted), .null, home(.redacted)]), "tags": .redacted,
        "deep": ["inner": ["pin": .redacted]],
      ])
    #expect(redacted.redacted() == redacted)
    // All but the values is as it was.
    #expect(redacted.offset == 3)
    #expect(redacted.id == event.id)
    #expect(redacted.time == event.time)
    #expect(redacted.name == event.name)
    #expect(redacted.declaration == signedUp)
    #expect(redacted.monotonicNanoseconds == 5)
    #expect(redacted.bootID == event.bootID)
    #expect(event.fields.redacted(as: signedUp) == redacted.fields)
  }

  @Test func `a sensitive value that is not there stays null`() {
    #expect(stored(["email": .null]).redacted().fields == ["email": .null])
    #expect(stored(["deep": .null]).redacted().fields == ["deep": .null])
  }

  /// A value of another shape than declared, which only a hook can have made, is not shown by mistake.
  @Test func `a value of another shape than declared is hidden`() {
    #expect(stored(["tags": 5]).redacted().fields == ["tags": .redacted])
    #expect(stored(["home": "Main St"]).redacted().fields == ["home": .redacted])
    #expect(stored(["others": ["Main St", nil]]).redacted().fields == ["others": [.redacted, nil]])
    #expect(stored(["deep": ["inner": 1234]]).redacted().fields == ["deep": ["inner": .redacted]])
    #expect(stored(["id": ["street": "x"]]).redacted().fields == ["id": ["street": "x"]])
  }

  @Test func `an event without marks is not changed`() {
    let plain = EventType("plain", [Field("a", .string), Field("b", .object([Field("c", .string)]))])
    let event = stored(["a": "x", "b": ["c": "y"], "c": "z"], as: plain)
    #expect(event.redacted() == event)
    let dynamic = stored(["email": "a@b.c"], as: nil)
    #expect(dynamic.redacted() == dynamic)
  }

  @Test func `two fields of one name are both hidden if one is marked`() {
    let type = EventType("twice", [Field("a", .string), Field("a", .string, sensitive: true)])
    let fields = FieldObject([("a", "x"), ("a", "y")])
    #expect(stored(fields, as: type).redacted().fields == FieldObject([("a", .redacted), ("a", .redacted)]))
  }

  /// Bytes that nobody could read may hold what is sensitive.
  @Test func `a payload that can't be read is hidden`() {
    let bytes: FieldObject = ["payload": .bytes([1, 2, 3])]
    #expect(stored(bytes, as: nil, name: StoredEvent.undefinedName).redacted().fields == ["payload": .redacted])
    #expect(stored(bytes).redacted().fields == ["payload": .redacted])
    let plain = EventType("plain", [Field("a", .string)])
    #expect(stored(bytes, as: plain).redacted().fields == ["payload": .redacted])
    // An event that has such a field of its own is no such event.
    let own = EventType("own", [Field("payload", .bytes), Field("secret", .optional(.string), sensitive: true)])
    #expect(stored(bytes, as: own).redacted().fields == bytes)
    #expect(stored(bytes, as: nil).redacted().fields == bytes)
  }
}

struct ContextRedactionTests {
  private let context = EventContext(
    globals: ["app": "shop", "token": "t"],
    user: EventUser(id: "u7", traits: ["plan": "gold", "email": "a@b.c", "home": ["street": "s", "city": "c"]]),
    view: EventView(id: "v1", name: "Cart"), fields: ["cart": 7, "email": "d@e.f", "missing": .null],
    sensitive: ["token", "email", "home.street", "missing"])

  @Test func `names and paths of a context are hidden`() {
    let redacted = context.redacted()
    #expect(redacted.globals == ["app": "shop", "token": .redacted])
    #expect(
      redacted.user
        == EventUser(
          id: "u7", traits: ["plan": "gold", "email": .redacted, "home": ["street": .redacted, "city": "c"]]))
    #expect(redacted.fields == ["cart": 7, "email": .redacted, "missing": .null])
    #expect(redacted.view == context.view)
    #expect(redacted.sensitive == context.sensitive)
    #expect(redacted.redacted() == redacted)
    #expect(stored([:], as: nil, context: context).redacted().context == redacted)
  }

  @Test func `a trait of another shape is hidden`() {
    let user = EventUser(id: "u7", traits: ["home": "Main St", "homes": ["A"], "hom": 1])
    let redacted = EventContext(user: user, sensitive: ["home.street", "homes.street"]).redacted()
    #expect(redacted.user?.traits == ["home": .redacted, "homes": [.redacted], "hom": 1])
  }

  @Test func `a context that names nothing is not changed`() {
    var plain = context
    plain.sensitive = []
    #expect(plain.redacted() == plain)
  }

  /// What is sensitive is lost with the global part, so all that may be is hidden.
  @Test func `a context whose global part is lost is hidden`() {
    var lost = EventContext(user: EventUser(id: "u7", traits: ["plan": "gold"]), fields: ["cart": 7])
    lost.isGlobalPartLost = true
    let redacted = lost.redacted()
    #expect(redacted.fields == ["cart": .redacted])
    #expect(redacted.user?.traits == ["plan": .redacted])
    #expect(redacted.user?.id == "u7")
  }

  @Test func `a scope that can't be read is hidden`() {
    let unread = EventContext(fields: ["scope": .bytes([1, 2])])
    #expect(unread.redacted().fields == ["scope": .redacted])
    let read = EventContext(fields: ["scope": "checkout"])
    #expect(read.redacted() == read)
  }

  /// The traits are in the fields there.
  @Test func `the traits of an association are hidden`() {
    let fields: FieldObject = ["user": "u7", "traits": ["plan": "gold", "email": "a@b.c"]]
    let event = stored(fields, as: nil, name: "weir.associated", context: EventContext(sensitive: ["email"]))
    #expect(event.redacted().fields == ["user": "u7", "traits": ["plan": "gold", "email": .redacted]])
    #expect(stored(fields, as: nil, context: EventContext(sensitive: ["email"])).redacted().fields == fields)
  }
}
