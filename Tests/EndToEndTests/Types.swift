// Types.swift: what a log says of its types, and what of its events is shown: `weir schema`, `weir schema diff`, `weir
// cat` with sensitive fields and contexts, and what sampling left out in `weir stat`.
import Foundation
import Testing
import Weir
import WeirContracts

extension EndToEnd {
  @Suite struct Types {
    // MARK: Schemas

    @Test func `the schema is what was declared`() throws {
      let scratch = try Scratch()
      try record(Account.captured, scratch("log"))
      let outcome = try Tool.run("schema", scratch("log"))
      try Tool.require(outcome, code: 0, "weir schema")
      #expect(
        outcome.text == """
          account.opened  id 7  page_action  formerly account.made  2 events, offsets 0 to 1
            id          uint64
            email       string   sensitive
            address     object?
              street    string   sensitive
              country   string   formerly state
            "odd name"  [int32]

          """)
    }

    @Test func `the schema of events without a declaration is what was seen of them`() throws {
      let scratch = try Scratch()
      let lines = #"{"event":"a","fields":{"n":1,"s":"x"}}"# + "\n" + #"{"event":"a","fields":{"n":2}}"# + "\n"
      try Tool.record(scratch("log"), ["--format", "jsonl"], sending: Data(lines.utf8))
      let outcome = try Tool.run("schema", scratch("log"))
      #expect(outcome.text == "a  as seen  2 events, offsets 0 to 1\n  n  int64\n  s  string?\n")
    }

    /// The same of a live log, of one whose writer has died, and after recovery.
    @Test func `the schema of a log is the same live, dead and recovered`() throws {
      let scratch = try Scratch()
      let writer = try Child(Tool.path, ["record", scratch("log"), "--format", "lines", "--acknowledge"], input: .pipe)
      writer.send(Numbered.lines(1...100))
      try writer.waitUntil { CatLine.rawLines($0.output).last == Data("100".utf8) }
      func events() throws -> [[String: Any]] {
        let outcome = try Tool.run("schema", scratch("log"), "--format", "json")
        try Tool.require(outcome, code: 0, "weir schema")
        let object = try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        return try #require(object["events"] as? [[String: Any]])
      }
      // What is acknowledged is drained some milliseconds later.
      try writer.waitUntil { _ in (try? events().first?["count"] as? Int) == 100 }
      #expect(try events().first?["count"] as? Int == 100)
      _ = try writer.kill()
      #expect(try events().first?["count"] as? Int == 100)
      try Tool.require(Tool.run("recover", scratch("log")), code: 0, "weir recover")
      #expect(try events().first?["event"] as? String == "line")
    }

    @Test func `the help tells of every key of a schema`() throws {
      let scratch = try Scratch()
      try record(Account.captured, scratch("log"))
      let outcome = try Tool.run("schema", scratch("log"), "--format", "json")
      let object = try #require(try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
      #expect(Set(object.keys) == ["events", "others", "undefined"])
      let event = try #require((object["events"] as? [[String: Any]])?.first)
      let help = try Tool.run("schema", "print", "--help").text
      let fields = try #require(event["fields"] as? [[String: Any]])
      #expect(event.keys.count == 10)
      #expect(Set(fields.flatMap(\.keys)).count == 6)
      for key in event.keys + fields.flatMap(\.keys) { #expect(help.contains(key), "the help does not tell of \(key)") }
      // The library reads what the tool writes.
      let schema = try JSONDecoder().decode(Schema.self, from: outcome.output)
      #expect(try schema == Schema(of: LogDirectory(scratch("log"))))
    }

    @Test func `diff says what breaks, by its exit code too`() throws {
      let scratch = try Scratch()
      try record(Account.captured, scratch("old"))
      try record([LaterAccount.opened], scratch("new"))
      let file = try scratch.file("old.json", try Tool.run("schema", scratch("old"), "--format", "json").output)
      for old in [scratch("old"), file] {
        let same = try Tool.run("schema", "diff", old, scratch("old"))
        #expect(same.code == 0)
        #expect(same.text == "no difference\n")
        let outcome = try Tool.run("schema", "diff", old, scratch("new"))
        #expect(outcome.code == 1)
        let lines = outcome.text.split(separator: "\n")
        #expect(lines.count == 5)
        #expect(lines.last == "4 differences, 2 breaking")
        #expect(lines.contains { $0.hasPrefix("breaking: account.opened: email: field unmarked sensitive: ") })
        #expect(lines.contains { $0.hasPrefix("breaking: account.opened: odd name: field removed: ") })
        #expect(lines.contains { $0.hasPrefix("fine: account.opened: referrer: field added: ") })
      }
      // A pipe is as good as a file.
      let piped = try Tool.run(["schema", "diff", "/dev/stdin", scratch("new")], sending: Files.read(file))
      #expect(piped.code == 1, "\(piped.errors)")
      #expect(piped.text.hasSuffix("4 differences, 2 breaking\n"), "\(piped.errors)")
      let json = try Tool.run("schema", "diff", file, scratch("new"), "--format", "json")
      #expect(json.code == 1)
      let object = try #require(try JSONSerialization.jsonObject(with: json.output) as? [String: Any])
      #expect(object["breaking"] as? Int == 2)
      #expect((object["changes"] as? [Any])?.count == 4)
    }

    @Test func `a file that is no schema is refused by diff`() throws {
      let scratch = try Scratch()
      let files = ["", "[]", "{\"events\":[{\"event\":\"e\",\"fields\":[{\"name\":\"a\",\"kind\":\"text\"}]}]}"]
      for (index, text) in files.enumerated() {
        let file = try scratch.file("\(index).json", text)
        let outcome = try Tool.run("schema", "diff", file, file)
        #expect(outcome.code == 2, "\(text): \(outcome.errors)")
        #expect(outcome.errors.contains("is no schema"), "\(text): \(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
      }
      #expect(try Tool.run("schema", "diff", scratch("none"), scratch("none")).code == 2)
      #expect(try Tool.run("schema", scratch("none")).code == 2)
    }

    /// Damage costs what it hits, is said, and is an exit code of its own.
    @Test func `the schema of a damaged log has what is whole, and says what is missing`() throws {
      let scratch = try Scratch()
      let tracker = try Tracker(directory: scratch("log"), configuration: quiet())
      for event in Account.captured { #expect(tracker.track(event).isAccepted) }
      try tracker.drain()
      tracker.track("last", fields: ["a": 1])
      try tracker.close()
      let segment = scratch("log") + "/" + (try #require(try Files.segments(in: scratch("log")).first))
      let secret = try #require(try Files.read(segment).range(of: Data("Main Street".utf8)))
      try Files.overwrite(segment, at: secret.lowerBound, with: [0])
      let outcome = try Tool.run("schema", scratch("log"))
      #expect(outcome.code == 1, "\(outcome.errors)")
      #expect(outcome.errors.contains("weir: \(scratch("log")): "), "\(outcome.errors)")
      #expect(outcome.text == "last  as seen  1 event, offset 2\n  a  int64\n", "\(outcome.text)")
      #expect(try Tool.run("schema", "diff", scratch("log"), scratch("log")).code == 0)
    }

    // MARK: What is shown

    @Test func `cat redacts what is sensitive`() throws {
      let scratch = try Scratch()
      try record(Account.captured, scratch("log"))
      let hidden = try Tool.cat(scratch("log"))
      let raw = String(decoding: try #require(hidden.first).raw, as: UTF8.self)
      #expect(
        raw.hasSuffix(
          #""fields":{"id":1,"email":"[redacted]","address":{"street":"[redacted]","country":"DE"},"odd name":[1]}}"#))
      #expect(try Tool.cat(scratch("log"), ["--show-sensitive"]).first?.fields["email"] as? String == "a@b.c")
      for format in ["jsonl", "csv", "text"] {
        for options in [[], ["--context"]] {
          let shown = try Tool.run(["cat", scratch("log"), "--format", format] + options).text
          #expect(!shown.contains("a@b.c"), "\(shown)")
          #expect(!shown.contains("Main Street"), "\(shown)")
          #expect(shown.contains("[redacted]"))
          let all = try Tool.run(["cat", scratch("log"), "--show-sensitive", "--format", format] + options).text
          #expect(all.contains("a@b.c"))
          #expect(all.contains("Main Street"))
        }
      }
    }

    @Test func `cat shows contexts when asked`() throws {
      let scratch = try Scratch()
      var configuration = quiet()
      configuration.globals = GlobalFields(app: "shop", fields: ["region": "eu", "token": "t0"], sensitive: ["token"])
      let tracker = try Tracker(directory: scratch("log"), configuration: configuration)
      tracker.track("plain", fields: ["a": 1])
      try tracker.associate("u1", traits: ["plan": "gold", "phone": "555-1"], sensitive: ["phone"])
      let id = Bindings.with(user: "u2", traits: ["card": "4111"], sensitive: ["card"]) {
        Bindings.with(view: "Cart") {
          Bindings.with(fields: ["region": "us", "cart": 7, "token": "t1"]) { tracker.track(Account.captured[0]).id }
        }
      }
      try tracker.close()
      let lines = try Tool.run("cat", scratch("log"), "--context").text.split(separator: "\n")
      #expect(lines.count == 3)
      let objects = try lines.map { line in
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      }
      for object in objects {
        #expect(
          Set(object.keys) == [
            "offset", "id", "time", "event", "fields", "host", "uuid", "kind", "monotonic", "boot", "user", "view",
            "context",
          ])
        #expect(object["monotonic"] is NSNumber)
        #expect(object["boot"] is String)
      }
      #expect(
        lines[0].hasSuffix(#","user":null,"view":null,"context":{"app":"shop","region":"eu","token":"[redacted]"}}"#))
      #expect(objects[1]["event"] as? String == "weir.associated")
      #expect(lines[1].contains(#""fields":{"user":"u1","traits":{"plan":"gold","phone":"[redacted]"}}"#))
      let last = objects[2]
      #expect(last["kind"] as? String == "page_action")
      #expect(last["uuid"] as? String == id?.uuid.uuidString)
      #expect((last["view"] as? [String: Any])?["name"] as? String == "Cart")
      #expect(lines[2].contains(#""user":{"id":"u2","traits":{"card":"[redacted]"}}"#))
      #expect(lines[2].hasSuffix(#""context":{"app":"shop","region":"us","cart":7,"token":"[redacted]"}}"#))

      let shown = try Tool.run("cat", scratch("log"), "--context", "--show-sensitive").text
      for secret in ["t0", "t1", "555-1", "4111"] { #expect(shown.contains("\"\(secret)\"")) }
      let text = try Tool.run("cat", scratch("log"), "--context", "--format", "text").text
      #expect(text.contains(#"  |  kind="page_action" user="u2" user.card="[redacted]" view="Cart" app="shop""#))
      let csv = try Tool.run("cat", scratch("log"), "--context", "--format", "csv").text.split(separator: "\n")
      #expect(csv[0] == "offset,id,time,event,fields,host,uuid,kind,monotonic,boot,user,view,context")
      // Without --context nothing of it is there.
      for line in try Tool.cat(scratch("log")) { #expect(!String(decoding: line.raw, as: UTF8.self).contains("shop")) }
    }

    @Test func `stat shows what sampling left out`() throws {
      let scratch = try Scratch()
      var configuration = quiet()
      configuration.sampling = [SamplingRule("often", rate: 0)]
      let tracker = try Tracker(directory: scratch("log"), configuration: configuration)
      for _ in 0..<25 { tracker.track("often", fields: ["a": 1]) }
      tracker.track("seldom", fields: ["a": 1])
      try tracker.close()
      #expect(try Tool.run("stat", scratch("log")).text.contains(" 25 (sampled: 25)\n"))
      let json = try JSONSerialization.jsonObject(with: Tool.run("stat", scratch("log"), "--json").output)
      #expect(((json as? [String: Any])?["dropped"] as? [String: Int])?["sampled"] == 25)
    }

    private func quiet() -> Tracker.Configuration {
      var configuration = Tracker.Configuration()
      configuration.logger = nil
      configuration.segmentBytes = 1 << 20
      return configuration
    }

    private func record<E: Event>(_ events: [E], _ directory: String) throws {
      let tracker = try Tracker(directory: directory, configuration: quiet())
      for event in events { #expect(tracker.track(event).isAccepted) }
      try tracker.close()
    }
  }
}

/// An event with all that a declaration can say.
private enum Account: Event {
  case opened(id: UInt64, hasAddress: Bool)

  static let captured: [Account] = [.opened(id: 1, hasAddress: true), .opened(id: 2, hasAddress: false)]

  static let eventTypes = [
    EventType(
      "account.opened",
      [
        Field("id", .uint64), Field("email", .string, sensitive: true), Field("address", Address?.fieldKind),
        Field("odd name", .array(.int32)),
      ], wireID: 7, kind: .pageAction, formerNames: ["account.made"])
  ]

  func encode(into encoder: inout EventEncoder) {
    guard case .opened(let id, let hasAddress) = self else { return }
    encoder.begin(0)
    encoder.put(id)
    encoder.put("a@b.c")
    encoder.put(hasAddress ? Address() : nil)
    encoder.put([1 as Int32])
  }

  init?(_ stored: StoredEvent) throws { return nil }
}

/// A later version of it, which forgot a mark and a field.
private enum LaterAccount: Event {
  case opened

  static let eventTypes = [
    EventType(
      "account.opened",
      [
        Field("id", .uint64), Field("email", .string), Field("address", Address?.fieldKind),
        Field("referrer", .optional(.string)),
      ], wireID: 7, kind: .pageView, formerNames: ["account.made"])
  ]

  func encode(into encoder: inout EventEncoder) {
    encoder.begin(0)
    encoder.put(3 as UInt64)
    encoder.put("a@b.c")
    encoder.put(nil as Address?)
    encoder.put(nil as String?)
  }

  init?(_ stored: StoredEvent) throws { return nil }
}

private struct Address: EventValue {
  static let fieldKind = FieldKind.object([
    Field("street", .string, sensitive: true), Field("country", .string, formerNames: ["state"]),
  ])

  init() {}
  init(fieldValue: FieldValue) throws {}

  func encode(into encoder: inout EventEncoder) {
    encoder.beginObject()
    encoder.put("Main Street")
    encoder.put("DE")
  }
}
