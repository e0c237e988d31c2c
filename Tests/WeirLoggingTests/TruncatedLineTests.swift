// Lines that are larger than the largest event are cut, and say so.

import Logging
import TestSupport
import Testing
import Weir
import WeirLogging

struct TruncatedLineTests {
  private func small(_ bytes: Int = 4096) -> Tracker.Configuration { quiet { $0.maximumEventBytes = bytes } }

  private func text(_ value: FieldValue?) -> String {
    guard case .string(let text)? = value else { return "" }
    return text
  }

  @Test func `a line around the limit is whole or cut, never refused`() throws {
    let limit = 4096
    var whole = 0
    var cut = 0
    _ = try lines(configuration: small(limit)) { tracker in
      let logger = logger(tracker)
      for length in (limit - 400)...(limit + 50) {
        logger.info("\(String(repeating: "m", count: length))", metadata: ["key": "value"])
        #expect(tracker.counters.dropped.isEmpty, "a message of \(length) bytes")
        try tracker.drain()
      }
      for event in try tracker.events() {
        let message = text(event.fields["message"])
        #expect(event.fields["key"] == "value")
        if case .uint(let missing)? = event.fields["truncated"] {
          cut += 1
          #expect(message.last == "…")
          #expect(message.utf8.count - 3 + Int(missing) == limit - 400 + whole + cut - 1)
        } else {
          #expect(message.utf8.count == limit - 400 + whole)
          whole += 1
        }
      }
    }
    #expect(whole > 0)
    #expect(cut > 0)
    #expect(whole + cut == 451)
  }

  @Test func `the default limit cuts a message of a megabyte`() throws {
    let fields = try line { logger($0).info("\(String(repeating: "m", count: 1 << 20))", metadata: ["key": "value"]) }
    let message = text(fields["message"])
    #expect(message.utf8.count > 30_000)
    #expect(fields["truncated"] == .uint(UInt64((1 << 20) - message.utf8.count + 3)))
    #expect(fields["key"] == "value")
  }

  @Test func `only what is long is cut, in metadata too`() throws {
    let long = String(repeating: "v", count: 10_000)
    let events = try lines(configuration: small()) {
      logger($0).info(
        "short",
        metadata: [
          "long": .string(long), "nested": ["list": [.string(long), "b"], "n": .stringConvertible(7)],
          "convertible": .stringConvertible(long), "key": "value",
        ])
    }
    let fields = try #require(events.first).fields
    #expect(fields["message"] == "short")
    #expect(fields["key"] == "value")
    guard case .object(let nested)? = fields["nested"], case .array(let list)? = nested["list"] else {
      Issue.record("nested is no object: \(fields)")
      return
    }
    #expect(nested["n"] == 7)
    #expect(list.count == 2)
    #expect(list[1] == "b")
    let kept = [fields["long"], list[0], fields["convertible"]].map(text)
    #expect(kept.allSatisfy { $0.hasPrefix("vvvv") && $0.hasSuffix("…") })
    #expect(fields["truncated"] == .uint(UInt64(30_000 - kept.map { $0.utf8.count - 3 }.reduce(0, +))))
  }

  @Test(arguments: ["é", "🙂", "👩‍👩‍👧‍👦", "e\u{301}"])
  func `no character's bytes are cut apart`(_ character: String) throws {
    for offset in 0..<4 {
      let message = String(repeating: "x", count: offset) + String(repeating: character, count: 3000)
      let events = try lines(configuration: small()) { logger($0).info("\(message)") }
      let found = text(try #require(events.first).fields["message"])
      #expect(found.hasSuffix("…"))
      #expect(!found.unicodeScalars.contains("\u{FFFD}"))
      #expect(message.unicodeScalars.starts(with: found.unicodeScalars.dropLast()))
    }
  }

  @Test func `a line with too many keys keeps its message`() throws {
    var given = Logger.Metadata()
    for number in 0..<1000 { given["key\(number)"] = "value" }
    let events = try lines(configuration: small()) { logger($0).info("message", metadata: given) }
    let fields = try #require(events.first).fields
    #expect(fields["message"] == "message")
    let bytes = given.reduce(0) { $0 + $1.key.utf8.count + 5 }
    #expect(metadata(fields) == ["truncated": .uint(UInt64(bytes))])
  }

  @Test func `a key that is too long is left out, and not cut`() throws {
    let key = String(repeating: "k", count: 10_000)
    let events = try lines(configuration: small()) {
      logger($0).info("message", metadata: [key: "a", key + "2": ["b": "c"], "short": "d"])
    }
    let fields = try #require(events.first).fields
    #expect(metadata(fields) == ["short": "d", "truncated": .uint(20_004)])
  }

  @Test func `there is room for what is bound`() throws {
    let configuration = small()
    _ = try lines(configuration: configuration) { tracker in
      let long = FieldValue.string(String(repeating: "b", count: 2000))
      try Bindings.with(fields: ["bound": long]) {
        for length in stride(from: 1000, through: 4200, by: 50) {
          logger(tracker).info("\(String(repeating: "m", count: length))")
          #expect(tracker.counters.dropped.isEmpty, "a message of \(length) bytes")
          try tracker.drain()
        }
      }
      let events = try tracker.events()
      #expect(events.count == 65)
      #expect(events.allSatisfy { $0.context.fields["bound"] == long })
      #expect(events.contains { $0.fields["truncated"] != nil } && events.contains { $0.fields["truncated"] == nil })
    }
  }

  @Test func `a sensitive value that is cut is redacted`() throws {
    let secret = String(repeating: "secret", count: 2000)
    let events = try lines(configuration: small()) {
      logger($0).info("message", metadata: ["key": "\(secret, sensitivity: .sensitive)"])
    }
    let event = try #require(events.first)
    #expect(text(event.fields["key"]).hasPrefix("secretsecret"))
    #expect(event.fields["truncated"] != nil)
    #expect(event.redacted().fields["key"] == .redacted)
  }

  @Test func `a line that does not fit at all is refused and counted`() throws {
    let captured = try lines(configuration: small(64)) { tracker in
      logger(tracker).info("message")
      #expect(tracker.counters.dropped == [.tooLarge: 1])
    }
    #expect(captured.map(\.name) == ["weir.gap"])
  }
}
