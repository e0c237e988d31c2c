// Sensitive values are stored, and redacted wherever a line is shown.

import Logging
import TestSupport
import Testing
import Weir
import WeirLogging

struct SensitivityTests {
  /// An attribute of the program's own.
  private enum Secrecy: Int64, Logger.MetadataValueAttributes.Attribute {
    case secret = 1
    case open
  }

  private func redacted(_ given: Logger.Metadata) throws -> (stored: [String: FieldValue], shown: [String: FieldValue])
  {
    let events = try lines { logger($0).info("text", metadata: given) }
    let event = try #require(events.first)
    return (metadata(event.fields), metadata(event.redacted().fields))
  }

  @Test func `a sensitive value is stored and shown redacted`() throws {
    let (stored, shown) = try redacted(["mail": "<\("a@b.example", sensitivity: .sensitive)>", "attempts": "3"])
    #expect(stored == ["mail": "<a@b.example>", "attempts": "3"])
    #expect(shown == ["mail": .redacted, "attempts": "3"])
  }

  @Test func `a value with one sensitive part is sensitive`() throws {
    let (_, shown) = try redacted([
      "first": "\("a", sensitivity: .sensitive) at \("h")",
      "last": "\("h"): \("a", sensitivity: .sensitive)",
    ])
    #expect(shown == ["first": .redacted, "last": .redacted])
  }

  @Test(arguments: ["", ".", "\u{301}b", "a.\u{301}b"]) func `a sensitive value is redacted under any key`(
    key: String
  ) throws {
    let secret: Logger.MetadataValue = "\("secret", sensitivity: .sensitive)"
    let (_, shown) = try redacted([key: secret, "object": [key: secret, "plain": "x"]])
    #expect(shown[key] == .redacted)
    guard case .object(let members)? = shown["object"] else {
      Issue.record("no object: \(shown)")
      return
    }
    #expect(members[key] == .redacted)
    #expect(members["plain"] == "x")
  }

  @Test func `the same key without the attribute is shown`() throws {
    let events = try lines { tracker in
      let logger = logger(tracker)
      logger.info("1", metadata: ["mail": "\("a@b.example", sensitivity: .sensitive)"])
      logger.info("2", metadata: ["mail": "c@d.example"])
      logger.info("3", metadata: ["mail": "\("g@h.example", sensitivity: .sensitive)"])
    }
    #expect(events.map { $0.redacted().fields["mail"] } == [.redacted, "c@d.example", .redacted])
  }

  @Test func `sensitive values inside of objects and arrays are redacted`() throws {
    let (stored, shown) = try redacted([
      "request": ["path": "/", "headers": ["authorization": "\("secret", sensitivity: .sensitive)", "host": "h"]],
      "mails": ["\("a", sensitivity: .sensitive)", "b"], "dotted.key": "\("c", sensitivity: .sensitive)", "plain": "d",
    ])
    guard case .object(let request)? = shown["request"], case .object(let headers)? = request["headers"],
      case .object(let storedRequest)? = stored["request"], case .object(let storedHeaders)? = storedRequest["headers"]
    else {
      Issue.record("request has no headers: \(shown)")
      return
    }
    #expect(storedHeaders["authorization"] == "secret")
    #expect(headers["authorization"] == .redacted)
    #expect(headers["host"] == "h")
    #expect(request["path"] == "/")
    #expect(shown["mails"] == .redacted)
    #expect(shown["dotted.key"] == .redacted)
    #expect(shown["plain"] == "d")
  }

  @Test func `a key with a prefix is redacted too`() throws {
    let (stored, shown) = try redacted(["line": "\("secret", sensitivity: .sensitive)"])
    #expect(stored == ["metadata.line": "secret"])
    #expect(shown == ["metadata.line": .redacted])
  }

  @Test func `what is nested too deep is redacted as a whole`() throws {
    let secret: Logger.MetadataValue = "\("secret", sensitivity: .sensitive)"
    let value = (0..<20).reduce(secret) { inner, _ in ["level": inner] }
    let (_, shown) = try redacted(["key": value])
    #expect(!"\(shown)".contains("secret"))
  }

  @Test func `logger and provider may have sensitive values`() throws {
    let provider = Logger.MetadataProvider { ["provider": "\("p", sensitivity: .sensitive)"] }
    let events = try lines { tracker in
      logger(tracker, metadata: ["base": "\("b", sensitivity: .sensitive)"], provider: provider).info("1")
      // Replaced by a value that may be shown.
      logger(tracker, provider: provider).info("2", metadata: ["provider": "open"])
    }
    #expect(metadata(events[0].redacted().fields) == ["base": .redacted, "provider": .redacted])
    #expect(metadata(events[1].redacted().fields) == ["provider": "open"])
  }

  @Test func `a program may have an attribute of its own`() throws {
    let events = try lines { tracker in
      let logger = Logger(label: "shop") {
        WeirLogHandler(label: $0, tracker: tracker, isSensitive: { $0[Secrecy.self] == .secret })
      }
      logger.info(
        "1",
        metadata: [
          "a": .attributed("1", attributes: [Secrecy.secret]), "b": .attributed("2", attributes: [Secrecy.open]),
          "c": "\("3", sensitivity: .sensitive)",
        ])
    }
    let event = try #require(events.first)
    #expect(metadata(event.fields) == ["a": "1", "b": "2", "c": "3"])
    #expect(metadata(event.redacted().fields) == ["a": .redacted, "b": "2", "c": "3"])
  }

  @Test func `keys that are too long for a declaration are redacted at the capture`() throws {
    let key = String(repeating: "k", count: 1500)
    let (stored, _) = try redacted([key: "\("secret", sensitivity: .sensitive)", "plain": "p"])
    #expect(stored == [key: .redacted, "plain": "p"])
  }

  @Test func `a nested key that is too long is redacted at the capture`() throws {
    let key = String(repeating: "k", count: 1500)
    let (stored, _) = try redacted(["outer": [key: ["\("secret", sensitivity: .sensitive)"]], "plain": "p"])
    #expect(stored == ["outer": .object(FieldObject([(key, .redacted)])), "plain": "p"])
  }

  @Test func `a program with many sets of sensitive keys leaves room for other types`() throws {
    let events = try lines(configuration: quiet { $0.whenFull = .block }) { tracker in
      let logger = logger(tracker)
      for number in 0..<2100 {
        logger.info("text", metadata: ["key\(number)": "\("secret", sensitivity: .sensitive)"])
      }
      #expect(tracker.counters.types <= 2049)
      #expect(tracker.track(Checkout.started(cart: 1)).isAccepted)
    }
    try #require(events.count == 2101)
    for (number, event) in events.prefix(2100).enumerated() {
      #expect(event.redacted().fields["key\(number)"] == .redacted)
    }
    #expect(events[0].fields["key0"] == "secret")
    #expect(events[2099].fields["key2099"] == .redacted)
  }

  @Test func `sets of keys that look alike are told apart`() throws {
    let events = try lines { tracker in
      let logger = logger(tracker)
      logger.info("1", metadata: ["a\nb": "\("x", sensitivity: .sensitive)", "a": "1", "b": "2"])
      logger.info(
        "2", metadata: ["a": "\("x", sensitivity: .sensitive)", "b": "\("y", sensitivity: .sensitive)", "a\nb": "3"])
      logger.info("3", metadata: ["ab": "\("x", sensitivity: .sensitive)", "a": "1", "b": "2"])
      logger.info("4", metadata: ["1:a": "\("x", sensitivity: .sensitive)", "a": "1"])
    }
    #expect(metadata(events[0].redacted().fields) == ["a\nb": .redacted, "a": "1", "b": "2"])
    #expect(metadata(events[1].redacted().fields) == ["a": .redacted, "b": .redacted, "a\nb": "3"])
    #expect(metadata(events[2].redacted().fields) == ["ab": .redacted, "a": "1", "b": "2"])
    #expect(metadata(events[3].redacted().fields) == ["1:a": .redacted, "a": "1"])
  }
}
