// What a line becomes: its fields, its metadata, and which of several values of one key counts.

import Foundation
import Logging
import TestSupport
import Testing
import Weir
import WeirLogging

struct LineTests {
  @Test func `a line has its level, label, message and place`() throws {
    let events = try lines { logger($0).notice("paid 🧾") }
    let event = try #require(events.first)
    #expect(events.count == 1)
    #expect(event.name == "log.line")
    #expect(event.fields["level"] == "notice")
    #expect(event.fields["label"] == "shop")
    #expect(event.fields["message"] == "paid 🧾")
    #expect(event.fields["source"] == "WeirLoggingTests")
    #expect(event.fields["file"] == .string(#fileID))
    #expect(event.fields["function"] == .string(#function))
    #expect(event.fields["line"] == .uint(UInt64(#line - 10)))
    #expect(metadata(event.fields).isEmpty)
  }

  @Test(arguments: Logger.Level.allCases)
  func `a level is captured if it is at least as severe as the logger's`(_ least: Logger.Level) throws {
    let captured = try lines { tracker in
      let logger = logger(tracker, level: least)
      for level in Logger.Level.allCases { logger.log(level: level, "\(level)") }
    }
    let expected = Logger.Level.allCases.filter { $0 >= least }.map { FieldValue.string($0.rawValue) }
    #expect(captured.map { $0.fields["level"] } == expected)
    #expect(captured.map { $0.fields["message"] } == expected)
  }

  @Test func `a disabled line evaluates and counts nothing`() throws {
    var evaluations = 0
    func evaluated<T>(_ value: T) -> T {
      evaluations += 1
      return value
    }
    try withDirectory { directory in
      let tracker = try Tracker(directory: directory, configuration: quiet())
      let quietLogger = logger(tracker, level: .error)
      quietLogger.warning("\(evaluated("text"))", metadata: ["key": "\(evaluated(1))"])
      #expect(evaluations == 0)
      #expect(tracker.counters.accepted == 0)
      #expect(tracker.counters.dropped.isEmpty)
      quietLogger.error("\(evaluated("text"))", metadata: ["key": "\(evaluated(1))"])
      #expect(evaluations == 2)
      #expect(tracker.counters.accepted == 1)
    }
  }

  @Test func `copies of a logger have levels and metadata of their own`() throws {
    let captured = try lines { tracker in
      var first = logger(tracker)
      first.logLevel = .debug
      first[metadataKey: "only-on"] = "first"
      var second = first
      second.logLevel = .error
      second[metadataKey: "only-on"] = "second"
      #expect(first.logLevel == .debug)
      #expect(second.logLevel == .error)
      #expect(first[metadataKey: "only-on"] == "first")
      #expect(second[metadataKey: "only-on"] == "second")
      first.debug("one")
      second.debug("not captured")
      second.error("two")
      second[metadataKey: "only-on"] = nil
      second.error("three")
    }
    #expect(captured.map { $0.fields["message"] } == ["one", "two", "three"])
    #expect(captured.map { $0.fields["only-on"] } == ["first", "second", nil])
  }

  @Test func `the line's metadata counts, then the provider's, then the logger's`() throws {
    let provider = Logger.MetadataProvider { ["b": "provider", "c": "provider", "trace-id": "4bf9"] }
    let fields = try line {
      logger($0, metadata: ["a": "logger", "b": "logger", "c": "logger"], provider: provider)
        .info("text", metadata: ["c": "line", "d": "line"])
    }
    #expect(metadata(fields) == ["a": "logger", "b": "provider", "c": "line", "d": "line", "trace-id": "4bf9"])
  }

  @Test func `each pair of sources of metadata has the right one count`() throws {
    let provider = Logger.MetadataProvider { ["key": "provider"] }
    func stored(_ base: Logger.Metadata, _ provider: Logger.MetadataProvider?, _ given: Logger.Metadata?) throws
      -> [String: FieldValue]
    {
      metadata(try line { logger($0, metadata: base, provider: provider).info("text", metadata: given) })
    }
    #expect(try stored(["key": "logger"], nil, ["key": "line"]) == ["key": "line"])
    #expect(try stored(["key": "logger"], provider, nil) == ["key": "provider"])
    #expect(try stored([:], provider, ["key": "line"]) == ["key": "line"])
    #expect(try stored(["key": "logger"], nil, nil) == ["key": "logger"])
    #expect(try stored([:], nil, [:]) == [:])
    #expect(try stored(["a": "1", "b": "2"], nil, ["b": "3", "c": "4"]) == ["a": "1", "b": "3", "c": "4"])
  }

  @Test func `values keep the types that a log has`() throws {
    let date = Date(timeIntervalSinceReferenceDate: 12.5)
    let id = UUID()
    let values: [(any CustomStringConvertible & Sendable, FieldValue)] = [
      (true, true), (-1, -1), (Int8.min, -128), (Int16.min, -32768), (Int32.min, .int(Int64(Int32.min))),
      (Int64.min, .int(.min)), (UInt8.max, .uint(255)), (UInt16.max, .uint(65535)),
      (UInt32.max, .uint(UInt64(UInt32.max))), (UInt64.max, .uint(.max)), (UInt.max, .uint(.max)),
      (Float(0.5), .float(0.5)), (0.1, .double(0.1)), ("text", "text"), (id, .uuid(id)), (date, .date(date)),
      (Substring("part"), "part"), (Duration.seconds(2), "2.0 seconds"), ([3], "[3]"),
    ]
    for (value, expected) in values {
      let fields = try line { logger($0).info("text", metadata: ["key": .stringConvertible(value)]) }
      #expect(metadata(fields) == ["key": expected], "\(type(of: value))")
    }
  }

  @Test func `dictionaries are objects, and arrays are arrays`() throws {
    let fields = try line {
      logger($0).info(
        "text",
        metadata: [
          "request": ["path": "/index.html", "headers": ["host": "example.org"], "status": .stringConvertible(200)],
          "tags": ["a", ["b", [:]], .stringConvertible(1.5)], "none": [],
        ])
    }
    let found = metadata(fields)
    #expect(found["tags"] == .array(["a", .array(["b", .object([:])]), 1.5]))
    #expect(found["none"] == .array([]))
    guard case .object(let request)? = found["request"] else {
      Issue.record("request is no object: \(found)")
      return
    }
    #expect(request.count == 3)
    #expect(request["path"] == "/index.html")
    #expect(request["headers"] == .object(["host": "example.org"]))
    #expect(request["status"] == 200)
  }

  @Test func `what is nested deeper than a log can store becomes text`() throws {
    func nested(_ levels: Int) -> Logger.MetadataValue {
      (0..<levels).reduce("core") { inner, level in level % 2 == 0 ? .array([inner]) : ["level": inner] }
    }
    for levels in 14...19 {
      var value = try #require(metadata(try line { logger($0).info("text", metadata: ["key": nested(levels)]) })["key"])
      var depth = 0
      while true {
        if case .array(let values) = value {
          value = values[0]
        } else if case .object(let object) = value {
          value = object[0].value
        } else {
          break
        }
        depth += 1
      }
      #expect(depth == min(levels, 16))
      #expect(value == .string(nested(max(0, levels - 16)).description))
    }
  }

  @Test func `a key with the name of a field gets a prefix`() throws {
    let reserved = ["level", "label", "message", "source", "file", "function", "line", "truncated"]
    var given = Logger.Metadata()
    for name in reserved { given[name] = "mine" }
    given["metadata.line"] = "other"
    let fields = try line { logger($0).info("text", metadata: given) }
    #expect(fields["level"] == "info")
    #expect(fields["message"] == "text")
    let found = metadata(fields)
    for name in reserved where name != "line" { #expect(found["metadata.\(name)"] == "mine") }
    #expect(found["metadata.line"] == "other")
    #expect(found["metadata.metadata.line"] == "mine")
    #expect(found.count == reserved.count + 1)
  }

  @Test func `a logger's key with the name of a field gets a prefix too`() throws {
    let fields = try line { logger($0, metadata: ["file": "base"]).info("text", metadata: ["key": "value"]) }
    #expect(metadata(fields) == ["metadata.file": "base", "key": "value"])
  }

  private struct Declined: Error, CustomStringConvertible {
    let description = "the card was declined"
  }

  @Test func `an error is two fields, as in swift-log's own handler`() throws {
    let fields = try line { logger($0).error("text", error: Declined(), metadata: ["error.message": "x", "key": "1"]) }
    let found = metadata(fields)
    #expect(found["error.message"] == "the card was declined")
    #expect(found["metadata.error.message"] == "x")
    guard case .string(let type)? = found["error.type"] else {
      Issue.record("error.type is missing: \(found)")
      return
    }
    #expect(type.hasSuffix("Declined"))
    #expect(found["key"] == "1")
    #expect(found.count == 4)
    // Without an error the keys are the program's.
    let plain = try line { logger($0).error("text", metadata: ["error.message": "x"]) }
    #expect(metadata(plain) == ["error.message": "x"])
  }

  @Test func `a source that is given is stored`() throws {
    let fields = try line { logger($0).info("text", source: "billing") }
    #expect(fields["source"] == "billing")
  }

  private static let texts = [
    "", "\0", "\u{FFFD}", "👩‍👩‍👧‍👦🇩🇪e\u{301}", "line\nbreak\r\u{1B}[31m\u{2028}", "\u{10FFFF}",
    String(repeating: "ß", count: 2000),
    String(decoding: [0xff, 0x41, 0xc3, 0x28] as [UInt8], as: UTF8.self),
  ]

  // By number: a log of the tests is no place for such texts.
  @Test(arguments: texts.indices)
  func `any text arrives as it was`(_ number: Int) throws {
    let text = Self.texts[number]
    let events = try lines {
      logger($0, label: text).info(
        "\(text)", metadata: [text: .string(text), "\(text).nested": [text: [.string(text)]]])
    }
    let fields = try #require(events.first).fields
    #expect(fields["label"] == .string(text))
    #expect(fields["message"] == .string(text))
    #expect(fields[text] == .string(text))
    #expect(fields["\(text).nested"] == .object(FieldObject([(text, .array([.string(text)]))])))
  }

  @Test func `bindings are the line's context`() throws {
    let captured = try lines { tracker in
      Bindings.with(user: "user-7", fields: ["request": "4711"], view: "/checkout") {
        logger(tracker).info("inside", metadata: ["key": "value"])
      }
      logger(tracker).info("outside")
    }
    try #require(captured.count == 2)
    #expect(captured[0].context.user?.id == "user-7")
    #expect(captured[0].context.fields == ["request": "4711"])
    #expect(captured[0].context.view?.name == "/checkout")
    #expect(captured[0].fields["key"] == "value")
    #expect(captured[1].context.user == nil)
  }

  @Test func `lines can be sampled, also those with sensitive values`() throws {
    let configuration = quiet { $0.sampling = [SamplingRule("log.line", rate: 0)] }
    let captured = try lines(configuration: configuration) { tracker in
      logger(tracker).info("text", metadata: ["key": "value"])
      logger(tracker).info("text", metadata: ["key": "\("value", sensitivity: .sensitive)"])
      #expect(tracker.counters.dropped == [.sampled: 2])
      tracker.track("another")
    }
    #expect(captured.map(\.name) == ["another"])
  }

  @Test func `random metadata arrives as it was`() throws {
    let seed = testSeed()
    print("WEIR_SEED=\(seed)")
    var random = Seeded(seed: seed)
    let alphabet = Array("abcß🙂\0é. \n")
    func text() -> String {
      String((0..<Int.random(in: 0...12, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
    }
    func value(_ depth: Int) -> (Logger.MetadataValue, FieldValue) {
      switch Int.random(in: 0..<(depth < 4 ? 6 : 4), using: &random) {
      case 0, 1:
        let text = text()
        return (.string(text), .string(text))
      case 2:
        let number = Int.random(in: .min ... .max, using: &random)
        return (.stringConvertible(number), .int(Int64(number)))
      case 3:
        let number = Double.random(in: -1...1, using: &random)
        return (.stringConvertible(number), .double(number))
      case 4:
        let values = (0..<Int.random(in: 0...3, using: &random)).map { _ in value(depth + 1) }
        return (.array(values.map(\.0)), .array(values.map(\.1)))
      default:
        let (given, stored) = members(depth + 1)
        return (.dictionary(given), .object(stored))
      }
    }
    func members(_ depth: Int) -> (Logger.Metadata, FieldObject) {
      var given = Logger.Metadata()
      var stored: [String: FieldValue] = [:]
      for _ in 0..<Int.random(in: 0...4, using: &random) {
        let key = text()
        let (one, other) = value(depth)
        given[key] = one
        stored[key] = other
      }
      // In the order of the dictionary, which is that of the line.
      return (given, FieldObject(given.keys.map { ($0, stored[$0] ?? .null) }))
    }
    let expected = (0..<300).map { _ in members(1) }
    let captured = try lines { tracker in
      for (given, _) in expected { logger(tracker).info("text", metadata: given) }
    }
    try #require(captured.count == expected.count)
    for (event, (_, stored)) in zip(captured, expected) {
      let found = metadata(event.fields)
      #expect(found.count == stored.count, "WEIR_SEED=\(seed)")
      for member in stored { #expect(found[member.name] == member.value, "WEIR_SEED=\(seed)") }
    }
  }
}
