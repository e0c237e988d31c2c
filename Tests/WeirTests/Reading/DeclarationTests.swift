// What a declaration says beyond names and kinds: into the log and back, through the bytes that nobody vouches for.

import Foundation
import TestSupport
import Testing

@testable import Weir

struct DeclarationTests {
  /// All that can be declared.
  private struct Signup: Event {
    static let eventTypes = [
      EventType(
        "signup",
        [
          Field("email", .string, sensitive: true, formerNames: ["mail", "e-mail"]),
          Field("age", .optional(.int32)),
          Field(
            "address",
            .optional(
              .object([
                Field("street", .string, sensitive: true), Field("city", .string, formerNames: ["town"]),
                Field("parts", .array(.object([Field("name", .string, sensitive: true)]))),
              ]))),
        ], wireID: .max, kind: .pageAction, formerNames: ["register", "subscribe"]),
      EventType("signup.started", [], kind: .systemAction),
      EventType("signup.plain", [Field("a", .bool)]),
    ]

    let index: Int
    init(index: Int) { self.index = index }
    func encode(into encoder: inout EventEncoder) {
      encoder.begin(index)
      switch index {
      case 0:
        encoder.put("a@b")
        encoder.put(nil as Int32?)
        encoder.put(nil as Address?)
      case 2: encoder.put(true)
      default: break
      }
    }
    init?(_ stored: StoredEvent) throws { return nil }
  }

  private struct Address: EventValue {
    static var fieldKind: FieldKind {
      guard case .optional(let kind) = Signup.eventTypes[0].fields[2].kind else { return .bool }
      return kind
    }
    func encode(into encoder: inout EventEncoder) {}
    init(fieldValue: FieldValue) throws {}
  }

  @Test func `a declaration is read as it was declared`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for index in 0..<3 { #expect(tracker.track(Signup(index: index)).isAccepted) }
      tracker.track("dynamic")
      tracker.track(Visit.opened)
      tracker.track(Login(user: "x", attempts: 1))
      let declarations = try tracker.events().map(\.declaration)
      #expect(declarations == Signup.eventTypes.map { $0 } + [nil, nil, nil])
      try tracker.close()
      // From the segment, and by another reader.
      #expect(try EventReader(directory: directory).all().map(\.declaration) == declarations)
    }
  }

  @Test func `attributes name fields by their paths`() {
    let attributes = Signup.eventTypes[0].attributes
    #expect(attributes["id"] == .uint(UInt64(UInt32.max)))
    #expect(attributes["kind"] == "page_action")
    #expect(attributes["formerly"] == ["register", "subscribe"])
    #expect(attributes["sensitive"] == ["email", "address.street", "address.parts.name"])
    #expect(attributes["fields_formerly"] == ["email": ["mail", "e-mail"], "address.city": ["town"]])
    #expect(EventType("plain", [Field("a", .bool)]).attributes.isEmpty)
  }

  /// Two fields with one path: what is said of one holds for both, so that nothing sensitive is overlooked.
  @Test func `a field with a dot in its name is as sensitive as the path that it equals`() {
    let fields = [
      Field("a.b", .string), Field("a", .object([Field("b", .string, sensitive: true)])),
    ]
    let type = EventType("x", fields).with(EventType("x", fields).attributes)
    #expect(type.fields[0].isSensitive)
    guard case .object(let inner) = type.fields[1].kind else { return #expect(Bool(false)) }
    #expect(inner[0].isSensitive)
  }

  @Test func `an attribute that is not known or makes no sense is passed over`() {
    let plain = EventType("x", [Field("a", .string)])
    for nonsense in [
      ["id": "seven"], ["id": .uint(1 << 32)], ["id": -1], ["kind": "page_dream"], ["kind": 7], ["formerly": "y"],
      ["formerly": [1, nil]], ["sensitive": ["b", "a.b"]], ["sensitive": "a"], ["fields_formerly": ["a"]],
      ["fields_formerly": ["a": 1, "b": ["c"]]], ["later": ["versions": "know"]],
    ] as [FieldObject] {
      #expect(plain.with(nonsense) == plain, "\(nonsense)")
    }
    #expect(plain.with(["formerly": ["y", 1]]).formerNames == ["y"])
  }

  @Test func `bytes that are no object are read as none`() throws {
    let object: FieldObject = ["a": 1, "b": ["c", nil, .uuid(UUID())], "d": ["e": .float(0.5)]]
    let bytes = try #require(object.taggedBytes())
    func read(_ bytes: some Sequence<UInt8>) -> FieldObject? {
      Array(bytes).withUnsafeBytes { FieldObject(taggedBytes: $0) }
    }
    #expect(read(bytes) == object)
    for count in 0..<bytes.count { #expect(read(bytes.prefix(count)) == nil) }
    #expect(read(bytes + [0]) == nil)
    let seed = testSeed()
    var random = Seeded(seed: seed)
    for _ in 0..<2_000 {
      var mutated = bytes
      mutated[Int.random(in: 0..<bytes.count, using: &random)] ^= UInt8.random(in: 1...255, using: &random)
      // Whatever it is taken for, it is whole: it can be written down again, and is the same then. Compared as text,
      // for not-a-number equals nothing.
      if let found = read(mutated) {
        let again = try #require(found.taggedBytes().flatMap { read($0) }, "seed \(seed)")
        #expect("\(again)" == "\(found)", "seed \(seed)")
      }
    }
  }

  /// Random contexts of events, as they would be if a log were forged: nothing crashes, and nobody is put for somebody.
  @Test func `a context that makes no sense puts nobody for somebody`() {
    let global = EventContext(globals: ["app": "shop"], user: EventUser(id: "default"))
    #expect(global.with(scope: [:]) == global)
    #expect(global.with(scope: ["view": ["id": 1], "fields": 2, "sensitive": 3, "later": 4]) == global)
    #expect(global.with(scope: ["user": 1]).user == nil)
    #expect(global.with(scope: ["user": nil]).user == nil)
    #expect(global.with(scope: ["user": "ada", "traits": 1]).user == EventUser(id: "ada"))
    #expect(EventContext(global: ["fields": 1, "user": "ada", "sensitive": "x"]) == EventContext())
    let unreadable = [1, 2, 3 as UInt8].withUnsafeBytes { global.with(unreadableScope: $0) }
    #expect(unreadable == EventContext(globals: ["app": "shop"], fields: ["scope": .bytes([1, 2, 3])]))
  }

  /// The object whose bytes events get here.
  private func boundObject() throws -> FieldObject {
    guard let memory = EncodedScope.bound.address else { return [:] }
    let count = memory.load(as: ScopeHeader.self).count - MemoryLayout<UInt32>.size
    return try #require(
      FieldObject(taggedBytes: UnsafeRawBufferPointer(start: memory + ScopeHeader.bytes, count: count)))
  }

  @Test func `contexts come back from bytes`() throws {
    let user = EventUser(id: "ada", traits: ["plan": "paid"])
    let fields: FieldObject = ["a": 1]
    try Bindings.with(view: "/") {
      let outer = try #require(Bindings.current.view)
      try Bindings.with(
        user: user.id, traits: user.traits, fields: fields, view: "/cart", sensitive: ["a", "plan"]
      ) {
        let object = try boundObject()
        let view = try #require(Bindings.current.view)
        #expect(view.name == "/cart")
        #expect(view.parent == outer.id)
        #expect(
          EventContext().with(scope: object)
            == EventContext(user: user, view: view, fields: fields, sensitive: ["a", "plan"]))
      }
    }
    #expect(try boundObject().isEmpty)
    let nobody = try Bindings.with(user: nil) { try boundObject() }
    #expect(nobody == ["user": nil])
    let global = ContextBytes.global(fields: fields, user: user, sensitive: ["a"])
    #expect(EventContext(global: global) == EventContext(globals: fields, user: user, sensitive: ["a"]))
    #expect(ContextBytes.global(fields: [:], user: nil, sensitive: []).isEmpty)
  }

  @Test func `an event has its time since the boot, and the boot's id`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      var before = timespec()
      clock_gettime(CLOCK_MONOTONIC, &before)
      tracker.track(Checkout.started(cart: 1))
      tracker.track(Checkout.started(cart: 2))
      var after = timespec()
      clock_gettime(CLOCK_MONOTONIC, &after)
      let events = try tracker.events()
      let times = try events.map { try #require($0.monotonicNanoseconds) }
      #expect(times[0] <= times[1])
      // The clock's calibration is good to a millisecond, which is not what is tested.
      let slack: Int64 = 100_000_000
      #expect(times[0] >= Int64(before.tv_sec) * 1_000_000_000 + Int64(before.tv_nsec) - slack)
      #expect(times[1] <= Int64(after.tv_sec) * 1_000_000_000 + Int64(after.tv_nsec) + slack)
      let boot = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
      #expect(events[0].bootID == UUID(uuidString: boot.trimmingCharacters(in: .whitespacesAndNewlines)))
    }
  }
}
