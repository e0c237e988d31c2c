// What does not fit into a scope: left out and counted, and never another user for it. Serialised, and the only suite
// that looks at the counter, because that is the process's.

import Logging
import TestSupport
import Testing
import Weir

@Suite(.serialized) struct EncodedScopeLimitTests {
  /// The context of an event captured in `body`, and how many bindings were refused meanwhile.
  private func context(_ bind: (() -> Void) -> Void) throws -> (EventContext, UInt64) {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let before = tracker.counters.bindingsRefused
      bind { #expect(tracker.track(Checkout.started(cart: 1)).isAccepted) }
      return (try #require(tracker.events().first).context, tracker.counters.bindingsRefused - before)
    }
  }

  private func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  /// {"fields": {"a": text}}: 4 + (4 + 6) + 1 + 4 + (4 + 1) + 1 + 4 bytes around the text.
  @Test(arguments: [(4096 - 29, true), (4096 - 28, false)])
  func `a scope at the limit fits, and one above it is refused`(count: Int, fits: Bool) throws {
    let (found, refused) = try context { body in Bindings.with(fields: ["a": .string(text(count))]) { body() } }
    #expect(found.fields.isEmpty != fits)
    #expect(refused == (fits ? 0 : 1))
  }

  @Test(arguments: [(15, true), (16, false)])
  func `a value at the depth fits, and one below it is refused`(depth: Int, fits: Bool) throws {
    let value = (0..<depth).reduce(FieldValue.int(1)) { inner, _ in ["x": inner] }
    let (found, refused) = try context { body in Bindings.with(fields: ["a": value]) { body() } }
    #expect(found.fields == (fits ? ["a": value] : [:]))
    #expect(refused == (fits ? 0 : 1))
  }

  @Test func `fields that do not fit leave the outer ones`() throws {
    let (found, refused) = try context { body in
      Bindings.with(user: "ada") {
        Bindings.with(fields: ["a": 1]) {
          Bindings.with(fields: ["b": .string(text(5000))], sensitive: ["b"]) { body() }
        }
      }
    }
    #expect(found == EventContext(user: EventUser(id: "ada"), fields: ["a": 1], sensitive: ["b"]))
    #expect(refused == 1)
  }

  @Test func `a view that does not fit leaves the outer one`() throws {
    let (found, refused) = try context { body in
      Bindings.with(view: "/cart") { Bindings.with(view: text(5000)) { body() } }
    }
    #expect(found.view?.name == "/cart")
    #expect(refused == 1)
  }

  @Test func `traits that do not fit leave the user`() throws {
    let (found, refused) = try context { body in
      Bindings.with(user: "outer", traits: ["a": 1]) {
        Bindings.with(fields: ["b": 2]) {
          Bindings.with(user: "inner", traits: ["t": .string(text(5000))], sensitive: ["t"]) { body() }
        }
      }
    }
    #expect(found == EventContext(user: EventUser(id: "inner"), fields: ["b": 2], sensitive: ["t"]))
    #expect(refused == 1)
  }

  @Test func `a refused binding takes no mark away`() throws {
    let (found, _) = try context { body in
      Bindings.with(fields: ["card": "4111"], sensitive: ["card"]) {
        Bindings.with(user: "ada", traits: ["card": "visa", "t": .string(text(5000))], sensitive: ["card"]) { body() }
      }
    }
    #expect(found.sensitive == ["card"])
    #expect(found.redacted().fields == ["card": .redacted])
  }

  @Test func `names of refused fields are sensitive inside, too`() throws {
    let (found, _) = try context { body in
      Bindings.with(fields: ["ssn": 1, "blob": .string(text(5000))], sensitive: ["ssn"]) {
        Bindings.with(fields: ["ssn": "123-45-6789"]) { body() }
      }
    }
    #expect(found.redacted().fields == ["ssn": .redacted])
  }

  @Test func `everything is sensitive where its names find no room`() throws {
    let names = Set((0..<500).map { "name \($0)" })
    let (found, refused) = try context { body in
      Bindings.with(user: "ada", traits: ["plan": "paid"]) {
        Bindings.with(fields: ["a": 1, "b": .string(text(4000))]) {
          Bindings.with(fields: ["c": 2], sensitive: names) { Bindings.with(fields: ["d": 3]) { body() } }
        }
      }
    }
    #expect(found.user?.id == "ada")
    #expect(found.sensitive == [EventContext.allSensitive])
    #expect(found.redacted().fields.allSatisfy { $0.value == .redacted })
    #expect(found.redacted().user?.traits.allSatisfy { $0.value == .redacted } ?? true)
    #expect(refused >= 1)
  }

  @Test func `a user who does not fit beside fields goes first`() throws {
    let (found, refused) = try context { body in
      Bindings.with(user: "outer") {
        Bindings.with(fields: ["b": .string(text(4000))]) { Bindings.with(user: text(500)) { body() } }
      }
    }
    #expect(found == EventContext(user: EventUser(id: text(500))))
    #expect(refused == 1)
  }

  @Test func `an id that never fits leaves nobody`() throws {
    let (found, refused) = try context { body in
      Bindings.with(user: "outer") { Bindings.with(user: text(5000)) { body() } }
    }
    #expect(found == EventContext())
    #expect(refused == 1)
  }

  /// In a process of its own: what does not fit is logged once in a process, by what the program bootstrapped.
  @Test(arguments: [(10_000, "the user's id"), (3, "the user's traits")])
  func `the parts that do not fit are named`(idBytes: Int, what: String) async throws {
    await #expect(processExitsWith: .success) { [idBytes = idBytes as Int, what = what as String] in
      let lines = LoggedLines()
      LoggingSystem.bootstrap { _ in lines }
      Bindings.with(
        user: String(repeating: "x", count: idBytes), traits: ["long": .string(String(repeating: "x", count: 5000))]
      ) {
        precondition(Bindings.current.user?.id == (idBytes < 4096 ? "xxx" : nil))
      }
      precondition(lines.levels == [.error] && lines.last.hasPrefix("\(what) could not be bound"), lines.last)
    }
  }

  @Test func `an event is too large with its scope`() throws {
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet { $0.maximumEventBytes = 128 })
      #expect(tracker.track(Single(text(100))).isAccepted)
      Bindings.with(user: text(40)) { #expect(tracker.track(Single(text(100))) == .dropped(.tooLarge)) }
      Bindings.with(user: text(40)) {
        #expect(tracker.track("e", fields: ["a": .string(text(80))]) == .dropped(.tooLarge))
      }
      Bindings.with(user: text(10)) { #expect(tracker.track(Single(text(40))).isAccepted) }
      #expect(tracker.counters.dropped == [.tooLarge: 2])
      #expect(try tracker.events(of: Single<String>.self).count == 2)
    }
  }
}
