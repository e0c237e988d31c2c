// Bindings: what events say they were captured for, through every kind of nesting.

import Foundation
import Synchronization
import TestSupport
import Testing
import Weir
import WeirScopes
import WeirTesting

/// Calls `body` inside of what this form binds: first the form for asynchronous work, then the other one.
private func bindings(
  _ form: String, _ tracker: Tracker, isolation: isolated (any Actor)? = #isolation, _ body: () -> Void
) async {
  func asynchronous() async { body() }
  switch form {
  case "user":
    await Bindings.with(user: "ada") { await asynchronous() }
    Bindings.with(user: "ada") { body() }
  case "fields":
    await Bindings.with(fields: ["a": 1]) { await asynchronous() }
    Bindings.with(fields: ["a": 1]) { body() }
  case "view":
    await Bindings.with(view: "page") { await asynchronous() }
    Bindings.with(view: "page") { body() }
  case "run":
    let scope = tracker.beginScope("page")
    await scope.run { await asynchronous() }
    scope.run { body() }
  default:
    await tracker.withScope("page") { _ in await asynchronous() }
    tracker.withScope("page") { _ in body() }
  }
}

/// Work of an actor, with other work that waits until the actor is free.
private actor ActorWork {
  private var order: [String] = []

  func checkOrder(_ form: String, _ tracker: Tracker) async {
    let other = Task { order.append("other") }
    order.append("before")
    await bindings(form, tracker) { order.append("inside") }
    order.append("after")
    await other.value
    #expect(order == ["before", "inside", "inside", "after", "other"], "\(form)")
  }
}

@MainActor private final class MainActorWork {
  private var order: [String] = []

  func checkOrder(_ form: String, _ tracker: Tracker) async {
    let other = Task { order.append("other") }
    order.append("before")
    await bindings(form, tracker) { order.append("inside") }
    order.append("after")
    await other.value
    #expect(order == ["before", "inside", "inside", "after", "other"], "\(form)")
  }
}

struct EncodedScopeTests {
  /// The contexts of the events that `body` captures, in order.
  private func contexts(_ body: (Tracker) throws -> Void) throws -> [EventContext] {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      try body(tracker)
      return try tracker.events().map(\.context)
    }
  }

  @Test func `nothing is bound outside`() throws {
    let found = try contexts { tracker in
      tracker.track(Checkout.started(cart: 1))
      Bindings.with(user: "ada") { _ = tracker.track(Checkout.started(cart: 2)) }
      tracker.track(Checkout.started(cart: 3))
    }
    #expect(found == [EventContext(), EventContext(user: EventUser(id: "ada")), EventContext()])
    #expect(Bindings.current.user == nil)
    #expect(Bindings.current.view == nil)
    #expect(Bindings.current.fields.isEmpty)
  }

  @Test func `every kind of event has the scope`() throws {
    let expected = EventContext(
      user: EventUser(id: "ada", traits: ["plan": "paid"]), fields: ["route": "/cart", "tries": .uint(2)],
      sensitive: ["email"])
    let found = try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      Bindings.with(user: "ada", traits: ["plan": "paid"], sensitive: ["email"]) {
        Bindings.with(fields: ["route": "/cart", "tries": .uint(2)]) {
          tracker.track(Checkout.completed(order: 1, total: 2, items: 3, coupon: "four"))
          tracker.track(Visit.opened)
          tracker.track(Login(user: "x", attempts: 1))
          tracker.track("dynamic", fields: ["a": 1])
          tracker.track(contentsOf: [Checkout.started(cart: 7)])
        }
      }
      #expect(try tracker.events(of: Checkout.self).map(\.event).first != nil)
      return try tracker.events()
    }
    #expect(found.map(\.name) == ["checkout.completed", "Visit.opened", "login", "dynamic", "checkout.started"])
    #expect(found.map(\.context) == Array(repeating: expected, count: 5))
    // The scope is no part of the fields.
    #expect(found[3].fields == ["a": 1])
    #expect(found[4].fields == ["cart": .uint(7)])
  }

  @Test func `inner bindings stand over outer ones`() throws {
    let found = try contexts { tracker in
      Bindings.with(user: "outer", traits: ["plan": "paid"]) {
        Bindings.with(fields: ["a": 1, "b": 1], sensitive: ["b"]) {
          Bindings.with(user: "inner") {
            Bindings.with(fields: ["b": 2, "c": 3], sensitive: ["c"]) { _ = tracker.track("1") }
            tracker.track("2")
          }
          tracker.track("3")
        }
      }
    }
    #expect(
      found == [
        EventContext(user: EventUser(id: "inner"), fields: ["a": 1, "b": 2, "c": 3], sensitive: ["b", "c"]),
        EventContext(user: EventUser(id: "inner"), fields: ["a": 1, "b": 1], sensitive: ["b"]),
        EventContext(
          user: EventUser(id: "outer", traits: ["plan": "paid"]), fields: ["a": 1, "b": 1], sensitive: ["b"]),
      ])
  }

  @Test func `nobody is not the default user`() throws {
    let found = try contexts { tracker in
      try tracker.associate("default")
      tracker.track("1")
      Bindings.with(user: nil) { _ = tracker.track("2") }
      Bindings.with(user: "bound") { Bindings.with(user: nil) { _ = tracker.track("3") } }
      Bindings.with(fields: ["a": 1]) { _ = tracker.track("4") }
    }
    #expect(found.dropFirst().map(\.user?.id) == ["default", nil, nil, "default"])
  }

  /// Readers keep what came of the last scope: not beyond a change of what is around it.
  @Test func `the same scope stands among other global fields after a change of them`() throws {
    let found = try contexts { tracker in
      try Bindings.with(fields: ["a": 1]) {
        tracker.track("1")
        try tracker.setGlobals(GlobalFields(app: "shop"))
        tracker.track("2")
        try tracker.setGlobals(GlobalFields())
        tracker.track("3")
      }
    }
    #expect(found.map(\.globals) == [[:], ["app": "shop"], [:]])
    #expect(found.allSatisfy { $0.fields == ["a": 1] })
  }

  @Test func `views have ids of their own`() throws {
    var ids: [String] = []
    let found = try contexts { tracker in
      for _ in 0..<2 {
        Bindings.with(view: "/cart") {
          ids.append(Bindings.current.view?.id ?? "none")
          tracker.track("outer")
          Bindings.with(view: "dialog") { _ = tracker.track("inner") }
        }
      }
    }
    let views = found.compactMap(\.view)
    #expect(views.map(\.name) == ["/cart", "dialog", "/cart", "dialog"])
    #expect(Set(views.map(\.id)).count == 4)
    #expect([views[0].id, views[2].id] == ids)
    #expect(views.map(\.parent) == [nil, ids[0], nil, ids[1]])
  }

  @Test func `an error keeps its type`() throws {
    struct Failed: Error, Equatable { var code: Int }
    func fails() throws(Failed) {
      try Bindings.with(user: "ada") { () throws(Failed) in throw Failed(code: 7) }
    }
    #expect(throws: Failed(code: 7)) { try fails() }
    let answer = Bindings.with(fields: ["a": 1]) { 42 }
    #expect(answer == 42)
    #expect(Bindings.current.user == nil)
  }

  @Test func `asynchronous work keeps its scope`() async throws {
    struct Failed: Error {}
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      await Bindings.with(user: "ada") {
        await Task.yield()
        tracker.track("after a suspension")
        async let child: Void = { _ = tracker.track("child") }()
        await child
        await Task { _ = tracker.track("unstructured") }.value
        await Task.detached { _ = tracker.track("detached") }.value
        await Bindings.with(view: "/cart") { await Task { _ = tracker.track("view") }.value }
        await withTaskGroup(of: Void.self) { group in
          for number in 0..<4 {
            Bindings.with(fields: ["number": .int(Int64(number))]) { group.addTask { _ = tracker.track("group") } }
          }
        }
      }
      await #expect(throws: Failed.self) {
        try await Bindings.with(user: "bob") { () async throws(Failed) in
          await Task.yield()
          throw Failed()
        }
      }
      tracker.track("outside")
      let events = try tracker.events()
      var users: [String: Set<String?>] = [:]
      for event in events { users[event.name, default: []].insert(event.context.user?.id) }
      #expect(
        users == [
          "after a suspension": ["ada"], "child": ["ada"], "unstructured": ["ada"], "detached": [nil],
          "view": ["ada"], "group": ["ada"], "outside": [nil],
        ])
      #expect(events.first { $0.name == "view" }?.context.view?.name == "/cart")
      let numbers = events.filter { $0.name == "group" }.compactMap { $0.context.fields["number"] }
      #expect(Set(numbers) == [.int(0), .int(1), .int(2), .int(3)])
    }
  }

  @MainActor
  @Test func `work in a scope stays on its actor`() async throws {
    var count = 0
    await Bindings.with(user: "ada") {
      MainActor.assertIsolated()
      count += 1
      await Task.yield()
      MainActor.assertIsolated()
      count += 1
    }
    #expect(count == 2)
  }

  /// What waits for the actor gets it when the work is done, and not at the binding's beginning or end.
  @Test(arguments: ["user", "fields", "view", "run", "withScope"])
  func `no other work of an actor comes in between`(form: String) async throws {
    let spy = try SpyTracker()
    await ActorWork().checkOrder(form, spy.tracker)
    await MainActorWork().checkOrder(form, spy.tracker)
  }

  /// Each thread binds users of its own, over and over: no event may have another's.
  @Test func `threads do not mix their users`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      let each = 2_000
      DispatchQueue.concurrentPerform(iterations: 8) { thread in
        for number in 0..<each {
          let id = "\(thread)/\(number)"
          Bindings.with(user: id, traits: ["thread": .int(Int64(thread))]) {
            tracker.track(Single(id))
            Bindings.with(fields: ["number": .int(Int64(number))]) {
              _ = tracker.track("dynamic", fields: ["id": .string(id)])
            }
          }
        }
      }
      let events = try tracker.events()
      #expect(events.count == 8 * each * 2)
      #expect(
        events.allSatisfy { event in
          guard let user = event.context.user else { return false }
          return .string(user.id) == event.fields["value"] ?? event.fields["id"]
        })
    }
  }

  /// The same with tasks, which change threads in the midst of a scope.
  @Test func `tasks do not mix their users`() async throws {
    try await withDirectoryAsync { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.whenFull = .block })
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<50 {
          group.addTask {
            for number in 0..<40 {
              await Bindings.with(user: "\(task)/\(number)") {
                await Task.yield()
                tracker.track(Single("\(task)/\(number)"))
                await Task.yield()
                tracker.track(Login(user: "\(task)/\(number)", attempts: 1))
              }
            }
          }
        }
      }
      let events = try tracker.events()
      #expect(events.count == 4_000)
      #expect(
        events.allSatisfy { event in
          event.context.user.map { .string($0.id) } == event.fields["value"] ?? event.fields["user"]
        })
    }
  }

  /// An event that captures another one while it is written: both have the scope that they were captured in.
  @Test func `a capture within a capture has the scope that it was made in`() throws {
    struct Outer: Event {
      let tracker: Tracker
      static let eventTypes = [EventType("outer", [Field("a", .int64)])]
      init(tracker: Tracker) { self.tracker = tracker }
      func encode(into encoder: inout EventEncoder) {
        encoder.begin(0)
        Bindings.with(user: "inner") { _ = tracker.track("within") }
        encoder.put(1)
      }
      init?(_ stored: StoredEvent) throws { return nil }
    }
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      Bindings.with(user: "outer") { _ = tracker.track(Outer(tracker: tracker)) }
      let users = Dictionary(uniqueKeysWithValues: try tracker.events().map { ($0.name, $0.context.user?.id) })
      #expect(users == ["outer": "outer", "within": "inner"])
    }
  }

  @Test func `texts and numbers of any content are kept`() throws {
    let text = "a\0b\u{FEFF}ö\u{1F600}"
    let fields: FieldObject = [
      "nan": .double(Double(bitPattern: 0x7ff8_dead_beef_0001)), "infinity": .double(-.infinity), "text": .string(text),
      "": "empty name", "bytes": .bytes([0, 255]), "list": [nil, true, .uint(.max), ["deep": .float(.infinity)]],
      "id": .uuid(UUID()), "date": .date(Date(timeIntervalSinceReferenceDate: 0.1)),
    ]
    let found = try contexts { tracker in
      Bindings.with(user: text, traits: fields) {
        Bindings.with(fields: fields) { Bindings.with(view: text) { _ = tracker.track("x") } }
      }
      Bindings.with(user: "") { Bindings.with(view: "") { _ = tracker.track("x") } }
    }
    #expect(found[0].user?.id == text)
    #expect(found[0].view?.name == text)
    // Compared as text and bits, for not-a-number equals nothing.
    #expect("\(found[0].fields)" == "\(fields)")
    #expect("\(found[0].user?.traits ?? [:])" == "\(fields)")
    guard case .double(let number)? = found[0].fields["nan"] else { return #expect(Bool(false)) }
    #expect(number.bitPattern == 0x7ff8_dead_beef_0001)
    #expect(found[1].user?.id == "")
    #expect(found[1].view?.name == "")
  }

  @Test func `a scope survives closing, and is there for other readers`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.globals.app = "shop" })
      Bindings.with(user: "ada") { Bindings.with(view: "/cart") { _ = tracker.track(Checkout.started(cart: 1)) } }
      let before = try tracker.events()
      try tracker.close()
      #expect(try EventReader(directory: directory).all() == before)
      #expect(before[0].context.user?.id == "ada")
      #expect(before[0].context.globals == ["app": "shop"])
    }
  }
}
